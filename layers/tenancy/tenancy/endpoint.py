"""How an operation becomes a handler: who is calling, what they ask, what they get, and what is said when it fails."""

import base64
import functools
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from tenancy import auth
from tenancy.auth import Grant, Tenant
from tenancy.errors import Forbidden, InvalidInput, PayloadTooLarge, QueueError, RateLimited
from tenancy.models import Input, Nothing, parse
from tenancy.names import is_id
from tenancy.registry import Queue, Service
from tenancy.telemetry import OPERATION, count, flush, log_unhandled, note

type Event = dict[str, Any]
type Answer = dict[str, Any]
type Handler = Callable[[Event, Any], Answer]

_NO_ROUTE = "$default"
_WITH_BODY = ("POST", "PATCH")
MAX_BODY = 6 * 1024 * 1024
"""Bytes; Lambda takes no larger event."""
REPEAT_SECONDS = 24 * 60 * 60
"""For how long an Idempotency-Key is remembered."""
_IN_PATHS = ("key_id", "service_id", "id", "user_id")
"""What paths name, the innermost first."""
_ANSWER_SECONDS = 1
"""What is left of the function's time for the answer."""


@dataclass(frozen=True, slots=True)
class Request[T: Input]:
    """One call of an operation."""

    grant: Grant
    input: T
    path: Mapping[str, str]
    deadline: float
    """When the work must be done, on the monotonic clock."""
    renew: Callable[[], Grant]
    """Asks again whether the caller may; it raises what authorising raises."""

    @property
    def tenant(self) -> Tenant:
        return self.grant.tenant

    @property
    def queue(self) -> Queue:
        """The queue that the path names, known to be the tenant's."""
        assert self.grant.queue is not None, "the route names no queue"
        return self.grant.queue

    @property
    def service(self) -> Service:
        """The service that the path names, known to be the tenant's."""
        assert self.grant.service is not None, "the route names no service"
        return self.grant.service


@dataclass(frozen=True, slots=True)
class Operation:
    """What a handler does, for whoever describes it."""

    run: Callable[..., object]
    body: type[Input] | None = None
    query: type[Input] | None = None
    status: int = 200
    errors: tuple[type[QueueError], ...] = ()
    """Its own refusals, besides those that every operation has."""
    public: bool = False
    keyed: bool = True
    """Whether a key says more to it, which one that is not public needs."""
    unsealed: bool = False
    audited: bool = False
    secret: str | None = None


class Json(str):
    """A text that is JSON already, to be answered as it is."""

    __slots__ = ()


def endpoint[T: Input](
    *,
    body: type[T] | None = None,
    query: type[T] | None = None,
    status: int = 200,
    fresh: bool = False,
    unsealed: bool = False,
    audited: bool = False,
    secret: str | None = None,
    max_bytes: int = MAX_BODY,
    errors: tuple[type[QueueError], ...] = (),
) -> Callable[[Callable[[Request[T]], object]], Handler]:
    """Make an operation the handler of its route.

    `body` or `query` is the model of its input, `status` that of success (204 answers no body), `fresh` reads key and
    queue anew instead of up to 5 s old, `unsealed` refuses keys that are sealed to a user, `audited` says on the
    request's log line what was changed, `secret` is a field of the answer that is shown once and stored nowhere,
    `max_bytes` bounds the request's body. `errors` says how it may refuse, besides how every operation may.
    """

    def decorate(operation: Callable[[Request[T]], object]) -> Handler:
        def run(event: Event, context: Any) -> object:
            deadline = time.monotonic() + context.get_remaining_time_in_millis() / 1000 - _ANSWER_SECONDS
            path = event.get("pathParameters") or {}
            grant = auth.authorize(event["headers"], path, fresh=fresh)
            renew = functools.partial(auth.renew, event["headers"], path)
            tenant = grant.tenant
            note(company=tenant.company, user=tenant.user, key_id=tenant.key_id)
            if unsealed and tenant.sealed:
                raise Forbidden("this key is sealed to a user and may not manage users and keys")
            asked = parse(query or Nothing, event.get("queryStringParameters") or {})
            method = event["requestContext"]["http"]["method"]
            if query is not None or method not in _WITH_BODY:
                return operation(Request(grant, cast(T, asked), path, deadline, renew))
            raw = _raw_body(event, max_bytes)

            def answer() -> object:
                # An operation that takes nothing is declared on Input itself, which Nothing is.
                given = cast(T, parse(body or Nothing, _json_object(raw)))
                return operation(Request(grant, given, path, deadline, renew))

            key = event["headers"].get("idempotency-key")
            if method != "POST" or key is None:
                return answer()
            # Here, since most requests have no key, and this is a tenth of a function's start.
            from tenancy import idempotency

            return idempotency.once(tenant, method, event["rawPath"], key, raw, context, answer, secret=secret)

        return _handler(
            run, Operation(operation, body, query, status, errors, unsealed=unsealed, audited=audited, secret=secret)
        )

    return decorate


