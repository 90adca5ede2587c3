/** How a loop is told to stop: by its program, or by the signals that end a program. */

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** What was asked of a loop, and whom to tell of it. */
export class Stop {
  #requested = false;
  #atOnce = false;
  #listener: (() => void) | undefined;

  /** Whether a drain has begun. */
  get requested(): boolean {
    return this.#requested;
  }

  /** Whether not even handlers are waited for. */
  get atOnce(): boolean {
    return this.#atOnce;
  }

  /** Begin the drain: no receive is begun, what waits is given back, handlers may finish. */
  readonly begin = (): void => {
    this.#requested = true;
    this.#listener?.();
  };

  /** Give everything back, without waiting for handlers. */
  readonly now = (): void => {
    this.#atOnce = true;
    this.begin();
  };

  /** Have the listener called whenever something was asked for. */
  tell(listener: () => void): void {
    this.#listener = listener;
    if (this.#requested) listener();
  }
}

/** The loops that signals stop, with how many each has heard: one listener is for all of them. */
const heeding = new Map<Stop, number>();

/**
 * Let the signals that end a program stop the loop, a second one at once; a third does what it always does.
 *
 * The answer ends that.
 */
export function heedSignals(stop: Stop): () => void {
  if (heeding.size === 0) for (const name of SIGNALS) process.on(name, hear);
  heeding.set(stop, 0);
  return () => forget(stop);
}

function hear(): void {
  for (const [stop, heard] of heeding) {
    if (heard === 0) {
      heeding.set(stop, 1);
      stop.begin();
    } else {
      forget(stop);
      stop.now();
    }
  }
}

function forget(stop: Stop): void {
  heeding.delete(stop);
  if (heeding.size === 0) for (const name of SIGNALS) process.removeListener(name, hear);
}

/** Let an abort stop the loop. The answer ends that. */
export function heedAbort(stop: Stop, signal: AbortSignal | undefined): () => void {
  if (signal?.aborted) stop.begin();
  signal?.addEventListener("abort", stop.begin);
  return () => signal?.removeEventListener("abort", stop.begin);
}
