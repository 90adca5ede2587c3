"""Companies: made with a default user and a first key, by whoever operates the service."""

import time
from typing import TypedDict

from tenancy import keys, table, users
from tenancy.errors import AlreadyExists, NotFound
from tenancy.keys import NewKey
from tenancy.names import new_id
from tenancy.registry import company_key
from tenancy.table import ConditionFailed
from tenancy.users import UserDetails

_KEY_NAME = "bootstrap"


class FirstKey(TypedDict):
    """A key as the operator gets it, once, with whose it is."""

    company_id: str
    user_id: str
    key_id: str
    api_key: str


def create(name: str) -> FirstKey:
    """Make a company, its default user and its first key. Raises AlreadyExists when the name is taken."""
    company = new_id()
    user, of_user = users.new_user(company, UserDetails(), default=True)
    key, of_key = keys.new_key(company, user["id"], _KEY_NAME)
    record = {
        "id": company,
        "name": name,
        "default_user": user["id"],
        "concurrency": 0,
        "created_at": str(time.time()),
    }
    try:
        table.transact(
            [
                table.put({**table.at(_name_key(name)), "company": company}),
                table.put({**table.at(company_key(company)), **record}),
                *of_user,
                *of_key,
            ]
        )
    except ConditionFailed as taken:
        # What to do is in the text: of an error, Lambda shows an operator nothing else.
        raise AlreadyExists(f'there is a company named {name!r}; pass "new_key": true for another key of it') from taken
    return _shown(company, user["id"], key)


def add_key(name: str) -> FirstKey:
    """Make another key of a company, which is not sealed to a user. Raises NotFound."""
    holder = _read(_name_key(name))
    company = _read(company_key(holder["company"]))
    key, writes = keys.new_key(company["id"], company["default_user"], _KEY_NAME)
    table.transact(writes)
    return _shown(company["id"], company["default_user"], key)


def _shown(company: str, user: str, key: NewKey) -> FirstKey:
    return {"company_id": company, "user_id": user, "key_id": key["key_id"], "api_key": key["api_key"]}


def _read(key: table.Key) -> table.Item:
    item = table.read([key]).get(key)
    if item is None:
        raise NotFound("there is no such company; leave new_key out to make it")
    return item


def _name_key(name: str) -> table.Key:
    return "COMPANY_NAME#" + name, "COMPANY_NAME"