def public(operation: Callable[[], object]) -> Handler:
    """Make an operation that anybody may call the handler of its route."""

    def run(event: Event, context: Any) -> object:
        if event["routeKey"] != _NO_ROUTE:
            parse(Nothing, event.get("queryStringParameters") or {})
        return operation()

    return _handler(run, Operation(operation, public=True, keyed=False))


def open_to_all(operation: Callable[[Tenant | None], object]) -> Handler:
    """Make an operation that anybody may call, and that tells more to who has a key, the handler of its route."""

    def run(event: Event, context: Any) -> object:
        tenant: Tenant | None = None
        if "authorization" in event["headers"]:
            tenant = auth.authorize(event["headers"], {}, fresh=False).tenant
            note(company=tenant.company, user=tenant.user, key_id=tenant.key_id)
        parse(Nothing, event.get("queryStringParameters") or {})
        return operation(tenant)

    return _handler(run, Operation(operation, public=True))


def _handler(run: Callable[[Event, Any], object], operation: Operation) -> Handler:
    def handler(event: Event, context: Any) -> Answer:
        request_id = event["requestContext"]["requestId"]
        note(request_id=request_id)
        if operation.audited:
            note(audit=True, operation=OPERATION, resource=_named(event.get("pathParameters") or {}, *_IN_PATHS))
        try:
            done = run(event, context)
            if operation.audited and isinstance(done, dict):
                note(resource=_named(done, "key_id", "id") or _named(event.get("pathParameters") or {}, *_IN_PATHS))
            note(outcome="done")
            answer = _answer(operation.status, done, request_id)
        except QueueError as refusal:
            answer = _refuse(refusal, request_id)
        except Exception as fault:
            log_unhandled(fault)
            answer = _refuse(QueueError("something went wrong on our side"), request_id)
        note(status=answer["statusCode"])
        count("Requests")
        flush()
        return answer

    handler.operation = operation  # type: ignore[attr-defined]  # for the description of the API; Lambda does not mind
    return handler


def _named(fields: Mapping[str, Any], *names: str) -> str | None:
    """The id under the first of these names that is there; a malformed one may be anything, so it is not repeated."""
    found = next((fields[name] for name in names if name in fields), None)
    return found if isinstance(found, str) and is_id(found) else None


def _raw_body(event: Event, max_bytes: int) -> bytes:
    """The request's body as it was sent."""
    sent = event.get("body") or ""
    raw = base64.b64decode(sent) if event.get("isBase64Encoded") else sent.encode("utf-8", "surrogatepass")
    if len(raw) > max_bytes:
        raise PayloadTooLarge(
            f"the request must be at most {max_bytes} bytes, not {len(raw)}", hint="Send less in one request."
        )
    return raw


def _json_object(raw: bytes) -> object:
    """The body parsed; no body is an empty object."""
    if not raw.strip():
        return {}
    try:
        text = raw.decode("utf-8", "surrogatepass")
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unambiguous)
    except (ValueError, RecursionError):
        raise InvalidInput("the body must be a JSON object in UTF-8") from None


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of which nobody has to guess what a name stands for."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        times = Counter(name for name, _ in pairs)
        twice = times.most_common(1)[0][0][:80]
        raise InvalidInput(f"the field {twice!r} is given more than once", field=twice)
    return fields


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _refuse(refusal: QueueError, request_id: str) -> Answer:
    note(outcome=refusal.code)
    answer = _answer(refusal.status, None, request_id)
    # In ASCII: a message may quote a field name with half a surrogate pair, which has no UTF-8.
    answer["body"] = json.dumps(refusal.to_wire(request_id))
    if refusal.retry_after:
        answer["headers"]["Retry-After"] = str(refusal.retry_after)
    if refusal.status == 401:
        answer["headers"]["WWW-Authenticate"] = "Bearer"
    if isinstance(refusal, RateLimited):
        answer["headers"] |= {
            "X-RateLimit-Limit": str(refusal.limit),
            "X-RateLimit-Remaining": str(refusal.remaining),
            "X-RateLimit-Reset": str(refusal.reset),
        }
    return answer


def _answer(status: int, body: object, request_id: str) -> Answer:
    headers = {"X-Request-Id": request_id, "Cache-Control": "no-store"}
    if status == 204:
        return {"statusCode": status, "headers": headers}
    headers["Content-Type"] = "application/json"
    text = body if isinstance(body, Json) else json.dumps(body, ensure_ascii=False)
    return {"statusCode": status, "headers": headers, "body": text}
