"""The scaler's rules, one look at a time."""

from dataclasses import replace
from typing import Any

import pytest

from tenancy import auth
from tenancy.scaling import (
    DELAYED_SECONDS,
    DOZE_SECONDS,
    LATE_SECONDS,
    QUICK_SECONDS,
    SENDER_SECONDS,
    STEADY_SECONDS,
    SURE_SECONDS,
    Consumer,
    Depth,
    Effect,
    Event,
    SendTick,
    SetDesired,
    State,
    Tick,
    Write,
    applies,
    decide,
    look,
    workers,
)

NOW = 1_800_000_000
NOTHING = Depth(0, 0, 0)
TICK = Tick(7, "current")


def consumer(**changes: Any) -> Consumer:
    usual = Consumer(min=0, max=10, messages_per_worker=10, idle_seconds=60, paused=False, protected=False)
    return replace(usual, **changes)


def awake(desired: int = 1, **changes: Any) -> State:
    """Long awake, with the next look in time."""
    state = State(tick=TICK, mode="awake", desired=desired, most=desired, scaled_at=NOW - 1000, look_at=NOW + 5)
    return replace(state, **changes)


def dozing(since: int, **changes: Any) -> State:
    state = State(tick=TICK, mode="dozing", idle_since=NOW - since, scaled_at=NOW - 1000, look_at=NOW + 5)
    return replace(state, **changes)


def asleep(**changes: Any) -> State:
    return replace(State(tick=TICK, idle_since=NOW - 1000, scaled_at=NOW - 2000), **changes)


# How many workers there should be, at 10 messages a worker.
WORKERS = """
present | ready | in flight | wanted
      0 |     1 |         0 |      1
      0 |   200 |         0 |     20
      0 |     0 |         3 |      1
      1 |    10 |         0 |      1
      1 |    11 |         0 |      2
      1 |    10 |        10 |      2
      1 |     0 |        10 |      1
      2 |    11 |        20 |      4
      5 |     1 |         0 |      5
      1 |     0 |      1000 |      1
      1 |     1 |      1000 |      2
"""


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()[1:]]


@pytest.mark.parametrize("row", rows(WORKERS), ids=" ".join)
def test_workers_are_as_many_as_messages_ask_for_and_not_fewer_than_there_are(row: list[str]) -> None:
    present, ready, in_flight, wanted = map(int, row)
    assert workers(present, consumer(), Depth(ready, in_flight, 0)) == wanted


@pytest.mark.parametrize(
    ("before", "ready", "limits", "after", "reason"),
    [
        (1, 500, {}, 10, "500 ready, 0 in flight, min 0, max 10"),
        (1, 5, {"min": 3}, 3, "5 ready, 0 in flight, min 3, max 10"),
        (8, 5, {"max": 4}, 4, "5 ready, 0 in flight, min 0, max 4"),
        (1, 15, {}, 2, "15 ready, 0 in flight"),
    ],
)
def test_the_count_goes_to_what_is_wanted_in_one_step_and_stays_in_its_limits(
    before: int, ready: int, limits: dict[str, int], after: int, reason: str
) -> None:
    state = decide(TICK, awake(before), consumer(**limits), Depth(ready, 0, 0), NOW)
    assert (state.desired, state.reason, state.scaled_at, state.sure) == (after, reason, NOW, False)


WAKES = """
mode   | event   | ready | in flight | delayed | mode after | count after
asleep | wake    |     0 |         0 |       0 | awake      | 1
asleep | look    |     1 |         0 |       0 | awake      | 1
asleep | look    |     0 |         1 |       0 | awake      | 1
asleep | look    |     0 |         0 |       1 | dozing     | 0
asleep | look    |     0 |         0 |       0 | asleep     | 0
asleep | changed |     0 |         0 |       0 | dozing     | 0
asleep | changed |    25 |         0 |       0 | awake      | 3
dozing | wake    |     0 |         0 |       0 | awake      | 1
dozing | tick    |    25 |         0 |       0 | awake      | 3
dozing | tick    |     0 |         1 |       0 | awake      | 1
dozing | tick    |     0 |         0 |       0 | dozing     | 0
"""


