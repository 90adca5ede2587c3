"""What may be synchronous or not; the blocking client has no use for this."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")


async def each(items: Iterable[Item] | AsyncIterable[Item]) -> AsyncIterator[Item]:
    """The items one by one."""
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


async def tell(callback: Callable[..., object], *told: object) -> None:
    """Call back, and wait for what that has to wait for."""
    answer = callback(*told)
    if inspect.isawaitable(answer):
        await answer
