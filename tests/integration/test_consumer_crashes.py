"""A function dies at any AWS call of a change of a consumer; in the end there is what is wanted, and nothing else.

The places to die are those of a recorded run, so a call that is added is covered.
"""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pytest

from functions.reconcile.app import handler as reconcile
from tenancy import mappings, table
from tests.integration.conftest import Answer, Api, Context
from tests.integration.lambdas import WEBHOOK_WORKER, client, deploy, deploy_ours
from tests.integration.lambdas import mappings as fed
from tests.integration.leftovers import booked, secrets
from tests.integration.slow_lambda import SlowLambda
from tests.integration.test_crashes import Died, account, dying, hooked, later, meanwhile

CONSUMERS: dict[str, Any] = {
    "resize": {"type": "function", "function": "resize", "max_concurrency": 4},
    "mail": {"type": "function", "function": "mail", "max_concurrency": 5},
    "webhook": {"type": "webhook", "url": "http://127.0.0.1:9/hook", "max_concurrency": 6},
}


@pytest.fixture(autouse=True)
def aws() -> None:
    """Each case here has an account of its own."""


class Case:
    """A company whose queue's consumer is changed, and Lambda, which takes its time."""

    def __init__(self, api: Api, patch: pytest.MonkeyPatch) -> None:
        self.api = api
        self._patch = patch
        deploy_ours()
        self.roles = {name: deploy(name, api.company) for name in ("resize", "mail")}
        self.queue = api.queue("jobs", visibility_timeout=60)
        self.slow = SlowLambda()
        patch.setattr(mappings, "functions", self.slow)
        self._passed = 0.0

    def ask(self, method: str, body: Any = None) -> Answer:
        return self.api(method, f"/v1/queue/{self.queue}/consumer", body)

    def set(self, which: str = "resize") -> Answer:
        return self.ask("POST", CONSUMERS[which])

    def change(self) -> Answer:
        return self.ask("PATCH", {"batch_size": 3, "max_concurrency": 7})

    def pause(self) -> Answer:
        return self.ask("PATCH", {"paused": True})

    def remove(self) -> Answer:
        return self.ask("DELETE")

    def destroy(self) -> Answer:
        return self.api("DELETE", f"/v1/queue/{self.queue}")

    def pass_time(self, seconds: float = 121) -> None:
        self._passed += seconds
        self._patch.undo()
        self._patch.setattr(mappings, "functions", self.slow)
        later(self._passed, self._patch)

    def reconcile(self) -> list[str]:
        return [action["outcome"] for action in reconcile({}, Context(240))]

    def settle(self) -> None:
        """Let everything come to its end."""
        for _ in range(6):
            self.pass_time()
            self.slow.rest()
            if not self.reconcile():
                break
        self.slow.rest()
        assert self.reconcile() == []

    def assert_booked(self) -> None:
        said, own = booked(self.api.company)
        assert said == own

    def assert_tidy(self) -> None:
        """There is what is wanted, as it is wanted, and nothing else."""
        self.assert_booked()
        key = "QUEUE#" + self.queue, "QUEUE"
        item = table.read([key]).get(key)
        if item is None:
            assert (fed(), secrets(), client("sqs").list_queues().get("QueueUrls", [])) == ([], [], [])
            return
        consumer = item.get("consumer")
        admitted = self._admitted(item["url"])
        assert "due" not in item
        assert self.ask("GET").status == (404 if consumer is None else 200)
        if consumer is None:
            assert ("mapping" in item, fed(), secrets(), admitted) == (False, [], [], [])
            return
        (mapping,) = fed()
        assert mapping["UUID"] == item["mapping"]["uuid"]
        assert mapping["FunctionArn"].endswith(f":{consumer.get('function', WEBHOOK_WORKER)}")
        assert (mapping["BatchSize"], mapping["ScalingConfig"]["MaximumConcurrency"], mapping["State"]) == (
            consumer["batch_size"],
            consumer["max_concurrency"],
            "Disabled" if consumer["paused"] else "Enabled",
        )
        assert secrets() == ([self.queue] if consumer["type"] == "webhook" else [])
        assert admitted == ([self.roles[consumer["function"]]] if consumer["type"] == "function" else [])

    def _admitted(self, url: str) -> list[str]:
        asked = client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])["Attributes"]
        condition = json.loads(asked["Policy"])["Statement"][0]["Condition"]["ArnNotLike"]
        names: list[str] = condition["aws:PrincipalArn"]
        return names[2:]


@contextmanager
def case(prepare: "Act | None" = None) -> Iterator[Case]:
    with account() as api, pytest.MonkeyPatch.context() as patch:
        made = Case(api, patch)
        if prepare is not None:
            prepare(made)
            made.slow.rest()
        yield made


type Act = Callable[[Case], Any]


