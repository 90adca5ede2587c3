/** The company's API keys: the calls of `naive.keys`. */

import type { KeyRef, UserRef } from "./calls/ids.js";
import * as calls from "./calls/keys.js";
import type { Connection } from "./connection.js";
import type { Key, KeyPage, NewKey, PageOptions } from "./models.js";
import { eachOf } from "./pages.js";

/** The API keys of a company. A key that is sealed to a user can do nothing here. */
export class Keys {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Make a key, sealed to a user if one is named; its `api_key` is shown this once.
   *
   * A `SecretLostError` means that the key was made and its only showing was lost on the way.
   */
  async create(key: { name: string; active_tenant_user_id?: UserRef }): Promise<NewKey> {
    return this.#connection.run(calls.createKey(key.name, key.active_tenant_user_id));
  }

  /** One page of keys, revoked ones too; no key itself is shown again. */
  async list(query: PageOptions = {}): Promise<KeyPage> {
    return this.#connection.run(calls.listKeys(query));
  }

  /** All keys, page by page as they are iterated over. */
  listAll(query: { limit?: number } = {}): AsyncGenerator<Key, void> {
    return eachOf(query, (page) => this.list(page), "keys");
  }

  /** Make a key, named by its id or by the `Key` itself, good for nothing within five seconds. */
  async revoke(key: KeyRef): Promise<void> {
    await this.#connection.run(calls.revokeKey(key));
  }
}
