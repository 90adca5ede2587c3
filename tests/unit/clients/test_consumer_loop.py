"""The consumer's loop in a world that is played: whatever the calls go through, its promises hold."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import settings as run_settings
from hypothesis import strategies as st

from tests.unit.clients.consumer_world import Job, Weather, World, settings

CALM = Weather()
played = run_settings(max_examples=60, deadline=None)


@st.composite
def jobs(draw: st.DrawFn, fifo: bool) -> list[Job]:
    number = draw(st.integers(0, 25))
    return [
        Job(
            id=f"m{place}",
            seconds=draw(st.sampled_from([0.0, 0.2, 1.0, 7.0, 40.0])),
            failures=draw(st.sampled_from([0, 0, 0, 0, 1, 2])),
            group=draw(st.sampled_from("abc")) if fifo else None,
            retry_after=draw(st.sampled_from([None, 0.0, 3.0])),
            arrives=1000.0 + draw(st.sampled_from([0.0, 0.0, 0.0, 5.0, 30.0])),
        )
        for place in range(number)
    ]


@st.composite
def worlds(draw: st.DrawFn, weather: st.SearchStrategy[Weather]) -> World:
    fifo = draw(st.booleans())
    chosen = settings(
        fifo=fifo,
        concurrency=draw(st.sampled_from([1, 2, 5, 30])),
        max=draw(st.sampled_from([1, 3, 10])),
        wait=draw(st.sampled_from([0, 1, 20])),
        visibility=draw(st.sampled_from([5, 6, 12, 30, 120])),
        drain_seconds=draw(st.sampled_from([0.0, 3.0, 25.0])),
        protected=draw(st.booleans()),
    )
    return World(draw(jobs(fifo)), chosen, draw(weather), draw(st.integers(0, 2**16)))


calm = st.just(CALM)
stormy = st.builds(
    Weather,
    latency=st.sampled_from([(0.0, 0.01), (0.01, 0.3), (0.1, 3.0)]),
    outages=st.lists(
        st.tuples(st.floats(0, 60), st.sampled_from([1.0, 10.0, 45.0])).map(lambda o: (o[0], o[0] + o[1])), max_size=3
    ),
    lost_requests=st.sampled_from([0.0, 0.1, 0.4]),
    lost_answers=st.sampled_from([0.0, 0.1, 0.4]),
    refused_entries=st.sampled_from([0.0, 0.1, 0.4]),
    retry_after=st.sampled_from([None, 1.0, 30.0]),
    clears=st.just(120.0),
)


def finish(world: World) -> World:
    """Play until everything is done, and then stop."""

    def look() -> None:
        if world.is_all_done() and world.stopped_at is None:
            world.stop()
        elif world.stopped_at is None:
            world.at(world.now - 1000.0 + 1.0, look)

    world.at(0.0, look)
    return world.run(until=10_000.0)


@given(worlds(calm))
@played
def test_in_fair_weather_each_message_is_done_once_and_no_lease_ends_by_itself(world: World) -> None:
    failures = sum(job.failures for job in world.jobs)
    finish(world)
    assert world.loop.is_over
    assert [job.handled for job in world.jobs] == [1] * len(world.jobs)
    assert [job.expiries for job in world.jobs] == [0] * len(world.jobs)
    counts = world.loop.counts
    assert (counts.done, counts.lost, counts.unfinished, counts.api_errors) == (len(world.jobs), 0, 0, 0)
    assert counts.received == counts.done + counts.given_back
    assert counts.failed <= failures <= counts.given_back


@given(worlds(stormy))
@played
def test_in_any_weather_all_is_done_in_the_end_and_each_lease_ends_once(world: World) -> None:
    finish(world)
    assert world.loop.is_over, "it is never done"
    assert world.is_all_done()
    assert world.pending() == 0


@given(worlds(st.one_of(calm, stormy)), st.floats(0.0, 50.0), st.sampled_from([None, 0.0, 2.0]))
@played
def test_a_drain_ends_in_time_whenever_it_begins(world: World, begins: float, at_once: float | None) -> None:
    world.at(begins, world.stop)
    if at_once is not None:
        world.at(begins + at_once, world.stop_at_once)
    world.run()
    assert world.loop.is_over
    assert world.pending() == 0


@given(worlds(calm), st.floats(0.0, 50.0))
@played
def test_a_drain_leaves_no_message_leased(world: World, begins: float) -> None:
    world.settings = replace(world.settings, drain_seconds=25.0)
    world = World(world.jobs, world.settings, CALM, world.seed)
    world.at(begins, world.stop)
    world.run()
    assert world.in_flight() == []
    assert [job.expiries for job in world.jobs] == [0] * len(world.jobs)


@given(st.sampled_from([5, 6, 7, 10, 30, 120]), st.integers(1, 6), st.floats(0.0, 30.0), st.integers(0, 99))
@played
def test_a_lease_does_not_end_because_one_call_was_slow(visibility: int, which: int, slow: float, seed: int) -> None:
    weather = Weather(slow=(which, slow))
    world = World([Job("m", seconds=200.0)], settings(visibility=visibility), weather, seed)
    finish(world)
    assert (world.jobs[0].expiries, world.loop.counts.lost, world.loop.counts.done) == (0, 0, 1)


@given(st.floats(0.0, 60.0), st.integers(0, 99), st.sampled_from([None, 1.0, 3.0]))
@played
def test_ten_seconds_of_503_lose_nothing_and_double_nothing(
    begins: float, seed: int, retry_after: float | None
) -> None:
    weather = Weather(outages=[(begins, begins + 10.0)], retry_after=retry_after)
    work = [Job(f"m{n}", seconds=n % 7, failures=n % 11 == 0) for n in range(60)]
    world = World(work, settings(concurrency=5), weather, seed)
    finish(world)
    assert [job.handled for job in world.jobs] == [1] * 60
    assert [job.expiries for job in world.jobs] == [0] * 60
    assert world.loop.counts.lost == 0
