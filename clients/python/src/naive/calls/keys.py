"""The calls about the company's keys. They are the company's own, so no user is acted for."""

from __future__ import annotations

from naive.answers import read
from naive.calls.call import ROOT, Call, answer_as, given, nothing, segment, unique
from naive.calls.ids import KeyRef, UserRef, key_id, user_id
from naive.errors import SecretLostError
from naive.models import KeyFacts, KeyPage, NewKey

_KEYS = f"{ROOT}/auth/keys"


def create_key(name: str, active_tenant_user: UserRef | None) -> Call[NewKey]:
    sealed = None if active_tenant_user is None else user_id(active_tenant_user, "active_tenant_user_id")
    body = given(name=name, active_tenant_user_id=sealed)
    return Call("POST", _KEYS, _with_its_secret, body=body, idempotency_key=unique())


def list_keys(limit: int | None, cursor: str | None) -> Call[KeyPage]:
    return Call("GET", _KEYS, answer_as(KeyPage), query=given(limit=limit, cursor=cursor))


def revoke_key(key: KeyRef) -> Call[None]:
    return Call("DELETE", f"{_KEYS}/{segment(key_id(key))}", nothing, done_when_absent=True)


def _with_its_secret(content: bytes) -> NewKey:
    """The new key. Raises SecretLostError for a repeated answer, which has the key no more."""
    key = read(KeyFacts, content)
    if key.model_extra is not None and key.model_extra.get("api_key", "") is None:
        raise SecretLostError(
            f"The key {key.name!r} was made, but the answer that showed it was lost, and no other will.",
            hint=f"Revoke the key {key.key_id} and make another.",
            details={"key_id": key.key_id},
        )
    return read(NewKey, content)
