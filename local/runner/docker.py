"""Containers, for services that have no command of their own: a thin path by the `docker` command."""

import os
import shutil
import subprocess
from collections.abc import Iterable

_LABEL = "naive.home"
_ANSWERS_WITHIN = 5


def answers() -> bool:
    """Whether there is a docker daemon to run images."""
    return shutil.which("docker") is not None and _call("version", "--format", "{{.Server.Version}}") is not None


def run_command(image: str, name: str, variables: Iterable[str], home: str) -> list[str]:
    """The command that runs an image under a name, with variables of the command's own environment."""
    given = [part for variable in variables for part in ("--env", variable)]
    named = ["--rm", "--name", name, "--label", f"{_LABEL}={home}"]
    # The API, the emulator and the agent listen on this machine's loopback.
    return [shutil.which("docker") or "docker", "run", *named, "--network", "host", *given, image]


def remove(name: str) -> None:
    """Remove a container, also one that goes on after its command was killed."""
    _call("rm", "--force", name)


def remove_all(home: str) -> None:
    """Remove the containers of a stack."""
    if shutil.which("docker"):
        for name in (_call("ps", "--all", "--quiet", "--filter", f"label={_LABEL}={home}") or "").split():
            remove(name)


def environment() -> dict[str, str]:
    """What the command needs of the environment to find its daemon."""
    return dict(os.environ)


def _call(*arguments: str) -> str | None:
    """What docker says, or None when it fails or does not answer."""
    try:
        done = subprocess.run(
            ["docker", *arguments], capture_output=True, text=True, timeout=_ANSWERS_WITHIN, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
