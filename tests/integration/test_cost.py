"""What runs by itself makes the requests that docs/cost.md counts."""

from collections import Counter

import pytest

from functions.reconcile.app import handler as reconcile
from tenancy.scaling import STEADY_SECONDS
from tests.cost import number, tables
from tests.integration.conftest import Api, Calls, Context
from tests.integration.test_scaler import Frozen, Scaled, asleep, clock

__all__ = ["clock"]

BY_LAMBDA = 2
"""A tick is received and deleted by Lambda, not by us."""
INDEX_READ = 0.5
"""A query that finds next to nothing, and need not be up to date."""
WRITE_UNITS = 2
"""A queue's record has more than 1 KB when its names are long, and less than 2."""


def counted(act: str) -> dict[str, float]:
    row = tables()["What runs by itself"][act]
    return {column: number(row[column]) for column in ("SQS requests", "reads", "writes")}


def units(made: Counter[str]) -> dict[str, float]:
    """The requests and units that these calls are; ECS takes none."""
    assert made.keys() <= {"GetQueueAttributes", "SendMessage", "BatchGetItem", "Query", "UpdateItem"}
    return {
        "SQS requests": made["GetQueueAttributes"] + made["SendMessage"],
        "reads": made["BatchGetItem"] + made["Query"] * INDEX_READ,
        "writes": made["UpdateItem"] * WRITE_UNITS,
    }


@pytest.mark.usefixtures("api")
def test_a_run_of_the_reconciler_with_nothing_to_see_to(calls: Calls) -> None:
    reconcile({}, Context(240))
    assert units(Counter(calls.names())) == counted("a run of the reconciler")


@pytest.mark.usefixtures("cluster")
def test_the_reconcilers_look_at_a_service_that_sleeps(api: Api, calls: Calls, clock: Frozen) -> None:
    reconcile({}, Context(240))
    alone = Counter(calls.names())
    asleep(api, calls, clock, api.queue())
    before = len(calls.made)
    reconcile({}, Context(240))
    assert units(Counter(calls.names()[before:]) - alone) == counted("its look at a service that sleeps")


@pytest.mark.usefixtures("cluster")
def test_a_look_at_a_service_that_is_awake(api: Api, calls: Calls, clock: Frozen) -> None:
    one: Scaled = asleep(api, calls, clock, api.queue())
    one.send()
    one.pass_by(100)
    before = len(calls.made)
    one.pass_by(STEADY_SECONDS)
    seen = units(Counter(calls.names()[before:]))
    assert seen | {"SQS requests": seen["SQS requests"] + BY_LAMBDA} == counted("a look at a service that is awake")
