/** The documents' code, as it stands, on a running stack: each for a fresh user, from the installed package. */

import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PACKAGE, run } from "../installed.js";
import { SNIPPETS } from "../snippets.js";
import { freePort, INSTALLED, naive, newcomer, start, until, wakePoll } from "./stack.js";

/** What the snippets leave to their reader, at run time. A worker is told to end once it has worked. */
const LEFT_TO_READER = `
globalThis.queueId = process.env.QUEUE_ID;
globalThis.secret = "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0IQ==";
globalThis.hookUrl = "http://127.0.0.1:9/hook";
globalThis.port = Number(process.env.PORT);
globalThis.workOn = async (job) => {
  console.log("worked on", job);
  if (process.env.IS_WORKER) setTimeout(() => process.kill(process.pid, "SIGTERM"), 100);
  delete process.env.IS_WORKER;
};
globalThis.isReady = (job) => job !== "not yet";
globalThis.startWorker = (key) => console.log("a key of", key.length);
if (process.env.PORT) setTimeout(() => process.exit(), 1000); // a server has no end
`;

writeFileSync(join(INSTALLED, "left-to-reader.mjs"), LEFT_TO_READER);
writeFileSync(join(INSTALLED, "jobs.txt"), "one\ntwo\nthree\n");
symlinkSync(join(PACKAGE, "node_modules/@opentelemetry"), join(INSTALLED, "node_modules/@opentelemetry"));

/** What the documents call their user. */
const EXTERNAL_ID = "4711";

async function forget(): Promise<void> {
  const { users } = await naive.users.list({ external_id: EXTERNAL_ID });
  for (const user of users) await naive.users.delete(user, { force: true });
}

beforeEach(forget);
afterEach(forget);

describe.each(SNIPPETS)("$name", ({ name, code }) => {
  it("runs as it stands", async () => {
    const { env, user, naive: theirs } = await newcomer();
    const queue = await theirs.queue.create({ name: "of-the-reader", dlq: true });
    const isWorker = code.includes("consume(");
    if (isWorker) await theirs.queue.sendBatch(queue, [{ body: '"not yet"' }, { body: '"job"' }]);
    writeFileSync(join(INSTALLED, `${name}.mjs`), code);
    const running = start(["--import", "./left-to-reader.mjs", `${name}.mjs`], INSTALLED, {
      ...env,
      QUEUE_ID: queue.id,
      // To make users and keys takes a key of the company.
      ...(/\.users|\.keys/.test(code) && { NAIVE_API_KEY: process.env.NAIVE_API_KEY }),
      ...(code.includes("listen(") && { PORT: String(await freePort()) }),
      ...(isWorker && { IS_WORKER: "yes" }),
    });
    if (isWorker) {
      await until(() => running.written.includes("worked on"));
      await wakePoll(queue, theirs);
    }
    expect(await running.ended, running.written).toBe(0);
    await naive.users.delete(user, { force: true });
  });
});

describe("the first session", () => {
  it("leaves nothing of its first queue", async () => {
    const { code } = SNIPPETS.find(({ code }) => code.includes("const q = await")) ?? { code: "" };
    const { env, naive: theirs, user } = await newcomer();
    writeFileSync(join(INSTALLED, "first.mjs"), code);
    run("node", ["first.mjs"], INSTALLED, env);
    await until(async () => (await theirs.queue.list()).queues.map(({ name }) => name).join() === "orders");
    await naive.users.delete(user, { force: true });
  });
});
