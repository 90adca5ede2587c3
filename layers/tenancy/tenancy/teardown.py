"""The end of a queue: taken out of use, then destroyed with its consumer and its dead letters."""

from typing import Literal

from tenancy import arrangements, engagements, reservations, table
from tenancy.aws import STAGE, reaching_aws, sqs
from tenancy.errors import NotFound, RequestInProgress
from tenancy.names import queue_names
from tenancy.registry import Queue, queue_key
from tenancy.reservations import Leftover
from tenancy.table import ConditionFailed, Item
from tenancy.telemetry import log_unhandled

_TRIES = 3


def destroy(queue: Queue) -> None:
    """Take the queue out of use, then delete it; what fails of that is left to the reconciler. Raises NotFound."""
    item = _retire(queue.id, "active")
    if engagements.is_busy(item):
        return  # Somebody may yet make something for its consumer: the reconciler waits for that.
    try:
        if arrangements.dismiss(item):
            for url in item["url"], item.get("dlq_url"):
                if url is not None:
                    _delete(url)
            engagements.forget(item)
    except Exception as fault:
        log_unhandled(fault)  # And no more: for its owner the queue is gone.


def clean_up(left: Leftover) -> bool:
    """Destroy what is left of a queue that was never finished, or never quite destroyed; whether all of it is gone.

    Raises NotFound when somebody else has gone on with it meanwhile.
    """
    queue = left.queue
    if left.state == "creating":
        _retire(queue.id, "creating")
    if not arrangements.dismiss(left.item):
        return False
    for name in queue_names(STAGE, queue.user, queue.id, fifo=queue.fifo):
        try:
            with reaching_aws():
                url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
        except NotFound:
            continue
        _delete(url)
    engagements.forget(left.item)
    return True


def _retire(queue_id: str, state: Literal["active", "creating"]) -> Item:
    """Take a queue in this state out of use; its record as it was. Raises NotFound when it is in another one."""
    key = queue_key(queue_id)
    for _ in range(_TRIES):
        item = table.read([key]).get(key)
        if item is None or item["state"] != state:
            raise NotFound()
        try:
            reservations.retire(item, engagements.release(item))
        except ConditionFailed:
            continue  # Its consumer was changed meanwhile.
        return item
    raise RequestInProgress("another request is changing this queue's consumer", retry_after=1)


def _delete(url: str) -> None:
    try:
        with reaching_aws():
            sqs.delete_queue(QueueUrl=url)
    except NotFound:
        return  # An earlier try got this far.
