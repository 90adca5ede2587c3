/** The protection of an ECS task, as the agent of the task is asked for it. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Protection } from "../../src/consumer/protection.js";
import { FakeQueue, QUEUE_ID } from "./fake-queue.js";

const PROTECTED = { protection: { ProtectionEnabled: true } };

let agent: Server;
let url: string;
let asked: unknown[];
let answer: { status: number; content: string };
const logger = { warn: vi.fn(), error: vi.fn() };

beforeEach(async () => {
  asked = [];
  answer = { status: 200, content: JSON.stringify(PROTECTED) };
  logger.warn.mockReset();
  agent = createServer(async (request, response) => {
    let content = "";
    for await (const chunk of request) content += chunk;
    asked.push([request.method, request.url, JSON.parse(content)]);
    response.writeHead(answer.status).end(answer.content);
  });
  await new Promise<void>((resolve) => agent.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(agent.address() as AddressInfo).port}/api/4711`;
});

afterEach(async () => {
  vi.unstubAllEnvs();
  agent.closeAllConnections();
  await new Promise((resolve) => agent.close(resolve));
});

const BEGIN = ["PUT", "/api/4711/task-protection/v1/state", { ProtectionEnabled: true, ExpiresInMinutes: 10 }];
const END = ["PUT", "/api/4711/task-protection/v1/state", { ProtectionEnabled: false }];

describe("a task", () => {
  it("is protected while its loop holds messages", async () => {
    vi.stubEnv("ECS_AGENT_URI", `${url}/`);
    const queue = new FakeQueue();
    queue.put(["a"]);
    const seen: unknown[] = [];
    await queue.client().queue.consume(QUEUE_ID, () => seen.push([...asked]), { idle_exit: 0, wait: 0 });
    expect(seen, "it works without protection").toEqual([[BEGIN]]);
    expect(asked).toEqual([BEGIN, END]);
  });

  it("is left alone where that is wanted", async () => {
    vi.stubEnv("ECS_AGENT_URI", url);
    const queue = new FakeQueue();
    queue.put(["a"]);
    await queue.client().queue.consume(QUEUE_ID, () => undefined, { idle_exit: 0, wait: 0, protect_task: false });
    expect([queue.acked, asked]).toEqual([["a"], []]);
  });

  it("stays protected until its last loop needs it no more", async () => {
    const [one, other] = [new Protection(url, logger), new Protection(url, logger)];
    expect(await Promise.all([one.change(10), other.change(10), one.change(undefined)])).toEqual([true, true, true]);
    expect(asked).toEqual([BEGIN, BEGIN]);
    await other.change(undefined);
    expect(asked).toEqual([BEGIN, BEGIN, END]);
  });

  it.each([
    [{ status: 400, content: "no" }, "400 no"],
    [{ status: 200, content: '{"failure":{"Reason":"DEPLOYMENT_BLOCKED"}}' }, "DEPLOYMENT_BLOCKED"],
    [{ status: 200, content: "<html>" }, "SyntaxError"],
  ])("that is refused protection is told of: %j", async (refusal, reason) => {
    answer = refusal;
    const protection = new Protection(url, logger);
    expect(await protection.change(10)).toBe(false);
    protection.close();
    expect(logger.warn).toHaveBeenCalledWith(expect.stringContaining(reason));
  });

  it("without an agent has none", () => {
    vi.stubEnv("ECS_AGENT_URI", "");
    expect(Protection.ofThisTask(logger)).toBeUndefined();
  });
});
