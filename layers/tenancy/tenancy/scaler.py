"""STAND-IN of this clone alone, for what another engineer builds: a queue's service in the hands of the scaler."""

from collections.abc import Mapping
from typing import Any

from tenancy.registry import Queue


def attach(queue: Queue, service_id: str, settings: Mapping[str, Any]) -> None:
    """Begin to scale the service by the queue."""


def changed(queue: Queue) -> None:
    """Go by what the owner has set now."""


def detach(queue: Queue) -> None:
    """Let the service go to 0 and look at the queue no more."""
