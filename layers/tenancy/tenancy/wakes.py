"""A sender's word that a queue has work: it wakes a sleeping service before any metric could."""

import time

from cachetools import TTLCache

from tenancy.registry import Queue
from tenancy.telemetry import count, log_unhandled

_MAX_DELAY = 900
"""The longest that SQS delays a tick. Whoever wakes early looks again until the message is there."""

# By queue and second: one wake is enough for all that fall due then, and a sender that floods sends no more than that.
_sent: TTLCache[tuple[str, int], bool] = TTLCache(1024, 2)


def wake(queue: Queue, delay: int = 0) -> None:
    """Have the queue's service woken when messages are there, in so many seconds; nothing, when it is awake.

    Never fails: what was sent is on the queue, and the depth alarm and the reconciler find it there.
    """
    if queue.scaling is None or queue.consumer is None:
        return
    # Most queues have no service, and each function would begin later for it.
    from tenancy import scaling, ticks

    now = int(time.time())
    state, consumer = scaling.State.read(queue.scaling), scaling.Consumer.read(queue.consumer)
    if not scaling.applies("wake", state, consumer, now):
        return
    delay = min(delay, _MAX_DELAY)
    if (queue.id, now + delay) in _sent:
        return
    try:
        ticks.send(ticks.Look(queue.id, "wake"), delay)
    except Exception as fault:
        log_unhandled(fault)
        return
    _sent[queue.id, now + delay] = True
    count("Wakes")
