"""Each figure in docs/cost.md follows from the prices that it names, the template and the code."""

from collections import Counter
from typing import Any

import pytest

from tenancy import alarms, containers, scaling, wakes
from tenancy.scaling import Consumer, Depth, Event, SendTick, State, Tick, Write
from tests.cost import number, tables
from tests.template import functions, resource, template, translated

MONTH = 730
"""Hours."""
MILLION = 10**6
POLLERS, POLL_SECONDS = 5, 20
"""How Lambda reads a queue, by its documentation: so many long polls at a time, of the longest that SQS knows."""
USUAL = Consumer(min=0, max=10, messages_per_worker=10, idle_seconds=60, paused=False, protected=False)
"""A consumer with the defaults; its idle_seconds is also the least that there is."""
STARTED, DONE = 30, 40
"""When the task of the page's example has started and has done its work, in seconds after the send."""

RECKONED = ("A stack at rest", "Asleep", "Awake", "Awake, USD", "A long delayed retry")
FREE_AT_REST = {
    "AWS::ApiGatewayV2::Api",
    "AWS::ApiGatewayV2::Stage",
    "AWS::DynamoDB::Table",
    "AWS::IAM::ManagedPolicy",
    "AWS::IAM::Role",
    "AWS::Lambda::Function",
    "AWS::Lambda::LayerVersion",
    "AWS::Lambda::Permission",
    "AWS::Logs::LogGroup",
    "AWS::SNS::Subscription",
    "AWS::SNS::Topic",
    "AWS::SQS::Queue",
    "AWS::SSM::Parameter",
}


def price(name: str) -> float:
    return number(tables()["Prices"][name]["USD"])


def act(name: str, function: str) -> float:
    """What it costs that this function does this once."""
    made = {column: number(cell) for column, cell in tables()["What runs by itself"][name].items()}
    memory: int = functions()[function]["MemorySize"]
    time = made["ms"] / 1000 * memory / 1024 * price("Lambda time")
    parts = {
        "Lambda request": made["Lambda requests"],
        "SQS request": made["SQS requests"],
        "DynamoDB read": made["reads"],
        "DynamoDB write": made["writes"],
    }
    requests = sum(price(part) * often for part, often in parts.items())
    return (time + requests) / MILLION + made["bytes of log"] / 10**9 * price("logs")


def runs() -> float:
    """How often a month the reconciler is started."""
    (rule,) = [made["Properties"] for made in translated()["Resources"].values() if made["Type"] == "AWS::Events::Rule"]
    rate, unit = rule["ScheduleExpression"].removeprefix("rate(").removesuffix(")").split()
    assert unit == "minutes"
    return float(MONTH * 60 / int(rate))


def polls() -> float:
    return POLLERS * 3600 / POLL_SECONDS * MONTH


def task() -> float:
    """The smallest task for an hour."""
    cpu = min(containers._MEMORY)
    return cpu / 1024 * price("vCPU") + min(containers._MEMORY[cpu]) / 1024 * price("memory")


def waking() -> tuple[int, int]:
    """How many looks there are from a send to sleep, and for how many seconds a worker is wanted."""
    state = State(tick=Tick(1, "first"))
    event: Event = "wake"
    looks = now = until = 0
    while True:
        depth = Depth(1, 0, 0) if now < STARTED else Depth(0, 1, 0) if now < DONE else Depth(0, 0, 0)
        looks += 1
        effects = scaling.look(event, state, USUAL, depth, now, str(looks))
        state = next(effect.state for effect in effects if isinstance(effect, Write))
        until = until or (now if state.desired == 0 else 0)
        sent = next((effect for effect in effects if isinstance(effect, SendTick)), None)
        if sent is None:
            return looks, until
        event, now = sent.tick, now + sent.delay


