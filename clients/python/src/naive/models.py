"""What the API takes and answers, typed; fields that a newer server adds are kept, not refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Generic, Literal, TypedDict, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

Entry = TypeVar("Entry")


class Model(BaseModel):
    """Base of every model: unchangeable and tolerant of new fields."""

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True)


class Answer(Model):
    """Base of a whole answer, which also knows the text it was read from."""

    _raw: bytes = PrivateAttr(default=b"")

    @property
    def raw_json(self) -> bytes:
        """The answer as the server gave it, byte for byte."""
        return self._raw


class Entries(Answer, Generic[Entry]):
    """Base of every answer that is a list: iterating over it and `len` go by its entries."""

    def __iter__(self) -> Iterator[Entry]:  # type: ignore[override]  # a model's own iterates over names of fields
        return iter(self._entries())

    def __len__(self) -> int:
        return len(self._entries())

    def _entries(self) -> list[Entry]:
        raise NotImplementedError


class Page(Entries[Entry]):
    """Base of every page of a list; `next_cursor` asks for what follows."""

    next_cursor: str | None = None


class QueueAttributes(Answer):
    """How many messages a queue holds, all approximate."""

    depth: int
    in_flight: int
    delayed: int
    dlq_depth: int | None = None


class Queue(Answer):
    """A queue; `attributes` are there when one queue was asked for."""

    id: str
    name: str
    type: str
    user_id: str
    dlq: bool
    max_receive_count: int | None = None
    visibility_timeout: int
    retention_seconds: int
    delay_seconds: int
    content_based_dedup: bool | None = None
    consumer: dict[str, Any] | None = None
    created_at: datetime
    attributes: QueueAttributes | None = None


class QueuePage(Page[Queue]):
    """One page of queues, by name."""

    queues: list[Queue]

    def _entries(self) -> list[Queue]:
        return self.queues


class Purging(Answer):
    """A purge under way; messages sent before `done_by` may go too."""

    status: str
    done_by: datetime


class EntryError(Model):
    """Why one entry of a batch failed."""

    code: str
    message: str


class SentMessage(Answer):
    """An accepted message; `sequence_number` is set on fifo queues."""

    message_id: str
    sequence_number: str | None = None


class SendResult(Model):
    """What became of one message of a batch: a `message_id`, or an `error`."""

    message_id: str | None = None
    sequence_number: str | None = None
    error: EntryError | None = None


class BatchAnswer(Answer):
    """What became of each message of one request."""

    results: list[SendResult]


class SentBatch(Entries[SendResult]):
    """What became of the messages of a batch: how many were sent and how many failed, and each in the order given.

    There are no `results` where each was told to a callback already.
    """

    results: list[SendResult] = []
    sent: int = 0
    failed: int = 0

    def _entries(self) -> list[SendResult]:
        return self.results


class DeadLetter(Model):
    """A message that was looked at and not taken, so it has no receipt handle."""

    message_id: str
    body: str
    receive_count: int
    sent_at: datetime
    group_id: str | None = None
    dedup_id: str | None = None
    sequence_number: str | None = None
    attributes: dict[str, str] | None = None


class Message(DeadLetter):
    """A leased message: ack, retry or extend it by its `receipt_handle` before the lease ends."""

    receipt_handle: str
    lease_expires_at: datetime


class Received(Entries[Message]):
    """The messages of one receive; none is an empty list."""

    messages: list[Message]

    def _entries(self) -> list[Message]:
        return self.messages


class DeadLetters(Entries[DeadLetter]):
    """The messages at the head of a dead-letter queue."""

    messages: list[DeadLetter]

    def _entries(self) -> list[DeadLetter]:
        return self.messages


class Lease(Answer):
    """A lease with its new end."""

    lease_expires_at: datetime


class SettleResult(Model):
    """What became of one entry of a settle call."""

    ok: bool = False
    lease_expires_at: datetime | None = None
    error: EntryError | None = None


class Settled(Answer):
    """What became of each entry of a settle call, in the orders they were given."""

    ack: list[SettleResult] = []
    retry: list[SettleResult] = []
    extend: list[SettleResult] = []


class Redriven(Answer):
    """How far a redrive came; `remaining` is approximate."""

    moved: int
    remaining: int
    not_found: list[str] = []
    not_reached: list[str] = []


class User(Answer):
    """An end-user of the company; `external_id` is the company's own id for it."""

    id: str
    external_id: str | None = None
    email: str | None = None
    label: str | None = None
    status: str
    is_default: bool
    created_at: datetime


class UserPage(Page[User]):
    """One page of users."""

    users: list[User]

    def _entries(self) -> list[User]:
        return self.users


class KeyFacts(Answer):
    """What is always known of an API key, which is all but the key itself."""

    key_id: str
    name: str
    last_4: str
    active_tenant_user_id: str | None = None
    created_at: datetime


class Key(KeyFacts):
    """An API key as it is listed; `last_used_at` is to the day."""

    last_used_at: datetime | None = None
    revoked: bool = False


class NewKey(KeyFacts):
    """An API key that was just made; `api_key` is shown this once."""

    api_key: str = Field(repr=False)


class KeyPage(Page[Key]):
    """One page of keys."""

    keys: list[Key]

    def _entries(self) -> list[Key]:
        return self.keys


class Consumer(Answer):
    """What works a queue off; which fields are set depends on its `type`: function, webhook or service."""

    type: str
    function: str | None = None
    url: str | None = None
    service_id: str | None = None
    batch_size: int | None = None
    max_concurrency: int | None = None
    min: int | None = None
    max: int | None = None
    messages_per_worker: int | None = None
    idle_seconds: int | None = None
    paused: bool
    created_at: datetime


class NewConsumer(Consumer):
    """A consumer that was just made; a webhook's `secret`, by which it knows what is ours, is shown this once."""

    secret: str | None = Field(default=None, repr=False)


class WebhookMessage(Model):
    """A message as a webhook gets it; `attributes` are left out where they are above 4 KiB."""

    message_id: str
    body: str
    queue_id: str | None = None
    receive_count: int | None = None
    group_id: str | None = None
    attributes: dict[str, str] | None = None


class Service(Answer):
    """A compute service: `desired` workers are wanted, `running` are there."""

    id: str
    name: str
    type: str
    image: str
    command: list[str]
    cpu: int
    memory: int
    queue_id: str | None = None
    desired: int
    running: int
    status: str
    last_scaled_at: datetime | None = None
    last_scale_reason: str | None = None
    created_at: datetime


class ServicePage(Page[Service]):
    """One page of services, by name."""

    services: list[Service]

    def _entries(self) -> list[Service]:
        return self.services


class LogLine(Model):
    """What a worker wrote in one line."""

    time: datetime
    message: str


class LogPage(Page[LogLine]):
    """Some of what the workers of a service wrote, the oldest first."""

    lines: list[LogLine]

    def _entries(self) -> list[LogLine]:
        return self.lines


QueueType = Literal["standard", "fifo"]
ConsumerType = Literal["function", "webhook", "service"]


class _Body(TypedDict):
    body: str


class NewMessage(_Body, total=False):
    """A message to send in a batch: a body, and what a single send takes as well."""

    group_id: str | None
    dedup_id: str | None
    delay_seconds: int | None
    attributes: Mapping[str, str] | None


class _Handle(TypedDict):
    receipt_handle: str


class RetryEntry(_Handle, total=False):
    """A message to give back, at once or after `delay_seconds`."""

    delay_seconds: int


class ExtendEntry(_Handle):
    """A message to keep for `visibility` more seconds."""

    visibility: int
