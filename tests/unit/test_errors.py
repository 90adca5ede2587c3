"""Every error is mapped, drawn and documented."""

import re
from collections.abc import Iterator

import pytest

from tenancy import errors
from tests.template import ROOT

# The contract's table of statuses and codes, as far as something raises them.
CODES = {
    "invalid_input": 400,
    "receipt_invalid": 400,
    "receipt_expired": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "key_subject_mismatch": 403,
    "not_found": 404,
    "already_exists": 409,
    "conflict": 409,
    "idempotency_mismatch": 409,
    "purge_in_progress": 409,
    "request_in_progress": 409,
    "payload_too_large": 413,
    "rate_limited": 429,
    "internal_error": 500,
    "unavailable": 503,
}


def tree(root: type[errors.QueueError]) -> Iterator[type[errors.QueueError]]:
    yield root
    for child in root.__subclasses__():
        yield from tree(child)


def test_the_codes_are_the_contracts() -> None:
    assert {error.code: error.status for error in tree(errors.QueueError)} == CODES


@pytest.mark.parametrize("error", list(tree(errors.QueueError)), ids=lambda error: error.__name__)
def test_every_error_is_drawn_atop_the_module_says_when_and_is_documented(error: type[errors.QueueError]) -> None:
    assert re.search(rf"{error.__name__} +{error.status} {error.code}\n", errors.__doc__ or "")
    assert error.__doc__
    assert f"`{error.code}`" in (ROOT / "docs/http-api.md").read_text()


def test_the_wire_shape_leaves_out_what_there_is_not_to_say() -> None:
    assert errors.NotFound("no such queue").to_wire("r1") == {
        "error": {"code": "not_found", "message": "no such queue", "request_id": "r1"}
    }
    assert errors.AlreadyExists("taken", id="q1").to_wire("r1")["error"] == {
        "code": "already_exists",
        "message": "taken",
        "hint": "Use the one that details.id names, or choose another name.",
        "details": {"id": "q1"},
        "request_id": "r1",
    }
