"""An example of each operation's request and answer, and of each refusal."""

from dataclasses import dataclass
from typing import Any

from tenancy.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    IdempotencyMismatch,
    InvalidInput,
    KeySubjectMismatch,
    NotFound,
    PayloadTooLarge,
    PurgeInProgress,
    QueueError,
    RateLimited,
    ReceiptExpired,
    ReceiptInvalid,
    RequestInProgress,
    Unauthorized,
    Unavailable,
)

QUEUE_ID = "d3566216-7cea-4dba-bcc5-70efed66381d"
USER_ID = "bef8ad3f-6cf7-4b4c-9b0f-1f1f0a9b6c55"
SERVICE_ID = "5b0c2f1e-6a4d-4e0b-8c7f-2d9e1a3b4c5d"
KEY_ID = "e0793590-4d1b-4c39-9f7e-5a0c8d2b7e14"
REQUEST_ID = "3a59e241-0c5b-4f0e-8a5c-7d5f6a1f2b90"

_MESSAGE_ID = "fd7ccfa6-98f5-4931-981a-8e4aebdd3a63"
_LETTER_ID = "0403901f-33ea-4f5b-8ec4-2d7f4b9e6d10"
_HANDLE = "receipt_97nDPAmsQk1v3w"
_OTHER_HANDLE = "receipt_yS1hW8r5Xb0c7g"

_QUEUE = {
    "id": QUEUE_ID,
    "name": "thumbs",
    "type": "standard",
    "user_id": USER_ID,
    "dlq": True,
    "max_receive_count": 2,
    "visibility_timeout": 30,
    "retention_seconds": 345_600,
    "delay_seconds": 0,
    "content_based_dedup": None,
    "consumer": None,
    "created_at": "2026-11-30T15:02:38.335Z",
}
_WEBHOOK = {
    "type": "webhook",
    "url": "https://shop.example.com/hooks/thumbs",
    "batch_size": 10,
    "max_concurrency": 5,
    "paused": False,
    "created_at": "2026-11-30T15:05:12.804Z",
}
_COUNTS = {"depth": 12, "in_flight": 3, "delayed": 0, "dlq_depth": 1}
_PURGING = {"status": "purging", "done_by": "2026-11-30T15:03:41.121Z"}
_MESSAGE = {
    "message_id": _MESSAGE_ID,
    "body": '{"photo": 17}',
    "receive_count": 1,
    "sent_at": "2026-11-30T15:02:42.704Z",
    "attributes": {"trace": "a1"},
    "receipt_handle": _HANDLE,
    "lease_expires_at": "2026-11-30T15:03:14.671Z",
}
_LETTER = {
    "message_id": _LETTER_ID,
    "body": "<order/>",
    "receive_count": 3,
    "sent_at": "2026-11-30T15:02:42.743Z",
}
_USER = {
    "id": USER_ID,
    "external_id": "4711",
    "email": None,
    "label": "Ada",
    "status": "active",
    "is_default": False,
    "created_at": "2026-11-30T15:01:07.512Z",
}
_KEY = {
    "key_id": KEY_ID,
    "name": "worker",
    "last_4": "x7Qk",
    "active_tenant_user_id": USER_ID,
    "created_at": "2026-11-30T15:01:09.284Z",
}
_SERVICE = {
    "id": SERVICE_ID,
    "name": "worker",
    "type": "service",
    "image": "me/worker:latest",
    "command": [],
    "cpu": 256,
    "memory": 512,
    "queue_id": QUEUE_ID,
    "desired": 0,
    "running": 0,
    "status": "stopped",
    "last_scaled_at": None,
    "last_scale_reason": None,
    "created_at": "2026-11-30T15:04:12.087Z",
}
_OWN_SERVICE = _SERVICE | {
    "queue_id": None,
    "desired": 2,
    "running": 1,
    "status": "scaling",
    "last_scaled_at": "2026-11-30T15:09:40.000Z",
    "last_scale_reason": "scaled",
}
_CHANGING_USER = RequestInProgress("another request is changing this user", retry_after=1)
_USER_EXISTS = AlreadyExists("there is a user with external_id '4711'", id=USER_ID)


