"""From a bearer key to the tenant that a request acts for, and to what it names of theirs. The only reader of keys."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from cachetools import TTLCache

from tenancy import limits, registry
from tenancy.errors import KeySubjectMismatch, NotFound, Unauthorized
from tenancy.names import NO_ID, is_id
from tenancy.registry import Queue, Service, User

CACHE_SECONDS = 5
"""How long a warm environment may go on with what it read; the contract's bound for seeing a change."""

_BEARER = re.compile(r"Bearer (nv_sk_live_[A-Za-z0-9_-]{43})", re.IGNORECASE)
_NOBODY = {"default", "me"}


@dataclass(frozen=True, slots=True)
class Tenant:
    """On whose behalf a request acts, and by which key."""

    company: str
    user: str
    key_id: str
    default_user: str
    """The company's user for whoever names none."""
    sealed: bool
    """Whether the key is good for this user alone."""


@dataclass(frozen=True, slots=True)
class Grant:
    """That a caller may act for a tenant, on the queue or the service that the path names if it names one."""

    tenant: Tenant
    queue: Queue | None
    service: Service | None
    read_at: float
    """When the registry was asked, on the monotonic clock."""

    @property
    def seconds_left(self) -> int:
        """For how long it may still be gone by, to the nearest second."""
        return max(0, round(self.read_at + CACHE_SECONDS - time.monotonic()))


@dataclass(frozen=True, slots=True)
class _Asked:
    """Everything of a request that decides what its caller may."""

    key_hash: str
    named: tuple[str, ...]
    """The users that the path and the header name, the path's first."""
    queue_id: str | None
    service_id: str | None


# Only what was granted is kept: a refusal is decided anew each time.
_granted: TTLCache[_Asked, Grant] = TTLCache(1024, CACHE_SECONDS)


def authorize(headers: Mapping[str, str], path: Mapping[str, str], *, fresh: bool) -> Grant:
    """Who is calling, and the queue or service that the path names; counted as a request of the key.

    `fresh` asks the registry even when the answer was read a moment ago. Raises Unauthorized, RateLimited,
    KeySubjectMismatch, NotFound.
    """
    asked = _asked(headers, path)
    if fresh or (grant := _granted.get(asked)) is None:
        return _decide(asked, counted=True)
    limits.admit(grant.tenant.key_id)
    return grant


def renew(headers: Mapping[str, str], path: Mapping[str, str]) -> Grant:
    """Whether a request that is already under way may go on. Raises what authorising does, except RateLimited."""
    return _decide(_asked(headers, path), counted=False)


def _asked(headers: Mapping[str, str], path: Mapping[str, str]) -> _Asked:
    bearer = _BEARER.fullmatch(headers.get("authorization", ""))
    if bearer is None:
        raise _unauthorized()
    named = (path.get("user_id"), headers.get("x-naive-user-id"))
    return _Asked(
        sha256(bearer[1].encode()).hexdigest(),
        tuple(name for name in named if name is not None and name not in _NOBODY),
        path.get("id"),
        path.get("service_id"),
    )


def _decide(asked: _Asked, *, counted: bool) -> Grant:
    read_at = time.monotonic()
    subject = asked.named[0] if asked.named else None
    found = registry.look_up(asked.key_hash, _id(subject), _id(asked.queue_id), _id(asked.service_id))
    key, user = found.key, found.user
    if key is None or (key.sealed_user is not None and not _in_use(key.sealed_user, user)):
        raise _unauthorized()
    if counted:
        limits.admit(key.id)
    if key.sealed_user is not None:
        if any(name != key.sealed_user for name in asked.named):
            raise KeySubjectMismatch("this key is sealed to another user")
        subject = key.sealed_user
    elif subject is None:
        subject = key.default_user
    elif user is None or user.company != key.company:
        raise NotFound()
    for named, thing in (asked.queue_id, found.queue), (asked.service_id, found.service):
        if named is not None and (thing is None or thing.user != subject):
            raise NotFound()
    tenant = Tenant(key.company, subject, key.id, key.default_user, sealed=key.sealed_user is not None)
    grant = _granted[asked] = Grant(tenant, found.queue, found.service, read_at)
    return grant


def _id(text: str | None) -> str | None:
    return text if text is None or is_id(text) else NO_ID


def _in_use(sealed_user: str, named: User | None) -> bool:
    """Whether the user that a key is sealed to is still there; only the key says who it is, so it is a second read."""
    return (named is not None and named.id == sealed_user) or registry.is_user(sealed_user)


def _unauthorized() -> Unauthorized:
    return Unauthorized("the bearer key is missing, malformed, unknown or revoked")
