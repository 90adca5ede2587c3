"""Bearer keys: made, listed and revoked. Only the SHA-256 of one is stored."""

import secrets
import time
from hashlib import sha256
from typing import TypedDict

from tenancy import table, usage
from tenancy.errors import NotFound
from tenancy.names import NO_ID, is_id, new_id, timestamp
from tenancy.registry import user_key
from tenancy.table import ConditionFailed, Item, Write


class _Named(TypedDict):
    """What tells a key apart without giving it away."""

    key_id: str
    name: str
    last_4: str
    active_tenant_user_id: str | None
    created_at: str


class NewKey(_Named):
    """A key as it is shown, once."""

    api_key: str


class KeyView(_Named):
    """A key as it is listed. `last_used_at` is to the day."""

    last_used_at: str | None
    revoked: bool


def create(company: str, default_user: str, name: str, sealed_user: str | None) -> NewKey:
    """Make a key of the company, sealed to a user if one is named. Raises NotFound when there is no such user."""
    if sealed_user is not None and not is_id(sealed_user):
        sealed_user = NO_ID
    key, writes = new_key(company, default_user, name, sealed_user)
    if sealed_user is not None:
        writes.append(
            table.check(
                user_key(sealed_user),
                "company = :company AND #status = :active",
                company=company,
                active="active",
            )
        )
    try:
        table.transact(writes)
    except ConditionFailed as no_user:
        raise NotFound() from no_user
    return key


def new_key(company: str, default_user: str, name: str, sealed_user: str | None = None) -> tuple[NewKey, list[Write]]:
    """A key and the writes that store it: by its hash for who presents it, by its id for the lists it is in."""
    api_key = "nv_sk_live_" + secrets.token_urlsafe(32)
    key_hash = sha256(api_key.encode()).hexdigest()
    now = time.time()
    key: Item = {
        "id": new_id(),
        "name": name,
        "last_4": api_key[-4:],
        "sealed_user": sealed_user,
        "created_at": str(now),
        "revoked": False,
    }
    owner = {"company": company, "default_user": default_user}
    reference = {"id": key["id"], "key_hash": key_hash}
    writes = [
        table.put({**table.at(_hash_key(key_hash)), **key, **owner}),
        table.put({**table.at(_listed_key(company, key["id"])), **key, **reference}),
    ]
    if sealed_user is not None:
        writes.append(table.put({**table.at(_sealed_key(sealed_user, key["id"])), **reference}))
    return {"api_key": api_key, **_named(key)}, writes


def page(company: str, *, after: str, limit: int) -> tuple[list[KeyView], str | None]:
    """Up to `limit` keys by id, starting behind the id `after`, and the id to go on from (None at the end)."""
    keys, more = table.page(_listed_key(company, "")[0], "KEY#", after=after, limit=limit)
    days = usage.last_used([key["id"] for key in keys])
    return [{**_named(key), "last_used_at": days.get(key["id"]), "revoked": key["revoked"]} for key in keys], more


def revoke(company: str, key_id: str) -> None:
    """Make a key good for nothing. Raises NotFound, also for one that is revoked already."""
    writes = revocation(company, key_id if is_id(key_id) else NO_ID)
    if not writes:
        raise NotFound()
    try:
        table.transact(writes)
    except ConditionFailed as gone:
        raise NotFound() from gone


def revocation(company: str, key_id: str) -> list[Write]:
    """The writes that make a key good for nothing; none when it is already, or is not there."""
    listed = _listed_key(company, key_id)
    key = table.read([listed]).get(listed)
    if key is None or key["revoked"]:
        return []
    return [_revoked(_hash_key(key["key_hash"])), _revoked(listed)]


def destroy(user: str, company: str, key_id: str) -> None:
    """Remove a key that is sealed to a user."""
    place = _sealed_key(user, key_id)
    for key in table.read([place]).values():
        _remove(key, user, company)


def destroy_sealed(user: str, company: str) -> None:
    """Remove every key that is sealed to a user."""
    while sealed := table.page(user_key(user)[0], "KEY#", limit=25)[0]:
        for key in sealed:
            _remove(key, user, company)


def _remove(key: Item, user: str, company: str) -> None:
    usage.forget(key["id"])
    # What it is found by goes last, so that whoever goes on after a crash finds it again.
    for place in _hash_key(key["key_hash"]), _listed_key(company, key["id"]), _sealed_key(user, key["id"]):
        table.delete(place)


def _revoked(place: table.Key) -> Write:
    return table.change(place, "SET revoked = :yes", condition="revoked = :no", yes=True, no=False)


def _named(key: Item) -> _Named:
    return {
        "key_id": key["id"],
        "name": key["name"],
        "last_4": key["last_4"],
        "active_tenant_user_id": key.get("sealed_user"),
        "created_at": timestamp(float(key["created_at"])),
    }


def _hash_key(key_hash: str) -> table.Key:
    return "KEY#" + key_hash, "KEY"


def _listed_key(company: str, key_id: str) -> table.Key:
    return "COMPANY#" + company, "KEY#" + key_id


def _sealed_key(user: str, key_id: str) -> table.Key:
    return "USER#" + user, "KEY#" + key_id