@dataclass(frozen=True)
class Example:
    """One call of an operation that goes well: its query or body, and the answer's body.

    With refusals, where those that all operations share would not be its own.
    """

    query: dict[str, Any] | None = None
    body: dict[str, Any] | None = None
    answer: dict[str, Any] | None = None
    refusals: tuple[QueueError, ...] = ()


OPERATIONS = {
    "create_queue": Example(
        body={"name": "thumbs", "dlq": True, "max_receive_count": 2},
        answer=_QUEUE,
        refusals=(RequestInProgress("another request is making a queue of this name", retry_after=1),),
    ),
    "list_queues": Example(query={"limit": 50}, answer={"queues": [_QUEUE], "next_cursor": None}),
    "get_queue": Example(answer=_QUEUE | {"attributes": _COUNTS}),
    "update_queue": Example(
        body={"visibility_timeout": 120},
        answer=_QUEUE | {"visibility_timeout": 120},
        refusals=(
            Conflict(
                "the consumer may work for 20 s, so the queue's visibility_timeout must be at least 20",
                hint="Change the queue's visibility_timeout first; six times as much leaves room for retries.",
                reason="visibility_too_short",
                visibility_timeout=20,
            ),
        ),
    ),
    "get_queue_attributes": Example(answer=_COUNTS),
    "purge_queue": Example(answer=_PURGING),
    "delete_queue": Example(),
    "send_message": Example(
        body={"body": '{"photo": 17}', "attributes": {"trace": "a1"}}, answer={"message_id": _MESSAGE_ID}
    ),
    "send_message_batch": Example(
        body={"messages": [{"body": "one"}, {"body": "two", "delay_seconds": 60}]},
        answer={
            "results": [
                {"message_id": "7867df8a-a801-44fa-b1ba-43bab4f3efdb"},
                {"error": {"code": "unavailable", "message": "SQS did not take this message"}},
            ]
        },
    ),
    "receive_messages": Example(
        query={"max": 10, "wait": 20, "visibility": 30},
        answer={"messages": [_MESSAGE]},
    ),
    "delete_message": Example(query={"receipt_handle": _HANDLE}),
    "change_message_visibility": Example(
        body={"receipt_handle": _HANDLE, "visibility": 600}, answer={"lease_expires_at": "2026-11-30T15:12:46.251Z"}
    ),
    "settle_messages": Example(
        body={
            "ack": [_HANDLE],
            "retry": [{"receipt_handle": _OTHER_HANDLE, "delay_seconds": 60}],
            "extend": [{"receipt_handle": "garbled", "visibility": 600}],
        },
        answer={
            "ack": [{"ok": True}],
            "retry": [{"ok": True}],
            "extend": [
                {
                    "error": {
                        "code": "receipt_invalid",
                        "message": "receipt_handle is not one that a receive of this queue gave",
                    }
                }
            ],
        },
    ),
    "peek_dlq": Example(query={"max": 10}, answer={"messages": [_LETTER]}),
    "redrive_dlq": Example(
        body={"message_ids": [_LETTER_ID]},
        answer={"moved": 1, "remaining": 0, "not_found": [], "not_reached": []},
    ),
    "purge_dlq": Example(answer=_PURGING),
    "create_consumer": Example(
        body={"type": "webhook", "url": "https://shop.example.com/hooks/thumbs", "max_concurrency": 5},
        answer=_WEBHOOK | {"secret": "whsec_…"},
        refusals=(
            Conflict(
                "this queue has a consumer",
                hint="Change it by PATCH, or remove it first.",
                reason="consumer_exists",
            ),
        ),
    ),
    "get_consumer": Example(answer=_WEBHOOK),
    "update_consumer": Example(body={"paused": True}, answer=_WEBHOOK | {"paused": True}),
    "delete_consumer": Example(),
    "create_compute": Example(
        body={"name": "worker", "type": "service", "image": "me/worker:latest", "queue_id": QUEUE_ID},
        answer=_SERVICE,
        refusals=(
            AlreadyExists("there is a service named 'worker'", id=SERVICE_ID),
            Conflict("the queue has a consumer already", hint="Remove it first.", reason="consumer_exists"),
            RequestInProgress("another request is making or changing a service of this name", retry_after=1),
        ),
    ),
    "list_compute": Example(query={"limit": 50}, answer={"services": [_SERVICE], "next_cursor": None}),
    "get_compute": Example(answer=_SERVICE),
    "start_compute": Example(answer=_SERVICE),
    "stop_compute": Example(answer=_SERVICE),
    "scale_compute": Example(
        body={"count": 2},
        answer=_OWN_SERVICE,
        refusals=(
            Conflict(
                "the service is scaled by its queue",
                hint="Change min and max of the queue's consumer, or remove the consumer.",
                reason="scaled_by_queue",
            ),
        ),
    ),
    "get_compute_logs": Example(
        query={"limit": 100},
        answer={"lines": [{"time": "2026-11-30T15:09:58.412Z", "message": "ready"}], "next_cursor": None},
    ),
    "delete_compute": Example(),
    "create_user": Example(
        body={"external_id": "4711", "label": "Ada"}, answer=_USER, refusals=(_USER_EXISTS, _CHANGING_USER)
    ),
    "list_users": Example(query={"limit": 50}, answer={"users": [_USER], "next_cursor": None}),
    "get_user": Example(answer=_USER),
    "update_user": Example(
        body={"email": "ada@example.com"},
        answer=_USER | {"email": "ada@example.com"},
        refusals=(_USER_EXISTS, _CHANGING_USER),
    ),
    "delete_user": Example(
        query={"force": True},
        refusals=(
            Conflict(
                "the user has 3 queues",
                hint="Delete them first, or pass force=true to destroy all that the user has.",
                reason="user_has_resources",
            ),
            _CHANGING_USER,
        ),
    ),
    "create_key": Example(
        body={"name": "worker", "active_tenant_user_id": USER_ID}, answer={"api_key": "nv_sk_live_…"} | _KEY
    ),
    "list_keys": Example(
        query={"limit": 50},
        answer={
            "keys": [_KEY | {"last_used_at": "2026-11-30T00:00:00Z", "revoked": False}],
            "next_cursor": None,
        },
    ),
    "delete_key": Example(),
    "get_limits": Example(
        answer={
            "fair_use": {"requests_per_second": 200, "requests_at_once": 400, "waiting_receives": 25},
            "queues_per_user": 1000,
            "concurrency_per_company": 50,
            "services_per_user": 100,
            "message_bytes": 1_048_576,
            "batch_bytes": 2_097_152,
            "request_bytes": 6_291_456,
            "lease_seconds": 43_200,
            "in_flight_messages": 120_000,
            "dead_letter_retention_seconds": 1_209_600,
            "dedup_window_seconds": 300,
            "idempotency_seconds": 86_400,
            "receipt_handle_characters": 2000,
            "seconds_between_purges": 60,
            "fields": {"receive_messages": {"wait": {"minimum": 0, "maximum": 20, "default": 1}}},
            "functions": ["resize"],
        }
    ),
    "health": Example(answer={"status": "ok"}),
    "openapi": Example(answer={"openapi": "3.1.0", "info": {"title": "Queues", "version": "1"}, "paths": {}}),
}

