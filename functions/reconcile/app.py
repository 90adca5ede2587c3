"""Scheduled: destroy what functions that died have left. With {"dry_run": true} it only says what there is."""

import time
from typing import Any

from tenancy import reconciler
from tenancy.reconciler import Action
from tenancy.telemetry import logger, unrequested


@unrequested
def handler(event: dict[str, Any], context: Any) -> list[Action]:
    deadline = time.monotonic() + context.get_remaining_time_in_millis() / 1000
    actions = reconciler.reconcile(deadline, dry_run=event.get("dry_run") is True)
    for action in actions:
        logger.info("reconciled", extra=dict(action))
    return actions
