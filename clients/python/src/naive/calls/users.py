"""The calls about the company's users. They are the company's own, so no user is acted for."""

from __future__ import annotations

from naive.calls.call import ROOT, Call, answer_as, given, nothing, segment, unique
from naive.calls.ids import UserRef, user_id
from naive.models import User, UserPage

_USERS = f"{ROOT}/users"


def create_user(external_id: str | None, email: str | None, label: str | None) -> Call[User]:
    body = given(external_id=external_id, email=email, label=label)
    return Call("POST", _USERS, answer_as(User), body=body, idempotency_key=unique())


def list_users(limit: int | None, cursor: str | None, external_id: str | None) -> Call[UserPage]:
    query = given(limit=limit, cursor=cursor, external_id=external_id)
    return Call("GET", _USERS, answer_as(UserPage), query=query)


def get_user(user: UserRef) -> Call[User]:
    return Call("GET", _user(user), answer_as(User))


def update_user(user: UserRef, external_id: str | None, email: str | None, label: str | None) -> Call[User]:
    body = given(external_id=external_id, email=email, label=label)
    return Call("PATCH", _user(user), answer_as(User), body=body)


def delete_user(user: UserRef, force: bool) -> Call[None]:
    query = given(force="true" if force else None)
    return Call("DELETE", _user(user), nothing, query=query, done_when_absent=True)


def _user(user: UserRef) -> str:
    return f"{_USERS}/{segment(user_id(user))}"
