"""What no request asks for: when it fails, Lambda logs what it raises, so that must not have the words of AWS."""

import traceback
from collections.abc import Callable
from typing import Any

import pytest

from functions.bootstrap.app import handler as bootstrap
from functions.destroy_user.app import handler as destroy_user
from functions.reconcile.app import handler as reconcile
from tenancy.errors import QueueError
from tests.integration.conftest import Calls, Context, aws_fault

WORK: list[tuple[Callable[..., Any], dict[str, str], str]] = [
    (bootstrap, {"company": "acme"}, "TransactWriteItems"),
    (destroy_user, {"user": "3f6f3b9e-8a53-4a39-9d0c-3f1c6f6f7a10"}, "BatchGetItem"),
    (reconcile, {}, "Query"),
]


@pytest.mark.parametrize("work, event, call", WORK, ids=["bootstrap", "destroy_user", "reconcile"])
@pytest.mark.parametrize("code, says", [("AccessDenied", "on our side"), ("Throttling", "cannot take the request now")])
def test_it_raises_no_word_of_aws(
    calls: Calls, work: Callable[..., Any], event: dict[str, str], call: str, code: str, says: str
) -> None:
    calls.fail(call, aws_fault(code))
    with pytest.raises(QueueError, match=says) as failed:
        work(event, Context())
    text = "".join(traceback.format_exception(failed.value))
    assert not [word for word in ("arn:", "https:", "nv-secret", code) if word in text]
