/** From the text of an answer to what it says or to an error; nothing here sends. */

import { MAX_ANSWER_BYTES } from "./constants.js";
import * as errors from "./errors.js";
import type { Shape } from "./shapes.js";

const WRONG_ADDRESS = "Check the base URL: what answered there does not look like this API.";
const TRY_AGAIN = "The service is there and did not answer properly: try again in a moment.";
const REQUEST_ID_HEADERS = ["x-request-id", "apigw-requestid", "x-amzn-requestid"];

type ErrorClass = typeof errors.ApiError;

const CODE_BY_STATUS: Readonly<Record<number, string>> = {
  400: "invalid_input",
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  409: "conflict",
  413: "payload_too_large",
  429: "rate_limited",
  500: "internal_error",
  502: "unavailable",
  503: "unavailable",
  504: "unavailable",
};
const CLASS_BY_STATUS: Readonly<Record<number, ErrorClass>> = {
  400: errors.BadRequestError,
  401: errors.UnauthorizedError,
  403: errors.ForbiddenError,
  404: errors.NotFoundError,
  409: errors.ConflictError,
  413: errors.PayloadTooLargeError,
  429: errors.RateLimitedError,
};
const CLASS_BY_CODE = new Map<string, ErrorClass>(
  [
    errors.InvalidInputError,
    errors.ReceiptInvalidError,
    errors.ReceiptExpiredError,
    errors.UnauthorizedError,
    errors.ForbiddenError,
    errors.KeySubjectMismatchError,
    errors.NotFoundError,
    errors.ConflictError,
    errors.AlreadyExistsError,
    errors.IdempotencyMismatchError,
    errors.RequestInProgressError,
    errors.PurgeInProgressError,
    errors.PayloadTooLargeError,
    errors.RateLimitedError,
    errors.InternalError,
    errors.UnavailableError,
  ].map((error) => [error.code, error]),
);

/** The answer, once it has the shape that was asked for; what differs is named without its value, which may be somebody's message. */
export function read<Answer>(shape: Shape<Answer>, content: Uint8Array): Answer {
  const found = json(content);
  const problem = found === undefined ? "no JSON" : shape.problem(found.value);
  if (problem !== undefined || found === undefined) {
    throw new errors.UnexpectedAnswerError(`The server's answer is not a ${shape.name}: ${problem}.`, {
      hint: WRONG_ADDRESS,
    });
  }
  return found.value as Answer;
}

/** The error that an answer stands for, whether our API, its gateway or a stranger gave it. */
export function failure(status: number, headers: Headers, content: Uint8Array): errors.NaiveError {
  const body = asObject(json(content)?.value);
  const reported = asObject(body?.error);
  const code = text(reported?.code);
  const said = text(reported?.message) ?? code ?? saidBy(status, body);
  const request_id = REQUEST_ID_HEADERS.map((name) => headers.get(name)).find((id) => id !== null) ?? undefined;
  const retry_after = retryAfter(headers);
  if (status < 400 || said === undefined) {
    return new errors.UnexpectedAnswerError(`The server answered ${status}, and not in this API's words.`, {
      status,
      hint: WRONG_ADDRESS,
      request_id,
      retry_after,
    });
  }
  const known = code ?? CODE_BY_STATUS[status] ?? (status >= 500 ? "internal_error" : "unexpected_answer");
  return new (classFor(status, known))(said, {
    status,
    code: known,
    hint: text(reported?.hint) ?? (code === undefined ? hintFor(status) : undefined),
    details: asObject(reported?.details),
    request_id: text(reported?.request_id) ?? request_id,
    retry_after,
  });
}

/** The error that an answer is whose content goes on and on. */
export function tooLarge(status: number): errors.UnexpectedAnswerError {
  const most = MAX_ANSWER_BYTES.toLocaleString("en-US");
  return new errors.UnexpectedAnswerError(`The server's answer has more than ${most} bytes.`, {
    status,
    hint: WRONG_ADDRESS,
  });
}

/** What the gateway says in its own shape. */
function saidBy(status: number, body: Record<string, unknown> | undefined): string | undefined {
  const said = text(body?.message) ?? text(body?.Message);
  return said ?? (body && Object.keys(body).length > 0 && status >= 500 ? `The server answered ${status}.` : undefined);
}

/** What to do about the error of somebody who does not say it, such as our API's gateway. */
function hintFor(status: number): string | undefined {
  if (status === 404) return WRONG_ADDRESS;
  return status === 429 || status >= 500 ? TRY_AGAIN : undefined;
}

function classFor(status: number, code: string): ErrorClass {
  const byStatus = status >= 500 ? errors.ServerError : (CLASS_BY_STATUS[status] ?? errors.ApiError);
  const byCode = CLASS_BY_CODE.get(code) ?? byStatus;
  return byCode === byStatus || byCode.prototype instanceof byStatus ? byCode : byStatus;
}

/** The wait in seconds; a date, which this API does not send, counts as none. */
function retryAfter(headers: Headers): number | undefined {
  const asked = headers.get("retry-after") ?? "";
  return /^[0-9]+$/.test(asked) ? Number(asked) : undefined;
}

function json(content: Uint8Array): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(content)) };
  } catch {
    return undefined;
  }
}

function asObject(value: unknown): Record<string, unknown> | undefined {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value ? value : undefined;
}
