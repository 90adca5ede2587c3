/** The package as it is installed: what is in it, and that it works from there. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { PACKAGE, run } from "../installed.js";
import { LEFT_TO_READER, SNIPPETS } from "../snippets.js";

const FOLDER = inject("installed");
const ROOT = join(PACKAGE, "../..");
const TSC = join(PACKAGE, "node_modules/.bin/tsc");
const STRICT = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--module", "nodenext", "--target", "es2022"];

const { version } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));

function write(name: string, content: string): string {
  writeFileSync(join(FOLDER, name), content);
  return name;
}

describe("the tarball", () => {
  it("holds what is needed and nothing else", () => {
    const [packed] = JSON.parse(run("npm", ["pack", "--dry-run", "--json"], PACKAGE));
    expect(packed.files.map((file: { path: string }) => file.path).sort()).toEqual([
      "LICENSE",
      "README.md",
      "dist/delivery.cjs",
      "dist/delivery.js",
      "dist/index.cjs",
      "dist/index.d.cts",
      "dist/index.d.ts",
      "dist/index.js",
      "dist/otel.cjs",
      "dist/otel.d.cts",
      "dist/otel.d.ts",
      "dist/otel.js",
      "dist/queues.d.cts",
      "dist/queues.d.ts",
      "package.json",
    ]);
  });

  it("brings no other package with it", () => {
    expect(run("npm", ["ls", "--all", "--parseable"], FOLDER).trim().split("\n")).toHaveLength(2);
  });

  it("has the version that its code names, and the one of the Python package", () => {
    const python = readFileSync(join(ROOT, "clients/python/pyproject.toml"), "utf8");
    expect(python).toContain(`\nversion = "${version}"\n`);
    expect(run("node", ["-p", "require('naive-queue').VERSION"], FOLDER).trim()).toBe(version);
  });

  it("is of a lock that is good for every registry", () => {
    expect(readFileSync(join(PACKAGE, "package-lock.json"), "utf8")).not.toContain('"resolved"');
  });
});

describe("the reference", () => {
  it("has every name, and a word about it", () => {
    run(join(PACKAGE, "node_modules/.bin/typedoc"), ["--emit", "none"], PACKAGE);
  });
});

const SMOKE = `
const fetch = async (url, { method, headers, body }) => {
  if (url !== "http://a.test/v1/queue/q/messages" || method !== "POST" || body !== '{"body":"x"}') throw new Error(url);
  return new Response('{"message_id": "m-1"}', { status: 201 });
};
const naive = new Naive({ apiKey: "k", baseUrl: "http://a.test", fetch });
naive.queue.send("q", "x").then(({ message_id }) => console.log(message_id, new Retry() instanceof Error));
`;

describe("from the package", () => {
  it.each([
    ["esm.mjs", `import { Naive, Retry } from "naive-queue";${SMOKE}`],
    ["cjs.cjs", `const { Naive, Retry } = require("naive-queue");${SMOKE}`],
  ])("a message is sent: %s", (name, code) => {
    expect(run("node", [write(name, code)], FOLDER)).toBe("m-1 true\n");
  });

  it("nothing but what it needs is loaded", () => {
    const code =
      'require("naive-queue"); console.log(Object.keys(require.cache).map((path) => path.split("/").pop()).sort());';
    expect(run("node", [write("loads.cjs", code)], FOLDER)).toContain("[ 'delivery.cjs', 'index.cjs', 'loads.cjs' ]");
  });

  it("traces need what they say they need", () => {
    expect(() => run("node", ["-e", 'require("naive-queue/otel")'], FOLDER)).toThrow("@opentelemetry/api");
  });

  it.each(["esm.mts", "cjs.cts"])("types are found, without those of Node or of OpenTelemetry: %s", (name) => {
    const code = `
      import { Naive, type Queue, NotFoundError } from "naive-queue";
      import { traced } from "naive-queue/otel";
      export async function go(naive: Naive): Promise<Queue<"fifo"> | undefined> {
        const queue = await naive.queue.create({ name: "orders", type: "fifo" });
        await traced(naive.queue).send(queue, "x", { group_id: "g" });
        // @ts-expect-error: there is no group
        await naive.queue.send(queue, "x");
        return new NotFoundError("x").status === undefined ? queue : undefined;
      }`;
    run(TSC, [...STRICT, "--lib", "es2022,dom", write(name, code)], FOLDER);
  });

  it("the documents' code is right to the compiler", () => {
    const left = write("left-to-reader.ts", LEFT_TO_READER);
    const files = SNIPPETS.map(({ name, code }) => write(`${name}.mts`, code));
    expect(files.length).toBeGreaterThan(10);
    const types = ["--types", "node", "--typeRoots", join(PACKAGE, "node_modules/@types"), "--skipLibCheck"];
    run(TSC, [...STRICT, ...types, left, ...files], FOLDER);
  });

  it("a million messages from a generator take little memory", () => {
    const code = `
      import { Naive } from "naive-queue";
      const fetch = async (url, { body }) => {
        const results = JSON.parse(body).messages.map((_, n) => ({ message_id: "00000000-0000-4000-8000-" + n }));
        return new Response(JSON.stringify({ results }));
      };
      function* messages() {
        for (let n = 0; n < 1e6; n += 1) yield { body: "message " + n };
      }
      const naive = new Naive({ apiKey: "k", baseUrl: "http://a.test", fetch });
      let told = 0;
      const onResult = (message) => { told += message.body === "message " + told ? 1 : NaN; };
      const { sent, results } = await naive.queue.sendBatch("q", messages(), { onResult });
      console.log(sent, told, results.length);`;
    const words = ["--max-old-space-size=32", write("million.mjs", code)];
    expect(run("node", words, FOLDER)).toBe("1000000 1000000 0\n");
  }, 60_000);
});
