"""Runs the emulator; a script of its own, since that has an interpreter of its own.

Its web server gives open requests three seconds when it is told to stop, and only then saves the state. But from Python
3.12 on, closing the socket first waits for every connection, and so for each long poll that nobody waits for any more.
"""

import asyncio

# The environment that the types are checked in does not have it.
from ministack.app import main  # type: ignore[import-not-found]


async def _wait_for_nobody(self: asyncio.Server) -> None:
    return


if __name__ == "__main__":
    asyncio.Server.wait_closed = _wait_for_nobody  # type: ignore[method-assign]  # that is the point
    main()
