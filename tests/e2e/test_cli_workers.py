"""What works queues off, with the `naive` command: services and consumers from their creation to their end."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import BIN, Api, client, eventually, unique
from tests.e2e.deployed import invoked
from tests.e2e.test_cli_tenancy import KeyHolder, words


@pytest.fixture
def own(tmp_path: Path) -> Iterator[KeyHolder]:
    """The command of a company that has nothing else."""
    key = invoked("bootstrap", company=unique())["api_key"]
    with client(key) as http:
        holder = KeyHolder(tmp_path, key)
        yield holder
        for service in Api(http)("GET", "/v1/compute").json()["services"]:
            holder("compute", "delete", service["id"], "--yes")


def test_the_pattern_of_a_worker_as_the_readme_shows_it(own: KeyHolder) -> None:
    queue = own.json("queue", "create", "--name", "jobs")
    made_for = "compute create --name worker --type service --image me/worker:latest --queue jobs"
    service = own.json(*made_for.split())
    assert (service["queue_id"], service["desired"]) == (queue["id"], 0)
    consumer = own.json("queue", "consumer", "show", "jobs")
    assert (consumer["type"], consumer["service_id"], consumer["paused"]) == ("service", service["id"], False)
    assert own.json("queue", "consumer", "set", "jobs", "--max", "3")["max"] == 3
    assert own.json("compute", "stop", "worker")["desired"] == 0
    assert own.json("queue", "consumer", "show", "jobs")["paused"] is True
    assert own.json("queue", "consumer", "resume", "jobs")["paused"] is False
    assert "scaled_by_queue" in words(own, "compute", "scale", "worker", "2", code=1)
    assert [found["id"] for found in own.json("compute", "list")["services"]] == [service["id"]]
    assert "consumer_exists" in words(own, "queue", "consumer", "set", "jobs", "--service", "worker", code=1)
    own("queue", "consumer", "remove", "jobs", "--yes")
    assert "gives a queue one" in words(own, "queue", "consumer", "show", "jobs", code=1)
    own("compute", "delete", "worker", "--yes")
    assert own.json("compute", "list")["services"] == []


def test_a_service_without_a_queue_starts_stops_and_scales(own: KeyHolder) -> None:
    command = "python -c 'print(1)'"
    made = own.json("compute", "create", "--name", "web", "--image", "me/web", "--command", command, "--env", "A=1")
    assert (made["command"], made["desired"]) == (["python", "-c", "print(1)"], 1)
    assert own.json("compute", "scale", made["id"], "2")["desired"] == 2
    assert own.json("compute", "stop", "web")["desired"] == 0
    assert own.json("compute", "start", "web")["desired"] == 1
    assert own.json("compute", "show", "web")["name"] == "web"
    logs = eventually(lambda: own.json("compute", "logs", "web"), lambda logs: bool(logs["lines"]))
    assert ({line["message"] for line in logs["lines"]}, logs["next_cursor"]) == ({"1"}, None)


def test_a_webhook_is_set_paused_and_removed(own: KeyHolder) -> None:
    own("queue", "create", "--name", "hooked")
    set_with = ["queue", "consumer", "set", "hooked", "--url", "http://127.0.0.1:9/hook", "--batch-size", "1"]
    made = own.json(*set_with)
    assert made["secret"].startswith("whsec_")
    assert own.json("queue", "consumer", "pause", "hooked") == {
        name: made[name] for name in made if name not in ("secret", "paused")
    } | {"paused": True}
    own("queue", "consumer", "remove", "hooked", "--yes")


def test_watch_shows_the_workers_beside_the_depth(own: KeyHolder) -> None:
    own("queue", "create", "--name", "jobs")
    own("compute", "create", "--name", "worker", "--image", "me/worker", "--queue", "jobs")
    watch = subprocess.Popen(
        [BIN / "naive", "queue", "watch", "jobs", "--interval", "0.5"], stdout=subprocess.PIPE, env=own.env, text=True
    )
    assert watch.stdout is not None
    try:
        assert json.loads(watch.stdout.readline())["workers"] == {"desired": 0, "running": 0}
        own("queue", "send", "jobs", "wake up")
        while json.loads(watch.stdout.readline())["workers"]["desired"] != 1:
            pass
    finally:
        watch.send_signal(signal.SIGINT)
        watch.wait(10)
        watch.stdout.close()
