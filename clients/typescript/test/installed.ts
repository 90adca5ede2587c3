/** The package as somebody gets it: built, packed, and installed in a folder that has nothing else. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder in which it is installed. */
    installed: string;
  }
}

export const PACKAGE: string = new URL("..", import.meta.url).pathname;

export default function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "naive-queue-"));
  run(join(PACKAGE, "node_modules/.bin/tsdown"), ["--logLevel", "error"], PACKAGE);
  run("npm", ["pack", "--silent", "--pack-destination", folder], PACKAGE);
  const [tarball = ""] = readdirSync(folder);
  writeFileSync(join(folder, "package.json"), "{}");
  run("npm", ["install", "--silent", "--offline", "--no-package-lock", join(folder, tarball)], folder);
  project.provide("installed", folder);
  return () => rmSync(folder, { recursive: true });
}

/** What a program writes; it throws with all of that when the program fails. */
export function run(program: string, words: string[], folder: string, env: NodeJS.ProcessEnv = process.env): string {
  const { status, stdout, stderr } = spawnSync(program, words, { cwd: folder, env, encoding: "utf8" });
  if (status === 0) return stdout;
  throw new Error(`${program} ${words.join(" ")} ended with ${status}:\n${stdout}${stderr}`);
}
