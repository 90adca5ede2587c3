"""What a handler is given, and how it gives that back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from pydantic import PrivateAttr

from naive.consumer.settings import is_within
from naive.errors import InvalidInputError
from naive.models import Message


class Retry(Exception):
    """Raise it in a handler to give the message back, to be received again after so many seconds.

    Without a number the delay grows with each receive, as it does after any other exception.
    """

    def __init__(self, after: float | None = None) -> None:
        if after is not None and not is_within(after, 0):
            raise InvalidInputError("after has to be a number of seconds, at least 0.")
        super().__init__("again later" if after is None else f"again after {after:g} s")
        self.after = after


class Delivery(Message):
    """A message in the hands of a handler."""

    _lost: bool = PrivateAttr(default=False)
    _max_receives: int | None = PrivateAttr(default=None)

    @classmethod
    def of(cls, message: Message, max_receives: int | None) -> Delivery:
        """The message as a handler gets it; `max_receives` is what its queue allows, where that is known."""
        delivery = cls.model_construct(**dict(message))
        delivery._max_receives = max_receives
        return delivery

    @property
    def lost(self) -> bool:
        """Whether somebody else may have the message by now: it will not be acked, so stop working on it."""
        return self._lost

    @property
    def last_chance(self) -> bool | None:
        """Whether the message becomes a dead letter if this fails; None on a queue that has no dead letters."""
        return None if self._max_receives is None else self.receive_count >= self._max_receives

    def lose(self) -> None:
        """Tell the handler that the message is no longer its own."""
        self._lost = True


Around = Callable[[Delivery], AbstractContextManager[object]]
"""What a handler runs in: made for each message, entered before it and left after it."""
