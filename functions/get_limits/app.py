"""GET /v1/limits: every number that the API and the operator set, and with a key the company's functions."""

from typing import NotRequired, TypedDict

from tenancy import description, lambdas, limits
from tenancy.auth import Tenant
from tenancy.aws import COMPANY_CONCURRENCY, QUEUES_PER_USER, SERVICES_PER_USER
from tenancy.description import Bounds
from tenancy.endpoint import MAX_BODY, REPEAT_SECONDS, open_to_all
from tenancy.limits import FairUse
from tenancy.messages import DEDUP_SECONDS, IN_FLIGHT, MAX_BATCH_BYTES, MAX_BYTES
from tenancy.queues import DLQ_RETENTION
from tenancy.receipts import MAX_LEASE, MAX_LENGTH
from tenancy.registry import PURGE_SECONDS


class Limits(TypedDict):
    """What a caller may ask for. Sizes are bytes, times are seconds; `fields` is by operation."""

    fair_use: FairUse
    queues_per_user: int
    services_per_user: int
    concurrency_per_company: int
    message_bytes: int
    batch_bytes: int
    request_bytes: int
    lease_seconds: int
    in_flight_messages: int
    dead_letter_retention_seconds: int
    dedup_window_seconds: int
    idempotency_seconds: int
    receipt_handle_characters: int
    seconds_between_purges: int
    fields: Bounds
    functions: NotRequired[list[str]]


@open_to_all
def handler(tenant: Tenant | None) -> Limits:
    return {**_LIMITS, "functions": lambdas.names(tenant.company)} if tenant else _LIMITS


_LIMITS: Limits = {
    "fair_use": limits.FAIR_USE,
    "queues_per_user": QUEUES_PER_USER,
    "services_per_user": SERVICES_PER_USER,
    "concurrency_per_company": COMPANY_CONCURRENCY,
    "message_bytes": MAX_BYTES,
    "batch_bytes": MAX_BATCH_BYTES,
    "request_bytes": MAX_BODY,
    "lease_seconds": MAX_LEASE,
    "in_flight_messages": IN_FLIGHT,
    "dead_letter_retention_seconds": DLQ_RETENTION,
    "dedup_window_seconds": DEDUP_SECONDS,
    "idempotency_seconds": REPEAT_SECONDS,
    "receipt_handle_characters": MAX_LENGTH,
    "seconds_between_purges": PURGE_SECONDS,
    "fields": description.bounds(),
}
