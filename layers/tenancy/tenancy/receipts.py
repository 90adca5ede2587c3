"""Our receipt handles: SQS's own handle with the time of its receive, bound to one queue."""

import struct
from dataclasses import dataclass

from tenancy import tokens
from tenancy.errors import ReceiptInvalid

MAX_LENGTH = 2000
MAX_LEASE = 43_200
"""Seconds from the receive after which SQS ends every lease (12 h)."""

_KIND = "receipt"
_HEAD = struct.Struct(">II")


@dataclass(frozen=True, slots=True)
class Receipt:
    """One lease of one message."""

    handle: str
    received_at: int
    visibility: int

    def is_over(self, now: float) -> bool:
        """Whether the lease as it was given is over; one that was extended may still run."""
        return now >= self.received_at + self.visibility

    def cut(self, visibility: int, now: float) -> int:
        """The wished visibility, shortened so that the lease ends 12 h after its receive at the latest."""
        return max(0, min(visibility, self.received_at + MAX_LEASE - int(now) - 1))


def issue(receipt: Receipt, queue_id: str) -> str:
    """The handle that the caller gets."""
    return tokens.seal(_KIND, _HEAD.pack(receipt.received_at, receipt.visibility) + receipt.handle.encode(), queue_id)


def read(text: str, queue_id: str) -> Receipt:
    """The lease behind a handle of this queue.

    Raises ReceiptInvalid for a text that is empty, too long, garbled or of another queue.
    """
    content = (tokens.unseal(_KIND, text, queue_id) if len(text) <= MAX_LENGTH else None) or b""
    try:
        received_at, visibility = _HEAD.unpack_from(content)
        handle = content[_HEAD.size :].decode("ascii")
    except (struct.error, UnicodeDecodeError):
        raise _invalid() from None
    if not handle.isprintable() or not handle:
        raise _invalid()
    return Receipt(handle, received_at, visibility)


def _invalid() -> ReceiptInvalid:
    return ReceiptInvalid("receipt_handle is not one that a receive of this queue gave", field="receipt_handle")
