"""Settling: many leases of one queue acknowledged, given back and extended in one request."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

from tenancy import batches, receipts, wakes
from tenancy.aws import reaching_aws, sqs
from tenancy.errors import Failed, QueueError, Unavailable
from tenancy.leases import LOST, expired, is_gone
from tenancy.models import Input, ReceiptHandle, Visibility, parse
from tenancy.names import timestamp
from tenancy.receipts import Receipt
from tenancy.registry import Queue


class Ack(Input):
    """A message whose work is done."""

    receipt_handle: ReceiptHandle


class Retry(Ack):
    """A message to be given back, to be received again after a delay."""

    delay_seconds: Visibility = 0


class Extend(Ack):
    """A message to be held for so many seconds from now."""

    visibility: Visibility


class Settled(TypedDict):
    """The answer of an entry that was done; one that was extended says until when."""

    ok: Literal[True]
    lease_expires_at: NotRequired[str]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A valid entry of a settle and where its answer belongs."""

    index: int
    receipt: Receipt
    visibility: int


def settle(
    queue: Queue, *, ack: Sequence[object], retry: Sequence[object], extend: Sequence[object], deadline: float
) -> dict[str, list[Settled | Failed]]:
    """Acknowledge (handles), give back and extend (as Retry and Extend) many leases; each succeeds or fails alone.

    Raises Unavailable when SQS takes none of them; what is not reached before the deadline is unavailable.
    """
    answer: dict[str, list[Settled | Failed]] = {}
    work: list[tuple[str, Sequence[_Entry]]] = []
    for verb, asked in (("ack", ack), ("retry", retry), ("extend", extend)):
        answer[verb] = [_failed(Unavailable("not reached, since an earlier one failed"))] * len(asked)
        entries = []
        for index, entry in enumerate(asked):
            try:
                entries.append(_read(queue, verb, index, entry))
            except QueueError as refusal:
                answer[verb][index] = _failed(refusal)
        work += [(verb, batch) for batch in batches.tens(entries)]

    def do(step: tuple[str, Sequence[_Entry]]) -> None:
        verb, batch = step
        outcome = _acknowledge(queue, batch) if verb == "ack" else _change(queue, batch, show=verb == "extend")
        for entry, settled in zip(batch, outcome, strict=True):
            answer[verb][entry.index] = settled

    batches.attempt(work, do, deadline)
    return answer


def _read(queue: Queue, verb: str, index: int, entry: object) -> _Entry:
    if verb == "ack":
        handle, visibility = parse(Ack, {"receipt_handle": entry}).receipt_handle, 0
    elif verb == "retry":
        retry = parse(Retry, entry)
        handle, visibility = retry.receipt_handle, retry.delay_seconds
    else:
        extend = parse(Extend, entry)
        handle, visibility = extend.receipt_handle, extend.visibility
    return _Entry(index, receipts.read(handle, queue.id), visibility)


def _acknowledge(queue: Queue, batch: Sequence[_Entry]) -> list[Settled | Failed]:
    entries: Any = [{"Id": str(entry.index), "ReceiptHandle": entry.receipt.handle} for entry in batch]
    with reaching_aws():
        failures = _failures(sqs.delete_message_batch(QueueUrl=queue.url, Entries=entries))
    return [
        {"ok": True}
        if (code := failures.get(str(entry.index))) is None or is_gone(queue, entry.receipt, code)
        else _failed(_refusal(code))
        for entry in batch
    ]


def _change(queue: Queue, batch: Sequence[_Entry], *, show: bool) -> list[Settled | Failed]:
    now = time.time()
    seconds = {entry.index: entry.receipt.cut(entry.visibility, now) for entry in batch}
    entries: Any = [
        {
            "Id": str(entry.index),
            "ReceiptHandle": entry.receipt.handle,
            "VisibilityTimeout": seconds[entry.index],
        }
        for entry in batch
    ]
    with reaching_aws():
        failures = _failures(sqs.change_message_visibility_batch(QueueUrl=queue.url, Entries=entries))
    if len(failures) < len(batch):
        wakes.wake(queue, min(seconds[entry.index] for entry in batch if str(entry.index) not in failures))
    return [
        _failed(_refusal(failures[str(entry.index)]))
        if str(entry.index) in failures
        else {"ok": True, "lease_expires_at": timestamp(now + seconds[entry.index])}
        if show
        else {"ok": True}
        for entry in batch
    ]


def _failures(answer: Any) -> dict[str, str]:
    return {failure["Id"]: failure["Code"].rpartition(".")[2] for failure in answer.get("Failed", [])}


def _refusal(code: str) -> QueueError:
    return expired() if code in LOST else Unavailable("SQS did not take this entry")


def _failed(refusal: QueueError) -> Failed:
    return {"error": refusal.to_entry()}
