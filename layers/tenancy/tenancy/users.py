"""End-users of a company, from the first write to the last thing that is destroyed of one."""

import time
from collections.abc import Iterator
from typing import Literal, TypedDict

from tenancy import table
from tenancy.errors import AlreadyExists, Conflict, NotFound, RequestInProgress
from tenancy.models import Email, ExternalId, Input, Label
from tenancy.names import new_id, timestamp
from tenancy.registry import user_key
from tenancy.table import ConditionFailed, Item, Write

_TRIES = 3
_COUNTED = ("queues", "services")
"""What a user has and what counts it, in its record."""
_DESTROYING_SECONDS = 60
"""The function that was started to destroy a user has usually done so by then."""


class UserView(TypedDict):
    """A user as the company sees it."""

    id: str
    external_id: str | None
    email: str | None
    label: str | None
    status: Literal["active"]
    is_default: bool
    created_at: str


class UserDetails(Input):
    external_id: ExternalId | None = None
    email: Email | None = None
    label: Label | None = None

    def given(self) -> dict[str, str]:
        """What is said of the user."""
        return self.model_dump(exclude_none=True)


def create(company: str, details: UserDetails) -> UserView:
    """Make a user. Raises AlreadyExists when another one of the company has the external id."""
    user, writes = new_user(company, details)
    for _ in range(_TRIES):
        try:
            table.transact(writes)
            return _view(user)
        except ConditionFailed:
            _refuse_holder(company, details.external_id)
    raise _changing()


def new_user(company: str, details: UserDetails, *, default: bool = False) -> tuple[Item, list[Write]]:
    """A user and the writes that store it: by its id, and in the company's lists."""
    user_id = new_id()
    user = {
        **table.at(user_key(user_id)),
        "id": user_id,
        "company": company,
        "status": "active",
        "is_default": default,
        "queues": 0,
        "services": 0,
        "created_at": str(time.time()),
        **details.given(),
    }
    writes = [table.put(user), table.put({**table.at(_listed_key(company, user_id)), "id": user_id})]
    if details.external_id is not None:
        writes.append(_hold(company, details.external_id, user_id))
    return user, writes


def get(user_id: str) -> UserView:
    """The user. Raises NotFound."""
    return _view(_read(user_id))


def page(company: str, *, after: str, limit: int) -> tuple[list[UserView], str | None]:
    """Up to `limit` users by id, starting behind the id `after`, and the id to go on from (None at the end)."""
    listed, more = table.page(_listed_key(company, "")[0], "USER#", after=after, limit=limit)
    keys = [user_key(item["id"]) for item in listed]
    found = table.read(keys) if keys else {}
    return [_view(found[key]) for key in keys if _is_active(found.get(key))], more


def known_as(company: str, external_id: str) -> list[UserView]:
    """The user with that external id, or nothing."""
    holder_key = _external_key(company, external_id)
    holder = table.read([holder_key]).get(holder_key)
    if holder is None:
        return []
    key = user_key(holder["user_id"])
    user = table.read([key]).get(key)
    return [_view(user)] if user is not None and _is_active(user) else []


def change(user_id: str, details: UserDetails) -> UserView:
    """Change what is said of a user. Raises NotFound, AlreadyExists when another one has the external id."""
    for _ in range(_TRIES):
        user = _read(user_id)
        try:
            table.transact(list(_changes(user, details)))
            return _view({**user, **details.given()})
        except ConditionFailed:
            _refuse_holder(user["company"], details.external_id, but=user_id)
    raise _changing()


def retire(user_id: str, *, force: bool) -> None:
    """Take a user out of use; from here on it exists for nobody, and what it had is to be destroyed.

    Raises NotFound, and Conflict for the company's default user, or without `force` for one that has queues or
    services.
    """
    for _ in range(_TRIES):
        user = _read(user_id)
        if user["is_default"]:
            raise Conflict("the company's default user cannot be deleted", reason="default_user")
        if (left := [f"{what}: {user[what]}" for what in _COUNTED if user[what]]) and not force:
            raise Conflict(
                f"the user still has {', '.join(left)}",
                hint="Delete them first, or pass force=true to destroy all that the user has.",
                reason="user_has_resources",
            )
        try:
            return table.transact(list(_retirement(user, force=force)))
        except ConditionFailed:
            continue
    raise _changing()


def _changes(user: Item, details: UserDetails) -> Iterator[Write]:
    given, old, new = details.given(), user.get("external_id"), details.external_id
    unchanged, values = _unchanged(user)
    yield table.change(
        user_key(user["id"]),
        "SET " + ", ".join(f"#{name} = :{name}" for name in given),
        condition=unchanged,
        **given,
        **values,
    )
    if new is not None and new != old:
        yield _hold(user["company"], new, user["id"])
        if old is not None:
            yield _let_go(user, old)


def _retirement(user: Item, *, force: bool) -> Iterator[Write]:
    unchanged, values = _unchanged(user)
    yield table.change(
        user_key(user["id"]),
        "SET #status = :deleting, due = :user, due_at = :due_at",
        # What is made meanwhile is counted, so it is not destroyed by mistake.
        condition=unchanged + ("" if force else "".join(f" AND {what} = :none" for what in _COUNTED)),
        deleting="deleting",
        user="user",
        due_at=int(time.time()) + _DESTROYING_SECONDS,
        **values,
        **({} if force else {"none": 0}),
    )
    yield table.remove(_listed_key(user["company"], user["id"]), condition="attribute_exists(pk)")
    if "external_id" in user:
        yield _let_go(user, user["external_id"])


def _unchanged(user: Item) -> tuple[str, dict[str, str]]:
    """The condition that the user is in use and has the external id that was read, and its values.

    What holds an external id is written with the user, so no write may go by an older one.
    """
    old = user.get("external_id")
    if old is None:
        return "#status = :active AND attribute_not_exists(external_id)", {"active": "active"}
    return "#status = :active AND external_id = :old", {"active": "active", "old": old}


def _read(user_id: str) -> Item:
    key = user_key(user_id)
    user = table.read([key]).get(key)
    if user is None or not _is_active(user):
        raise NotFound()
    return user


def _is_active(user: Item | None) -> bool:
    return user is not None and user["status"] == "active"


def _refuse_holder(company: str, external_id: str | None, *, but: str | None = None) -> None:
    """Raise AlreadyExists when a user has the external id, other than the one that may."""
    if external_id is None:
        return
    key = _external_key(company, external_id)
    holder = table.read([key]).get(key)
    if holder is not None and holder["user_id"] != but:
        raise AlreadyExists(
            f"there is a user with external_id {external_id!r}",
            hint="Use the user that details.id names, or give another external_id.",
            id=holder["user_id"],
        )


def _hold(company: str, external_id: str, user_id: str) -> Write:
    return table.put({**table.at(_external_key(company, external_id)), "user_id": user_id})


def _let_go(user: Item, external_id: str) -> Write:
    return table.remove(_external_key(user["company"], external_id), condition="user_id = :id", id=user["id"])


def _view(user: Item) -> UserView:
    return {
        "id": user["id"],
        "external_id": user.get("external_id"),
        "email": user.get("email"),
        "label": user.get("label"),
        "status": "active",
        "is_default": user["is_default"],
        "created_at": timestamp(float(user["created_at"])),
    }


def _listed_key(company: str, user_id: str) -> table.Key:
    return "COMPANY#" + company, "USER#" + user_id


def _external_key(company: str, external_id: str) -> table.Key:
    return "COMPANY#" + company, "EXTERNAL#" + external_id


def _changing() -> RequestInProgress:
    return RequestInProgress("another request is changing this user", retry_after=1)
