"""From a bearer key to the tenant that a request acts for, and to the queue it names. The only reader of keys."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from cachetools import TTLCache

from tenancy import registry
from tenancy.errors import KeySubjectMismatch, NotFound, Unauthorized
from tenancy.names import is_id
from tenancy.registry import Queue

CACHE_SECONDS = 5
"""How long a warm environment may go on with what it read; the contract's bound for seeing a change."""

_BEARER = re.compile(r"Bearer (nv_sk_live_[A-Za-z0-9_-]{43})", re.IGNORECASE)
_NOBODY = {"default", "me"}
_NO_ID = "-"
"""Looked up in place of a malformed id, so that refusing one costs and shows the same as refusing a foreign one."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """On whose behalf a request acts, and by which key."""

    company: str
    user: str
    key_id: str


@dataclass(frozen=True, slots=True)
class Grant:
    """That a caller may act for a tenant, on the queue that the path names if it names one."""

    tenant: Tenant
    queue: Queue | None
    read_at: float
    """When the registry was asked, on the monotonic clock."""

    @property
    def seconds_left(self) -> int:
        """For how long it may still be gone by, to the nearest second."""
        return max(0, round(self.read_at + CACHE_SECONDS - time.monotonic()))


# Only what was granted is kept, under everything that decided it: a refusal is decided anew each time.
_granted: TTLCache[tuple[str, tuple[str, ...], str | None], Grant] = TTLCache(1024, CACHE_SECONDS)


def authorize(headers: Mapping[str, str], path: Mapping[str, str], *, fresh: bool) -> Grant:
    """Who is calling, and the queue that the path names.

    `fresh` asks the registry even when the answer was read a moment ago. Raises Unauthorized, KeySubjectMismatch,
    NotFound.
    """
    key_hash = sha256(_bearer_key(headers).encode()).hexdigest()
    named = [name for name in (path.get("user_id"), headers.get("x-naive-user-id")) if name and name not in _NOBODY]
    queue_id = path.get("id")
    wanted = (key_hash, tuple(named), queue_id)
    if fresh or (grant := _granted.get(wanted)) is None:
        read_at = time.monotonic()
        grant = _granted[wanted] = Grant(*_decide(key_hash, named, queue_id), read_at)
    return grant


def _bearer_key(headers: Mapping[str, str]) -> str:
    bearer = _BEARER.fullmatch(headers.get("authorization", ""))
    if bearer is None:
        raise _unauthorized()
    return bearer[1]


def _decide(key_hash: str, named: list[str], queue_id: str | None) -> tuple[Tenant, Queue | None]:
    subject = named[0] if named else None
    key, user, queue = registry.look_up(
        key_hash,
        None if subject is None else subject if is_id(subject) else _NO_ID,
        None if queue_id is None else queue_id if is_id(queue_id) else _NO_ID,
    )
    if key is None:
        raise _unauthorized()
    if key.sealed_user is not None:
        if any(name != key.sealed_user for name in named):
            raise KeySubjectMismatch("this key is sealed to another user")
        subject = key.sealed_user
    elif subject is None:
        subject = key.default_user
    elif user is None or user.company != key.company:
        raise NotFound()
    if queue_id is not None and (queue is None or queue.user != subject):
        raise NotFound()
    return Tenant(key.company, subject, key.id), queue


def _unauthorized() -> Unauthorized:
    return Unauthorized("the bearer key is missing, malformed, unknown or revoked")
