"""Where the key, the address and the active user come from: flags, the environment, ~/.naive/config.json."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from naive.constants import ACTIVE_USER_VARIABLE, API_KEY_VARIABLE, BASE_URL_VARIABLE
from naive.errors import ConfigurationError

_NOBODY = ("default", "me")


@dataclass(frozen=True)
class Settings:
    """What a command needs to make a call; `user_id` is None for whoever the key stands for."""

    api_key: str
    base_url: str
    user_id: str | None


def settings(user: str | None, base_url: str | None) -> Settings:
    """The settings in force: a flag wins over the environment, and that over what is stored."""
    stored = load()
    key = os.environ.get(API_KEY_VARIABLE) or stored.get("api_key")
    url = base_url or current_base_url()
    if not key:
        raise ConfigurationError("There is no API key.", hint=f"Run `naive login`, or set {API_KEY_VARIABLE}.")
    if not url:
        raise ConfigurationError(
            "There is no base URL.", hint=f"Run `naive login --base-url URL`, or set {BASE_URL_VARIABLE}."
        )
    return Settings(key, url, named_user(user or os.environ.get(ACTIVE_USER_VARIABLE) or stored.get("active_user_id")))


def current_base_url() -> str | None:
    """The address that is in force without a flag, where there is one."""
    return os.environ.get(BASE_URL_VARIABLE) or load().get("base_url")


def named_user(user: str | None) -> str | None:
    """The user, or None for the words that name nobody."""
    return None if user in _NOBODY else user


def path() -> Path:
    """Where the configuration is stored."""
    return Path.home() / ".naive" / "config.json"


def load() -> dict[str, str]:
    """What is stored; nothing where there is no file."""
    try:
        stored = json.loads(path().read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError:
        stored = None
    if not isinstance(stored, dict):
        raise ConfigurationError(f"{path()} is not readable as configuration.", hint="Remove it and log in again.")
    return stored


def store(**changes: str | None) -> None:
    """Change some of what is stored, None removes; only the owner can read the file, never half-written."""
    changed = {name: value for name, value in {**load(), **changes}.items() if value is not None}
    folder = path().parent
    folder.mkdir(mode=0o700, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".config-")  # made with mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(changed, file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path())
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
