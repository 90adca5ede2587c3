"""Fed with ticks, and told by depth alarms: look at a queue and give its service as many workers as it needs."""

import json
from typing import Any

from tenancy import scaler, ticks
from tenancy.names import queue_id_of
from tenancy.telemetry import count, flush, note, unrequested
from tenancy.ticks import Look, Rest


@unrequested
def handler(event: dict[str, Any], context: Any) -> None:
    for record in event["Records"]:
        count("Ticks")
        try:
            _follow(_asked(record))
        finally:
            flush()


def _asked(record: dict[str, Any]) -> Look | Rest:
    if "Sns" in record:
        return Look(queue_id_of(json.loads(record["Sns"]["Message"])["AlarmName"]), "look")
    return ticks.parse(record["body"])


def _follow(asked: Look | Rest) -> None:
    match asked:
        case Look(queue_id, reason):
            note(queue_id=queue_id)
            scaler.look(queue_id, reason)
        case Rest(service_id, since):
            note(service_id=service_id)
            scaler.rest(service_id, since)
