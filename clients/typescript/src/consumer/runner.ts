/** A loop carried out: this module does what the loop says, and decides nothing. */

import { receiveMessages, settleMessages } from "../calls/queues.js";
import type { Connection } from "../connection.js";
import { LONGEST_SLEEP_SECONDS } from "../constants.js";
import type { Message, Queue } from "../models.js";
import { type Command, type Protect, type Receive, type Settle, type Start, settleBody } from "./commands.js";
import type { Delivery } from "./delivery.js";
import type { Counts, Logger } from "./events.js";
import { type Hook, Hooks } from "./hooks.js";
import { Loop } from "./loop.js";
import { Protection } from "./protection.js";
import { type Numbers, requireHandler, settingsOf } from "./settings.js";
import { heedAbort, heedSignals, Stop } from "./stop.js";

/** What works on a message. The message is acked when it has returned, or what it returned is settled. */
export type Handler = (message: Delivery) => unknown;

/** How to consume; what is left out is chosen to suit the queue. */
export interface ConsumeOptions extends Numbers {
  /** Its abort begins the drain. */
  signal?: AbortSignal;
  /** Whether SIGTERM and SIGINT begin the drain (yes), or are your program's own. */
  handle_signals?: boolean;
  /** Is told everything that happens, in order. */
  onEvent?: Hook;
  /** Where failures are written to (the console). */
  logger?: Logger;
  /** Whether ECS is kept from ending the task while it holds messages (yes). */
  protect_task?: boolean;
}

/** A loop that runs: its counts, once it has ended, and the ways to end it. */
export interface Consuming extends Promise<Counts> {
  /** Begin the drain: no receive is begun, what waits is given back, handlers have `drain_seconds` to finish. */
  stop(): void;
  /** Give everything back at once, and wait for nobody. */
  stopNow(): void;
}

/** Where a loop finds its queue. */
export interface Place {
  readonly connection: Connection;
  readonly mount: string;
  /** Looks the queue up, where only its id is known. */
  find(): Promise<Queue>;
}

/** Work until stopped, and answer the counts; throws in the end what made the loop stop by itself. */
export function consume(place: Place, handler: Handler, options: ConsumeOptions): Consuming {
  const stop = new Stop();
  return Object.assign(run(place, handler, options, stop), { stop: stop.begin, stopNow: stop.now });
}

async function run(place: Place, handler: Handler, options: ConsumeOptions, stop: Stop): Promise<Counts> {
  requireHandler(handler);
  const logger = options.logger ?? console;
  const deafToSignals = options.handle_signals === false ? () => undefined : heedSignals(stop);
  const deafToAbort = heedAbort(stop, options.signal);
  const hooks = new Hooks(options.onEvent, logger);
  const protection = options.protect_task === false ? undefined : Protection.ofThisTask(logger);
  try {
    const queue = await place.find();
    const loop = new Loop(settingsOf(queue, options, protection !== undefined), Math.random, now());
    return await new Runner(loop, place, queue, handler, stop, hooks, protection, logger).run();
  } finally {
    deafToSignals();
    deafToAbort();
    protection?.close();
    await hooks.close();
  }
}

/** One run of a loop. */
class Runner {
  readonly #loop: Loop;
  readonly #place: Place;
  readonly #queue: Queue;
  readonly #handler: Handler;
  readonly #stop: Stop;
  readonly #hooks: Hooks;
  readonly #protection: Protection | undefined;
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | undefined;
  #isTurning = false;
  #end: () => void = () => undefined;

  constructor(
    loop: Loop,
    place: Place,
    queue: Queue,
    handler: Handler,
    stop: Stop,
    hooks: Hooks,
    protection: Protection | undefined,
    logger: Logger,
  ) {
    this.#loop = loop;
    this.#place = place;
    this.#queue = queue;
    this.#handler = handler;
    this.#stop = stop;
    this.#hooks = hooks;
    this.#protection = protection;
    this.#logger = logger;
  }

  /** Turn until the loop is over. */
  async run(): Promise<Counts> {
    await new Promise<void>((resolve) => {
      this.#end = resolve;
      this.#stop.tell(() => this.#heedStop());
      this.#turn();
    });
    if (this.#loop.failure) throw this.#loop.failure.error;
    return { ...this.#loop.counts };
  }

  #heedStop(): void {
    if (this.#loop.isOver) return;
    if (this.#stop.atOnce) this.#loop.stopAtOnce(now());
    else this.#loop.stop(now());
    this.#turnSoon();
  }

  /** Have the loop look at what happened, once everything that happens just now has. */
  #turnSoon(): void {
    if (this.#isTurning) return;
    this.#isTurning = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#isTurning = false;
    clearTimeout(this.#timer);
    if (this.#loop.isOver) return;
    for (const command of this.#loop.step(now())) void this.#carryOut(command);
    for (const event of this.#loop.takeEvents()) this.#hooks.tell(event);
    if (this.#loop.isOver) {
      this.#end();
      return;
    }
    const seconds = Math.min(Math.max(0, this.#loop.wakeAt() - now()), LONGEST_SLEEP_SECONDS);
    this.#timer = setTimeout(() => this.#turn(), Math.ceil(seconds * 1000));
  }

  /** Do one thing, and tell the loop what came of it. */
  async #carryOut(command: Command): Promise<void> {
    if (command.kind === "receive") await this.#receive(command);
    else if (command.kind === "settle") await this.#settle(command);
    else if (command.kind === "start") await this.#handle(command);
    else await this.#protect(command);
  }

  async #receive(call: Receive): Promise<void> {
    const { connection, mount } = this.#place;
    const { max, wait, visibility } = call;
    try {
      const { messages } = await connection.once(receiveMessages(mount, this.#queue, { max, wait, visibility }));
      if (this.#loop.isOver) await this.#giveBack(messages);
      else this.#report((at) => this.#loop.received(call, messages, at));
    } catch (failure) {
      this.#report((at) => this.#loop.receiveFailed(call, failure, at));
    }
  }

  async #settle(call: Settle): Promise<void> {
    const { connection, mount } = this.#place;
    try {
      const asked = settleMessages(mount, this.#queue, settleBody(call));
      const answer = await connection.once(asked, call.timeout);
      this.#report((at) => this.#loop.settled(call, answer, at));
    } catch (failure) {
      this.#report((at) => this.#loop.settleFailed(call, failure, at));
    }
  }

  async #handle(start: Start): Promise<void> {
    let failure: { error: unknown } | undefined;
    try {
      await this.#handler(start.lease.delivery);
    } catch (error) {
      failure = { error };
    }
    this.#report((at) => this.#loop.finished(start, failure, at));
  }

  async #protect(call: Protect): Promise<void> {
    const granted = (await this.#protection?.change(call.minutes)) ?? false;
    this.#report((at) => this.#loop.protected(call, granted, at));
  }

  #report(happened: (at: number) => void): void {
    if (this.#loop.isOver) return;
    happened(now());
    this.#turnSoon();
  }

  /** Give back what came when the loop was over; what fails comes back when its lease ends. */
  async #giveBack(messages: readonly Message[]): Promise<void> {
    const { connection, mount } = this.#place;
    const retry = messages.map(({ receipt_handle }) => ({ receipt_handle }));
    try {
      if (retry.length > 0) await connection.once(settleMessages(mount, this.#queue, { retry }));
    } catch (failure) {
      this.#logger.warn(`naive: messages that came late could not be given back: ${failure}`);
    }
  }
}

/** Seconds of a clock that nobody sets. */
function now(): number {
  return performance.now() / 1000;
}
