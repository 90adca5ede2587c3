/** What the service has work on a queue: the calls of `naive.queue.consumer`. */

import * as calls from "./calls/consumers.js";
import type { QueueRef } from "./calls/ids.js";
import type { Connection } from "./connection.js";
import type * as models from "./models.js";

/** The consumers of one user's queues: a queue has one, or none and you work on it yourself, by `consume`. */
export class Consumers {
  readonly #connection: Connection;
  readonly #mount: string;

  constructor(connection: Connection, mount: string) {
    this.#connection = connection;
    this.#mount = mount;
  }

  /**
   * Have a function, a webhook or a service work on a queue that has no consumer yet.
   *
   * The `secret` of a webhook is shown this once. A `SecretLostError` means that its only showing was lost on the way.
   */
  async set<Kind extends keyof models.SetConsumer>(
    queue: QueueRef,
    consumer: models.SetConsumer[Kind] & { type: Kind },
  ): Promise<models.NewConsumers[Kind]> {
    return this.#connection.run(calls.setConsumer<Kind>(this.#mount, queue, consumer));
  }

  /** A queue's consumer. */
  async get(queue: QueueRef): Promise<models.Consumer> {
    return this.#connection.run(calls.getConsumer(this.#mount, queue));
  }

  /** Change a consumer's numbers; what is left out stays. */
  async update(queue: QueueRef, changes: models.UpdateConsumer): Promise<models.Consumer> {
    return this.#connection.run(calls.updateConsumer(this.#mount, queue, changes));
  }

  /** Have it work no more until it is resumed. */
  async pause(queue: QueueRef): Promise<models.Consumer> {
    return this.update(queue, { paused: true });
  }

  /** Have it work again. */
  async resume(queue: QueueRef): Promise<models.Consumer> {
    return this.update(queue, { paused: false });
  }

  /** Leave the queue without a consumer; its messages stay. */
  async remove(queue: QueueRef): Promise<void> {
    await this.#connection.run(calls.removeConsumer(this.#mount, queue));
  }
}
