"""How many workers a queue's service has, and when somebody looks again: pure rules, whose effects are values.

A queue is awake while its service has work, dozing once the count is at rest and somebody still looks, and asleep when
nothing of it is scheduled. Looks happen one after the other: each sends the tick of the next, and the record names the
one tick that counts. Whoever carries out the effects of a look does so in their order, and begins anew with a fresh
record when the write fails. What that order gives:

- A tick is sent before the record names it. Whoever dies in between leaves a tick that applies all the same, because it
  is the next one; what else was sent for the same place has another token and is nobody's.
- A change of the count is written before it is carried out, so whoever loses the write carries out nothing. Who wins it
  and dies, or comes late, is made good by the looks after it: they carry out the recorded count again until one is sure
  to come after everybody who knew another.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

QUICK_SECONDS = 3
"""The first look after the count was changed. Each further one waits as long again as that is ago: a burst is still
coming, and a change that somebody died with is made good while its sender still watches."""

STEADY_SECONDS = 15
"""Between looks when nothing changes. Looking all day costs a tenth of the smallest worker that it looks after."""

DELAYED_SECONDS = 30
"""Between looks at rest while messages are delayed: SQS says how many there are, not when they fall due."""

ACT_SECONDS = 20
"""No look has an effect later than this after it began: the timeout of the function that carries it out."""

SENDER_SECONDS = 5
"""For how long a sender goes by what it read of the queue."""

SETTLE_SECONDS = 60
"""What has not changed for so long, SQS counts rightly. What has may be counted as it was."""

CLOCK_SECONDS = 5
"""What the clocks of two looks may differ by, with the rounding to whole seconds."""

SURE_SECONDS = 2 * ACT_SECONDS + CLOCK_SECONDS
"""After a change of the count nobody carries out an older one any more: its write was up to ACT_SECONDS after its look
began, and a look that read the record just before that has as long again."""

DOZE_SECONDS = SENDER_SECONDS + SETTLE_SECONDS + ACT_SECONDS + CLOCK_SECONDS
"""How long nothing may be there before a doze becomes sleep: until what was sent by somebody who still believed the
queue awake is surely counted."""

LATE_SECONDS = 60
"""So long after a look was expected, the chain counts as broken, and a sender or a net begins another. A tick whose
function died is back before that."""

type Mode = Literal["awake", "dozing", "asleep"]


@dataclass(frozen=True, slots=True)
class Tick:
    """The name of a look to come: its place in the row, and what tells it from others sent for the same place."""

    n: int
    token: str


type Event = Tick | Literal["wake", "look", "changed"]
"""Why a look may be due: its tick came; a sender knows of a message, or will when its delay is over (the wake is sent
with that delay); a net (alarm, reconciler) comes by; the consumer was made, changed, paused or resumed."""


@dataclass(frozen=True, slots=True)
class Depth:
    """How many messages SQS counts, as far as it knows."""

    ready: int
    in_flight: int
    delayed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """What the owner has set for the service of a queue."""

    min: int
    max: int
    messages_per_worker: int
    idle_seconds: int
    paused: bool
    protected: bool
    """Whether a worker that holds messages keeps its task from being scaled in."""

    @classmethod
    def read(cls, stored: Mapping[str, Any], *, protected: bool = False) -> "Consumer":
        """The consumer as the record of its queue has it; `protected` is known from its workers."""
        return cls(
            min=stored["min"],
            max=stored["max"],
            messages_per_worker=stored["messages_per_worker"],
            idle_seconds=stored["idle_seconds"],
            paused=stored["paused"],
            protected=protected,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What the looks at a queue leave for one another. Times are whole seconds since 1970."""

    tick: Tick
    mode: Mode = "asleep"
    look_at: int | None = None
    """When the next look is expected."""
    desired: int = 0
    reason: str = ""
    scaled_at: int = 0
    sure: bool = True
    """Whether the service surely has the desired count, and nobody is left who would still set another."""
    most: int = 0
    """How many workers there may be: the count before, until a lower one was carried out."""
    idle_since: int | None = None
    """Since when every look found nothing ready or in flight; at rest, nothing delayed either."""
    slack_since: int | None = None
    """Since when every look found nothing ready, and fewer messages in flight than workers that protect themselves."""
    busiest: int = 0
    """The most in flight that was seen since then."""

    protected: bool = False
    """Whether one of the workers was seen to keep its task from being scaled in: all run the same image."""

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> "State":
        """The state that `stored` gave."""
        fields = dict(stored)
        return cls(tick=Tick(fields.pop("n"), fields.pop("token")), **fields)

    def stored(self) -> dict[str, Any]:
        """The state as a flat map of plain values."""
        fields = asdict(self)
        tick = fields.pop("tick")
        return {**tick, **fields}


