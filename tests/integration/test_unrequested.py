"""What no request asks for: when it fails, Lambda logs what it raises, so that must not have the words of AWS."""

import importlib
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from functions.bootstrap.app import handler as bootstrap
from functions.depth_alarm.app import handler as depth_alarm
from functions.destroy_user.app import handler as destroy_user
from functions.reconcile.app import handler as reconcile
from functions.webhook_worker.app import handler as webhook_worker
from tenancy.errors import QueueError
from tests import rules
from tests.integration.conftest import Calls, Context, aws_fault
from tests.template import functions

WORK: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (bootstrap, {"company": "acme"}, "TransactWriteItems"),
    (depth_alarm, {"Records": [{"body": f'{{"queue": "{"a" * 32}", "event": "wake"}}'}]}, "BatchGetItem"),
    (destroy_user, {"user": "3f6f3b9e-8a53-4a39-9d0c-3f1c6f6f7a10"}, "BatchGetItem"),
    (reconcile, {}, "Query"),
    (webhook_worker, {"Records": [{"eventSourceARN": f"nv-test-user-{'a' * 32}"}]}, "BatchGetItem"),
]


def test_this_is_every_function_that_no_request_asks_for() -> None:
    folders = {function["CodeUri"] for function in functions().values()} - rules.CONSUMERS.keys()
    modules = [folder.replace("/", ".") + ".app" for folder in folders]
    handlers = {importlib.import_module(module).handler for module in modules}
    assert {handler for handler in handlers if not hasattr(handler, "operation")} == {work for work, *_ in WORK}


@pytest.mark.parametrize(
    "work, event, call", WORK, ids=["bootstrap", "depth_alarm", "destroy_user", "reconcile", "webhook_worker"]
)
@pytest.mark.parametrize("code, says", [("AccessDenied", "on our side"), ("Throttling", "cannot take the request now")])
def test_it_raises_no_word_of_aws(
    calls: Calls, work: Callable[..., Any], event: dict[str, Any], call: str, code: str, says: str
) -> None:
    calls.fail(call, aws_fault(code))
    with pytest.raises(QueueError, match=says) as failed:
        work(event, Context())
    text = "".join(traceback.format_exception(failed.value))
    assert not [word for word in ("arn:", "https:", "nv-secret", code) if word in text]
