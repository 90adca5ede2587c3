/** Client for durable work queues over HTTPS: `import { Naive } from "naive-queue"`. */

export type { OnResult } from "./batches.js";
export type { KeyRef, QueueRef, ServiceRef, UserRef } from "./calls/ids.js";
export { Naive, type NaiveOptions, type UserClient } from "./client.js";
export type { Compute } from "./compute.js";
export type { Fetch, Sleep } from "./connection.js";
export { VERSION } from "./constants.js";
export { type Delivery, Retry } from "./consumer/delivery.js";
export type { ConsumeEvent, ConsumeEventKind, Counts, Logger } from "./consumer/events.js";
export type { Hook } from "./consumer/hooks.js";
export type { ConsumeOptions, Consuming, Handler } from "./consumer/runner.js";
export type { Numbers } from "./consumer/settings.js";
export type { Consumers } from "./consumers.js";
export * from "./errors.js";
export type { Keys } from "./keys.js";
export type * from "./models.js";
export type { MessageFor, Queues, SendArguments } from "./queues.js";
export type { Users } from "./users.js";
export { verifyWebhook, type Webhook, type WebhookHeaders } from "./webhooks.js";