@dataclass(frozen=True, slots=True)
class SendTick:
    """Put the tick on the tick queue."""

    tick: Tick
    delay: int


@dataclass(frozen=True, slots=True)
class Write:
    """Replace the state if the record still names the tick that was seen. If not, begin anew with a fresh record."""

    state: State
    seen: Tick


@dataclass(frozen=True, slots=True)
class SetDesired:
    """Set the service's desired count."""

    count: int


type Effect = SendTick | Write | SetDesired


def applies(event: Event, state: State, consumer: Consumer, now: int) -> bool:
    """Whether the event leads to a look. A sender asks this of "wake", by what it has read, before it sends one."""
    match event:
        case Tick():
            return event == state.tick or event.n == state.tick.n + 1
        case "wake":
            return not consumer.paused and (state.mode != "awake" or _is_late(state, now))
        case "look":
            return state.mode == "asleep" or _is_late(state, now)
        case "changed":
            return True


def spares(state: State, depth: Depth) -> bool:
    """Whether there may be fewer workers, if it is known of them that those who hold messages protect themselves."""
    return state.mode == "awake" and depth.ready == 0 < depth.in_flight < state.desired


def look(event: Event, state: State, consumer: Consumer, depth: Depth, now: int, token: str) -> list[Effect]:
    """What to do after an event that applies, in this order. The token is one that no other look has."""
    after = decide(event, state, consumer, depth, now)
    if event == "look" and after == state and state.mode == "asleep":
        return []
    pause = None if after.mode == "asleep" else _pause(after, consumer, depth, now)
    tick = Tick(state.tick.n + 1, token)
    written = replace(after, tick=tick, look_at=None if pause is None else now + pause)
    changed = after.desired != state.desired
    effects: list[Effect] = []
    # The owner may have ordered a count before the service was the queue's, or may wonder why it is not as recorded.
    if not changed and (event == "changed" or not state.sure):
        effects.append(SetDesired(state.desired))
    if pause is not None:
        effects.append(SendTick(tick, pause))
    effects.append(Write(written, state.tick))
    if changed:
        effects.append(SetDesired(after.desired))
    return effects


def decide(event: Event, state: State, consumer: Consumer, depth: Depth, now: int) -> State:
    """The state after a look, but for its tick."""
    # Counts may lag behind a send, so a sender is believed whatever they say.
    working = event == "wake" or depth.ready > 0 or depth.in_flight > 0
    lingering = state.mode == "awake" and not _elapsed(state.idle_since, consumer.idle_seconds, now)
    if (working or lingering) and not consumer.paused:
        return _work(event, state, consumer, depth, now)
    return _rest(event, state, consumer, depth, now)


