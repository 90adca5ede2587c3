"""A queue, an API that fails as told, and handlers, in a time of their own: what a consumer's loop meets in an hour,
played in a moment and checked at every step.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random

from naive import Message, NoAnswerError, Retry, UnavailableError
from naive.constants import GIVE_BACK_SECONDS, MAX_LEASE_SECONDS
from naive.consumer.commands import Protect, Receive, Settle, Start
from naive.consumer.delivery import Delivery
from naive.consumer.lease import Lease
from naive.consumer.loop import Loop
from naive.consumer.settings import Settings
from naive.models import EntryError, Settled, SettleResult

# When the server's clock starts. It has nothing to do with the loop's, which starts at START.
EPOCH = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
START = 1000.0

UNAVAILABLE = SettleResult(error=EntryError(code="unavailable", message="not now"))
EXPIRED = SettleResult(error=EntryError(code="receipt_expired", message="over"))


def settings(**fields: object) -> Settings:
    """The settings of a loop on a standard queue, but for what is named."""
    chosen: dict[str, object] = {
        "fifo": False,
        "max_receives": None,
        "concurrency": 1,
        "max": 10,
        "wait": 20,
        "visibility": 30,
        "drain_seconds": 25.0,
        "idle_exit": None,
        "protected": False,
    }
    return Settings(**{**chosen, **fields})  # type: ignore[arg-type]  # each field is what its test says


def message(id: str, *, lease_expires_at: float = 30.0, receipt_handle: str = "", **fields: object) -> Message:
    """A message as a receive gives it; the end of its lease is on the server's clock."""
    shown: dict[str, object] = {
        "message_id": id,
        "body": "work",
        "receipt_handle": receipt_handle or id,
        "receive_count": 1,
        "sent_at": EPOCH,
        "lease_expires_at": EPOCH + timedelta(seconds=lease_expires_at),
        **fields,
    }
    return Message.model_validate(shown)


@dataclass
class Job:
    """A message on the queue: how long its handler takes, and how often it fails before it succeeds."""

    id: str
    seconds: float
    failures: int = 0
    group: str | None = None
    retry_after: float | None = None
    arrives: float = START
    visible_at: float = START
    receives: int = 0
    handle: str | None = None
    leased_at: float = -math.inf
    handled: int = 0
    is_done: bool = False
    expiries: int = 0
    """How often its lease ended without an ack or a give-back."""

    def is_ready(self, now: float) -> bool:
        return not self.is_done and now >= max(self.visible_at, self.arrives)

    def is_leased(self, now: float) -> bool:
        return not self.is_done and self.handle is not None and now < self.visible_at


@dataclass(frozen=True)
class Weather:
    """What the calls go through. Each call has its latency twice: on its way, and on the way back."""

    latency: tuple[float, float] = (0.01, 0.05)
    outages: Sequence[tuple[float, float]] = ()
    """Times, counted from the start, in which every call is answered 503 at once."""
    lost_requests: float = 0.0
    lost_answers: float = 0.0
    refused_entries: float = 0.0
    retry_after: float | None = None
    slow: tuple[int, float] | None = None
    """The one settle call that takes so many seconds."""
    clears: float = math.inf
    """After so many seconds there are no more failures."""


