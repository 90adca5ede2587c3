/**
 * What the API takes and answers. Fields are named as on the wire, and times are ISO 8601 text; a newer server may
 * add fields that are not named here.
 */

export type QueueType = "standard" | "fifo";

declare const queueType: unique symbol;

/** The id of a queue; one that was made in the same program remembers, for the compiler, of which type the queue is. */
export type QueueId<Type extends QueueType = QueueType> = string & { readonly [queueType]?: Type };

/** How many messages a queue holds, all approximate. */
export interface QueueAttributes {
  depth: number;
  in_flight: number;
  delayed: number;
  /** Nothing without a dead-letter queue. */
  dlq_depth: number | null;
}

/** What the service has work on a queue, in short. */
export interface ConsumerSummary {
  type: string;
  paused: boolean;
}

/** A queue; `attributes` are there when one queue was asked for. */
export interface Queue<Type extends QueueType = QueueType> {
  id: QueueId<Type>;
  name: string;
  type: Type;
  user_id: string;
  dlq: boolean;
  max_receive_count: number | null;
  visibility_timeout: number;
  retention_seconds: number;
  delay_seconds: number;
  /** Whether a body's hash stands in for a missing `dedup_id`; nothing on standard. */
  content_based_dedup: boolean | null;
  consumer: ConsumerSummary | null;
  created_at: string;
  attributes?: QueueAttributes;
}

/** One page of queues, by name; `next_cursor` asks for what follows. */
export interface QueuePage {
  queues: Queue[];
  next_cursor: string | null;
}

/** A purge under way; messages sent before `done_by` may go too. */
export interface Purging {
  status: string;
  done_by: string;
}

/** Why one entry of a batch failed. */
export interface EntryError {
  code: string;
  message: string;
}

/** An accepted message; `sequence_number` is there on fifo queues. */
export interface SentMessage {
  message_id: string;
  sequence_number?: string;
}

/** What became of one message of a batch: a `message_id`, or an `error`. */
export interface SendResult {
  message_id?: string;
  sequence_number?: string;
  error?: EntryError;
}

/** What became of each message of a batch, in the order they were given, and how many that were. */
export interface SentBatch {
  results: SendResult[];
  sent: number;
  failed: number;
}

/** A message that was looked at and not taken, so it has no receipt handle. */
export interface DeadLetter {
  message_id: string;
  body: string;
  receive_count: number;
  sent_at: string;
  group_id?: string;
  dedup_id?: string;
  sequence_number?: string;
  attributes?: Record<string, string>;
}

/** A leased message: ack, retry or extend it by its `receipt_handle` before the lease ends. */
export interface Message extends DeadLetter {
  receipt_handle: string;
  lease_expires_at: string;
}

/** The messages of one receive; none is an empty list. */
export interface Received {
  messages: Message[];
}

/** The messages at the head of a dead-letter queue. */
export interface DeadLetters {
  messages: DeadLetter[];
}

/** A lease with its new end. */
export interface LeaseEnd {
  lease_expires_at: string;
}

/** What became of one entry of a settle call. */
export interface SettleResult {
  ok?: boolean;
  lease_expires_at?: string;
  error?: EntryError;
}

/** What became of each entry of a settle call, in the orders they were given. */
export interface Settled {
  ack: SettleResult[];
  retry: SettleResult[];
  extend: SettleResult[];
}

/** How far a redrive came; `remaining` is approximate. */
export interface Redriven {
  moved: number;
  remaining: number;
  not_found: string[];
  not_reached: string[];
}

/** An end-user of the company; `external_id` is the company's own id for it. */
export interface User {
  id: string;
  external_id: string | null;
  email: string | null;
  label: string | null;
  status: string;
  is_default: boolean;
  created_at: string;
}

/** One page of users. */
export interface UserPage {
  users: User[];
  next_cursor: string | null;
}

/** What is always known of an API key, which is all but the key itself. */
export interface KeyFacts {
  key_id: string;
  name: string;
  last_4: string;
  active_tenant_user_id: string | null;
  created_at: string;
}

/** An API key as it is listed; `last_used_at` is to the day. */
export interface Key extends KeyFacts {
  last_used_at: string | null;
  revoked: boolean;
}

/** An API key that was just made; `api_key` is shown this once. */
export interface NewKey extends KeyFacts {
  api_key: string;
}

/** One page of keys. */
export interface KeyPage {
  keys: Key[];
  next_cursor: string | null;
}

/** What is known of every consumer of a queue, which the service runs or calls. */
export interface ConsumerFacts {
  paused: boolean;
  created_at: string;
}

/** A function of the operator that is called with the messages. */
export interface FunctionConsumer extends ConsumerFacts {
  type: "function";
  function: string;
  batch_size: number;
  max_concurrency: number;
}

/** A URL to which the messages are posted. */
export interface WebhookConsumer extends ConsumerFacts {
  type: "webhook";
  url: string;
  batch_size: number;
  max_concurrency: number;
}