def workers(present: int, consumer: Consumer, depth: Depth) -> int:
    """How many workers there should be for what there is, at least those present and one, limits aside.

    What is in flight counts as far as the present workers can hold it. More than that waits for a retry's delay to pass
    or is with somebody else, and needs no worker until it is ready again.
    """
    held = min(depth.in_flight, present * consumer.messages_per_worker)
    return max(present, 1, -(-(depth.ready + held) // consumer.messages_per_worker))


def _work(event: Event, state: State, consumer: Consumer, depth: Depth, now: int) -> State:
    """Awake: the count goes up at once, and down only when workers that protect themselves have long been too many."""
    begins = event == "wake" or state.mode != "awake"
    idle = depth.ready == depth.in_flight == 0
    idle_since = _since(idle, None if begins else state.idle_since, now)
    slack = consumer.protected and depth.ready == 0 and depth.in_flight < state.desired
    slack_since = _since(slack, None if begins else state.slack_since, now)
    busiest = max(depth.in_flight, 0 if begins else state.busiest) if slack else 0
    # One that should be gone may be still there, and hold what is in flight, unless that would keep it anyhow.
    present = state.most if depth.in_flight and not consumer.protected else state.desired
    wanted, reason = workers(present, consumer, depth), f"{depth.ready} ready, {depth.in_flight} in flight"
    if _elapsed(slack_since, consumer.idle_seconds, now):
        wanted, reason = max(busiest, 1), f"at most {busiest} in flight for {consumer.idle_seconds} s"
        slack_since, busiest = None, 0
    elif event == "wake" and idle:
        reason = "a message was sent"
    count = min(max(wanted, consumer.min), consumer.max)
    if count != wanted:
        reason += f", min {consumer.min}, max {consumer.max}"
    after = replace(state, mode="awake", idle_since=idle_since, slack_since=slack_since, busiest=busiest)
    return _scaled(after, count, reason, now)


def _rest(event: Event, state: State, consumer: Consumer, depth: Depth, now: int) -> State:
    """Dozing, and asleep once that was long enough: the count is as low as it goes."""
    count = 0 if consumer.paused else consumer.min
    begins = event == "changed" or state.mode == "awake" or count != state.desired
    quiet = consumer.paused or depth.delayed == 0
    idle_since = _since(quiet, None if begins else state.idle_since, now)
    if consumer.paused:
        reason = "paused"
    elif state.mode == "awake":
        reason = f"idle for {consumer.idle_seconds} s"
    else:
        reason = f"nothing to do, min {consumer.min}"
    rested = replace(state, mode="dozing", idle_since=idle_since, slack_since=None, busiest=0)
    after = _scaled(rested, count, reason, now)
    return replace(after, mode="asleep") if _elapsed(idle_since, DOZE_SECONDS, now) else after


def _scaled(state: State, count: int, reason: str, now: int) -> State:
    """With a count that will be carried out, or with the one that was, by this very look if it was not sure."""
    if count != state.desired:
        most = max(state.most, count)
        return replace(state, desired=count, reason=reason, scaled_at=now, sure=False, most=most)
    return replace(state, sure=state.sure or _elapsed(state.scaled_at, SURE_SECONDS, now), most=count)


def _pause(state: State, consumer: Consumer, depth: Depth, now: int) -> int:
    """Seconds to the next look: fewer while things change, and never past the moment at which a wait is over."""
    if not state.sure:
        usual = min(max(QUICK_SECONDS, now - state.scaled_at), STEADY_SECONDS)
    elif state.mode == "dozing" and depth.delayed:
        usual = DELAYED_SECONDS
    else:
        usual = STEADY_SECONDS
    return min([usual, *(end - now for end in _ends(state, consumer))])


def _ends(state: State, consumer: Consumer) -> Iterator[int]:
    """When what is waited for has lasted long enough, if it lasts."""
    if state.idle_since is not None:
        yield state.idle_since + (consumer.idle_seconds if state.mode == "awake" else DOZE_SECONDS)
    if state.slack_since is not None:
        yield state.slack_since + consumer.idle_seconds


def _since(holds: bool, since: int | None, now: int) -> int | None:
    """Since when something has held, looked at again: no clock that was ahead makes the wait longer."""
    if not holds:
        return None
    return now if since is None else min(since, now)


def _elapsed(since: int | None, seconds: int, now: int) -> bool:
    return since is not None and now - since >= seconds


def _is_late(state: State, now: int) -> bool:
    return state.look_at is not None and _elapsed(state.look_at, LATE_SECONDS, now)