def nothing(_: Case) -> None:
    pass


def set_function(case: Case) -> Answer:
    return case.set("resize")


def set_webhook(case: Case) -> Answer:
    return case.set("webhook")


def removed_function(case: Case) -> None:
    """Another consumer follows one of which AWS still has the mapping."""
    case.set("resize")
    case.slow.rest()
    case.remove()


def paused_too_early(case: Case) -> None:
    """What is left to the reconciler."""
    case.set("resize")
    case.pause()
    case.pass_time()


def replaced(case: Case) -> None:
    """What is left to the reconciler, with more to do."""
    removed_function(case)
    case.set("mail")
    case.pass_time()


def run_reconciler(case: Case) -> None:
    case.reconcile()


CHANGES: dict[str, tuple[Act, Act]] = {
    "set-function": (nothing, set_function),
    "set-webhook": (nothing, set_webhook),
    "set-another": (removed_function, set_webhook),
    "change-function": (set_function, Case.change),
    "pause-webhook": (set_webhook, Case.pause),
    "remove-function": (set_function, Case.remove),
    "remove-webhook": (set_webhook, Case.remove),
    "destroy-function": (set_function, Case.destroy),
    "destroy-webhook": (set_webhook, Case.destroy),
    "reconcile-change": (paused_too_early, run_reconciler),
    "reconcile-replacement": (replaced, run_reconciler),
}


DEATHS: list[tuple[str, Act]] = [
    *((which, nothing) for which in CHANGES),
    ("set-function", Case.remove),
    ("set-function", Case.destroy),
    ("change-function", Case.remove),
    ("remove-function", set_webhook),
    ("reconcile-change", Case.destroy),
    ("reconcile-replacement", Case.remove),
]
"""Which change dies, and what its caller does then."""

MEETINGS: list[tuple[str, Act]] = [
    ("set-function", set_webhook),
    ("set-function", Case.change),
    ("set-webhook", Case.remove),
    ("set-webhook", Case.destroy),
    ("change-function", Case.change),
    ("change-function", Case.remove),
    ("remove-function", Case.change),
    ("remove-function", set_webhook),
    ("destroy-webhook", Case.change),
    ("reconcile-change", Case.change),
    ("reconcile-change", Case.destroy),
    ("reconcile-replacement", Case.remove),
    ("reconcile-replacement", run_reconciler),
]
"""Two changes at once."""


def calls_of(prepare: Act, act: Act) -> int:
    """How many AWS calls a change makes when nothing goes wrong."""
    with case(prepare) as one, hooked(lambda number, when: None) as made:
        answer = act(one)
        assert answer is None or answer.status < 300
    assert len(made) >= 3
    return len(made)


def named(value: Any) -> str:
    return value if isinstance(value, str) else str(value.__name__)


@pytest.mark.parametrize(("which", "then"), DEATHS, ids=named)
def test_a_change_that_dies_is_made_good(which: str, then: Act, subtests: pytest.Subtests) -> None:
    prepare, act = CHANGES[which]
    calls = calls_of(prepare, act)
    for at, when in [*((number, "before") for number in range(calls)), (calls - 1, "after")]:
        with subtests.test(at=at, when=when), case(prepare) as one:
            with dying(at, when), pytest.raises(Died):
                act(one)
            one.assert_booked()
            then(one)
            one.assert_booked()
            one.settle()
            one.assert_tidy()


@pytest.mark.parametrize(("which", "other"), MEETINGS, ids=named)
def test_two_changes_at_once_leave_what_is_wanted(which: str, other: Act, subtests: pytest.Subtests) -> None:
    prepare, act = CHANGES[which]
    for at in range(calls_of(prepare, act)):
        with subtests.test(at=at), case(prepare) as one:
            with meanwhile(at, partial(other, one)):
                act(one)
            one.assert_booked()
            one.settle()
            one.assert_tidy()


@pytest.mark.parametrize("seed", range(15))
def test_whatever_happens_there_is_what_is_wanted_in_the_end(seed: int) -> None:
    chance = random.Random(seed)
    acts: list[Act] = [
        *(partial(_set, which) for which in CONSUMERS),
        Case.change,
        Case.pause,
        Case.remove,
        lambda one: one.slow.rest(),
        lambda one: one.pass_time(chance.choice([1, 31, 121])),
        run_reconciler,
    ]
    with case() as one:
        for _ in range(25):
            with suppress(Died), dying(chance.randrange(20), chance.choice(["before", "after"])):
                chance.choice(acts)(one)
            one.assert_booked()
        one.settle()
        one.assert_tidy()
        if chance.random() < 0.5:
            one.destroy()
            one.settle()
            one.assert_tidy()


def _set(which: str, one: Case) -> Answer:
    return one.set(which)
