/** The company's users: the calls of `naive.users`. */

import type { UserRef } from "./calls/ids.js";
import * as calls from "./calls/users.js";
import type { Connection } from "./connection.js";
import type { PageOptions, User, UserFields, UserPage } from "./models.js";
import { eachOf } from "./pages.js";

/**
 * The end-users of a company, each named by its id or by the `User` itself.
 *
 * A key that is sealed to a user can `get` that one and nothing else here.
 */
export class Users {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Make a user; `external_id` is your own id for it, and no two users of the company have the same. */
  async create(fields: UserFields = {}): Promise<User> {
    return this.#connection.run(calls.createUser(fields));
  }

  /** One page of users, or with `external_id` the one that you know by it. */
  async list(query: PageOptions & { external_id?: string } = {}): Promise<UserPage> {
    return this.#connection.run(calls.listUsers(query));
  }

  /** All users, page by page as they are iterated over. */
  listAll(query: { limit?: number } = {}): AsyncGenerator<User, void> {
    return eachOf(query, (page) => this.list(page), "users");
  }

  /** A user; `default` is the one that a call without a user acts for. */
  async get(user: UserRef): Promise<User> {
    return this.#connection.run(calls.getUser(user));
  }

  /** Change what is known of a user; what is left out stays. */
  async update(user: UserRef, fields: UserFields): Promise<User> {
    return this.#connection.run(calls.updateUser(user, fields));
  }

  /** Delete a user; one that still has anything only with `force`, and then all that it has. */
  async delete(user: UserRef, options: { force?: boolean } = {}): Promise<void> {
    await this.#connection.run(calls.deleteUser(user, options.force ?? false));
  }
}
