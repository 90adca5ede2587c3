"""A world for the scaler to live in: a queue, its service, the tick queue, the record, and whoever carries out looks.

Time passes only between events, and every fault is ordered beforehand, so a run is repeated by repeating its orders.
What the scaler promises is checked after every event, on what is true and not on what was counted.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Literal

from tenancy import scaling
from tenancy.scaling import Consumer, Depth, Effect, Event, SendTick, SetDesired, State, Tick, Write

type Whereabouts = Literal["delayed", "ready", "in_flight", "gone"]
type Lens = Literal["exact", "low", "high"]
"""How SQS counts what changed within SETTLE_SECONDS: rightly; only where it was all the time; or wherever it was.

Every other count that is made of what was true at some time within these seconds lies between the last two.
"""

START = 1_800_000_000
NEVER = 0
MANY = 100
SQS_DELAY = 900
RECONCILER_SECONDS = 300
REDELIVERY_SECONDS = 30
"""After a function has died, its message is back."""

DEFAULT = Consumer(min=0, max=10, messages_per_worker=10, idle_seconds=60, paused=False, protected=False)


class ConditionFailed(Exception):
    """The record names another tick by now."""


@dataclass(eq=False)
class Message:
    """A message: where it is since when, where it was until when, and how long a worker holds it."""

    where: Whereabouts
    since: int
    takes: int = 0
    earlier: list[tuple[Whereabouts, int]] = field(default_factory=list)

    def move(self, where: Whereabouts, now: int) -> None:
        self.earlier.append((self.where, now))
        self.where, self.since = where, now

    def lately(self, after: int) -> set[Whereabouts]:
        """Everywhere it was later than that."""
        return {where for where, until in self.earlier if until > after} | {self.where}


@dataclass(frozen=True)
class Fate:
    """What befalls one run of the function: how long its steps take, before which one it dies, what its clock says."""

    waits: tuple[int, ...] = ()
    dies_before: int | None = None
    skew: int = 0


@dataclass(frozen=True, eq=False)
class Letter:
    """What is on the tick queue."""

    event: Event
    due: int


@dataclass(eq=False)
class Run:
    """One run of the function, for an event that came by the tick queue or by itself."""

    event: Event
    fate: Fate
    began: int
    letter: Letter | None = None
    steps: Iterator[None] = field(default_factory=lambda: iter(()))
    taken: int = 0
    counted_since: int = 0
    """What was so at this time and has not changed since, this run has counted rightly."""


class World:
    """One queue and all that happens around it."""

    def __init__(self, consumer: Consumer = DEFAULT, *, reconciler: bool = True, startup: int | None = None) -> None:
        """With a startup, in seconds, the service's workers work; without one nobody does but who is told to."""
        self.now = START
        self.consumer = consumer
        self.state = State(tick=Tick(0, "made"))
        self.service = 0
        """The desired count that the service has."""
        self.startup = startup
        self.hands = 0
        """Workers that have started."""
        self.ecs_accepts = True
        self.messages: list[Message] = []
        self.mail: list[Letter] = []
        """What is on the tick queue, delivered or not, until its run has ended."""
        self.runs: list[Run] = []
        self.lens: dict[str, Lens] = {"ready": "exact", "in_flight": "exact", "delayed": "exact"}
        self.fates: deque[Fate] = deque()
        """What befalls the next runs; all others have the usual fate."""
        self.usual = Fate()
        self.mailing: deque[tuple[int, ...]] = deque()
        """How what is put on the tick queue next is delivered: how much later than due, once for each number."""
        self.late = 0
        """Seconds by which the tick queue delivers late."""
        self.cut_off: set[str] = set()
        """What does not arrive any more: "ticks", "wakes"."""
        self.looks: list[tuple[int, Event]] = []
        self.scaled: list[tuple[int, int]] = []
        self.last_ordered = self.last_woken = self.now
        self.last_lost = self.last_died = NEVER
        self.last_busy = self.last_delayed = self.now
        self.misreads = False
        self.quiet_writes = 0
        """Writes since anything went wrong or two looks met."""
        self.alone_since: int | None = None
        """Since when there is something to do and no worker."""
        self._read = [(self.now, self.state, consumer)]
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self._tokens = (f"token-{n}" for n in count())
        if reconciler:
            self._after(RECONCILER_SECONDS, self._reconcile)
        self.put("changed")

    # What people, workers and the owner do.

    def send(self, delay: int = 0, *, how_many: int = 1, takes: int = 0, stale: int = 0, tells: bool = True) -> Message:
        """Send messages through the API, by what it read `stale` seconds ago; or past it, when nobody tells."""
        for _ in range(how_many):
            message = Message("gone", self.now, takes)  # A count that lags does not know it.
            message.move("delayed" if delay else "ready", self.now)
            self.messages.append(message)
            if delay:
                self._after(delay, partial(self._move, message, "delayed", "ready"))
        self._note()
        if tells:
            self.wake(delay, stale=stale)
        else:
            self.last_lost = self.now + delay
        return message

    def wake(self, delay: int = 0, *, stale: int = 0) -> None:
        """What a sender does after its send."""
        state, consumer = self._as_read(stale)
        if scaling.applies("wake", state, consumer, self.now):
            self.put("wake", delay)

    def receive(self, message: Message, visibility: int) -> None:
        """Lease a message to a worker, the service's or another."""
        self._move(message, "ready", "in_flight")
        lease = len(message.earlier)
        self._after(visibility, lambda: self._expire(message, lease))

    def acknowledge(self, message: Message) -> None:
        self._move(message, "in_flight", "gone")

    def give_back(self, message: Message, *, stale: int = 0) -> None:
        self._move(message, "in_flight", "ready")
        self.wake(stale=stale)

    def change(self, consumer: Consumer) -> None:
        """The owner changes, pauses or resumes the consumer."""
        self.consumer = consumer
        self.last_ordered = self.now
        self._remember()
        self._note()
        self.put("changed")

    def net(self) -> None:
        """The alarm or the reconciler comes by."""
        self._begin("look")

    def put(self, event: Event, delay: int = 0) -> None:
        """Put something on the tick queue."""
        copies = self.mailing.popleft() if self.mailing else (0,)
        if not copies or ("ticks" if isinstance(event, Tick) else "wakes") in self.cut_off:
            self.last_lost = self.now
            return
        for later in copies:
            seconds = delay + later + self.late
            letter = Letter(event, self.now + seconds)
            self.mail.append(letter)
            self._after(seconds, partial(self._begin, event, letter))
        assert sum(isinstance(letter.event, Tick) for letter in self.mail) < MANY, "ticks multiply"

    # Time.

    def pass_by(self, seconds: int) -> None:
        """Let time pass, and all happen that happens meanwhile."""
        end = self.now + seconds
        known = self.now - scaling.SETTLE_SECONDS
        self.messages = [message for message in self.messages if message.where != "gone" or message.since > known]
        while self._timers and self._timers[0][0] <= end:
            at, _, happen = heapq.heappop(self._timers)
            self.now = at
            self.check()
            happen()
            self._take()
            self._note()
            self.check()
        self.now = end
        self._note()
        self.check()

    def truly(self, *whereabouts: Whereabouts) -> list[Message]:
        """The messages that are there, whatever SQS counts."""
        return [message for message in self.messages if message.where in whereabouts]

    def alive(self) -> set[Event]:
        """What is on the tick queue, is due about when a look should be, and leads to one."""
        soon = self.now + scaling.DELAYED_SECONDS + scaling.CLOCK_SECONDS
        events = {letter.event for letter in self.mail if letter.due <= soon}
        return {event for event in events if scaling.applies(event, self.state, self.consumer, self.now)}

    def check(self) -> None:
        """What is promised at every moment; the machines add theirs."""

    def carry_out(self, effect: Effect, counted_since: int) -> None:
        """Let an effect take place."""
        match effect:
            case SendTick(tick, delay):
                assert 1 <= delay <= SQS_DELAY, "a tick that never ends or that SQS refuses"
                self.put(tick, delay)
            case Write(state, seen):
                if self.state.tick != seen:
                    raise ConditionFailed
                self.state = state
                self.quiet_writes = self.quiet_writes + 1 if len(self.runs) == 1 else 0
                self._remember()
            case SetDesired(count):
                if not self.ecs_accepts:
                    raise TimeoutError
                if count < self.service:
                    self.check_scaled_in(count, counted_since)
                if count != self.service:
                    self.scaled.append((self.now, count))
                self.service = count
                self.hands = min(self.hands, count)
                if self.startup is not None:
                    self._after(self.startup, self._start)
                self._note()

    def check_scaled_in(self, count: int, counted_since: int) -> None:
        """Nothing that was counted in flight loses its worker, unless the owner has ordered so.

        Or unless somebody hung after his write until the record said something else. The next look makes that good.
        """
        ordered = self.now - self.last_ordered <= scaling.SURE_SECONDS or count == self.consumer.max
        if ordered or self.consumer.paused or count != self.state.desired:
            return
        held = [message for message in self.truly("in_flight") if message.since < counted_since]
        assert len(held) <= (count if self.consumer.protected else 0), "a worker that may hold a message was scaled in"

    # The function.

    def function(self, run: Run) -> Iterator[None]:
        """What the function does for an event that reached it. It stops before it counts, and before each effect."""
        for _ in range(3):
            state, consumer, now = self.state, self.consumer, self.now + run.fate.skew
            if not scaling.applies(run.event, state, consumer, now):
                return
            yield
            depth = self._counted()
            exact = set(self.lens.values()) == {"exact"}
            run.counted_since = self.now - (0 if exact else scaling.SETTLE_SECONDS)
            self.misreads |= not exact
            self.looks.append((self.now, run.event))
            if not isinstance(run.event, Tick):
                self.last_woken = self.now
            try:
                for effect in scaling.look(run.event, state, consumer, depth, now, next(self._tokens)):
                    yield
                    self.carry_out(effect, run.counted_since)
                return
            except ConditionFailed:
                continue
        raise TimeoutError

    def _begin(self, event: Event, letter: Letter | None = None) -> None:
        fate = self.fates.popleft() if self.fates else self.usual
        run = Run(event, fate, self.now, letter)
        run.steps = self.function(run)
        if self.runs:
            self.quiet_writes = 0
        self.runs.append(run)
        self._step(run)

    def _step(self, run: Run) -> None:
        if run.taken == run.fate.dies_before or self.now - run.began > scaling.ACT_SECONDS:
            return self._end(run, died=True)
        wait = run.fate.waits[run.taken] if run.taken < len(run.fate.waits) else 0
        run.taken += 1
        try:
            next(run.steps)
        except StopIteration:
            self._end(run, died=False)
        except TimeoutError:
            self._end(run, died=True)
        else:
            self._after(wait, lambda: self._step(run))

    def _end(self, run: Run, *, died: bool) -> None:
        self.runs.remove(run)
        if died:
            self.last_died = self.now
            self.quiet_writes = 0
            if run.letter is None and self.now - self.last_lost <= RECONCILER_SECONDS + 2 * scaling.LATE_SECONDS:
                self.last_lost = self.now  # It came to mend what was lost.
        if run.letter and died:
            self._after(REDELIVERY_SECONDS, partial(self._begin, run.event, run.letter))
        elif run.letter:
            self.mail.remove(run.letter)

    def _counted(self) -> Depth:
        return Depth(self._count("ready"), self._count("in_flight"), self._count("delayed"))

    def _count(self, kind: Whereabouts) -> int:
        lens = self.lens[kind]
        if lens == "exact":
            return len(self.truly(kind))
        lately = [message.lately(self.now - scaling.SETTLE_SECONDS) for message in self.messages]
        return sum(seen == {kind} if lens == "low" else kind in seen for seen in lately)

    def _start(self) -> None:
        self.hands = self.service
        self._take()

    def _take(self) -> None:
        """Every worker that has nothing takes a message."""
        free = self.hands - len(self.truly("in_flight"))
        for message in self.truly("ready")[: max(0, free)]:
            self.receive(message, message.takes + 1)
            self._after(message.takes, partial(self.acknowledge, message))

    def _reconcile(self) -> None:
        self._after(RECONCILER_SECONDS, self._reconcile)
        self.net()

    # Bookkeeping.

    def _move(self, message: Message, before: Whereabouts, after: Whereabouts) -> None:
        if message.where == before:
            self._note()
            message.move(after, self.now)
            self._note()

    def _expire(self, message: Message, lease: int) -> None:
        if len(message.earlier) == lease:
            self._move(message, "in_flight", "ready")

    def _after(self, seconds: int, happen: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (self.now + seconds, next(self._order), happen))

    def _remember(self) -> None:
        self._read.append((self.now, self.state, self.consumer))

    def _as_read(self, stale: int) -> tuple[State, Consumer]:
        read = [(state, consumer) for at, state, consumer in self._read if at <= self.now - stale]
        return read[-1] if read else (self.state, self.consumer)

    def _note(self) -> None:
        outstanding = self.truly("ready", "in_flight")
        if outstanding:
            self.last_busy = self.now
        if self.truly("delayed"):
            self.last_delayed = self.now
        if outstanding and not self.service and not self.consumer.paused:
            self.alone_since = self.now if self.alone_since is None else self.alone_since
        else:
            self.alone_since = None
