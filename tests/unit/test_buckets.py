"""Many environments that square their buckets with a shared one, simulated: what a key gets, and what it is refused."""

import itertools
import random
from bisect import bisect

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenancy.buckets import DEBT_SECONDS, PAUSE_SECONDS, TELL_SECONDS, Bucket, Limit, Taken

LIMIT = Limit(rate=20, burst=40)
DEFAULT = Limit(rate=200, burst=400)
FACTOR = 1.5
"""In any minute a key gets at most so many times what it may, which is a burst and a minute's rate."""
MOST_TIMES = 10
"""The stage's throttle lets no more than so many times a key's rate through, unless an operator says so."""


class Shared:
    """What is stored."""

    def __init__(self) -> None:
        self.full_at: float | None = None
        self.told_at: list[float] = []

    def tell(self, taken: Taken, now: float) -> float:
        self.told_at.append(now)
        self.full_at = taken.put_off(self.full_at)
        return self.full_at


class Environment:
    """One function's process, which serves one request at a time, by a wall's clock that may be wrong."""

    def __init__(self, shared: Shared, limit: Limit, now: float) -> None:
        self.shared = shared
        self.bucket = Bucket(limit, now)
        self.is_cold = True
        self.wall = 1_796_040_000.0
        self.busy_until = self.used_at = now

    def ask(self, now: float) -> bool:
        if self.bucket.is_due(now, anyway=self.is_cold):
            clock = self.wall + now
            self.bucket.told(self.shared.tell(self.bucket.untold(now, clock), now) - clock, now)
            self.is_cold = False
        return self.bucket.take(now)


class Fleet:
    """As many environments as it takes; Lambda does not say which of the idle ones it chooses."""

    CHOICES = ("latest", "oldest", "any")

    def __init__(self, limit: Limit, took: float, choice: str, seed: int) -> None:
        self.limit = limit
        self.took = took
        self.choice = choice
        self.random = random.Random(seed)
        self.shared = Shared()
        self.environments: list[Environment] = []

    def ask(self, now: float) -> bool:
        environment = self._idle(now)
        admitted = environment.ask(now)
        environment.used_at = now
        environment.busy_until = now + (self.took if admitted else self.took / 5)
        return admitted

    def _idle(self, now: float) -> Environment:
        idle = [environment for environment in self.environments if environment.busy_until <= now]
        if not idle:
            self.environments.append(Environment(self.shared, self.limit, now))
            return self.environments[-1]
        if self.choice == "any":
            return self.random.choice(idle)
        return (max if self.choice == "latest" else min)(idle, key=lambda environment: environment.used_at)


fleets = st.builds(
    Fleet, st.just(LIMIT), st.sampled_from([0.02, 0.1, 0.5, 1.0]), st.sampled_from(Fleet.CHOICES), st.integers(0, 9)
)


def within(limit: Limit, times: list[float]) -> list[float]:
    """Those of the requests that one bucket, which sees all of them, lets through."""
    allowed, level, at = [], float(limit.burst), 0.0
    for time in times:
        level = min(limit.burst, level + (time - at) * limit.rate)
        at = time
        if level >= 1:
            level -= 1
            allowed.append(time)
    return allowed


def most_in_a_minute(times: list[float]) -> int:
    return max(bisect(times, time + 60) - index for index, time in enumerate(times))


@settings(max_examples=300, deadline=None)
@given(fleets, st.floats(0, 1), st.floats(0, 1.5), st.sampled_from([1, 2, 3, 7, 20, 60]), st.floats(0.01, 1))
def test_a_key_is_never_refused_what_it_may(
    fleet: Fleet, steady: float, pulse: float, every: float, lasting: float
) -> None:
    count = int(steady * LIMIT.rate * 90)
    times = [fleet.random.uniform(0, 90) for _ in range(count)]
    for start in range(1, 90, int(every)):
        times += [start + fleet.random.uniform(0, lasting) for _ in range(int(pulse * LIMIT.burst))]
    allowed = within(LIMIT, sorted(times))
    assert all(fleet.ask(time) for time in allowed)


@pytest.mark.parametrize("choice", Fleet.CHOICES)
@pytest.mark.parametrize("every", [2, 5, 9])
def test_nor_when_it_sends_whole_bursts_through_two_hundred_environments(choice: str, every: int) -> None:
    fleet = Fleet(DEFAULT, 0.05, choice, 0)
    times = [fleet.random.uniform(0, 30) for _ in range(600)]
    for start in range(1, 30, every):
        times += [start + fleet.random.uniform(0, 0.1) for _ in range(DEFAULT.burst)]
    assert all(fleet.ask(time) for time in within(DEFAULT, sorted(times)))
    assert 190 < len(fleet.environments) < 260


@settings(max_examples=100, deadline=None)
@given(fleets, st.sampled_from([1.1, 2, 5, MOST_TIMES]), st.floats(0.3, 20), st.floats(0, 20))
def test_a_flood_gets_little_more_than_it_may_in_any_minute(
    fleet: Fleet, times_the_rate: float, on: float, off: float
) -> None:
    step = 1 / (times_the_rate * LIMIT.rate)
    times = [time for index in range(int(120 / step)) if (time := index * step) % (on + off) < on]
    admitted = [time for time in times if fleet.ask(time)]
    assert most_in_a_minute(admitted) <= FACTOR * (60 * LIMIT.rate + LIMIT.burst)