/** One that was just made; `secret`, for `verifyWebhook`, is shown this once. */
export interface NewWebhookConsumer extends WebhookConsumer {
  secret: string;
}

/** A service of which so many workers run as the messages need. */
export interface ServiceConsumer extends ConsumerFacts {
  type: "service";
  service_id: string;
  min: number;
  max: number;
  messages_per_worker: number;
  idle_seconds: number;
}

export type Consumer = FunctionConsumer | WebhookConsumer | ServiceConsumer;

/** Each kind of consumer as it is when it was just made. */
export interface NewConsumers {
  function: FunctionConsumer;
  webhook: NewWebhookConsumer;
  service: ServiceConsumer;
}

/** A service: as many running copies of an image as are wanted. */
export interface Service {
  id: string;
  name: string;
  type: string;
  image: string;
  command: string[];
  cpu: number;
  memory: number;
  /** The queue that it works on, if it does. */
  queue_id: string | null;
  desired: number;
  running: number;
  status: string;
  last_scaled_at: string | null;
  last_scale_reason: string | null;
  created_at: string;
}

/** One page of services. */
export interface ServicePage {
  services: Service[];
  next_cursor: string | null;
}

/** One line that a service has written. */
export interface LogLine {
  time: string;
  message: string;
}

/** Lines that a service has written; `next_cursor` asks for what follows. */
export interface Logs {
  lines: LogLine[];
  next_cursor: string | null;
}

/** What a page of a list is asked for by. */
export interface PageOptions {
  /** 1–100 (50). */
  limit?: number;
  /** The `next_cursor` of the page before. */
  cursor?: string;
}

/** What is told of a queue when it is made; what is left out is the server's default. */
export interface CreateQueue<Type extends QueueType = QueueType> {
  name: string;
  type?: Type;
  dlq?: boolean;
  max_receive_count?: number;
  visibility_timeout?: number;
  retention_seconds?: number;
  delay_seconds?: number;
  content_based_dedup?: boolean;
}

/** What of a queue can be changed; what is left out stays. */
export interface UpdateQueue {
  visibility_timeout?: number;
  retention_seconds?: number;
  delay_seconds?: number;
  max_receive_count?: number;
}

/** What goes with a message's body. */
export interface SendOptions {
  /** Required on fifo; on standard it marks whose share of the queue the message takes. */
  group_id?: string;
  /** On fifo alone. */
  dedup_id?: string;
  /** On standard alone. */
  delay_seconds?: number;
  /** Up to 10 pairs. */
  attributes?: Record<string, string>;
}

/** The same on a fifo queue. */
export interface FifoSendOptions extends Omit<SendOptions, "delay_seconds"> {
  group_id: string;
}

/** A message to send in a batch. */
export interface NewMessage extends SendOptions {
  body: string;
}

/** The same for a fifo queue. */
export interface NewFifoMessage extends FifoSendOptions {
  body: string;
}

/** How to receive. */
export interface ReceiveOptions {
  /** How many at most: 1–10 (1). */
  max?: number;
  /** How many seconds to wait for the first: 0–20 (1). */
  wait?: number;
  /** How many seconds they stay leased: 0–43200 (the queue's). */
  visibility?: number;
}

/** A message to give back, at once or after `delay_seconds`. */
export interface RetryEntry {
  receipt_handle: string;
  delay_seconds?: number;
}

/** A message to keep for `visibility` more seconds. */
export interface ExtendEntry {
  receipt_handle: string;
  visibility: number;
}

/** What to do with up to 100 messages in one call. */
export interface Settle {
  ack?: readonly string[];
  retry?: readonly RetryEntry[];
  extend?: readonly ExtendEntry[];
}

/** What every function or webhook can be told. */
export interface PushNumbers {
  /** 1–10 (10; fifo 1). */
  batch_size?: number;
  /** 2–1000 (10). */
  max_concurrency?: number;
}

/** What every service consumer can be told. */
export interface ScaleNumbers {
  /** 0–1000 (0). */
  min?: number;
  /** 1–1000 (10). */
  max?: number;
  /** 1–1000 (10). */
  messages_per_worker?: number;
  /** 60–86400 (60). */
  idle_seconds?: number;
}

/** What is told of a consumer when it is made, by its kind. */
export interface SetConsumer {
  function: PushNumbers & { type: "function"; function: string };
  webhook: PushNumbers & { type: "webhook"; url: string };
  service: ScaleNumbers & { type: "service"; service_id: string };
}

/** What of a consumer can be changed; what is left out stays. */
export type UpdateConsumer = PushNumbers & ScaleNumbers & { paused?: boolean };

/** What is told of a service when it is made. */
export interface CreateService {
  name: string;
  /** There is no other yet. */
  type?: "service";
  image: string;
  command?: readonly string[];
  cpu?: number;
  memory?: number;
  env?: Readonly<Record<string, string>>;
  /** The queue that it is to work on. */
  queue_id?: string;
}

/** What is told of a user. */
export interface UserFields {
  external_id?: string;
  email?: string;
  label?: string;
}
