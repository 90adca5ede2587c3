/** The client: where a program starts. */

import { mount } from "./calls/call.js";
import { type UserRef, userId } from "./calls/ids.js";
import { Compute } from "./compute.js";
import { Connection, type Fetch, type Sleep } from "./connection.js";
import { API_KEY_VARIABLE, BASE_URL_VARIABLE } from "./constants.js";
import { ConfigurationError } from "./errors.js";
import { Keys } from "./keys.js";
import { Queues } from "./queues.js";
import { Users } from "./users.js";

/** What a client is made from. */
export interface NaiveOptions {
  /** `NAIVE_API_KEY` of the environment if it is not told. */
  apiKey?: string;
  /** `NAIVE_BASE_URL` of the environment if it is not told. */
  baseUrl?: string;
  /** What sends requests: the global `fetch`, or your own, to go through a proxy or for tests. */
  fetch?: Fetch;
  /** What waits between two attempts; for tests. */
  sleep?: Sleep;
}

/** Everything that one user of the company has. */
export class UserClient {
  readonly queue: Queues;
  readonly compute: Compute;

  constructor(connection: Connection, userId?: string) {
    this.queue = new Queues(connection, mount(userId));
    this.compute = new Compute(connection, mount(userId));
  }
}

/**
 * A client for one API key.
 *
 * It acts for the user that the key is sealed to, or else for the company's default user; `forUser` names another.
 * `users` and `keys` are the company's, whoever it acts for.
 */
export class Naive extends UserClient {
  readonly users: Users;
  readonly keys: Keys;
  readonly #connection: Connection;

  constructor(options: NaiveOptions = {}) {
    const key = options.apiKey ?? fromEnvironment(API_KEY_VARIABLE, "API key");
    const url = options.baseUrl ?? fromEnvironment(BASE_URL_VARIABLE, "base URL");
    // Looked up at each call: what instruments the global one may come later than this client.
    const fetch: Fetch = options.fetch ?? ((...request) => globalThis.fetch(...request));
    const connection = new Connection(key, url, fetch, options.sleep ?? sleep);
    super(connection);
    this.users = new Users(connection);
    this.keys = new Keys(connection);
    this.#connection = connection;
  }

  /** The same client, acting for this user; what is no id, such as null, is an error. */
  forUser(user: UserRef): UserClient {
    return new UserClient(this.#connection, userId(user));
  }

  /** Make no more calls: each is an error from now on. */
  close(): void {
    this.#connection.close();
  }
}

function fromEnvironment(variable: string, what: string): string {
  const value = process.env[variable];
  if (!value) throw new ConfigurationError(`There is no ${what}.`, { hint: `Pass one, or set ${variable}.` });
  return value;
}

function sleep(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}
