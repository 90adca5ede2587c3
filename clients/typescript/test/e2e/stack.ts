/** A running stack, and somebody new on it. `tests/e2e/test_typescript.py` starts one. */

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { inject } from "vitest";
import { Naive, type Queue, type QueueRef, type User } from "../../src/index.js";
import { PACKAGE } from "../installed.js";

export const naive: Naive = new Naive();

/** A user who has nothing yet, with a key that is sealed to it. */
export interface Newcomer {
  user: User;
  /** The environment of a program that acts for this user. */
  env: NodeJS.ProcessEnv;
  naive: Naive;
}

export async function newcomer(): Promise<Newcomer> {
  const user = await naive.users.create({ label: "test" });
  const { api_key } = await naive.keys.create({ name: "test", active_tenant_user_id: user });
  return { user, env: { ...process.env, NAIVE_API_KEY: api_key }, naive: new Naive({ apiKey: api_key }) };
}

/** A new queue of the company itself. */
export async function newQueue(
  settings: { visibility_timeout?: number; dlq?: boolean } = {},
): Promise<Queue<"standard">> {
  return naive.queue.create({ name: `t-${randomUUID().slice(0, 12)}`, ...settings });
}

/** Wait until this is so. */
export async function until(isSo: () => boolean | Promise<boolean>, seconds = 60): Promise<void> {
  for (const begun = performance.now(); !(await isSo()); await pause(100)) {
    if (performance.now() - begun > seconds * 1000) throw new Error(`it never came to that: ${isSo}`);
  }
}

/** Whether a queue holds nothing. */
export async function isEmpty(queue: Queue): Promise<boolean> {
  const { depth, in_flight, delayed } = await naive.queue.attributes(queue);
  return depth + in_flight + delayed === 0;
}

/** A program, running; `written` is all that it has said. */
export interface Running {
  written: string;
  tell(signal: NodeJS.Signals): void;
  /** Its exit code, once it has ended. */
  ended: Promise<number | null>;
}

export function start(words: string[], folder: string, env: NodeJS.ProcessEnv): Running {
  const child = spawn("node", words, { cwd: folder, env });
  const running: Running = {
    written: "",
    tell: (signal) => void child.kill(signal),
    ended: once(child, "close").then(([code]) => code),
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      running.written += chunk;
    });
  }
  return running;
}

export function example(name: string, env: NodeJS.ProcessEnv): Running {
  return start([name], join(PACKAGE, "examples"), { ...process.env, ...env });
}

/** Let a receive that waits end early: a worker that was told to stop gives back what it brings. */
export async function wakePoll(queue: QueueRef, client: Naive = naive): Promise<void> {
  await pause(1000);
  await client.queue.send(queue, "wakes the poll");
}

/** A port that is free just now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

export const INSTALLED: string = inject("installed");
