"""A consumer's decisions, without I/O, clock or threads: what happens and the time go in, commands come out.

The time is monotonic. Times of the server are compared among themselves, never with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, count

from naive.constants import (
    GIVE_BACK_SECONDS,
    HANDLER_BACKOFF_CAP_SECONDS,
    HANDLER_BACKOFF_SECONDS,
    MAX_LEASE_SECONDS,
)
from naive.consumer.commands import Command, Protect, Receive, Settle, Start
from naive.consumer.delivery import Delivery, Retry
from naive.consumer.events import Counts, Event, EventKind
from naive.consumer.lease import Fate, Lease
from naive.consumer.polls import Polls
from naive.consumer.settings import Settings
from naive.consumer.settling import Settling
from naive.consumer.shelter import Shelter
from naive.errors import (
    BadRequestError,
    ForbiddenError,
    NaiveError,
    NotFoundError,
    UnauthorizedError,
    UnexpectedAnswerError,
)
from naive.models import Message, Settled, SettleResult
from naive.retries import entry_may_repeat, growing, surely_not_accepted

# After these it is of no use to go on: the next call would fail as well.
_FINAL = (BadRequestError, ForbiddenError, NotFoundError, UnauthorizedError)


class Loop:
    """One consumer of one queue, from its first receive to the end of its drain.

    `step` says what to begin now, `wake_at` when to ask again if nothing happens before, `is_over` when to stop asking.
    """

    def __init__(self, settings: Settings, chance: Callable[[], float], now: float) -> None:
        self.counts = Counts()
        self.failure: Exception | None = None
        """Why the loop stopped by itself, where it had to."""
        self.is_over = False
        self._settings = settings
        self._chance = chance
        self._numbers = count(1)
        self._leases: dict[int, Lease] = {}  # what is not settled, by number: in the order of arrival
        self._running: dict[int, Lease] = {}  # what a handler works on, also when it is ours no more
        self._settling = Settling(chance)
        self._polls = Polls(settings.max, settings.visibility, chance)
        self._shelter = Shelter(settings.protected)
        self._events: list[Event] = []
        self._busy_at = now
        self._deadline = math.inf  # of the drain
        self._last_moment = math.inf  # of giving back what is left then

    def stop(self, now: float) -> None:
        """Begin the drain: give back what waits, work on what an open receive still brings, begin no other."""
        self._deadline = min(self._deadline, now + self._settings.drain_seconds)
        for lease in self._leases.values():
            if lease.is_waiting:
                lease.settle(Fate.GIVE_BACK, now)

    def stop_at_once(self, now: float) -> None:
        """Give everything back, also what handlers are working on."""
        if not self._gives_all_back:
            self.counts.unfinished = len(self._running)
        self.stop(now)
        self._deadline = min(self._deadline, now)
        self._last_moment = min(self._last_moment, now + GIVE_BACK_SECONDS)
        for lease in self._leases.values():
            if lease.fate is Fate.KEEP:
                lease.settle(Fate.GIVE_BACK, now)
                lease.delivery.lose()

    def step(self, now: float) -> list[Command]:
        """What to begin now."""
        self._look_at_the_clock(now)
        return [] if self.is_over else list(self._commands(now))

    def wake_at(self) -> float:
        """When there will be something to do, if nothing happens before."""
        leases = self._leases.values()
        return min(
            *(lease.lost_at for lease in leases if lease.fate is Fate.KEEP),
            *(lease.end for lease in leases if lease.fate is Fate.GIVE_BACK and not lease.in_call),
            self._settling.next_at(leases, self._is_alone),
            self._polls.next_at(self._room),
            self._shelter.next_at(self._is_sheltering, self._is_ending),
            min(self._last_moment, math.inf if self._gives_all_back else self._deadline),
        )

    def take_events(self) -> list[Event]:
        """What has happened since this was last asked."""
        events, self._events = self._events, []
        return events

    def received(self, call: Receive, messages: Sequence[Message], now: float) -> None:
        """A receive brought these messages."""
        self._polls.answered(call, len(messages), now)
        # The server began the leases while it still waited, and not all of them at the same moment.
        began = min(now, call.at + call.wait)
        latest = max((message.lease_expires_at for message in messages), default=None)
        for message in messages:
            age = (latest - message.lease_expires_at).total_seconds() if latest else 0.0
            delivery = Delivery.of(message, self._settings.max_receives)
            lease = Lease.begun(next(self._numbers), delivery, call.visibility, began - age)
            self._leases[lease.number] = lease
            self._tell("received", delivery)
        if messages or self._is_busy:
            self._busy_at = now
        elif self._settings.idle_exit is not None and now >= self._busy_at + self._settings.idle_exit:
            self.stop(now)
        # Otherwise it is worked on: were it given back, workers that end together would hand it on until it is dead.
        if self._gives_all_back or self.failure:
            self.stop(now)

    def receive_failed(self, call: Receive, failure: Exception, now: float) -> None:
        """A receive failed; it may have leased messages, which come back by themselves."""
        self._busy_at = now
        self._polls.failed(call, _asked(failure), now)
        self._api_error(failure, now)

    def settled(self, call: Settle, answer: Settled, now: float) -> None:
        """A settle call was answered, lease by lease."""
        answers = [
            (Fate.ACK, call.acked, answer.ack),
            (Fate.GIVE_BACK, call.given_back, answer.retry),
            (Fate.KEEP, call.extended, answer.extend),
        ]
        if any(len(leases) != len(results) for _, leases, results in answers):
            self.settle_failed(call, UnexpectedAnswerError("The server did not answer for each message."), now)
            return
        self._settling.answered(call)
        for verb, leases, results in answers:
            for lease, result in zip(leases, results, strict=True):
                if lease.number in self._leases:
                    self._settled_one(lease, verb, result, call.at, now)

    def settle_failed(self, call: Settle, failure: Exception, now: float) -> None:
        """A settle call failed as a whole."""
        self._settling.failed(call, _asked(failure), self._leases.values(), now)
        if not (isinstance(failure, NaiveError) and surely_not_accepted(failure)):
            for lease in (*call.acked, *call.given_back):
                lease.doubt(call.at)
        if self._api_error(failure, now):
            for lease in call.leases:
                if lease.number in self._leases:
                    self._lose(lease, now)

    def finished(self, start: Start, error: BaseException | None, now: float) -> None:
        """A handler has ended, well or with an exception."""
        lease = start.lease
        lease.finish(now)
        del self._running[lease.number]
        self._busy_at = now
        if error is not None and not isinstance(error, Retry):
            self._tell("failed", lease.delivery, seconds=lease.seconds, error=error)
        if lease.number not in self._leases or lease.fate is not Fate.KEEP:
            return
        if error is None:
            lease.settle(Fate.ACK, now)
        else:
            lease.settle(Fate.GIVE_BACK, now, self._delay(lease, error))
            self._give_back_behind(lease, now)

    def protected(self, call: Protect, granted: bool, now: float) -> None:
        """The protection was given, or ended, or could not be."""
        self._shelter.answered(call, granted, now)

    def _look_at_the_clock(self, now: float) -> None:
        """Do what no event but the time brings about."""
        if now >= self._deadline and not self._gives_all_back:
            self.stop_at_once(now)
        for lease in list(self._leases.values()):
            if lease.fate is Fate.KEEP and now >= lease.lost_at:
                self._lose(lease, now)
            elif lease.fate is Fate.GIVE_BACK and now >= lease.end and not lease.in_call:
                self._end(lease, "given_back", now)
            elif now >= self._last_moment:
                self._end(lease, "given_back" if lease.fate is Fate.GIVE_BACK else "lost", now)
        self.is_over = self.is_over or self._has_ended(now)

    def _has_ended(self, now: float) -> bool:
        if now >= self._last_moment:
            return True
        if self._leases or not self._shelter.is_down:
            return False
        return self._gives_all_back or (self._is_ending and not self._running)

    def _commands(self, now: float) -> Iterator[Command]:
        if protect := self._shelter.next_call(self._is_sheltering, self._is_ending, now):
            yield protect
        yield from self._starts(now)
        while settle := self._settling.next_call(self._leases.values(), self._is_alone, now):
            yield settle
        while receive := self._polls.next_call(self._room, self._wait(now), now):
            yield receive

    def _starts(self, now: float) -> Iterator[Start]:
        if not self._shelter.lets_start:
            return
        for lease in self._leases.values():
            if lease.is_waiting and len(self._running) < self._settings.concurrency and self._may_start(lease):
                lease.start(now)
                self._running[lease.number] = lease
                self._tell("started", lease.delivery)
                yield Start(lease)

    def _may_start(self, lease: Lease) -> bool:
        """Whether nothing that has to come first is unsettled, or still worked on after it was lost."""
        for other in chain(self._running.values(), self._leases.values()):
            if other.number >= lease.number:
                continue
            if other.delivery.message_id == lease.delivery.message_id:
                return False
            if self._settings.fifo and other.group == lease.group:
                return False
        return True

    def _settled_one(self, lease: Lease, verb: Fate, result: SettleResult, at: float, now: float) -> None:
        """One lease was acked, given back or extended, or was not."""
        code = result.error.code if result.error else None
        if code is None and verb is Fate.KEEP:
            lease.extend(at)
            self._tell("extended", lease.delivery)
        elif code is None:
            self._end(lease, "done" if verb is Fate.ACK else "given_back", now)
        elif entry_may_repeat(code):
            self._settling.refused(lease, now)
        elif lease.in_doubt and verb is Fate.ACK and now < lease.end:
            self._end(lease, "done", now)  # what but the try before could have ended a lease that still runs?
        elif lease.in_doubt and verb is Fate.GIVE_BACK:
            self._end(lease, "given_back", now)
        else:
            self._lose(lease, now)

    def _lose(self, lease: Lease, now: float) -> None:
        """It is ours no more, or nothing more can be done for it."""
        lease.delivery.lose()
        self._end(lease, "lost", now)

    def _end(self, lease: Lease, kind: EventKind, now: float) -> None:
        """What became of it is known. On fifo nothing that was received behind it overtakes what is not done."""
        del self._leases[lease.number]
        self._busy_at = now
        delay = lease.delay if kind == "given_back" else None
        self._tell(kind, lease.delivery, seconds=lease.seconds, delay_seconds=delay)
        if kind != "done":
            self._give_back_behind(lease, now)

    def _give_back_behind(self, lease: Lease, now: float) -> None:
        for other in self._leases.values() if self._settings.fifo else ():
            if other.is_waiting and other.number > lease.number and other.group == lease.group:
                other.settle(Fate.GIVE_BACK, now)

    def _delay(self, lease: Lease, error: BaseException) -> int:
        """How long a message that failed stays hidden."""
        if isinstance(error, Retry) and error.after is not None:
            return math.ceil(min(max(0.0, error.after), MAX_LEASE_SECONDS))
        if lease.delivery.last_chance:
            return 0  # it only moves to the dead letters, and on fifo its group waits for that
        receives = lease.delivery.receive_count
        return math.ceil(growing(HANDLER_BACKOFF_SECONDS, HANDLER_BACKOFF_CAP_SECONDS, receives, self._chance()))

    def _api_error(self, failure: Exception, now: float) -> bool:
        """Tell of a failed call; the answer is whether all others would fail too, so that the loop stops."""
        self._tell("api_error", error=failure)
        is_final = isinstance(failure, _FINAL) or not isinstance(failure, NaiveError)
        if is_final:
            self.failure = self.failure or failure
            self.stop(now)
        return is_final

    def _tell(
        self,
        kind: EventKind,
        delivery: Delivery | None = None,
        *,
        seconds: float | None = None,
        delay_seconds: int | None = None,
        error: BaseException | None = None,
    ) -> None:
        event = Event(kind, delivery, seconds, delay_seconds, error)
        self.counts.add(event)
        self._events.append(event)

    def _wait(self, now: float) -> int:
        """How long a receive may wait: not longer than until the loop has been idle for long enough."""
        if self._settings.idle_exit is None:
            return self._settings.wait
        idle = 0.0 if self._is_busy else now - self._busy_at
        return min(self._settings.wait, max(1, math.ceil(self._settings.idle_exit - idle)))

    @property
    def _room(self) -> int:
        """How many more messages could be started at once, were they there."""
        if self._is_stopping or (self._settling.failures and self._leases):
            return 0  # what cannot be settled is not added to
        return self._settings.concurrency - len(self._leases.keys() | self._running.keys())

    @property
    def _is_stopping(self) -> bool:
        """Whether no more messages are wanted."""
        return self._deadline < math.inf

    @property
    def _is_ending(self) -> bool:
        """Whether no more messages will come."""
        return self._is_stopping and not self._polls.are_under_way

    @property
    def _gives_all_back(self) -> bool:
        return self._last_moment < math.inf

    @property
    def _is_busy(self) -> bool:
        return bool(self._leases or self._running)

    @property
    def _is_sheltering(self) -> bool:
        """Whether there is work that must not be cut off."""
        return bool(self._leases or (self._running and not self._gives_all_back))

    @property
    def _is_alone(self) -> bool:
        """Whether nothing runs that could soon add to a settle call."""
        return self._is_stopping or not self._running


def _asked(failure: Exception) -> float:
    """How long the server wants to be left alone."""
    return (failure.retry_after if isinstance(failure, NaiveError) else None) or 0.0
