"""Companies and their first keys, made through the bootstrap function as an operator does on AWS."""

import os
import shlex
import time
import urllib.error
import urllib.request
from pathlib import Path

from local import functions, logs
from local.environments import ROOT
from local.stack import Stack
from local.steps import LocalError, step

NAME = "local"
HEALTHY_WITHIN = 30


def ensure(stack: Stack, base_url: str) -> str:
    """A working key of the company `local`: the one in the env file, or a new one, which is then written there."""
    key = known_key(stack.env_file)
    if key is None or _status(f"{base_url}/v1/queue?limit=1", key) != 200:
        with step(f"Making the company '{NAME}' and a key"):
            key = _create_or_rekey(stack)
    write_env_file(stack.env_file, base_url, key)
    return key


def create(stack: Stack, name: str, *, new_key: bool = False) -> str:
    """Makes the company and answers its key; one that is there already gets another key only when `new_key` says so."""
    payload = {"company": name} | ({"new_key": True} if new_key else {})
    return str(functions.invoke(stack, "BootstrapFunctionName", payload)["api_key"])


def wait_healthy(stack: Stack, base_url: str) -> None:
    """Waits until the API answers, which proves the routes and the layers."""
    since, deadline = time.time(), time.monotonic() + HEALTHY_WITHIN
    while (status := _status(f"{base_url}/health")) != 200:
        if time.monotonic() > deadline:
            # Said here, since what the functions logged goes with the emulator, which may now be stopped.
            said = "".join(f"  | {line}\n" for line in logs.last_errors(stack, since))
            place = os.path.relpath(stack.logs / "emulator.log")
            raise LocalError(f"{said}GET {base_url}/health answers {status}, not 200: see above and {place}.")
        time.sleep(0.2)


def known_key(env_file: Path) -> str | None:
    """The key that an earlier run wrote, if there is one."""
    if env_file.is_file():
        for line in env_file.read_text().splitlines():
            if line.startswith("export NAIVE_API_KEY="):
                return shlex.split(line)[1].partition("=")[2]
    return None


def write_env_file(env_file: Path, base_url: str, key: str) -> None:
    """Writes what `source` needs, for any POSIX shell, readable by its owner alone."""
    tools = str(ROOT / ".venv" / "bin")
    text = (
        f"export NAIVE_BASE_URL={shlex.quote(base_url)}\n"
        f"export NAIVE_API_KEY={shlex.quote(key)}\n"
        f'case ":$PATH:" in *:{shlex.quote(tools)}:*) ;; *) export PATH={shlex.quote(tools)}:"$PATH" ;; esac\n'
    )
    draft = env_file.with_name(f"{env_file.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    draft.replace(env_file)


def _create_or_rekey(stack: Stack) -> str:
    """The company may be there with its key forgotten here, as when the env file was deleted."""
    try:
        return create(stack, NAME)
    except LocalError as refused:
        try:
            return create(stack, NAME, new_key=True)
        except LocalError:
            raise refused from None


def _status(url: str, key: str | None = None) -> int:
    """The status that this address answers with; 0 for no answer."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(request, timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code
    except OSError:
        return 0
