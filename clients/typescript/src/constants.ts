/** Every default and limit of the client, in one place. */

export const VERSION = "0.1.0";
export const USER_AGENT: string = `naive-queue-typescript/${VERSION}`;

export const API_KEY_VARIABLE = "NAIVE_API_KEY";
export const BASE_URL_VARIABLE = "NAIVE_BASE_URL";

/** A receive may take its whole `wait` before it answers: its timeout is this much longer. */
export const TIMEOUT_SECONDS = 10;

export const MAX_ATTEMPTS = 4;
export const BACKOFF_SECONDS = 0.25;
export const BACKOFF_CAP_SECONDS = 8;
/** A server that asks for more patience than this gets its error reported instead. */
export const LONGEST_RETRY_AFTER_SECONDS = 60;

export const MEBIBYTE: number = 1024 * 1024;
/** Of an answer no more is kept in memory, whoever gives it: this API's have 6 MB at most, as all of AWS Lambda's. */
export const MAX_ANSWER_BYTES: number = 16 * MEBIBYTE;
export const MAX_BATCH_BYTES: number = 2 * MEBIBYTE;
export const MAX_BATCH_MESSAGES = 100;
export const MAX_ATTRIBUTES = 10;
export const MAX_SETTLE_ENTRIES = 100;
export const MAX_RECEIVE = 10;
export const MAX_WAIT = 20;
export const MAX_LEASE_SECONDS = 43_200;

// The consumer loop.
export const CONCURRENCY = 1;
export const DRAIN_SECONDS = 25;
/** What is given back when no more time is left has this long to reach the server. */
export const GIVE_BACK_SECONDS = 5;
/** A lease of half this could end while one slow call is about to extend it. */
export const LEAST_VISIBILITY = 5;
/** A lease that could not be extended counts as lost this long before it ends. */
export const LOST_MARGIN_SECONDS = 1;
/** What is settled waits this long for company while other handlers run. */
export const LINGER_SECONDS = 0.05;
export const SETTLE_CALLS = 4;
export const POLL_CALLS = 10;
/** Beside a receive that waits, others do not: a key has only so many places for receives that wait longer. */
export const BESIDE_WAIT = 1;
export const EMPTY_PAUSE_SECONDS = 1;
export const LEAST_TIMEOUT_SECONDS = 1;
export const LONGEST_PAUSE_SECONDS = 900;
/** A message whose handler failed stays hidden for this long, twice as long with each receive, up to the cap. */
export const HANDLER_BACKOFF_SECONDS = 2;
export const HANDLER_BACKOFF_CAP_SECONDS = 900;
/** Hooks have this long to catch up when a loop has ended. */
export const HOOK_SECONDS = 5;
/** No timer is set for longer: Node's own limit is 24 days. */
export const LONGEST_SLEEP_SECONDS = 3600;

// The protection of an ECS task from being scaled in.
export const ECS_AGENT_VARIABLE = "ECS_AGENT_URI";
export const PROTECTION_MINUTES = 10;
export const PROTECTION_IDLE_SECONDS = 5;
export const PROTECTION_RETRY_SECONDS = 30;
export const PROTECTION_TIMEOUT_SECONDS = 5;

/** A webhook whose time is further away than this was not signed just now. */
export const WEBHOOK_TOLERANCE_SECONDS = 300;
/** A shorter secret is a piece of one, or nothing that others could not find out by trying. */
export const LEAST_WEBHOOK_SECRET_BYTES = 16;
