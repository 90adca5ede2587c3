"""What the scaler promises, whatever happens: hypothesis looks for a world in which it does not hold.

`SCALING_EXAMPLES=2000 pytest tests/unit/test_scaling_machine.py` looks harder, and at other worlds each time.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import combinations, product
from typing import cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tenancy.scaling import (
    ACT_SECONDS,
    DELAYED_SECONDS,
    DOZE_SECONDS,
    LATE_SECONDS,
    SENDER_SECONDS,
    SETTLE_SECONDS,
    STEADY_SECONDS,
    SURE_SECONDS,
    Consumer,
    Effect,
    Event,
    State,
    Tick,
    Write,
)
from tests.scaling_world import DEFAULT, RECONCILER_SECONDS, REDELIVERY_SECONDS, START, Fate, Lens, Run, World

HANDLING = 5
"""For a tick to be delivered and a function to run, when nothing is wrong."""
SLOW_HANDLING = HANDLING + ACT_SECONDS
MENDING = RECONCILER_SECONDS + LATE_SECONDS + DELAYED_SECONDS + SLOW_HANDLING
"""After something broke: until the reconciler has found it and a look went well."""

consumers = st.builds(
    Consumer,
    min=st.sampled_from([0, 0, 0, 2]),
    max=st.sampled_from([2, 10]),
    messages_per_worker=st.sampled_from([1, 1, 10]),
    idle_seconds=st.sampled_from([60, 90, 200]),
    paused=st.just(False),
    protected=st.booleans(),
)
spans = st.sampled_from([0, 0, 1, 3, 9, 20, 35, 61, 80, 150, 400, 900])
delays = st.sampled_from([0, 0, 0, 5, 70, 130, 900])
how_many = st.sampled_from([1, 1, 2, 25])
stale = st.integers(0, SENDER_SECONDS)
lenses: st.SearchStrategy[Lens] = st.sampled_from(["exact", "low", "high"])


class PromisingWorld(World):
    """A world that notices when a promise is broken."""

    handling: int

    def check(self) -> None:
        self.check_work_has_workers()
        self.check_idleness_ends_in_sleep()
        self.check_one_chain_lives()
        self.check_limits()

    def carry_out(self, effect: Effect, counted_since: int) -> None:
        super().carry_out(effect, counted_since)
        if isinstance(effect, Write):
            awake = effect.state.mode == "awake"
            assert not (awake and effect.state.desired == 0), "awake without a worker"
            assert not (effect.state.mode == "asleep" and not effect.state.sure), "asleep without being sure"

    def check_work_has_workers(self) -> None:
        """Never 0 for longer than the next look while a message is ready or in flight."""
        if self.alone_since is None:
            return
        settle = SETTLE_SECONDS if self.misreads else 0
        was_delayed = self.alone_since - self.last_delayed <= DELAYED_SECONDS
        next_look = (DELAYED_SECONDS if was_delayed else STEADY_SECONDS) + self.handling
        # One that changes twice within a doze may hide from all of its looks. It is for the nets.
        within = MENDING if self.misreads else next_look
        for message in self.truly("ready", "in_flight"):
            assert not self.lasts(within, self.alone_since, message.since + settle), "nobody works"

    def check_idleness_ends_in_sleep(self) -> None:
        """Back at rest after idle_seconds, then asleep, then nothing is scheduled."""
        if self.truly("ready", "in_flight"):
            return
        settle = SETTLE_SECONDS if self.misreads else 0
        since = max(self.last_busy + settle, self.last_woken, self.last_ordered)
        rest = 0 if self.consumer.paused else self.consumer.min
        at_rest = self.consumer.idle_seconds + STEADY_SECONDS + 2 * self.handling
        if self.lasts(at_rest, since):
            assert self.service == rest, "not at rest after idleness"
        asleep = at_rest + DOZE_SECONDS + DELAYED_SECONDS + 2 * self.handling
        if not self.truly("delayed") and self.lasts(asleep, since, self.last_delayed + settle):
            assert self.state.mode == "asleep", "not asleep after a doze"
            assert not self.live_ticks(), "asleep, and a tick is scheduled"

    def check_one_chain_lives(self) -> None:
        """A death at any point leaves something that goes on; what forked is one again two looks later."""
        if self.state.mode != "asleep" and not self.runs and self.now - self.last_lost > MENDING:
            assert self.alive(), "not asleep, and nothing goes on"
        if not self.runs and self.quiet_writes >= 2:
            assert len(self.live_ticks()) <= 1, "two chains"

    def check_limits(self) -> None:
        """The count stays within what the owner set."""
        if self.lasts(SURE_SECONDS + STEADY_SECONDS + self.handling, self.last_ordered):
            low, high = (0, 0) if self.consumer.paused else (self.consumer.min, self.consumer.max)
            assert low <= self.service <= high, "outside the limits"

    def live_ticks(self) -> list[Tick]:
        return [event for event in self.alive() if isinstance(event, Tick)]

    def lasts(self, seconds: int, *since: int) -> bool:
        """Whether something holds for longer than that, allowing for the time in which what broke is mended."""
        broke = max(self.last_lost, self.last_died)
        return self.now - max(since) > seconds and self.now - broke > seconds + MENDING


class Faithful(RuleBasedStateMachine):
    """Counts are right and functions live; ticks come twice, senders are out of date, looks meet."""

    handling = HANDLING
    world: PromisingWorld

    @initialize(consumer=consumers, startup=st.sampled_from([0, 1, 40]), then=spans)
    def begin(self, consumer: Consumer, startup: int, then: int) -> None:
        self.world = PromisingWorld(consumer, startup=startup)
        self.world.handling = self.handling
        self.world.pass_by(then)

    @rule(how_many=how_many, delay=delays, takes=st.sampled_from([0, 1, 20, 70, 200, 500]), stale=stale, then=spans)
    def send(self, how_many: int, delay: int, takes: int, stale: int, then: int) -> None:
        self.world.send(delay, how_many=how_many, takes=takes, stale=stale)
        self.world.pass_by(then)

    @rule(how_many=how_many, visibility=st.sampled_from([5, 30, 100, 1000]), then=spans)
    def somebody_else_takes_and_crashes(self, how_many: int, visibility: int, then: int) -> None:
        for message in self.world.truly("ready")[:how_many]:
            self.world.receive(message, visibility)
        self.world.pass_by(then)

    @rule(stale=stale, then=spans)
    def a_worker_gives_back(self, stale: int, then: int) -> None:
        for message in self.world.truly("in_flight")[:1]:
            self.world.give_back(message, stale=stale)
        self.world.pass_by(then)

    @rule(then=spans)
    def all_is_done(self, then: int) -> None:
        for message in self.world.truly("ready"):
            self.world.receive(message, 30)
        for message in self.world.truly("in_flight"):
            self.world.acknowledge(message)
        self.world.pass_by(then)

    @rule(consumer=consumers, paused=st.sampled_from([False, False, True]), then=spans)
    def change(self, consumer: Consumer, paused: bool, then: int) -> None:
        self.world.change(replace(consumer, paused=paused))
        self.world.pass_by(then)

    @rule(then=spans)
    def a_net_comes_by(self, then: int) -> None:
        self.world.net()
        self.world.pass_by(then)

    @rule(after=st.sampled_from([0, 0, 1, 2, 20]))
    def a_tick_will_come_twice(self, after: int) -> None:
        self.world.mailing.append((0, after))

    @rule(waits=st.lists(st.integers(0, 1), min_size=1, max_size=5), skew=st.integers(-2, 2))
    def a_function_will_take_its_time(self, waits: list[int], skew: int) -> None:
        self.world.fates.append(Fate(tuple(waits), skew=skew))


class Faulty(Faithful):
    """Everything that can go wrong does."""

    handling = SLOW_HANDLING

    @rule(step=st.integers(0, 5), waits=st.lists(st.sampled_from([0, 1, 6]), max_size=4))
    def a_function_will_die(self, step: int, waits: list[int]) -> None:
        self.world.fates.append(Fate(tuple(waits), dies_before=step))

    @rule(waits=st.lists(st.sampled_from([0, 0, 1, 4, 9, 12]), min_size=1, max_size=5), skew=st.integers(-2, 2))
    def a_function_will_hang(self, waits: list[int], skew: int) -> None:
        self.world.fates.append(Fate(tuple(waits), skew=skew))

    @rule()
    def something_will_be_lost(self) -> None:
        self.world.mailing.append(())

    @rule(seconds=st.integers(0, 5))
    def the_tick_queue_is_late(self, seconds: int) -> None:
        self.world.late = seconds

    @rule(how_many=how_many, delay=st.sampled_from([0, 70]), then=spans)
    def send_and_tell_nobody(self, how_many: int, delay: int, then: int) -> None:
        self.world.send(delay, how_many=how_many, tells=False)
        self.world.pass_by(then)

    @rule(then=spans)
    def ecs_refuses(self, then: int) -> None:
        self.world.ecs_accepts = False
        self.world.pass_by(then)
        self.world.ecs_accepts = True

    @rule(ready=lenses, in_flight=lenses, delayed=lenses)
    def counts_lag(self, ready: Lens, in_flight: Lens, delayed: Lens) -> None:
        self.world.lens = {"ready": ready, "in_flight": in_flight, "delayed": delayed}


def awake(world: World) -> None:
    """Just woken, and the only message is done with."""
    message = world.send()
    world.pass_by(2)
    world.receive(message, 30)
    world.acknowledge(message)


def asleep(world: World) -> None:
    world.pass_by(400)
    assert world.state.mode == "asleep"


def asleep_with_a_message(world: World) -> None:
    asleep(world)
    world.send(tells=False)


def dozing_with_a_message(world: World) -> None:
    world.pass_by(10)
    world.send(tells=False)
    assert world.state.mode == "dozing"


def at_the_end_of_idleness(world: World) -> None:
    awake(world)
    until(world, lambda state: state.idle_since is not None and state.look_at == state.idle_since + 60)


def at_the_end_of_a_doze(world: World) -> None:
    until(world, lambda state: state.idle_since is not None and state.look_at == state.idle_since + DOZE_SECONDS)


def with_a_burst(world: World) -> None:
    awake(world)
    world.send(how_many=45, tells=False)


def with_a_broken_chain(world: World) -> None:
    awake(world)
    world.cut_off.add("ticks")
    world.pass_by(LATE_SECONDS + STEADY_SECONDS)
    world.cut_off.clear()


def just_paused(world: World) -> None:
    with_a_burst(world)
    world.cut_off.add("wakes")
    world.change(replace(world.consumer, paused=True))
    world.cut_off.clear()


def until(world: World, holds: Callable[[State], bool]) -> None:
    """Let time pass until the record says so, and then until its tick is due but has not come."""
    latest = world.now + 500
    while not holds(world.state):
        assert world.now < latest
        world.pass_by(1)
    assert world.state.look_at is not None
    world.pass_by(world.state.look_at - world.now - 1)
    world.now += 1


MEETINGS = [
    (asleep_with_a_message, "wake", "wake"),
    (asleep_with_a_message, "wake", "look"),
    (asleep_with_a_message, "look", "look"),
    (asleep_with_a_message, "changed", "wake"),
    (asleep, "wake", "look"),
    (asleep, "changed", "changed"),
    (dozing_with_a_message, "tick", "tick"),
    (dozing_with_a_message, "tick", "wake"),
    (dozing_with_a_message, "wake", "wake"),
    (at_the_end_of_idleness, "tick", "tick"),
    (at_the_end_of_idleness, "tick", "changed"),
    (at_the_end_of_a_doze, "tick", "tick"),
    (at_the_end_of_a_doze, "tick", "wake"),
    (at_the_end_of_a_doze, "tick", "changed"),
    (with_a_burst, "tick", "tick"),
    (with_a_burst, "tick", "changed"),
    (with_a_broken_chain, "look", "look"),
    (with_a_broken_chain, "look", "wake"),
    (just_paused, "tick", "tick"),
    (just_paused, "tick", "changed"),
]


@pytest.mark.parametrize("blind", [False, True], ids=["counted", "miscounted"])
@pytest.mark.parametrize(
    ("prepare", "one", "other"), MEETINGS, ids=[f"{case[0].__name__}-{case[1]}-{case[2]}" for case in MEETINGS]
)
def test_two_that_meet_end_as_one_after_the_other(
    prepare: Callable[[World], None], one: str, other: str, blind: bool
) -> None:
    """Every interleaving of two runs, of which the second may see nothing of what changed within a minute."""

    def meet(order: Iterable[int]) -> tuple[object, ...]:
        world = World(replace(DEFAULT, messages_per_worker=1), reconciler=False)
        world.pass_by(0)
        prepare(world)
        events = [world.state.tick if event == "tick" else cast(Event, event) for event in (one, other)]
        runs = [world.function(Run(event, Fate(), began=world.now)) for event in events]
        for which in [*order, *[0] * 10, *[1] * 10]:
            world.lens = dict.fromkeys(world.lens, "low" if which and blind else "exact")
            next(runs[which], None)
        world.lens = dict.fromkeys(world.lens, "exact")
        world.pass_by(SURE_SECONDS + 2 * STEADY_SECONDS)
        return world.state.mode, world.state.desired, world.service, world.state.sure, len(world.alive())

    together = {meet(order) for order in orders(5, 5)}
    assert together <= {meet([0] * 10), meet([1] * 10)}


def orders(zeros: int, ones: int) -> Iterator[tuple[int, ...]]:
    """Every order of so many zeros and ones."""
    for places in combinations(range(zeros + ones), ones):
        yield tuple(int(place in places) for place in range(zeros + ones))


SLOW = ACT_SECONDS - 1
FATES = {"prompt": (), "slow to count": (SLOW,), "slow to send": (0, SLOW), "slow to write": (0, 0, SLOW)}


@pytest.mark.parametrize("stale", [0, SENDER_SECONDS])
@pytest.mark.parametrize("waits", FATES.values(), ids=FATES)
def test_a_message_is_found_without_any_net_whenever_it_is_sent(waits: tuple[int, ...], stale: int) -> None:
    """Even if no count shows it for a minute, its sender believes what was so seconds ago, and every look is slow."""
    for moment in range(DEFAULT.idle_seconds + DOZE_SECONDS + 3 * STEADY_SECONDS + SENDER_SECONDS):
        world = World(reconciler=False)
        world.usual = Fate(waits)
        world.lens = dict.fromkeys(world.lens, "low")
        world.pass_by(ACT_SECONDS)
        awake(world)
        world.pass_by(moment)
        message = world.send(stale=stale)
        world.pass_by(SETTLE_SECONDS + STEADY_SECONDS + 2 * ACT_SECONDS + HANDLING)
        assert world.service, f"nobody works on what was sent after {moment} s"
        world.receive(message, 30)
        world.acknowledge(message)
        world.pass_by(DEFAULT.idle_seconds + DOZE_SECONDS + 5 * STEADY_SECONDS)
        assert (world.service, world.state.mode, world.alive()) == (0, "asleep", set())


@pytest.mark.parametrize("late", [0, SLOW])
@pytest.mark.parametrize("paused_after", range(30))
def test_no_act_that_comes_late_lasts(paused_after: int, late: int) -> None:
    """The wake may come to its act late, and a look may repeat it late, after a pause was written and carried out."""
    for slow_to_pause, slow_to_repeat in product([0, 3, 6, SLOW], repeat=2):
        world = World(reconciler=False)
        asleep(world)
        world.fates.append(Fate((0, 0, 0, late)))
        world.send()
        world.pass_by(paused_after)
        world.fates += [Fate((0, slow_to_pause)), Fate((0, slow_to_repeat))]
        world.change(replace(world.consumer, paused=True))
        world.pass_by(400)
        assert (world.service, world.state.mode) == (0, "asleep")


@pytest.mark.parametrize("burst_after", range(30))
def test_nor_does_that_of_somebody_who_saw_less(burst_after: int) -> None:
    """One look sees a burst and is slow to write what it asks for, the next sees nothing and repeats the old count."""
    for slow_to_write, slow_to_repeat in product([0, 3, 6, SLOW], repeat=2):
        world = World(replace(DEFAULT, messages_per_worker=1), reconciler=False)
        asleep(world)
        world.send()
        world.pass_by(burst_after)
        world.fates += [Fate((0, slow_to_write)), Fate((0, slow_to_repeat))]
        world.send(how_many=45, tells=False)
        world.put("changed")
        world.pass_by(0)
        world.lens = dict.fromkeys(world.lens, "low")
        world.pass_by(STEADY_SECONDS)
        world.lens = dict.fromkeys(world.lens, "exact")
        world.pass_by(SURE_SECONDS + 2 * STEADY_SECONDS)
        assert world.service == world.state.desired == DEFAULT.max


@pytest.mark.parametrize("step", range(6))
@pytest.mark.parametrize("how_often", [1, 2, 9])
def test_whoever_dies_at_whatever_step_is_made_good_without_any_net(how_often: int, step: int) -> None:
    for woken in (True, False):
        world = World(reconciler=False, startup=1)
        asleep(world) if woken else awake(world)
        world.fates += [Fate(dies_before=step)] * how_often
        message = world.send(takes=300)
        world.pass_by(how_often * REDELIVERY_SECONDS + STEADY_SECONDS + HANDLING)
        assert world.service == 1
        world.pass_by(300)
        assert message.where == "gone"
        world.pass_by(DEFAULT.idle_seconds + DOZE_SECONDS + 3 * STEADY_SECONDS)
        assert (world.service, world.state.mode, world.alive()) == (0, "asleep", set())


def test_a_send_mends_a_chain_that_broke() -> None:
    world = World(reconciler=False)
    with_a_broken_chain(world)
    assert not world.alive()
    world.send()
    world.pass_by(1)
    assert world.alive()


def test_the_reconciler_alone_wakes_and_puts_to_sleep() -> None:
    world = World()
    world.pass_by(10)
    world.cut_off = {"ticks", "wakes"}
    message = world.send()
    world.pass_by(RECONCILER_SECONDS)
    assert world.service == 1
    world.receive(message, 1000)
    world.pass_by(RECONCILER_SECONDS)
    assert world.service == 1
    world.acknowledge(message)
    world.pass_by(2 * RECONCILER_SECONDS)
    assert world.service == 0
    world.pass_by(RECONCILER_SECONDS)
    assert world.state.mode == "asleep"


def test_a_wake_has_a_worker_at_once_and_costs_few_looks() -> None:
    world = World(reconciler=False)
    asleep(world)
    world.looks.clear()
    message = world.send()
    world.pass_by(0)
    assert world.service == 1
    world.receive(message, 30)
    world.acknowledge(message)
    world.pass_by(900)
    assert world.scaled[-2:] == [(START + 400, 1), (START + 463, 0)]
    awake_at, dozing_at = [0, 3, 6, 12, 24, 39, 54, 63], [66, 69, 75, 87, 102, 117, 132, 147, 153]
    assert [at - START - 400 for at, _ in world.looks] == awake_at + dozing_at


def test_a_message_that_is_sent_with_a_delay_has_a_worker_when_it_falls_due() -> None:
    world = World(reconciler=False)
    asleep(world)
    world.send(delay=600)
    world.pass_by(599)
    assert (world.service, world.state.mode) == (0, "asleep")
    world.pass_by(1)
    assert world.service == 1


EXAMPLES = os.environ.get("SCALING_EXAMPLES")
SETTINGS = settings(
    max_examples=int(EXAMPLES or 200),
    stateful_step_count=30,
    deadline=None,
    derandomize=EXAMPLES is None,
    suppress_health_check=[HealthCheck.too_slow],
)

TestFaithful = Faithful.TestCase
TestFaithful.settings = SETTINGS
TestFaulty = Faulty.TestCase
TestFaulty.settings = SETTINGS