def figures() -> dict[str, dict[str, tuple[float, ...]]]:
    """By table and row, what its cells must say."""
    run = act("a run of the reconciler", "ReconcileFunction") + price("schedule") / MILLION
    glance = runs() * act("its look at a service that sleeps", "ReconcileFunction")
    look = act("a look at a service that is awake", "DepthAlarmFunction")
    hourly = 3600 / scaling.STEADY_SECONDS
    standard, fifo = (polls() / MILLION * price(kind) for kind in ("SQS request", "SQS fifo request"))
    looks, seconds = waking()
    wake = looks * look + seconds / 3600 * task()
    return {
        "A stack at rest": {
            "the reconciler, every 5 minutes": (runs(), runs() * run),
            "Lambda waits at the tick queue": (polls(), standard),
            "Lambda waits at the queue of the example of a consumer": (polls(), standard),
            "in all": (0, runs() * run + 2 * standard),
        },
        "Asleep": {
            "a queue, with or without dead letters, messages or not": (0, 0),
            "the alarm of a service": (0, price("alarm")),
            "the reconciler's looks at it": (runs(), glance),
            "a service, in all": (0, price("alarm") + glance),
            "a function or a webhook at a standard queue, not paused": (polls(), standard),
            "a function or a webhook at a fifo queue, not paused": (polls(), fifo),
            "a function or a webhook, paused": (0, 0),
            "a service that is nobody's consumer, stopped": (0, 0),
        },
        "Awake": {
            "looks at a service, every 15 s": (hourly, hourly * look, MONTH * hourly * look),
            "a task of the smallest size, 256 CPU units and 512 MB": (0, task(), MONTH * task()),
        },
        "Awake, USD": {
            "looks": (looks, looks * look),
            "a task of the smallest size, for 114 s": (0, seconds / 3600 * task()),
            "in all": (0, wake),
            "in a month, one an hour": (MONTH, MONTH * wake),
        },
        "A long delayed retry": {
            "a retry with a delay of 1 hour, for each worker of the smallest size that stays": (task(),),
            "a retry with the longest delay, 12 hours, for each worker that stays": (12 * task(),),
            "the looks in 12 hours": (12 * hourly * look,),
            "a send with the longest delay, 15 minutes: looks every 30 s and no worker": (
                wakes._MAX_DELAY / scaling.DELAYED_SECONDS * look,
            ),
        },
    }


@pytest.mark.parametrize("table", RECKONED)
def test_each_figure_is_what_the_prices_the_template_and_the_code_make_of_it(table: str) -> None:
    expected, rows = figures()[table], tables()[table]
    assert rows.keys() == expected.keys()
    for name, numbers in expected.items():
        assert len(rows[name]) == len(numbers)
        for cell, exact in zip(rows[name].values(), numbers, strict=True):
            assert agrees(cell, exact), f"{name}: {cell} should be {exact:.3g}"


def agrees(cell: str, exact: float) -> bool:
    """Whether a cell says a number, rounded to no fewer than two digits."""
    decimals = len(cell.partition(".")[2])
    shown = number(cell)
    return shown == round(exact, decimals) and abs(shown - exact) <= 0.05 * exact


def test_no_figure_is_left_without_a_reckoning() -> None:
    assert tables().keys() == {"Prices", "What runs by itself", *RECKONED}


def test_what_the_rows_say_of_the_code_is_so() -> None:
    assert scaling.STEADY_SECONDS == 15
    assert scaling.DELAYED_SECONDS == 30
    assert wakes._MAX_DELAY == 15 * 60
    assert waking() == (20, 114)
    assert (min(containers._MEMORY), min(containers._MEMORY[256])) == (256, 512)
    assert alarms._SECONDS == 60, "an alarm of a shorter period is of high resolution, and dearer"
    assert resource("ReconcileFunction")["Events"]["Regularly"]["Properties"]["Schedule"] == "rate(5 minutes)"
    assert template()["Parameters"]["Architecture"]["Default"] == "arm64"


def test_nothing_else_in_the_template_costs_anything_at_rest() -> None:
    made: Any = translated()["Resources"]
    types = Counter(each["Type"] for each in made.values())
    assert types.keys() == FREE_AT_REST | {"AWS::Events::Rule", "AWS::Lambda::EventSourceMapping"}
    assert types["AWS::Events::Rule"] == 1
    reads = [
        each["Properties"]["EventSourceArn"]["Fn::GetAtt"][0]
        for each in made.values()
        if each["Type"] == "AWS::Lambda::EventSourceMapping"
    ]
    assert sorted(reads) == ["ConsumerExampleQueue", "TickQueue"]
    tables = [each["Properties"] for each in made.values() if each["Type"] == "AWS::DynamoDB::Table"]
    assert {table["BillingMode"] for table in tables} == {"PAY_PER_REQUEST"}
    assert resource("ServiceBaseUrl").get("Tier", "Standard") == "Standard"