REFUSALS = [
    InvalidInput("visibility must be a whole number from 0 to 43200, not 43201", field="visibility"),
    ReceiptInvalid("receipt_handle is not one that a receive of this queue gave", field="receipt_handle"),
    ReceiptExpired("the lease of this receipt_handle is over", field="receipt_handle"),
    Unauthorized("the bearer key is missing, malformed, unknown or revoked"),
    Forbidden("this key is sealed to a user and may not manage users and keys"),
    KeySubjectMismatch("this key is sealed to another user"),
    NotFound(),
    AlreadyExists("there is a queue named 'thumbs'", id=QUEUE_ID),
    Conflict("this queue has no dead-letter queue", hint="Create one with dlq true.", reason="no_dlq"),
    IdempotencyMismatch("this Idempotency-Key was used with another body"),
    PurgeInProgress("the last purge was less than 60 s ago", retry_after=42),
    RequestInProgress("a request with this Idempotency-Key is still running", retry_after=1),
    PayloadTooLarge("body and attributes must be at most 1048576 bytes together, not 1048577", field="body"),
    QueueError("something went wrong on our side"),
    RateLimited("this key may make 200 requests a second, and 400 at once", limit=200, reset=1),
    Unavailable("a service behind this API cannot take the request now"),
]
"""In the order of the tree in tenancy.errors."""
