/** The table of cases that every client is held to, and how to read it. */

import { readFileSync } from "node:fs";

export interface Answer {
  status: number;
  headers?: Record<string, string>;
  json?: unknown;
  text?: string;
  base64?: string;
  fault?: "refused" | "reset" | "cut" | "silent";
}

export interface Expected {
  method?: string;
  path?: string;
  query?: Record<string, string>;
  headers?: Record<string, string | null>;
  body?: unknown;
  raw?: string;
  timeout?: number;
  $again?: number;
}

export interface Case {
  name: string;
  call: string;
  args?: unknown[];
  options?: object;
  user?: string;
  take?: number;
  server: Answer[];
  requests: Expected[];
  pauses?: [number, number][];
  result?: unknown;
  error?: { class: string } & Record<string, unknown>;
}

export interface Delivery {
  name: string;
  headers: Record<string, string>;
  body: string;
  result?: object;
  error?: string;
}

export interface Trace {
  name: string;
  traceparent: string;
  attributes: Record<string, string>;
  sent: Record<string, string>;
}

interface Table {
  things: Record<string, object>;
  constants: Record<string, number>;
  surface: Record<string, string[]>;
  errors: { by_code: [number, string, string][]; tree: Record<string, string[]> };
  webhooks: { secret: string; now: number; deliveries: Delivery[]; no_secrets: string[] };
  traces: Trace[];
  cases: Case[];
}

export const table: Table = JSON.parse(readFileSync(new URL("../../../cases.json", import.meta.url), "utf8"));

/** A case with everything in it that stands for something else. */
export function resolved<Value>(value: Value): Value {
  return substitute(value) as Value;
}

/** A name of the table as it is in TypeScript. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function substitute(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(substitute);
  if (typeof value !== "object" || value === null) return value;
  const fields = value as Record<string, unknown>;
  if ("$use" in fields) {
    const { $use, ...more } = fields;
    return substitute({ ...table.things[$use as string], ...more });
  }
  if ("$repeat" in fields) {
    const [text, times] = fields.$repeat as [string, number];
    return text.repeat(times);
  }
  if ("$times" in fields) {
    const [times, entry] = fields.$times as [number, unknown];
    return Array<unknown>(times).fill(substitute(entry));
  }
  if ("$concat" in fields) return (fields.$concat as unknown[]).flatMap((list) => substitute(list) as unknown[]);
  if ("$queue" in fields) return substitute(fields.$queue);
  if ("$stream" in fields) return stream(substitute(fields.$stream) as unknown[]);
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, substitute(field)]));
}

async function* stream(entries: unknown[]): AsyncGenerator<unknown, void> {
  yield* entries;
}
