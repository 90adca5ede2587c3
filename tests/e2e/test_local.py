"""The local stack as its Makefile targets use it: up, down and up again with its data, and nothing left behind."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from local import processes
from tests.e2e.conftest import Api, eventually, unique
from tests.e2e.deployed import environment
from tests.template import ROOT


class Local:
    """A stack in a folder and on a port of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_port()

    def __call__(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        run = subprocess.run(
            [sys.executable, "-m", "local", "--home", str(self.home), *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert run.returncode == code, run.stderr + run.stdout
        assert "Traceback" not in run.stderr
        return run

    def up(self, code: int = 0) -> str:
        return self("up", "--port", str(self.port), code=code).stderr

    def sourced(self) -> dict[str, str]:
        """The variables that the stack's env file exports."""
        script = '. "$1" && env -0'
        shell = ["sh", "-c", script, "sh", str(self.home / "env")]
        output = subprocess.run(shell, capture_output=True, text=True, check=True).stdout
        return dict(line.split("=", 1) for line in output.split("\0") if "=" in line)

    @contextmanager
    def api(self, key: str | None = None) -> Iterator[Api]:
        """A client of this stack, with the key it was started with or another."""
        env = self.sourced()
        headers = {"Authorization": f"Bearer {key or env['NAIVE_API_KEY']}"}
        with httpx.Client(base_url=env["NAIVE_BASE_URL"], headers=headers, timeout=40) as http:
            yield Api(http)

    def processes(self) -> list[str]:
        """The command lines of what runs for this stack."""
        listed = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True, check=True).stdout
        return [line for line in listed.splitlines() if str(self.home) in line and " -m local " not in line]

    def tasks(self) -> int:
        """How many processes run for the services of this stack that name it in their command."""
        return sum(line.startswith("sh -c ") for line in self.processes())

    def kill_runner(self) -> None:
        """Leave the runner no time for anything."""
        for process in processes.running():
            if f" -m local.runner {self.home} " in process.command:
                processes.send(process, signal.SIGKILL)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Local]:
    stack = Local(tmp_path / "stack")
    yield stack
    stack("reset")


def test_data_keys_leases_and_services_survive_down_and_up_and_nothing_is_left_behind(local: Local) -> None:
    said = local.up()
    assert "naive queue create --name jobs" in said
    assert (local.home / "env").stat().st_mode & 0o777 == 0o600
    env = local.sourced()
    naive = subprocess.run(["sh", "-c", "command -v naive"], env=env, capture_output=True, text=True, check=True)
    assert Path(naive.stdout.strip()).is_relative_to(ROOT)

    with local.api() as api:
        queue = api.queue(name := unique())
        api.send(queue, "kept")
        api.send(queue, "leased")
        api.receive(queue, wait=5, visibility=600)
        api.service(command=["sh", "-c", f": {local.home}; sleep 600 & wait"])
        eventually(local.tasks, lambda tasks: tasks == 1)
    other = local("company", unique()).stdout.splitlines()
    assert len(other) == 1
    assert re.fullmatch(r"nv_sk_live_[A-Za-z0-9_-]{43}", other[0])

    local("down")
    assert local.processes() == []
    with local.api() as api, pytest.raises(httpx.ConnectError):
        api("GET", "/health")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a closed connection may linger
        probe.bind(("127.0.0.1", local.port))

    local.up()
    assert local.sourced()["NAIVE_API_KEY"] == env["NAIVE_API_KEY"]
    with local.api() as api, local.api(other[0]) as stranger:
        assert [found["id"] for found in api("GET", "/v1/queue", name=name).json()["queues"]] == [queue]
        counts = api.counts(queue)
        assert (counts["depth"], counts["in_flight"]) == (1, 1)
        assert stranger("GET", "/v1/queue").json() == {"queues": [], "next_cursor": None}

    eventually(local.tasks, lambda tasks: tasks == 1)
    local.kill_runner()
    eventually(local.tasks, lambda tasks: tasks == 0)
    local.up()
    eventually(local.tasks, lambda tasks: tasks == 1)

    local("reset")
    assert local.processes() == []
    assert not (local.home / "state").exists()


def test_a_port_in_use_is_told_in_one_line_and_nothing_is_started(local: Local) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", local.port))
        taken.listen()
        (line,) = local.up(code=1).splitlines()
    assert f"Port {local.port} is in use" in line
    assert "LOCAL_PORT=" in line
    assert local.processes() == []


def test_the_functions_logs_are_followed(api: Api) -> None:
    api.queue()
    follow = subprocess.Popen(
        [sys.executable, "-m", "local", "logs"], cwd=ROOT, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert follow.stdout is not None
    try:
        for line in follow.stdout:
            if '"service":"create_queue"' in line:
                assert json.loads(line[line.index("{") :])["status"] == 201
                break
    finally:
        follow.terminate()
        follow.wait(10)
        follow.stdout.close()


def test_what_functions_are_made_of_is_unpacked_once_for_all_their_environments(api: Api) -> None:
    api.queue()
    scratch = Path(environment("LOCAL_HOME"), "tmp")
    layers = {path.resolve() for path in scratch.glob("ministack-lambda-*/layer_?")}
    assert {path.parent for path in layers} == {scratch / "unpacked"}
    assert len(layers) == 2
