/** The code that the documents show. */

import { readFileSync } from "node:fs";

const ROOT = new URL("../../../", import.meta.url);
const DOCUMENTS = ["README.md", "docs/sdk-typescript.md", "clients/typescript/README.md"];

export interface Snippet {
  /** Its document and its place among the snippets there. */
  name: string;
  code: string;
}

export const SNIPPETS: Snippet[] = DOCUMENTS.flatMap((document) => {
  const text = readFileSync(new URL(document, ROOT), "utf8");
  const blocks = [...text.matchAll(/^```ts\n(.*?)^```$/gms)];
  return blocks.map(([, code = ""], place) => ({ name: `${document.replaceAll("/", "-")}-${place + 1}`, code }));
});

/** What the snippets leave to their reader, for the compiler. */
export const LEFT_TO_READER = `
declare global {
  const queueId: string;
  const secret: string;
  const hookUrl: string;
  const port: number;
  function workOn(...job: unknown[]): Promise<void>;
  function isReady(job: unknown): boolean;
  function startWorker(key: string): void;
}
export {};
`;
