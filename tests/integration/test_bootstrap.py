"""A company is made by the operator, once, with a key that is shown once."""

import json
import re
from typing import Any

import boto3
import pytest

from functions.bootstrap.app import handler
from tenancy.errors import AlreadyExists, InvalidInput, NotFound
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


def test_a_key_of_no_company_is_refused() -> None:
    with pytest.raises(NotFound, match="no such company"):
        handler({**EVENT, "new_key": True}, None)


@pytest.mark.parametrize("event", [{}, {"company": ""}, {"company": "a b"}, {"company": "a", "key": True}])
def test_a_bad_event_is_refused(event: Any) -> None:
    with pytest.raises(InvalidInput):
        handler(event, None)
