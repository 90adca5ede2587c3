"""GET /v1/limits: every number that the API and the operator set."""

from typing import TypedDict

from tenancy import description, limits
from tenancy.aws import QUEUES_PER_USER
from tenancy.description import Bounds
from tenancy.endpoint import public
from tenancy.limits import FairUse
from tenancy.messages import MAX_BYTES
from tenancy.receipts import MAX_LEASE, MAX_LENGTH
from tenancy.registry import PURGE_SECONDS


class Limits(TypedDict):
    """What a caller may ask for. Sizes are bytes, times are seconds; `fields` is by operation."""

    fair_use: FairUse
    queues_per_user: int
    message_bytes: int
    lease_seconds: int
    receipt_handle_characters: int
    seconds_between_purges: int
    fields: Bounds


@public
def handler() -> Limits:
    return {
        "fair_use": limits.FAIR_USE,
        "queues_per_user": QUEUES_PER_USER,
        "message_bytes": MAX_BYTES,
        "lease_seconds": MAX_LEASE,
        "receipt_handle_characters": MAX_LENGTH,
        "seconds_between_purges": PURGE_SECONDS,
        "fields": _FIELDS,
    }


_FIELDS = description.bounds()