@pytest.mark.parametrize("row", rows(WAKES), ids=" ".join)
def test_work_wakes_at_once_and_a_sender_is_believed_whatever_is_counted(row: list[str]) -> None:
    mode, event, *depth, mode_after, count_after = row
    before = asleep() if mode == "asleep" else dozing(10)
    state = decide(named(event), before, consumer(), Depth(*map(int, depth)), NOW)
    assert (state.mode, state.desired) == (mode_after, int(count_after))


def named(event: str) -> Event:
    events: dict[str, Event] = {"tick": TICK, "wake": "wake", "look": "look", "changed": "changed"}
    return events[event]


# What a look finds 5 s after 8 workers were sent home, and whether another has carried that out.
SENT_HOME = """
carried out | ready | in flight | count
no          |     1 |         0 |     1
no          |     0 |         1 |     8
yes         |     0 |         1 |     1
"""


@pytest.mark.parametrize("row", rows(SENT_HOME), ids=" ".join)
def test_workers_that_may_be_still_there_are_kept_while_something_is_in_flight(row: list[str]) -> None:
    carried_out, ready, in_flight, count = row
    sent_home = decide(TICK, awake(8, idle_since=NOW - 65), consumer(), NOTHING, NOW - 5)
    assert (sent_home.desired, sent_home.most) == (0, 8)
    before = decide(TICK, sent_home, consumer(), NOTHING, NOW - 2) if carried_out == "yes" else sent_home
    assert decide(TICK, before, consumer(), Depth(int(ready), int(in_flight), 0), NOW).desired == int(count)


def test_workers_that_protect_themselves_stay_as_few_as_they_became() -> None:
    settings = consumer(protected=True)
    fewer = decide(TICK, awake(8, slack_since=NOW - 65, busiest=2), settings, Depth(0, 2, 0), NOW - 5)
    assert (fewer.desired, fewer.most) == (2, 8)
    assert decide(TICK, fewer, settings, Depth(0, 2, 0), NOW).desired == 2


def test_a_wake_without_a_count_says_that_a_message_was_sent() -> None:
    assert decide("wake", asleep(), consumer(), NOTHING, NOW).reason == "a message was sent"


# What a look leaves of an awake queue with 3 workers, the last 30 s or 60 s of which were idle.
IDLENESS = """
idle for | ready | in flight | delayed | mode   | count | idle since
     -   |     0 |         0 |       0 | awake  |     3 | 0
    30   |     0 |         0 |       0 | awake  |     3 | 30
    30   |     1 |         0 |       0 | awake  |     3 | -
    30   |     0 |         1 |       0 | awake  |     3 | -
    60   |     0 |         1 |       0 | awake  |     3 | -
    60   |     0 |         0 |       0 | dozing |     0 | 0
    60   |     0 |         0 |       5 | dozing |     0 | -
"""


@pytest.mark.parametrize("row", rows(IDLENESS), ids=" ".join)
def test_only_idle_seconds_without_a_message_ready_or_in_flight_end_in_a_doze(row: list[str]) -> None:
    idle_for, *depth, mode, count, idle_since = row
    before = awake(3, idle_since=ago(idle_for))
    state = decide(TICK, before, consumer(), Depth(*map(int, depth)), NOW)
    assert (state.mode, state.desired, state.idle_since) == (mode, int(count), ago(idle_since))


def ago(seconds: str) -> int | None:
    return None if seconds == "-" else NOW - int(seconds)


def test_with_a_min_it_rests_at_min_and_sleeps_all_the_same() -> None:
    settings = consumer(min=2)
    rested = decide(TICK, awake(5, idle_since=NOW - 60), settings, NOTHING, NOW)
    assert (rested.mode, rested.desired, rested.reason) == ("dozing", 2, "idle for 60 s")
    later = NOW + DOZE_SECONDS
    assert decide(TICK, rested, settings, NOTHING, later).mode == "asleep"


