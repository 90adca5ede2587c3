"""For which user a command acts and who said so, which is what an error has to tell."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from naive.constants import ACTIVE_USER_VARIABLE


@dataclass(frozen=True)
class Acting:
    """The user that was named, and by whom."""

    user_id: str
    named_by: str
    way_back: str


_current: ContextVar[Acting | None] = ContextVar("acting", default=None)


def by_flag(user_id: str) -> Acting:
    return Acting(user_id, "--user names", "leave it out, or name another user")


def by_environment(user_id: str) -> Acting:
    return Acting(user_id, f"{ACTIVE_USER_VARIABLE} names", "unset it, or say `--user default`")


def by_configuration(user_id: str) -> Acting:
    return Acting(
        user_id, "`naive use` chose", "run `naive use default` to go back to the key's own user or the default user"
    )


def current() -> Acting | None:
    """For whom this command acts; None where that is whoever the key stands for."""
    return _current.get()


def begin(acting: Acting | None) -> None:
    """Remember for whom this command acts."""
    _current.set(acting)
