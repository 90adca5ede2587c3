"""What names a thing in a call: its id as text or as a UUID, or the thing itself."""

from __future__ import annotations

from uuid import UUID

from naive.errors import InvalidInputError
from naive.models import KeyFacts, Queue, Service, User

UserRef = str | UUID | User
KeyRef = str | UUID | KeyFacts
QueueRef = str | UUID | Queue
ServiceRef = str | UUID | Service


def user_id(user: UserRef, argument: str = "user_id") -> str:
    """The id of a user."""
    return _text(user.id if isinstance(user, User) else user, argument, "the id of a user or a User")


def key_id(key: KeyRef) -> str:
    """The id of a key."""
    return _text(key.key_id if isinstance(key, KeyFacts) else key, "key_id", "the id of a key or a Key")


def queue_id(queue: QueueRef, argument: str = "queue") -> str:
    """The id of a queue."""
    return _text(queue.id if isinstance(queue, Queue) else queue, argument, "the id of a queue or a Queue")


def service_id(service: ServiceRef, argument: str = "service") -> str:
    """The id of a service."""
    return _text(service.id if isinstance(service, Service) else service, argument, "the id of a service or a Service")


def handle(receipt_handle: str) -> str:
    """A receipt handle."""
    if not isinstance(receipt_handle, str):
        raise _wrong(receipt_handle, "receipt_handle", "the receipt_handle of a message")
    return receipt_handle


def _text(id: object, argument: str, expected: str) -> str:
    if isinstance(id, UUID):
        return str(id)
    if not isinstance(id, str):
        raise _wrong(id, argument, expected)
    if id in ("", ".", ".."):
        raise InvalidInputError(f"{argument} has to be {expected}, not {id!r}.")
    return id


def _wrong(given: object, argument: str, expected: str) -> InvalidInputError:
    """What is said of another type; never the value, which may be somebody's message."""
    return InvalidInputError(f"{argument} has to be {expected}, not {_named(given)}.")


def _named(given: object) -> str:
    return "None" if given is None else f"an object of type {type(given).__name__}"
