"""The messages of the tick queue: who wants a queue to be looked at, or a service to be at rest, and when."""

import json
from dataclasses import dataclass
from typing import Any

from tenancy.aws import TICK_QUEUE, reaching_aws, sqs
from tenancy.scaling import Event, Tick


@dataclass(frozen=True, slots=True)
class Look:
    """A queue is to be looked at."""

    queue_id: str
    event: Event


@dataclass(frozen=True, slots=True)
class Rest:
    """A service that is no queue's consumer any more, since a time in seconds since 1970, is to have no tasks."""

    service_id: str
    since: int


def send(what: Look | Rest, delay: int = 0) -> None:
    """Have it come true in so many seconds, at most 900."""
    with reaching_aws():
        sqs.send_message(QueueUrl=TICK_QUEUE, MessageBody=json.dumps(_written(what)), DelaySeconds=delay)


def parse(body: str) -> Look | Rest:
    """What a message of the tick queue says."""
    read = json.loads(body)
    if "service" in read:
        return Rest(read["service"], read["since"])
    event: Event = Tick(**read["event"]) if isinstance(read["event"], dict) else read["event"]
    return Look(read["queue"], event)


def _written(what: Look | Rest) -> Any:
    match what:
        case Rest(service_id, since):
            return {"service": service_id, "since": since}
        case Look(queue_id, Tick(n, token)):
            return {"queue": queue_id, "event": {"n": n, "token": token}}
        case Look(queue_id, event):
            return {"queue": queue_id, "event": event}
