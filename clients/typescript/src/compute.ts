/** Services, which run your image: the calls of `naive.compute`. */

import * as calls from "./calls/compute.js";
import type { ServiceRef } from "./calls/ids.js";
import type { Connection } from "./connection.js";
import type * as models from "./models.js";
import { eachOf } from "./pages.js";

/** One user's services, each named by its id or by the `Service` itself. */
export class Compute {
  readonly #connection: Connection;
  readonly #mount: string;

  constructor(connection: Connection, mount: string) {
    this.#connection = connection;
    this.#mount = mount;
  }

  /** Make a service; one with a queue runs when there are messages, one without at once. */
  async create(service: models.CreateService): Promise<models.Service> {
    return this.#connection.run(calls.createService(this.#mount, service));
  }

  /** One page of services, or with `name` the one that is called so. */
  async list(query: models.PageOptions & { name?: string } = {}): Promise<models.ServicePage> {
    return this.#connection.run(calls.listServices(this.#mount, query));
  }

  /** All services, page by page as they are iterated over. */
  listAll(query: { limit?: number } = {}): AsyncGenerator<models.Service, void> {
    return eachOf(query, (page) => this.list(page), "services");
  }

  /** A service. */
  async get(service: ServiceRef): Promise<models.Service> {
    return this.#connection.run(calls.getService(this.#mount, service));
  }

  /** Run it, or have its queue run it again. */
  async start(service: ServiceRef): Promise<models.Service> {
    return this.#connection.run(calls.startService(this.#mount, service));
  }

  /** Run it no more, whatever its queue holds. */
  async stop(service: ServiceRef): Promise<models.Service> {
    return this.#connection.run(calls.stopService(this.#mount, service));
  }

  /** Run so many copies of a service without a queue. */
  async scale(service: ServiceRef, count: number): Promise<models.Service> {
    return this.#connection.run(calls.scaleService(this.#mount, service, count));
  }

  /** What it has written. */
  async logs(service: ServiceRef, query: models.PageOptions = {}): Promise<models.Logs> {
    return this.#connection.run(calls.serviceLogs(this.#mount, service, query));
  }

  /** Stop a service and delete it. */
  async destroy(service: ServiceRef): Promise<void> {
    await this.#connection.run(calls.destroyService(this.#mount, service));
  }
}
