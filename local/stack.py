"""One local stack: where it keeps its things, where it listens, and how to speak to its AWS."""

import os
import platform
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from local.environments import ROOT
from local.steps import LocalError

NAME = "naive-local"
REGION = "us-east-1"
HOST = "127.0.0.1"
PORT = 4566
# The emulator takes this key for the account's root; everyone else is held to their IAM policies.
ROOT_KEY = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": REGION}


IMPATIENT: dict[str, Any] = {"connect_timeout": 1, "read_timeout": 5, "retries": {"total_max_attempts": 1}}
"""A client's settings, for whoever tries again anyway."""


@dataclass(frozen=True)
class Stack:
    """A home folder and a port; any number of them can run side by side."""

    home: Path
    port: int

    @property
    def state(self) -> Path:
        return self.home / "state"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def scratch(self) -> Path:
        return self.home / "tmp"

    @property
    def env_file(self) -> Path:
        return self.home / "env"

    @property
    def endpoint(self) -> str:
        return f"http://{HOST}:{self.port}"

    def base_url(self, api_id: str) -> str:
        """Where the HTTP API of this id answers."""
        return f"{self.endpoint}/_aws/execute-api/{api_id}"

    def environment(self) -> dict[str, str]:
        """The caller's environment, with this stack in the place of any AWS account or proxy of theirs."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "MAKE", "MFLAGS"))}
        direct = {"NO_PROXY": f"{HOST},localhost", "no_proxy": f"{HOST},localhost"}
        nobody = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
        path = {"PATH": f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
        return kept | direct | nobody | path | ROOT_KEY | {"AWS_ENDPOINT_URL": self.endpoint}

    # boto3's typing is one overload a service, which a name that varies cannot pick from.
    def client(self, service: Any, **settings: Any) -> Any:
        """A client of this stack's AWS, whatever profile or proxy the caller's environment names."""
        return _session().client(
            service,
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=ROOT_KEY["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=ROOT_KEY["AWS_SECRET_ACCESS_KEY"],
            config=Config(proxies={}, **settings),
        )


@cache
def _session() -> boto3.session.Session:
    """One for all clients, which share what they know of AWS; they are made in one thread."""
    return boto3.session.Session()


def refuse_busy_port(port: int) -> None:
    """Raises when somebody else already listens on it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            who = f"ss -ltnp 'sport = :{port}'" if platform.system() == "Linux" else f"lsof -nP -iTCP:{port}"
            raise LocalError(
                f"Port {port} is in use by another program ({who} shows which): stop it, or choose another port: "
                f"make local LOCAL_PORT={4600 if port == PORT else port + 1}"
            ) from None


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def host_architecture() -> str:
    """Lambda's name for this machine's processor: functions run on it."""
    machine = platform.machine().lower()
    names = {"x86_64": "x86_64", "amd64": "x86_64", "arm64": "arm64", "aarch64": "arm64"}
    if machine not in names:
        raise LocalError(f"This machine's processor is '{machine}': the local stack runs on x86_64 and arm64 only.")
    return names[machine]
