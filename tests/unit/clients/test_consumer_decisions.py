"""What the consumer's loop decides in particular situations, in a world that is played."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from naive import (
    ForbiddenError,
    InternalError,
    NaiveError,
    NoAnswerError,
    RateLimitedError,
    Retry,
    UnauthorizedError,
    UnavailableError,
)
from naive.consumer.commands import Command, Receive, Settle, Start
from naive.consumer.loop import Loop
from naive.models import EntryError, Settled, SettleResult
from tests.unit.clients.consumer_world import START, Job, Weather, World, message, settings

HOUR = 3600.0


class Played:
    """A loop whose calls a test answers by hand."""

    def __init__(self, spread: float = 0.5, **fields: object) -> None:
        self.loop = Loop(settings(**fields), lambda: spread, START)
        self.now = START
        self.commands: list[Command] = []
        self.step()

    def step(self, after: float = 0.0) -> None:
        """Let time pass, waking the loop as it wants to be."""
        until = self.now + after
        while (wake := self.loop.wake_at()) < until:
            self.now = max(self.now, wake)
            self.commands += self.loop.step(self.now)
        self.now = until
        self.commands += self.loop.step(self.now)

    def take(self, kind: type[Command]) -> list[Command]:
        """The commands of this kind that were not taken yet."""
        taken = [command for command in self.commands if isinstance(command, kind)]
        self.commands = [command for command in self.commands if command not in taken]
        return taken

    def receive(self) -> Receive:
        (call,) = self.take(Receive)
        assert isinstance(call, Receive)
        return call

    def settle(self) -> Settle:
        (call,) = self.take(Settle)
        assert isinstance(call, Settle)
        return call

    def start(self) -> Start:
        (start,) = self.take(Start)
        assert isinstance(start, Start)
        return start

    def lease(self, *ids: str, group: str | None = None) -> None:
        """Answer the receive that is under way with these messages."""
        self.loop.received(self.receive(), [message(id, group_id=group) for id in ids], self.now)
        self.step()

    def finish(self, start: Start, error: Exception | None = None) -> None:
        self.loop.finished(start, error, self.now)
        self.step()

    def kinds(self) -> list[str]:
        return [event.kind for event in self.loop.take_events()]


OK = SettleResult(ok=True)
EXPIRED = SettleResult(error=EntryError(code="receipt_expired", message="over"))


def test_an_idle_worker_makes_at_most_31_calls_in_ten_minutes() -> None:
    world = World([], settings(concurrency=10))
    world.run(until=600)
    assert len(world.receives) <= 31
    assert {(max, wait) for _, max, wait in world.receives} == {(10, 20)}


def test_a_server_that_does_not_wait_is_not_asked_all_the_time() -> None:
    world = World([], settings(wait=0))
    world.run(until=60)
    assert len(world.receives) <= 61


def test_it_never_asks_for_more_than_it_can_start() -> None:
    work = [Job(f"m{n}", seconds=3) for n in range(40)]
    world = World(work, settings(concurrency=4))
    world.run(until=60)
    assert world.is_all_done()
    assert {max for _, max, _ in world.receives} <= {1, 2, 3, 4}


def test_while_there_is_plenty_several_receives_fill_the_room_together() -> None:
    work = [Job(f"m{n}", seconds=30) for n in range(200)]
    world = World(work, settings(concurrency=100), Weather(latency=(0.1, 0.1)))
    world.run(until=2)
    assert len(world.running) == 100, "ten receives one after the other would have taken two seconds"


def test_only_one_receive_at_a_time_waits_for_long() -> None:
    played = Played(concurrency=4, max=1)
    played.lease("a")
    waits = [call.wait for call in played.take(Receive) if isinstance(call, Receive)]
    assert waits == [20, 1]


def test_what_ends_together_is_acked_together() -> None:
    world = World([Job(f"m{n}", seconds=1) for n in range(10)], settings(concurrency=10))
    settles = world.settles
    world.run(until=20)
    assert world.is_all_done()
    assert [len(call.acked) for call in settles] == [10]


def test_what_ends_alone_is_acked_at_once() -> None:
    played = Played()
    played.lease("a")
    played.finish(played.start())
    assert [lease.delivery.message_id for lease in played.settle().acked] == ["a"]


def test_what_ends_while_others_run_waits_a_moment_for_them() -> None:
    played = Played(concurrency=2, max=2)
    played.lease("a", "b")
    first, second = played.take(Start)
    assert isinstance(first, Start)
    assert isinstance(second, Start)
    played.finish(first)
    assert played.take(Settle) == []
    played.step(0.02)
    played.finish(second)
    assert len(played.settle().acked) == 2


def test_a_handler_five_times_as_long_as_the_lease_keeps_it() -> None:
    world = World([Job("m", seconds=150)], settings(visibility=30))
    world.run(until=200)
    assert (world.jobs[0].receives, world.jobs[0].handled, world.extensions) == (1, 1, 9)


def test_extensions_go_out_at_half_of_the_lease_and_together() -> None:
    played = Played(concurrency=2, max=1)
    played.lease("a")
    played.step(2.0)
    played.lease("b")
    played.step(12.9)
    assert played.take(Settle) == []
    played.step(0.1)
    assert [lease.delivery.message_id for lease in played.settle().extended] == ["a", "b"]


def test_a_lease_is_counted_from_before_its_extension_was_asked_for() -> None:
    played = Played()
    played.lease("a")
    start = played.start()
    played.step(15.0)
    call = played.settle()
    played.step(4.0)
    played.loop.settled(call, Settled(extend=[OK]), played.now)
    assert start.lease.end == call.at + 30


def test_a_lease_ends_twelve_hours_after_its_receive_whatever_the_handler_does() -> None:
    world = World([Job("m", seconds=13 * HOUR)], settings(visibility=600))
    world.on_start = lambda start: world.deliveries.append(start.lease.delivery)
    world.run(until=12 * HOUR - 60)
    assert not world.deliveries[0].lost
    world.run(until=12 * HOUR + 1)
    assert world.deliveries[0].lost
    assert world.loop.counts.lost == 1
    assert world.jobs[0].visible_at <= START + 12 * HOUR + 1
    assert world.extensions <= 12 * HOUR / 300 + 1


def test_a_handler_is_told_before_its_lease_ends_when_nothing_gets_through() -> None:
    world = World([Job("m", seconds=100)], settings(visibility=30), Weather(outages=[(1.0, 1000.0)]))
    world.on_start = lambda start: world.deliveries.append(start.lease.delivery)
    world.run(until=28)
    assert not world.deliveries[0].lost
    world.run(until=30)
    assert world.deliveries[0].lost
    world.run(until=150)
    assert (world.loop.counts.done, world.loop.counts.lost) == (0, 1)
    assert world.jobs[0].handled == 0


def test_work_that_was_done_in_time_is_acked_when_the_server_is_back_and_nothing_is_received_before() -> None:
    weather = Weather(outages=[(1.0, 90.0)])
    world = World([Job("m", seconds=5), Job("n", seconds=1)], settings(visibility=30), weather)
    world.run(until=120)
    assert [job.handled for job in world.jobs] == [1, 1]
    assert [job.receives for job in world.jobs] == [1, 1]


def test_a_refused_extension_means_that_somebody_else_has_the_message() -> None:
    played = Played()
    played.lease("a")
    start = played.start()
    played.step(15.0)
    played.loop.settled(played.settle(), Settled(extend=[EXPIRED]), played.now)
    assert start.lease.delivery.lost
    played.finish(start)
    assert played.take(Settle) == [], "it is not acked"
    assert played.kinds() == ["received", "started", "lost"]


def test_a_message_that_comes_again_waits_for_the_handler_that_lost_it() -> None:
    played = Played(concurrency=2, max=2)
    played.lease("a")
    lost = played.start()
    played.step(15.0)
    played.loop.settled(played.settle(), Settled(extend=[EXPIRED]), played.now)
    played.step()
    played.lease("a")
    assert played.take(Start) == []
    played.finish(lost)
    assert played.start().lease.delivery.message_id == "a"


def test_an_extension_that_was_under_way_when_the_handler_ended_is_awaited_before_the_ack() -> None:
    played = Played()
    played.lease("a")
    start = played.start()
    played.step(15.0)
    extension = played.settle()
    played.finish(start)
    assert played.take(Settle) == []
    played.loop.settled(extension, Settled(extend=[OK]), played.now)
    played.step()
    assert len(played.settle().acked) == 1


def test_messages_of_one_receive_whose_leases_began_apart_are_told_apart_by_the_servers_own_times() -> None:
    played = Played(max=2, concurrency=2)
    early, late = message("early", lease_expires_at=10.0), message("late", lease_expires_at=28.0)
    played.loop.received(played.receive(), [early, late], played.now)
    played.step()
    starts = played.take(Start)
    ends = [start.lease.end for start in starts if isinstance(start, Start)]
    assert ends == [START + 12, START + 30]


def test_an_answer_that_comes_late_was_leased_while_the_server_still_waited() -> None:
    played = Played()
    call = played.receive()
    played.step(27.0)
    played.loop.received(call, [message("a")], played.now)
    played.step()
    assert played.start().lease.end == START + 20 + 30


def test_wall_clocks_mean_nothing() -> None:
    played = Played()
    played.loop.received(played.receive(), [message("a", lease_expires_at=-1e9)], played.now)
    played.step(14.9)
    assert played.take(Settle) == []
    played.step(0.1)
    assert len(played.settle().extended) == 1


@pytest.mark.parametrize(("kind", "status"), [(UnavailableError, 503), (RateLimitedError, 429)])
def test_a_receive_that_failed_is_made_again_after_what_the_server_asks_for(
    kind: type[NaiveError], status: int
) -> None:
    played = Played()
    played.loop.receive_failed(played.receive(), kind("not now", status=status, retry_after=7), played.now)
    played.step(7.0)
    assert played.take(Receive) == []
    played.step(1.0)
    assert len(played.take(Receive)) == 1


def test_pauses_between_receives_grow() -> None:
    played = Played(spread=1.0)
    pauses = []
    for _ in range(8):
        call = played.receive()
        played.loop.receive_failed(call, UnavailableError("down", status=503), played.now)
        pauses.append(played.loop.wake_at() - played.now)
        played.step(pauses[-1])
    assert pauses == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


def test_a_server_that_asks_for_patience_gets_it_unless_a_lease_would_end_meanwhile() -> None:
    played = Played()
    played.lease("a")
    played.step(15.0)
    played.loop.settle_failed(played.settle(), RateLimitedError("x", status=429, retry_after=6), played.now)
    played.step(5.9)
    assert played.take(Settle) == []
    played.step(1.1)
    played.loop.settle_failed(played.settle(), RateLimitedError("x", status=429, retry_after=600), played.now)
    played.step(3.5)
    assert len(played.take(Settle)) == 1, "or the lease would have ended"


def test_nothing_is_received_while_settling_fails() -> None:
    played = Played(concurrency=5, max=5)
    played.lease("a")
    under_way = played.receive()
    played.finish(played.start())
    played.loop.settle_failed(played.settle(), UnavailableError("down", status=503), played.now)
    played.loop.received(under_way, [message("b")], played.now)
    for _ in range(6):
        played.step(9.0)
        played.loop.settle_failed(played.settle(), UnavailableError("down", status=503), played.now)
    assert played.take(Receive) == []
    played.step(9.0)
    call = played.settle()
    played.loop.settled(call, Settled(ack=[OK] * len(call.acked), extend=[OK] * len(call.extended)), played.now)
    played.step()
    played.lease("c")
    assert len(played.take(Receive)) == 1, "now that all is well it fills its room again"


def test_a_settle_call_does_not_wait_for_another() -> None:
    played = Played(concurrency=2, max=2)
    played.lease("a", "b")
    first, second = played.take(Start)
    assert isinstance(first, Start)
    assert isinstance(second, Start)
    played.finish(first)
    played.step(1.0)
    assert len(played.settle().acked) == 1
    played.finish(second)
    played.step(1.0)
    assert len(played.settle().acked) == 1


def test_an_entry_that_was_not_taken_is_sent_again() -> None:
    played = Played()
    played.lease("a")
    played.finish(played.start())
    refused = SettleResult(error=EntryError(code="unavailable", message="not now"))
    played.loop.settled(played.settle(), Settled(ack=[refused]), played.now)
    played.step(0.01)
    assert played.take(Settle) == []
    played.step(1.0)
    assert len(played.settle().acked) == 1


def test_an_entry_that_never_can_be_taken_is_lost() -> None:
    played = Played()
    played.lease("a")
    played.finish(played.start())
    garbled = SettleResult(error=EntryError(code="receipt_invalid", message="garbled"))
    played.loop.settled(played.settle(), Settled(ack=[garbled]), played.now)
    assert played.kinds() == ["received", "started", "lost"]


def test_an_ack_whose_answer_was_lost_and_that_is_refused_the_second_time_had_worked() -> None:
    played = Played(fifo=True)
    played.lease("a", group="g")
    played.finish(played.start())
    played.loop.settle_failed(played.settle(), NoAnswerError("lost"), played.now)
    played.step(1.0)
    played.loop.settled(played.settle(), Settled(ack=[EXPIRED]), played.now)
    assert played.kinds() == ["received", "started", "api_error", "done"]


def test_a_first_ack_that_is_refused_is_a_message_lost() -> None:
    played = Played(fifo=True)
    played.lease("a", group="g")
    played.finish(played.start())
    played.loop.settle_failed(played.settle(), UnavailableError("not done", status=503), played.now)
    played.step(1.0)
    played.loop.settled(played.settle(), Settled(ack=[EXPIRED]), played.now)
    assert played.kinds() == ["received", "started", "api_error", "lost"]


@pytest.mark.parametrize("failure", [NoAnswerError("lost"), InternalError("broken", status=500)])
def test_a_give_back_that_may_have_worked_is_not_repeated_since_somebody_may_have_the_message(
    failure: NaiveError,
) -> None:
    played = Played(spread=0.0)
    played.lease("a")
    played.loop.stop(played.now)
    start = played.start()
    played.loop.stop_at_once(played.now)
    played.step()
    played.loop.settle_failed(played.settle(), failure, played.now)
    played.step(4.0)
    assert played.take(Settle) == []
    assert played.kinds() == ["received", "started", "api_error", "given_back"]
    assert start.lease.delivery.lost


def test_a_give_back_that_may_have_worked_is_repeated_while_the_message_is_hidden_anyway() -> None:
    played = Played()
    played.lease("a")
    played.finish(played.start(), Retry(after=5))
    played.loop.settle_failed(played.settle(), NoAnswerError("lost"), played.now)
    played.step(1.0)
    played.loop.settled(played.settle(), Settled(retry=[EXPIRED]), played.now)
    assert played.kinds()[-1] == "given_back", "it had worked"


def test_a_give_back_that_surely_did_not_work_is_repeated() -> None:
    played = Played()
    played.lease("a")
    played.finish(played.start(), RuntimeError("failed"))
    played.loop.settle_failed(played.settle(), UnavailableError("down", status=503), played.now)
    played.step(1.0)
    assert len(played.settle().given_back) == 1


@pytest.mark.parametrize(
    "failure", [UnauthorizedError("revoked", status=401), ForbiddenError("sealed", status=403), RuntimeError("a bug")]
)
def test_after_an_error_that_all_calls_will_meet_the_loop_stops_and_gives_it_as_the_reason(failure: Exception) -> None:
    played = Played()
    played.lease("a")
    played.finish(played.start())
    played.loop.settle_failed(played.settle(), failure, played.now)
    played.step()
    assert played.loop.is_over
    assert played.loop.failure is failure
    assert played.loop.counts.lost == 1


def test_an_answer_that_does_not_fit_its_call_is_a_failure_of_the_call() -> None:
    played = Played()
    played.lease("a")
    played.finish(played.start())
    played.loop.settled(played.settle(), Settled(ack=[OK, OK]), played.now)
    played.step(1.0)
    assert len(played.settle().acked) == 1
    assert played.loop.counts.api_errors == 1


def test_what_a_handler_says_after_it_was_told_that_its_message_is_lost_means_nothing() -> None:
    played = Played()
    played.lease("a")
    start = played.start()
    played.loop.stop_at_once(played.now)
    played.step()
    played.loop.settle_failed(played.settle(), UnavailableError("down", status=503), played.now)
    played.finish(start)
    played.step(1.0)
    call = played.settle()
    assert (len(call.acked), len(call.given_back)) == (0, 1)


def test_what_an_open_receive_brings_after_the_stop_is_worked_on_and_nothing_more_is_received() -> None:
    played = Played()
    call = played.receive()
    played.loop.stop(played.now)
    played.step(3.0)
    played.loop.received(call, [message("a")], played.now)
    played.step()
    played.finish(played.start())
    assert len(played.settle().acked) == 1
    assert played.take(Receive) == []


def test_what_comes_after_a_stop_at_once_is_given_back() -> None:
    played = Played()
    call = played.receive()
    played.loop.stop_at_once(played.now)
    played.loop.received(call, [message("a")], played.now)
    played.step()
    assert len(played.settle().given_back) == 1
    assert played.take(Start) == []


def test_what_comes_after_an_error_that_all_calls_will_meet_is_given_back() -> None:
    played = Played(concurrency=2)
    played.lease("a")
    call = played.receive()
    played.finish(played.start())
    played.loop.settle_failed(played.settle(), UnauthorizedError("revoked", status=401), played.now)
    played.loop.received(call, [message("b")], played.now)
    played.step(1.0)
    assert len(played.settle().given_back) == 1
    assert played.take(Start) == []


def test_one_failure_on_fifo_gives_back_the_rest_of_its_group_unrun_and_no_other_group() -> None:
    work = [Job("a1", 1, failures=1, group="a"), Job("a2", 1, group="a"), Job("a3", 1, group="a")]
    work += [Job("b1", 1, group="b"), Job("b2", 1, group="b")]
    world = World(work, settings(fifo=True, concurrency=10))
    world.run(until=60)
    assert world.starts == ["a1", "b1", "b2", "a1", "a2", "a3"]
    assert world.given_back == ["a1", "a2", "a3"]
    assert world.loop.counts.failed == 1


def test_what_was_received_behind_a_failure_goes_back_with_it_and_in_order() -> None:
    played = Played(fifo=True, concurrency=5)
    played.lease("1", "2", "3", group="g")
    played.finish(played.start(), RuntimeError("failed"))
    assert [lease.delivery.message_id for lease in played.settle().given_back] == ["1", "2", "3"]


def test_what_was_received_behind_a_message_that_was_lost_goes_back_unrun() -> None:
    played = Played(fifo=True, concurrency=5)
    played.lease("1", "2", "3", group="g")
    played.step(15.0)
    played.loop.settled(played.settle(), Settled(extend=[EXPIRED, OK, OK]), played.now)
    played.finish(played.start())
    assert [lease.delivery.message_id for lease in played.settle().given_back] == ["2", "3"]
    assert played.take(Start) == []


def test_order_holds_in_twenty_groups_of_fifty_at_once() -> None:
    work = [Job(f"{group}-{n}", 0.05, group=str(group)) for n in range(50) for group in range(20)]
    world = World(work, settings(fifo=True, concurrency=10))
    world.run(until=600)
    assert world.is_all_done()
    assert max(job.receives for job in world.jobs) == 1


def test_a_worker_that_is_idle_for_long_enough_stops_by_itself() -> None:
    world = World([Job("m", seconds=4)], settings(idle_exit=7.0))
    world.run()
    assert world.loop.is_over
    assert 7 <= world.now - START - 4 <= 9
    assert world.loop.counts.done == 1


def test_protection_comes_before_work_and_goes_when_nothing_is_held() -> None:
    world = World([Job("m", seconds=4, arrives=START + 3)], settings(protected=True))
    started: list[float] = []
    world.on_start = lambda start: started.append(world.now)
    world.run(until=60)
    (begun, minutes), (ended, nothing) = world.protections
    assert (minutes, nothing) == (10, None)
    assert begun + world.protect_seconds <= started[0]
    assert world.jobs[0].handled == 1
    assert START + 7 < ended < START + 15


def test_protection_is_renewed_before_it_is_over_and_kept_from_one_message_to_the_next() -> None:
    work = [Job(f"m{n}", seconds=100, arrives=START + 102 * n) for n in range(20)]
    world = World(work, settings(protected=True))
    world.run(until=2100)
    times = [at for at, _ in world.protections]
    assert world.is_all_done()
    assert [minutes for _, minutes in world.protections] == [10] * 7 + [None]
    assert max(later - earlier for earlier, later in pairwise(times)) < 600


def test_work_does_not_start_while_protection_is_being_taken_away() -> None:
    work = [Job("m", seconds=1), Job("n", seconds=1, arrives=START + 13)]
    world = World(work, settings(protected=True))
    world.protect_seconds = 5.0
    started: list[float] = []
    world.on_start = lambda start: started.append(world.now)
    world.run(until=60)
    assert [minutes for _, minutes in world.protections] == [10, None, 10, None]
    assert started[1] >= world.protections[2][0] + 5


def test_protection_that_is_not_given_does_not_keep_work_from_starting_and_is_asked_for_again() -> None:
    world = World([Job("m", seconds=100)], settings(protected=True))
    world.grants = False
    world.run(until=90)
    assert world.starts == ["m"]
    assert [minutes for _, minutes in world.protections] == [10, 10, 10]


def test_a_drain_ends_the_protection() -> None:
    world = World([Job("m", seconds=4)], settings(protected=True))
    world.at(2.0, world.stop)
    world.run()
    assert [minutes for _, minutes in world.protections] == [10, None]
    assert world.now < START + 5


def test_a_stop_at_once_ends_it_too_and_waits_for_no_handler_and_no_poll() -> None:
    world = World([Job("m", seconds=40)], settings(protected=True, concurrency=2))
    world.at(2.0, world.stop_at_once)
    world.run()
    assert world.loop.is_over
    assert [minutes for _, minutes in world.protections] == [10, None]
    assert world.now < START + 3
    assert world.loop.counts.unfinished == 1


def test_a_drain_waits_for_a_handler_whose_message_was_lost() -> None:
    played = Played()
    played.lease("a")
    start = played.start()
    played.step(15.0)
    played.loop.settled(played.settle(), Settled(extend=[EXPIRED]), played.now)
    played.loop.stop(played.now)
    played.step(5.0)
    assert not played.loop.is_over
    played.finish(start)
    assert played.loop.is_over


def test_pauses_have_a_limit_whatever_a_server_asks_for() -> None:
    played = Played()
    played.loop.receive_failed(played.receive(), UnavailableError("x", status=503, retry_after=1e9), played.now)
    assert played.loop.wake_at() - played.now < 1000


def test_a_loop_that_has_done_nothing_can_be_stopped() -> None:
    loop = Loop(settings(), lambda: 0.5, START)
    loop.stop(START)
    assert loop.step(START) == []
    assert loop.is_over
    assert math.isfinite(loop.wake_at())
