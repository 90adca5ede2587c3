"""A company is made by the operator, once, with a key that is shown once."""

import json
import re
from typing import Any

import boto3
import pytest

from functions.bootstrap.app import handler
from tenancy.errors import AlreadyExists, InvalidInput, NotFound
from tests.integration.conftest import Api, Calls
from tests.integration.leftovers import stored
from tests.template import ROOT

EVENT: Any = json.loads((ROOT / "events/bootstrap.json").read_text())


def test_the_sample_event_makes_a_company_with_a_key() -> None:
    made = handler(EVENT, None)
    assert set(made) == {"company_id", "user_id", "key_id", "api_key"}
    assert re.fullmatch(r"nv_sk_live_[A-Za-z0-9_-]{43}", made["api_key"])


def test_a_key_is_stored_as_its_hash_alone() -> None:
    made = handler(EVENT, None)
    stored = repr(boto3.client("dynamodb").scan(TableName="registry")["Items"])
    assert made["api_key"][-43:] not in stored
    assert made["api_key"][-4:] in stored


def test_a_second_time_is_refused_unless_a_new_key_is_asked_for() -> None:
    first = handler(EVENT, None)
    with pytest.raises(AlreadyExists):
        handler(EVENT, None)
    second = handler({**EVENT, "new_key": True}, None)
    assert (second["company_id"], second["user_id"]) == (first["company_id"], first["user_id"])
    assert second["api_key"] != first["api_key"]


def test_two_at_once_make_one_company(calls: Calls) -> None:
    made: list[Any] = []
    calls.fail("TransactWriteItems", lambda: made.append(handler(EVENT, None)))
    with pytest.raises(AlreadyExists):
        handler(EVENT, None)
    assert [item["id"]["S"] for item in stored() if item["sk"]["S"] == "USER"] == [made[0]["user_id"]]


def test_every_key_that_it_makes_is_the_companys_and_acts_for_its_default_user() -> None:
    made = [handler(EVENT, None), handler({**EVENT, "new_key": True}, None)]
    for one in made:
        client = Api(one["company_id"], one["user_id"], one["api_key"])
        default = client("GET", "/v1/users/me").json
        assert (default["id"], default["is_default"]) == (one["user_id"], True)
        keys = client("GET", "/v1/auth/keys").json["keys"]
        assert {key["key_id"] for key in keys} == {one["key_id"] for one in made}
        assert {(key["name"], key["active_tenant_user_id"]) for key in keys} == {("bootstrap", None)}


def test_a_new_key_outlives_the_one_that_it_replaces() -> None:
    old, new = handler(EVENT, None), handler({**EVENT, "new_key": True}, None)
    client = Api(new["company_id"], new["user_id"], new["api_key"])
    assert client("DELETE", f"/v1/auth/keys/{old['key_id']}").status == 204
    assert Api("", "", old["api_key"])("GET", "/v1/users/me").status == 401
    assert client("GET", "/v1/users/me").status == 200


def test_a_key_of_no_company_is_refused() -> None:
    with pytest.raises(NotFound, match="no such company"):
        handler({**EVENT, "new_key": True}, None)


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"company": ""},
        {"company": "a b"},
        {"company": "a\n"},
        {"company": "a" * 65},
        {"company": 7},
        {"company": "a", "key": True},
        {"company": "a", "new_key": 1},
    ],
)
def test_a_bad_event_is_refused(event: Any) -> None:
    with pytest.raises(InvalidInput):
        handler(event, None)
