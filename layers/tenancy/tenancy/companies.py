"""Companies, their default users and their keys."""

import secrets
import time
from hashlib import sha256
from typing import TypedDict

from tenancy import table
from tenancy.errors import AlreadyExists, NotFound
from tenancy.names import new_id
from tenancy.table import ConditionFailed, Item, Write


class NewKey(TypedDict):
    """A key as it is shown, once."""

    company_id: str
    user_id: str
    key_id: str
    api_key: str


def create(name: str) -> NewKey:
    """Make a company, its default user and its first key. Raises AlreadyExists when the name is taken."""
    company, user = new_id(), new_id()
    now = str(time.time())
    key, writes = _new_key(company, user, now)
    try:
        table.transact(
            [
                table.put({**_name_key(name), "company": company}),
                table.put(
                    {
                        "pk": "COMPANY#" + company,
                        "sk": "COMPANY",
                        "id": company,
                        "name": name,
                        "default_user": user,
                        "created_at": now,
                    }
                ),
                table.put(
                    {
                        "pk": "USER#" + user,
                        "sk": "USER",
                        "id": user,
                        "company": company,
                        "status": "active",
                        "is_default": True,
                        "created_at": now,
                    }
                ),
                table.put({"pk": "COMPANY#" + company, "sk": "USER#" + user}),
                *writes,
            ]
        )
    except ConditionFailed as taken:
        raise AlreadyExists(
            f"there is a company named {name!r}", hint='Pass "new_key": true for another key of it.'
        ) from taken
    return key


def add_key(name: str) -> NewKey:
    """Make another key of a company, which is not sealed to a user. Raises NotFound."""
    name_key = _name_key(name)
    holder = _read(name_key)
    company = _read({"pk": "COMPANY#" + holder["company"], "sk": "COMPANY"})
    key, writes = _new_key(company["id"], company["default_user"], str(time.time()))
    table.transact(writes)
    return key


def _new_key(company: str, user: str, now: str) -> tuple[NewKey, list[Write]]:
    """A key and the writes that store it: by its hash for who presents it, by its id in the company's list."""
    api_key = "nv_sk_live_" + secrets.token_urlsafe(32)
    key_id = new_id()
    key_hash = sha256(api_key.encode()).hexdigest()
    shown = {"id": key_id, "name": "bootstrap", "last_4": api_key[-4:], "created_at": now, "revoked": False}
    stored = {"company": company, "default_user": user}
    writes = [
        table.put({"pk": "KEY#" + key_hash, "sk": "KEY", **shown, **stored}),
        table.put({"pk": "COMPANY#" + company, "sk": "KEY#" + key_id, **shown, "key_hash": key_hash}),
    ]
    return {"company_id": company, "user_id": user, "key_id": key_id, "api_key": api_key}, writes


def _read(key: dict[str, str]) -> Item:
    wanted = (key["pk"], key["sk"])
    item = table.read([wanted]).get(wanted)
    if item is None:
        raise NotFound("there is no such company", hint="Leave new_key out to make it.")
    return item


def _name_key(name: str) -> dict[str, str]:
    return {"pk": "COMPANY_NAME#" + name, "sk": "COMPANY_NAME"}