@pytest.mark.parametrize("choice", Fleet.CHOICES)
def test_a_flood_is_let_through_at_the_rate_in_the_long_run(choice: str) -> None:
    fleet = Fleet(LIMIT, 0.1, choice, 0)
    admitted = sum(fleet.ask(index / 200) for index in range(200 * 300))
    assert 0.97 * 300 * LIMIT.rate < admitted < 1.05 * (300 * LIMIT.rate + LIMIT.burst)


def test_an_environment_tells_once_a_second_at_most_and_slow_requests_only_some_at_a_time() -> None:
    busy = Fleet(DEFAULT, 0.001, "latest", 0)
    for index in range(1000):
        busy.ask(index / 100)
    assert len(busy.environments) == 1
    assert all(later - earlier >= TELL_SECONDS for earlier, later in itertools.pairwise(busy.shared.told_at))
    assert len(busy.shared.told_at) == 10
    for seconds in (0.5, 1, 7, 11, 3600):
        slow = Fleet(DEFAULT, 0.001, "latest", 0)
        for index in range(41):
            slow.ask(index * seconds)
        assert len(slow.shared.told_at) <= 1 + 40 / DEFAULT.lump


def test_alone_an_environment_gives_the_burst_and_then_the_rate() -> None:
    bucket = Bucket(LIMIT, 5.0)
    assert sum(bucket.take(5.0) for _ in range(100)) == 40
    assert bucket.seconds_to_next == 1
    assert sum(bucket.take(5.5) for _ in range(100)) == 10
    assert sum(bucket.take(500.0) for _ in range(100)) == 40


def test_the_smallest_limit_lets_one_through_each_second() -> None:
    fleet = Fleet(Limit(1, 1), 0.01, "latest", 0)
    assert 30 <= sum(fleet.ask(index / 10) for index in range(300)) <= 33


def test_a_cold_environment_goes_by_what_others_took() -> None:
    fleet = Fleet(LIMIT, 0.1, "latest", 0)
    for index in range(1000):
        fleet.ask(index / 200)
    cold = Environment(fleet.shared, LIMIT, 5.0)
    assert not cold.ask(5.0)


def test_one_that_slept_learns_of_it_before_it_has_let_through_much() -> None:
    shared = Shared()
    asleep = Environment(shared, LIMIT, 0.0)
    assert asleep.ask(0.0)
    others = [Environment(shared, LIMIT, 100.0) for _ in range(20)]
    for index in range(400):
        others[index % 20].ask(100 + index / 100)
    assert sum(asleep.ask(104.0) for _ in range(100)) <= LIMIT.lump


@pytest.mark.parametrize("environments", [10, 100, 1000])
def test_after_any_flood_a_key_waits_a_quarter_of_a_minute_at_most(environments: int) -> None:
    shared = Shared()
    fleet = [Environment(shared, LIMIT, 0.0) for _ in range(environments)]
    for now in (0.0, 0.9, 1.8):
        for environment in fleet:
            for _ in range(LIMIT.burst):
                environment.ask(now)
    refused = Environment(shared, LIMIT, 2.0)
    assert not refused.ask(2.0)
    assert refused.bucket.seconds_to_next <= DEBT_SECONDS + 1
    assert refused.ask(2.0 + refused.bucket.seconds_to_next)


@pytest.mark.parametrize("jump", [-1e9, -3600, -1, 1, 3600, 1e9])
def test_a_clock_that_jumped_is_forgotten_within_seconds(jump: float) -> None:
    shared = Shared()
    wrong, right = Environment(shared, LIMIT, 0.0), Environment(shared, LIMIT, 0.0)
    for index in range(10):
        assert wrong.ask(index / 2)
        assert right.ask(index / 2)
    wrong.wall += jump
    for index in range(10):
        wrong.ask(6 + index / 2)
    wrong.wall -= jump
    later = 12 + DEBT_SECONDS
    for index in range(200):
        right.ask(12 + index / 10)
    assert sum(right.ask(later + 20 + index / 10) for index in range(100)) == 100
    cold = Environment(shared, LIMIT, 60.0)
    assert sum(cold.ask(60.0) for _ in range(100)) == LIMIT.burst


def test_one_that_cannot_tell_goes_on_alone_and_tells_later() -> None:
    shared = Shared()
    alone = Environment(shared, LIMIT, 0.0)
    assert alone.bucket.is_due(0.0, anyway=True)
    alone.bucket.failed(0.0)
    admitted = sum(alone.ask(index / 100) for index in range(100 * PAUSE_SECONDS))
    assert shared.told_at == []
    assert admitted == pytest.approx(LIMIT.burst + PAUSE_SECONDS * LIMIT.rate, abs=1)
    alone.ask(PAUSE_SECONDS)
    assert shared.told_at == [PAUSE_SECONDS]
    assert shared.full_at == pytest.approx(1_796_040_000 + admitted / LIMIT.rate)


@pytest.mark.parametrize(
    ("full_at", "then"),
    [(None, 103.0), (50.0, 103.0), (100.0, 103.0), (104.0, 107.0), (118.0, 120.0), (120.0, 120.0), (9999.0, 120.0)],
)
def test_what_was_taken_puts_off_when_the_bucket_is_full(full_at: float | None, then: float) -> None:
    assert Taken(since=100.0, seconds=3.0, latest=120.0).put_off(full_at) == then