DOZES = """
dozes for | delayed | mode
       89 |       0 | dozing
       90 |       0 | asleep
       90 |       1 | dozing
"""


@pytest.mark.parametrize("row", rows(DOZES), ids=" ".join)
def test_a_doze_ends_when_everybody_who_thought_it_awake_is_counted(row: list[str]) -> None:
    assert decide(TICK, dozing(int(row[0])), consumer(), Depth(0, 0, int(row[1])), NOW).mode == row[2]


def test_nobody_falls_asleep_who_is_not_sure() -> None:
    assert DOZE_SECONDS > SURE_SECONDS


def test_a_sender_goes_by_what_it_read_no_longer_than_its_grant() -> None:
    assert SENDER_SECONDS == auth.CACHE_SECONDS


# Workers that protect themselves: 8 of them, at most 3 busy, then 2, with nothing ready.
SLACK = """
slack for | busiest | ready | in flight | protected | count | slack since | busiest after
      -   |       0 |     0 |         3 | yes       |     8 | 0           | 3
     30   |       3 |     0 |         2 | yes       |     8 | 30          | 3
     30   |       3 |     0 |         5 | yes       |     8 | 30          | 5
     30   |       3 |     1 |         2 | yes       |     8 | -           | 0
     30   |       3 |     0 |         8 | yes       |     8 | -           | 0
     60   |       3 |     0 |         2 | yes       |     3 | -           | 0
     60   |       3 |     0 |         0 | yes       |     3 | -           | 0
      -   |       0 |     0 |         2 | no        |     8 | -           | 0
"""


@pytest.mark.parametrize("row", rows(SLACK), ids=" ".join)
def test_protected_workers_that_were_long_too_many_go_down_to_the_most_that_were_busy(row: list[str]) -> None:
    slack_for, busiest, ready, in_flight, protected, count, slack_since, busiest_after = row
    before = awake(8, slack_since=ago(slack_for), busiest=int(busiest))
    settings = consumer(messages_per_worker=1, protected=protected == "yes")
    state = decide(TICK, before, settings, Depth(int(ready), int(in_flight), 0), NOW)
    assert (state.desired, state.slack_since, state.busiest) == (int(count), ago(slack_since), int(busiest_after))


def test_a_pause_goes_to_0_at_once_and_a_start_looks_what_there_is() -> None:
    busy = Depth(5, 3, 0)
    paused = decide("changed", awake(4), consumer(paused=True, min=1), busy, NOW)
    assert (paused.mode, paused.desired, paused.reason) == ("dozing", 0, "paused")
    later = NOW + DOZE_SECONDS
    slept = decide(TICK, paused, consumer(paused=True, min=1), busy, later)
    assert (slept.mode, slept.desired) == ("asleep", 0)
    assert decide("changed", slept, consumer(), busy, later).mode == "awake"
    resumed = decide("changed", slept, consumer(), NOTHING, later)
    assert (resumed.mode, resumed.idle_since) == ("dozing", later)


LATE = NOW - LATE_SECONDS
APPLIES = [
    # A tick applies when it is the one that the record names, or the next one, whose sender is not done yet.
    (TICK, awake(), True),
    (Tick(7, "other"), awake(), False),
    (Tick(8, "any"), awake(), True),
    (Tick(6, "any"), awake(), False),
    (Tick(9, "any"), awake(), False),
    # A wake is for whom nobody looks after. The nets leave it to the ticks as long as these come.
    ("wake", asleep(), True),
    ("wake", dozing(10), True),
    ("wake", awake(), False),
    ("wake", awake(look_at=LATE), True),
    ("look", asleep(), True),
    ("look", dozing(10), False),
    ("look", dozing(10, look_at=LATE), True),
    ("look", awake(), False),
    ("look", awake(look_at=LATE), True),
    ("changed", awake(), True),
]


@pytest.mark.parametrize(("event", "state", "expected"), APPLIES)
def test_an_event_applies(event: Event, state: State, expected: bool) -> None:
    assert applies(event, state, consumer(), NOW) is expected


