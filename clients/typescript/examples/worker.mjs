/**
 * A worker: it waits for messages and works on four of them at a time.
 *
 *     NAIVE_BASE_URL=… NAIVE_API_KEY=… NAIVE_QUEUE_ID=… node worker.mjs
 *
 * SIGTERM or Ctrl-C lets it finish what it has begun, and then it ends.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { Naive, Retry } from "naive-queue";

const naive = new Naive();
const counts = await naive.queue.consume(process.env.NAIVE_QUEUE_ID ?? "", work, {
  concurrency: 4,
  onEvent: ({ kind, message, seconds }) => {
    if (kind === "done") console.log(`done ${message?.body} in ${seconds?.toFixed(1)} s`);
  },
});
console.log(`${counts.done} done, ${counts.failed} failed, ${counts.given_back} given back`);
// Not before now: a handler that has outlived the drain must not keep the process.
process.exit();

/** @param {import("naive-queue").Delivery} message */
async function work(message) {
  if (message.body === "not yet" && message.receive_count === 1) throw new Retry({ after: 1 });
  await sleep(200, undefined, { signal: message.signal });
}