@dataclass
class World:
    """The loop under test, its queue and its handlers."""

    jobs: list[Job]
    settings: Settings
    weather: Weather = field(default_factory=Weather)
    seed: int = 0

    def __post_init__(self) -> None:
        self.now = START
        self.random = Random(self.seed)
        self.loop = Loop(self.settings, self.random.random, self.now)
        self.events: list[str] = []
        self.starts: list[str] = []
        self.extensions = 0
        self.receives: list[tuple[float, int, int]] = []
        self.protections: list[tuple[float, int | None]] = []
        self.protect_seconds = 0.1
        self.grants = True
        self.settles: list[Settle] = []
        self.given_back: list[str] = []
        self.deliveries: list[Delivery] = []
        self.running: dict[str, Job] = {}
        self.stopped_at: float | None = None
        self.brought_at: dict[str, float] = {}
        self.on_start: Callable[[Start], None] = lambda start: None
        self._numbers = count()
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._in_call: set[int] = set()
        self._acked: set[int] = set()

    def at(self, seconds: float, what: Callable[[], None]) -> None:
        """Have something happen so many seconds after the start."""
        self._later(START + seconds - self.now, what)

    def stop(self) -> None:
        self.stopped_at = self.stopped_at or self.now
        self.loop.stop(self.now)

    def stop_at_once(self) -> None:
        self.stopped_at = self.stopped_at or self.now
        self.loop.stop_at_once(self.now)

    def run(self, until: float = 7200.0) -> World:
        """Play until the loop is over, or until so many seconds after the start."""
        while not self.loop.is_over and self.now < START + until:
            self._step()
            if self.loop.is_over:
                break
            wake = self.loop.wake_at()
            next_event = self._agenda[0][0] if self._agenda else math.inf
            assert min(wake, next_event) < math.inf, "the loop waits for nothing"
            if wake < next_event:
                assert wake >= self.now or self.loop.step(self.now) == [], "the loop has overslept"
                self.now = max(self.now, wake)
                continue
            self.now, _, happens = heapq.heappop(self._agenda)
            happens()
        return self

    def pending(self) -> int:
        """Messages that the loop holds: neither done, nor given back, nor lost."""
        counts = self.loop.counts
        return counts.received - counts.done - counts.given_back - counts.lost

    def in_flight(self) -> list[str]:
        """What the server holds as leased."""
        return [job.id for job in self.jobs if job.is_leased(self.now)]

    def is_all_done(self) -> bool:
        return all(job.is_done for job in self.jobs)

    def _step(self) -> None:
        for command in self.loop.step(self.now):
            if isinstance(command, Receive):
                self._begin_receive(command)
            elif isinstance(command, Settle):
                self._begin_settle(command)
            elif isinstance(command, Start):
                self._start(command)
            else:
                self._protect(command)
        for event in self.loop.take_events():
            self.events.append(f"{event.kind} {event.message.message_id}" if event.message else event.kind)
        assert 0 <= self.pending() <= self.settings.concurrency
        assert len(self.running) <= self.settings.concurrency
        if self.stopped_at is not None:
            assert self.now <= self.stopped_at + self.settings.drain_seconds + GIVE_BACK_SECONDS, "the drain has no end"

    def _later(self, seconds: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (self.now + seconds, next(self._numbers), what))

    def _latency(self) -> float:
        fair = self.now - START >= self.weather.clears
        return self.random.uniform(*(Weather.latency if fair else self.weather.latency))

    def _happens(self, probability: float) -> bool:
        return self.now - START < self.weather.clears and self.random.random() < probability

    def _is_down(self) -> bool:
        return any(begin <= self.now - START < end for begin, end in self.weather.outages)

    def _unavailable(self) -> UnavailableError:
        return UnavailableError("down", status=503, retry_after=self.weather.retry_after)

    def _start(self, start: Start) -> None:
        job = self._job(start.lease.delivery.message_id)
        brought_at = self.brought_at[start.lease.delivery.message_id]
        assert self.stopped_at is None or brought_at >= self.stopped_at, "it starts what waited when it was stopped"
        assert job.id not in self.running, "a message is handled twice at once"
        if self.settings.fifo:
            assert job.group not in {other.group for other in self.running.values()}, "two of a group at once"
            before = self.jobs[: self.jobs.index(job)]
            assert all(other.is_done for other in before if other.group == job.group), "out of order"
        self.running[job.id] = job
        self.starts.append(job.id)
        self.on_start(start)
        self._later(job.seconds, lambda: self._finish(start, job))

    def _finish(self, start: Start, job: Job) -> None:
        del self.running[job.id]
        error: Exception | None = None
        if job.failures:
            job.failures -= 1
            error = RuntimeError("failed") if job.retry_after is None else Retry(job.retry_after)
        elif not start.lease.delivery.lost:
            job.handled += 1
        self.loop.finished(start, error, self.now)

    def _protect(self, call: Protect) -> None:
        self.protections.append((self.now, call.minutes))
        self._later(self.protect_seconds, lambda: self.loop.protected(call, self.grants, self.now))

    def _begin_receive(self, call: Receive) -> None:
        assert self.stopped_at is None, "it receives although it was stopped"
        self.receives.append((self.now, call.max, call.wait))
        if self._happens(self.weather.lost_requests):
            lost = NoAnswerError("lost")
            self._later(call.wait + 10, lambda: self.loop.receive_failed(call, lost, self.now))
            return
        self._later(self._latency(), lambda: self._poll(call, self.now + call.wait))

    def _poll(self, call: Receive, until: float) -> None:
        if self._is_down():
            failure = self._unavailable()
            self._later(self._latency(), lambda: self.loop.receive_failed(call, failure, self.now))
            return
        messages = self._lease(call)
        if not messages and self.now < until:
            # As often as it takes to see what becomes ready within the wait.
            self._later(min(0.25, until - self.now), lambda: self._poll(call, until))
        elif self._happens(self.weather.lost_answers):
            lost = NoAnswerError("lost")
            self._later(self._latency(), lambda: self.loop.receive_failed(call, lost, self.now))
        else:
            self._later(self._latency(), lambda: self._receive(call, messages))

    def _receive(self, call: Receive, messages: list[Message]) -> None:
        self.brought_at |= {message.message_id: self.now for message in messages}
        self.loop.received(call, messages, self.now)

    def _lease(self, call: Receive) -> list[Message]:
        chosen: list[Job] = []
        blocked: set[str | None] = set()
        for job in self.jobs:
            if self.settings.fifo and (job.group in blocked or job.is_done):
                continue
            if job.is_ready(self.now) and len(chosen) < call.max:
                chosen.append(job)
            elif self.settings.fifo:
                blocked.add(job.group)
        if self.settings.fifo:
            locked = {job.group for job in self.jobs if job.is_leased(self.now)}
            chosen = [job for job in chosen if job.group not in locked]
        return [self._lease_one(job, call.visibility) for job in chosen]

    def _lease_one(self, job: Job, visibility: int) -> Message:
        job.expiries += job.handle is not None
        job.receives += 1
        job.handle = f"{job.id}/{job.receives}"
        job.leased_at = self.now
        job.visible_at = self.now + visibility
        ends = job.visible_at - START
        return message(
            job.id, lease_expires_at=ends, receipt_handle=job.handle, receive_count=job.receives, group_id=job.group
        )

    def _begin_settle(self, call: Settle) -> None:
        numbers = {lease.number for lease in call.leases}
        assert len(numbers) == len(call.leases) <= 100
        assert numbers, "it settles nothing"
        assert not numbers & self._in_call, "a lease is in two calls at once"
        assert not {lease.number for lease in call.extended} & self._acked, "it extends after it has acked"
        self._in_call |= numbers
        self._acked |= {lease.number for lease in call.acked}
        self.settles.append(call)
        lost = self._happens(self.weather.lost_requests)
        there, back = self._latency(), self._latency()
        if self.weather.slow and self.weather.slow[0] == len(self.settles):
            there = self.weather.slow[1]
        if there + back > call.timeout or lost:
            if not lost:
                self._later(there, lambda: self._settle_unheard(call))
            self._later(call.timeout, lambda: self._settle_failed(call, NoAnswerError("late")))
        else:
            self._later(there, lambda: self._answer_settle(call, back))

    def _settle_unheard(self, call: Settle) -> None:
        self._settle(call)

    def _answer_settle(self, call: Settle, back: float) -> None:
        if self._is_down():
            failure = self._unavailable()
            self._later(back, lambda: self._settle_failed(call, failure))
            return
        answer = self._settle(call)
        if self._happens(self.weather.lost_answers):
            self._later(back, lambda: self._settle_failed(call, NoAnswerError("lost")))
        else:
            self._later(back, lambda: self._settled(call, answer))

    def _settled(self, call: Settle, answer: Settled) -> None:
        self._in_call -= {lease.number for lease in call.leases}
        self.loop.settled(call, answer, self.now)

    def _settle_failed(self, call: Settle, failure: Exception) -> None:
        self._in_call -= {lease.number for lease in call.leases}
        self.loop.settle_failed(call, failure, self.now)

    def _settle(self, call: Settle) -> Settled:
        return Settled(
            ack=[self._ack(lease) for lease in call.acked],
            retry=[self._give_back(lease, lease.delay) for lease in call.given_back],
            extend=[
                self._extend(lease, entry["visibility"])
                for lease, entry in zip(call.extended, call.extend(), strict=True)
            ],
        )

    def _ack(self, lease: Lease) -> SettleResult:
        job = self._job(lease.delivery.message_id)
        refusal = self._refusal(job, lease)
        # On standard an ack that comes too late is as good as any.
        if refusal and (refusal is UNAVAILABLE or self.settings.fifo):
            return refusal
        assert job.handled, "it acks what was not handled"
        job.is_done = True
        return SettleResult(ok=True)

    def _give_back(self, lease: Lease, delay: int) -> SettleResult:
        job = self._job(lease.delivery.message_id)
        if refusal := self._refusal(job, lease):
            return refusal
        self.given_back.append(job.id)
        job.handle = None
        job.visible_at = self.now + delay
        return SettleResult(ok=True)

    def _extend(self, lease: Lease, visibility: int) -> SettleResult:
        job = self._job(lease.delivery.message_id)
        assert 1 <= visibility <= self.settings.visibility
        if refusal := self._refusal(job, lease):
            return refusal
        self.extensions += 1
        job.visible_at = min(self.now + visibility, job.leased_at + MAX_LEASE_SECONDS)
        return SettleResult(ok=True)

    def _refusal(self, job: Job, lease: Lease) -> SettleResult | None:
        if self._happens(self.weather.refused_entries):
            return UNAVAILABLE
        return None if job.handle == lease.handle and job.is_leased(self.now) else EXPIRED

    def _job(self, id: str) -> Job:
        return next(job for job in self.jobs if job.id == id)
