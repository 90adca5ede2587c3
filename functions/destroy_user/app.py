"""Started by delete_user: destroy all that the user had. What is left when time is up is for the reconciler."""

import time
from typing import Any

from tenancy import demolition
from tenancy.telemetry import unrequested


@unrequested
def handler(event: dict[str, Any], context: Any) -> None:
    deadline = time.monotonic() + context.get_remaining_time_in_millis() / 1000
    demolition.destroy_user(event["user"], deadline)
