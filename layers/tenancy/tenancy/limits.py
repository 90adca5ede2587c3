"""Fair use: how much one key may ask for, so that it leaves the others their share.

What is counted is one item per key, in a table of its own that may be lost. Whoever cannot count refuses nobody.
"""

import math
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypedDict

from botocore.exceptions import ClientError
from cachetools import LRUCache

from tenancy.aws import POLL_SECONDS, USAGE_TABLE, client, dynamodb, error_code
from tenancy.buckets import Bucket, Limit, Taken
from tenancy.errors import RateLimited
from tenancy.names import timestamp
from tenancy.telemetry import log_unhandled

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class FairUse(TypedDict):
    """What one key may ask for."""

    requests_per_second: int
    requests_at_once: int
    waiting_receives: int


_REQUESTS = Limit(int(os.environ["REQUEST_RATE"]), int(os.environ["REQUEST_BURST"]))
_WAITING_POLLS = int(os.environ["WAITING_POLLS"])
FAIR_USE: FairUse = {
    "requests_per_second": _REQUESTS.rate,
    "requests_at_once": _REQUESTS.burst,
    "waiting_receives": _WAITING_POLLS,
}
_KEPT_SECONDS = 400 * 24 * 60 * 60
"""An item goes when its key was not used for more than a year."""


@dataclass(slots=True)
class _Account:
    """What this environment knows of a key."""

    bucket: Bucket
    day: str = ""
    """Until which its use is recorded."""
    was_full: bool = True
    """How the shared bucket was found the last time."""


_accounts: LRUCache[str, _Account] = LRUCache(4096)


def admit(key_id: str) -> None:
    """Count a request of a key. Raises RateLimited, which counts nothing."""
    now = time.monotonic()
    account = _accounts.get(key_id)
    if account is None:
        account = _accounts[key_id] = _Account(Bucket(_REQUESTS, now))
    today = timestamp(time.time())[:10]
    if account.bucket.is_due(now, anyway=account.day != today):
        _square(key_id, account, today)
    if not account.bucket.take(time.monotonic()):
        raise RateLimited(
            f"this key may make {_REQUESTS.rate} requests a second, and {_REQUESTS.burst} at once",
            limit=_REQUESTS.rate,
            reset=account.bucket.seconds_to_next,
        )


@contextmanager
def waiting(key_id: str, seconds: int, deadline: float) -> Iterator[None]:
    """Hold one of the key's places for calls that wait, for so many seconds at most.

    `deadline` is when the call must have its answer, on the monotonic clock. Raises RateLimited.
    """
    place = f"{math.ceil(time.time()) + seconds}-{secrets.token_hex(4)}"
    entered = _enter(key_id, place)
    try:
        yield
    finally:
        # One that is not left is free when its time is over; the answer may hold messages, and must not be late.
        if entered and time.monotonic() + POLL_SECONDS <= deadline:
            _leave(key_id, place)


def _square(key_id: str, account: _Account, today: str) -> None:
    """Tell what was taken, and go on with what is left."""
    now, clock = time.monotonic(), time.time()
    try:
        full_at = _tell(key_id, account, account.bucket.untold(now, clock), today)
    except Exception as fault:
        log_unhandled(fault)
        account.bucket.failed(time.monotonic())
    else:
        account.bucket.told(full_at - clock, now)
        account.day = today


def _tell(key_id: str, account: _Account, taken: Taken, today: str) -> float:
    """Put off the time at which the shared bucket is full, and say when that is then.

    Whether it is full now decides how that is written: as it was found the last time is tried first, and mostly right.
    """
    try:
        if account.was_full:
            anew = "attribute_not_exists(full_at) OR full_at < :since"
            return _record(key_id, today, _SET, taken.put_off(None), anew, since=taken.since)
        more = "full_at BETWEEN :since AND :latest"
        return _record(key_id, today, _ADD, taken.seconds, more, since=taken.since, latest=taken.latest)
    except _Refused as refused:
        full_at = float(refused.item["full_at"]["N"]) if "full_at" in refused.item else None
    account.was_full = full_at is None or full_at < taken.since
    if full_at is not None and taken.since <= full_at <= taken.latest:
        return _record(key_id, today, _ADD, taken.seconds)
    return _record(key_id, today, _SET, taken.put_off(full_at))


_SET = ", full_at = :value"
_ADD = " ADD full_at :value"


def _record(key_id: str, today: str, change: str, value: float, condition: str = "", **compared: float) -> float:
    """Change when the bucket is full, and say when that is then."""
    change = f"SET last_used_on = :day, expires_at = :expires{change}"
    values = {":day": {"S": today}, ":expires": {"N": str(int(time.time()) + _KEPT_SECONDS)}}
    values |= {f":{name}": {"N": f"{number:.6f}"} for name, number in {"value": value, **compared}.items()}
    return float(_update(dynamodb, key_id, change, values, condition)["full_at"]["N"])


def _enter(key_id: str, place: str) -> bool:
    """Whether the place was taken, which it is not when nobody can count. Raises RateLimited when there is none."""
    now = time.time()
    try:
        taken = _all_taken(key_id, place)
        if over := [other for other in taken if _until(other) <= now]:
            _update(_tried_once(), key_id, "DELETE polls :over", {":over": {"SS": over}})
            taken = _all_taken(key_id, place)
    except Exception as fault:
        log_unhandled(fault)
        return False
    if taken:
        raise RateLimited(
            f"{_WAITING_POLLS} calls of this key are waiting already",
            hint="Wait in fewer receives at a time, or with wait=1; a queue's first large messages wait too.",
            limit=_WAITING_POLLS,
            reset=math.ceil(min(map(_until, taken)) - now),
        )
    return True


def _all_taken(key_id: str, place: str) -> list[str]:
    """The places, when all are taken; otherwise this one is taken now."""
    values = {":place": {"SS": [place]}, ":most": {"N": str(_WAITING_POLLS)}}
    try:
        _update(_tried_once(), key_id, "ADD polls :place", values, "attribute_not_exists(polls) OR size(polls) < :most")
    except _Refused as refused:
        return list(refused.item["polls"]["SS"])
    return []


def _until(place: str) -> int:
    return int(place.partition("-")[0])


def _leave(key_id: str, place: str) -> None:
    try:
        _update(_tried_once(), key_id, "DELETE polls :place", {":place": {"SS": [place]}})
    except Exception as fault:
        log_unhandled(fault)  # And no more: the poll may have messages to answer.


@cache
def _tried_once() -> "DynamoDBClient":
    """The client that a poll can wait for: it takes no longer than a receive from SQS takes beyond its wait."""
    once: DynamoDBClient = client("dynamodb", attempts=1)
    return once


class _Refused(Exception):
    """The condition does not hold; `item` is what is there."""

    def __init__(self, item: dict[str, Any]) -> None:
        self.item = item


def _update(by: "DynamoDBClient", key_id: str, change: str, values: Any, condition: str = "") -> Any:
    optional: Any = {"ConditionExpression": condition} if condition else {}
    try:
        answer = by.update_item(
            TableName=USAGE_TABLE,
            Key={"id": {"S": key_id}},
            UpdateExpression=change,
            ExpressionAttributeValues=values,
            ReturnValues="ALL_NEW",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
            **optional,
        )
    except ClientError as fault:
        if error_code(fault) == "ConditionalCheckFailedException":
            there: Any = fault.response.get("Item", {})
            raise _Refused(there) from fault
        raise
    return answer.get("Attributes", {})
