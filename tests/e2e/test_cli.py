"""A newcomer's first session with the `naive` command."""

import json
import signal
import subprocess
import time
from pathlib import Path

from tests.e2e.conftest import BIN, Api, Cli, unique


def test_the_first_session(cli: Cli) -> None:
    name = unique()
    queue = cli.json("queue", "create", "--name", name)["id"]
    body = '{"task":"resize","url":"https://example.com/é 😀"}'
    sent = cli.json("queue", "send", queue, body)
    (message,) = cli.json("queue", "receive", queue, "--wait", "20")["messages"]
    assert (message["message_id"], message["body"]) == (sent["message_id"], body)
    cli("queue", "ack", queue, message["receipt_handle"])
    assert cli.json("queue", "attributes", queue) == {"depth": 0, "in_flight": 0, "delayed": 0, "dlq_depth": None}
    assert cli.json("queue", "receive", name, "--wait", "0", code=3) == {"messages": []}


def test_a_queue_is_managed_by_its_name(cli: Cli) -> None:
    name = unique()
    made = cli.json("queue", "create", "--name", name, "--dlq", "--max-receives", "1", "--visibility", "60")
    assert (made["max_receive_count"], made["visibility_timeout"]) == (1, 60)
    assert cli.json("queue", "show", name)["id"] == made["id"]
    assert made["id"] in listed(cli)

    cli("queue", "send", name, "-", stdin="line\r\nline\n")
    (message,) = cli.json("queue", "receive", name, "--wait", "5")["messages"]
    assert message["body"] == "line\r\nline\n"
    assert cli.json("queue", "extend", name, message["receipt_handle"], "--visibility", "90")["lease_expires_at"]
    cli("queue", "retry", name, message["receipt_handle"])
    assert cli.json("queue", "receive", name, "--wait", "1", code=3) == {"messages": []}

    (letter,) = cli.json("queue", "dlq", name)["messages"]
    assert letter["message_id"] == message["message_id"]
    cli("queue", "redrive", name)
    (message,) = cli.json("queue", "receive", name, "--wait", "5")["messages"]
    assert message["body"] == "line\r\nline\n"
    cli("queue", "purge", name, "--yes")
    cli("queue", "delete", name, "--yes")
    cli("queue", "show", name, code=1)


def listed(cli: Cli) -> set[str]:
    """The ids on all pages of the list."""
    ids: set[str] = set()
    more: list[str] = []
    while True:
        page = cli.json("queue", "list", "--limit", "100", *more)
        ids |= {queue["id"] for queue in page["queues"]}
        if page["next_cursor"] is None:
            return ids
        more = ["--cursor", page["next_cursor"]]


def test_a_file_is_sent_line_by_line(cli: Cli, api: Api, tmp_path: Path) -> None:
    lines = [json.dumps({"n": n, "text": "é😀" * n}, ensure_ascii=False) for n in range(230)]
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_bytes("\n".join(lines).encode())
    queue = api.queue()
    cli("queue", "send", queue, "--file", str(jobs))
    received: list[str] = []
    while len(received) < len(lines):
        messages = api.receive(queue, max=10, wait=5)
        assert messages, f"only {len(received)} came"
        received += [message["body"] for message in messages]
    assert sorted(received) == sorted(lines)


def test_watch_shows_the_depth_as_it_changes(cli: Cli, api: Api) -> None:
    queue = api.queue()
    watch = subprocess.Popen(
        [BIN / "naive", "queue", "watch", queue, "--interval", "0.5"], stdout=subprocess.PIPE, env=cli.env, text=True
    )
    assert watch.stdout is not None
    try:
        assert json.loads(watch.stdout.readline())["depth"] == 0
        api.send(queue)
        until = time.monotonic() + 20
        while json.loads(watch.stdout.readline())["depth"] != 1:
            assert time.monotonic() < until
    finally:
        watch.send_signal(signal.SIGINT)
        watch.wait(10)
        watch.stdout.close()


def test_a_key_is_stored_for_later_and_shown_nowhere(cli: Cli) -> None:
    env = cli.env
    key = env.pop("NAIVE_API_KEY")
    run = subprocess.run(
        [BIN / "naive", "login"], input=key.encode() + b"\n", capture_output=True, env=env, check=False, timeout=60
    )
    assert run.returncode == 0, run.stderr
    assert key.encode() not in run.stdout + run.stderr
    config = cli.home / ".naive/config.json"
    assert config.stat().st_mode & 0o777 == 0o600
    listed = subprocess.run([BIN / "naive", "queue", "list"], capture_output=True, env=env, check=True, timeout=60)
    assert "queues" in json.loads(listed.stdout)


def test_errors_say_what_to_do_on_stderr(cli: Cli) -> None:
    run = subprocess.run(
        [BIN / "naive", "queue", "create", "--name", "a b"], capture_output=True, env=cli.env, check=False, timeout=60
    )
    assert run.returncode == 1
    assert run.stdout == b""
    assert b"1 to 64 characters" in run.stderr
    assert cli.env["NAIVE_API_KEY"].encode() not in run.stderr
