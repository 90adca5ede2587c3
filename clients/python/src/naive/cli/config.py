"""Where the key, the address and the active user come from: flags, the environment, ~/.naive/config.json."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from naive.cli import acting
from naive.cli.acting import Acting
from naive.cli.words import say
from naive.constants import ACTIVE_USER_VARIABLE, API_KEY_VARIABLE, BASE_URL_VARIABLE
from naive.errors import ConfigurationError

_NOBODY = ("default", "me")


@dataclass(frozen=True)
class Settings:
    """What a command needs to make a call; `acting` is None for whoever the key stands for."""

    api_key: str
    base_url: str
    acting: Acting | None


def settings(user: str | None, base_url: str | None, stored: Mapping[str, str] | None = None) -> Settings:
    """The settings in force: a flag wins over the environment, and that over what is stored."""
    stored = readable() if stored is None else stored
    key = os.environ.get(API_KEY_VARIABLE) or stored.get("api_key")
    url = base_url or current_base_url(stored)
    if not key:
        raise ConfigurationError("There is no API key.", hint=f"Run `naive login`, or set {API_KEY_VARIABLE}.")
    if not url:
        raise ConfigurationError(
            "There is no base URL.", hint=f"Run `naive login --base-url URL`, or set {BASE_URL_VARIABLE}."
        )
    return Settings(key, url, _acting(user, stored))


def current_base_url(stored: Mapping[str, str]) -> str | None:
    """The address that is in force without a flag, where there is one."""
    return os.environ.get(BASE_URL_VARIABLE) or stored.get("base_url")


def named_user(user: str | None) -> str | None:
    """The user, or None for the words that name nobody."""
    return None if user in _NOBODY else user


def _acting(flag: str | None, stored: Mapping[str, str]) -> Acting | None:
    """Who is acted for, and who said so; the words that name nobody count as said."""
    ways = (
        (flag, acting.by_flag),
        (os.environ.get(ACTIVE_USER_VARIABLE), acting.by_environment),
        (stored.get("active_user_id"), acting.by_configuration),
    )
    for user, named in ways:
        if user:
            return None if user in _NOBODY else named(user)
    return None


def path() -> Path:
    """Where the configuration is stored."""
    try:
        return Path.home() / ".naive" / "config.json"
    except RuntimeError as homeless:
        raise ConfigurationError(str(homeless), hint="Set HOME.") from None


def readable() -> dict[str, str]:
    """What is stored; a file that cannot be read is no more than worth a word where everything else may be given."""
    try:
        return load()
    except ConfigurationError as broken:
        say(f"Note: {broken.message} It is left aside.")
        return {}


def load() -> dict[str, str]:
    """What is stored; nothing where there is no file."""
    file = path()
    try:
        with file.open("rb") as stream:
            if os.name == "posix" and stat.S_IMODE(os.fstat(stream.fileno()).st_mode) & 0o077:
                say(f"Note: others can read {file}. To mend it: chmod 600 {file}")
            stored = json.load(stream)
    except FileNotFoundError:
        return {}
    except OSError as fault:
        raise ConfigurationError(f"{file} cannot be read: {fault.strerror}.") from None
    except (ValueError, RecursionError):
        stored = None
    if not isinstance(stored, dict) or not all(isinstance(value, str) for value in stored.values()):
        raise ConfigurationError(f"{file} is no configuration.", hint="Remove it and log in again.")
    return stored


def store(fields: Mapping[str, str | None]) -> None:
    """Store these fields alone, without those that are None; only the owner can read the file, never half-written."""
    file = path()
    file.parent.mkdir(mode=0o700, exist_ok=True)
    file.parent.chmod(0o700)
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".config-")  # made with mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump({name: value for name, value in fields.items() if value is not None}, stream, indent=2)
            stream.write("\n")
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