def test_no_sender_wakes_a_paused_consumer() -> None:
    assert not applies("wake", asleep(), consumer(paused=True), NOW)


def test_a_change_is_written_before_it_is_carried_out_and_its_tick_is_sent_before_both() -> None:
    send, write, act = effects("wake", asleep())
    assert send == SendTick(Tick(8, "new"), QUICK_SECONDS)
    assert isinstance(write, Write)
    assert write.seen == TICK
    assert (write.state.tick, write.state.look_at) == (Tick(8, "new"), NOW + QUICK_SECONDS)
    assert act == SetDesired(1)


def test_a_count_that_is_not_sure_is_carried_out_again_before_it_is_written_off() -> None:
    state = awake(2, sure=False, scaled_at=NOW - SURE_SECONDS)
    act, send, write = effects(TICK, state, Depth(15, 0, 0))
    assert act == SetDesired(2)
    assert isinstance(send, SendTick)
    assert isinstance(write, Write)
    assert write.state.sure


def test_a_sure_count_is_left_alone() -> None:
    assert [type(effect) for effect in effects(TICK, awake(2), Depth(15, 0, 0))] == [SendTick, Write]


def test_falling_asleep_sends_no_tick() -> None:
    (write,) = effects(TICK, dozing(DOZE_SECONDS))
    assert isinstance(write, Write)
    assert (write.state.mode, write.state.tick, write.state.look_at) == ("asleep", Tick(8, "new"), None)


def test_a_net_that_finds_it_asleep_with_nothing_to_do_writes_nothing() -> None:
    assert effects("look", asleep()) == []


def test_a_net_that_finds_the_chain_broken_goes_on_with_it_though_nothing_changed() -> None:
    busy = awake(2, look_at=LATE)
    assert [type(effect) for effect in effects("look", busy, Depth(15, 0, 0))] == [SendTick, Write]


def test_a_tick_that_finds_it_asleep_is_crossed_off_all_the_same() -> None:
    """Its sender is about to wake the queue by it. That write fails now, and the sender begins anew."""
    assert [type(effect) for effect in effects(Tick(8, "early"), asleep())] == [Write]


PAUSES: list[tuple[str, State, Depth, int]] = [
    ("just changed", awake(2, scaled_at=NOW, sure=False), Depth(15, 0, 0), QUICK_SECONDS),
    ("changed 6 s ago", awake(2, scaled_at=NOW - 6, sure=False), Depth(15, 0, 0), 6),
    ("changed 24 s ago", awake(2, scaled_at=NOW - 24, sure=False), Depth(15, 0, 0), STEADY_SECONDS),
    ("busy", awake(2), Depth(15, 0, 0), STEADY_SECONDS),
    ("idle", awake(2, idle_since=NOW - 20), NOTHING, STEADY_SECONDS),
    ("idle for nearly long enough", awake(2, idle_since=NOW - 58), NOTHING, 2),
    ("dozing", dozing(20), NOTHING, STEADY_SECONDS),
    ("dozed for nearly long enough", dozing(DOZE_SECONDS - 4), NOTHING, 4),
    ("delayed", dozing(20), Depth(0, 0, 1), DELAYED_SECONDS),
]


@pytest.mark.parametrize(("state", "depth", "pause"), [case[1:] for case in PAUSES], ids=[case[0] for case in PAUSES])
def test_looks_are_quick_after_a_change_and_meet_the_end_of_a_wait(state: State, depth: Depth, pause: int) -> None:
    assert [effect.delay for effect in effects(TICK, state, depth) if isinstance(effect, SendTick)] == [pause]


def test_a_clock_that_was_ahead_makes_no_wait_longer() -> None:
    state = decide(TICK, awake(idle_since=NOW + 500), consumer(), NOTHING, NOW)
    assert state.idle_since == NOW


def effects(event: Event, state: State, depth: Depth = NOTHING) -> list[Effect]:
    return look(event, state, consumer(), depth, NOW, "new")
