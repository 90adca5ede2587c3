/** The calls about services. */

import type * as models from "../models.js";
import * as shapes from "../shapes.js";
import { type Call, get, post, remove, segment, unique } from "./call.js";
import { type ServiceRef, serviceId } from "./ids.js";

export function createService(mount: string, service: models.CreateService): Call<models.Service> {
  const body = { ...service, type: service.type ?? "service" };
  return post(`${mount}/compute`, body, shapes.SERVICE, { idempotencyKey: unique() });
}

export function listServices(mount: string, query: models.PageOptions & { name?: string }): Call<models.ServicePage> {
  return get(`${mount}/compute`, query, shapes.SERVICE_PAGE);
}

export function getService(mount: string, service: ServiceRef): Call<models.Service> {
  return get(pathOf(mount, service), {}, shapes.SERVICE);
}

export function startService(mount: string, service: ServiceRef): Call<models.Service> {
  return post(`${pathOf(mount, service)}/start`, undefined, shapes.SERVICE);
}

export function stopService(mount: string, service: ServiceRef): Call<models.Service> {
  return post(`${pathOf(mount, service)}/stop`, undefined, shapes.SERVICE);
}

export function scaleService(mount: string, service: ServiceRef, count: number): Call<models.Service> {
  return post(`${pathOf(mount, service)}/scale`, { count }, shapes.SERVICE);
}

export function serviceLogs(mount: string, service: ServiceRef, query: models.PageOptions): Call<models.Logs> {
  return get(`${pathOf(mount, service)}/logs`, query, shapes.LOGS);
}

export function destroyService(mount: string, service: ServiceRef): Call<void> {
  return { ...remove(pathOf(mount, service)), doneWhenAbsent: true };
}

function pathOf(mount: string, service: ServiceRef): string {
  return `${mount}/compute/${segment(serviceId(service))}`;
}
