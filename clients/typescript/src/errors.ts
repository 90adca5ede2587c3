/**
 * Everything that can go wrong, as one tree.
 *
 *     NaiveError
 *     ├── ConfigurationError          no key, no usable base URL or a closed client: nothing was sent
 *     ├── UnreachableError            no connection: the server never saw the request
 *     ├── NoAnswerError               sent, but no answer came: it may have taken effect
 *     ├── UnexpectedAnswerError       an answer that this API does not give
 *     ├── SecretLostError             done, but the one answer that shows the secret was lost
 *     ├── InvalidWebhookError         a request that is no webhook of ours
 *     └── ApiError                    the API refused
 *         ├── BadRequestError         400
 *         │   ├── InvalidInputError
 *         │   ├── ReceiptInvalidError
 *         │   └── ReceiptExpiredError
 *         ├── UnauthorizedError       401
 *         ├── ForbiddenError          403
 *         │   └── KeySubjectMismatchError
 *         ├── NotFoundError           404
 *         ├── ConflictError           409
 *         │   ├── AlreadyExistsError
 *         │   ├── IdempotencyMismatchError
 *         │   ├── RequestInProgressError
 *         │   └── PurgeInProgressError
 *         ├── PayloadTooLargeError    413
 *         ├── RateLimitedError        429
 *         └── ServerError             5xx
 *             ├── InternalError
 *             └── UnavailableError
 */

/** What is known of an error beside its message. */
export interface ErrorFields {
  status?: number;
  code?: string;
  hint?: string;
  details?: Readonly<Record<string, unknown>>;
  request_id?: string;
  retry_after?: number;
  cause?: unknown;
}

/** Base of every error of this package. */
export class NaiveError extends Error {
  /** The code of errors of this class, where the API gave none. */
  static readonly code: string = "error";

  /** The HTTP status, where there was an answer. */
  readonly status: number | undefined;
  readonly code: string;
  /** What to do next. */
  readonly hint: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
  /** What to name when you ask the operator about it. */
  readonly request_id: string | undefined;
  /** The seconds for which the server asks to be left alone. */
  readonly retry_after: number | undefined;

  constructor(message: string, fields: ErrorFields = {}) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = new.target.name;
    this.status = fields.status;
    this.code = fields.code ?? new.target.code;
    this.hint = fields.hint;
    this.details = { ...fields.details };
    this.request_id = fields.request_id;
    this.retry_after = fields.retry_after;
  }

  override toString(): string {
    const reference = this.request_id === undefined ? this.code : `${this.code}, request ${this.request_id}`;
    const told = `${this.name}: ${this.message} (${reference})`;
    return this.hint ? `${told}\nHint: ${this.hint}` : told;
  }
}

/** Thrown before anything is sent: the key or the base URL is missing or unusable, or the client is closed. */
export class ConfigurationError extends NaiveError {
  static override readonly code: string = "configuration";
}

/** Thrown when no connection could be made, so the server never saw the request. */
export class UnreachableError extends NaiveError {
  static override readonly code: string = "unreachable";
}

/** Thrown when the request was sent and no answer came: whether it took effect is not known. */
export class NoAnswerError extends NaiveError {
  static override readonly code: string = "no_answer";
}

/** Thrown when something answered that does not speak this API, such as a proxy or another site. */
export class UnexpectedAnswerError extends NaiveError {
  static override readonly code: string = "unexpected_answer";
}

/** Thrown when a secret was made whose only showing was lost on the way; `details` has the id of what was made. */
export class SecretLostError extends NaiveError {
  static override readonly code: string = "secret_lost";
}

/** Thrown by `verifyWebhook` for a request that was not signed with the secret, or not just now. */
export class InvalidWebhookError extends NaiveError {
  static override readonly code: string = "invalid_webhook";
}

/** Base of every refusal by the API. */
export class ApiError extends NaiveError {}

/** Thrown when the request itself is wrong (400). */
export class BadRequestError extends ApiError {}

/** Thrown when a field is unknown, missing or out of range; the message names it. */
export class InvalidInputError extends BadRequestError {
  static override readonly code: string = "invalid_input";
}

/** Thrown when a receipt handle is garbled or belongs to another queue. */
export class ReceiptInvalidError extends BadRequestError {
  static override readonly code: string = "receipt_invalid";
}

/** Thrown when the lease behind a receipt handle is over. */
export class ReceiptExpiredError extends BadRequestError {
  static override readonly code: string = "receipt_expired";
}

/** Thrown when the API key is missing, unknown or revoked (401). */
export class UnauthorizedError extends ApiError {
  static override readonly code: string = "unauthorized";
}

/** Thrown when the key may not make this call (403). */
export class ForbiddenError extends ApiError {
  static override readonly code: string = "forbidden";
}

/** Thrown when a key that is sealed to one user names another. */
export class KeySubjectMismatchError extends ForbiddenError {
  static override readonly code: string = "key_subject_mismatch";
}

/** Thrown when a thing does not exist, or belongs to somebody else (404). */
export class NotFoundError extends ApiError {
  static override readonly code: string = "not_found";
}

/** Thrown when the state of a thing does not allow the call (409); `details` has the reason. */
export class ConflictError extends ApiError {
  static override readonly code: string = "conflict";
}

/** Thrown when the name is taken; `details` has the id of what has it. */
export class AlreadyExistsError extends ConflictError {
  static override readonly code: string = "already_exists";
}

/** Thrown when an idempotency key was used before with another body. */
export class IdempotencyMismatchError extends ConflictError {
  static override readonly code: string = "idempotency_mismatch";
}

/** Thrown while the first request with the same idempotency key still runs. */
export class RequestInProgressError extends ConflictError {
  static override readonly code: string = "request_in_progress";
}

/** Thrown when the queue was purged less than a minute ago. */
export class PurgeInProgressError extends ConflictError {
  static override readonly code: string = "purge_in_progress";
}

/** Thrown when a message or a request is over its limit (413). */
export class PayloadTooLargeError extends ApiError {
  static override readonly code: string = "payload_too_large";
}

/** Thrown when there were too many calls (429); `retry_after` says how long to wait. */
export class RateLimitedError extends ApiError {
  static override readonly code: string = "rate_limited";
}

/** Base of every failure on the server's side (5xx). */
export class ServerError extends ApiError {}

/** Thrown when the server failed unexpectedly. */
export class InternalError extends ServerError {
  static override readonly code: string = "internal_error";
}

/** Thrown when the server, or something it depends on, cannot answer now. */
export class UnavailableError extends ServerError {
  static override readonly code: string = "unavailable";
}
