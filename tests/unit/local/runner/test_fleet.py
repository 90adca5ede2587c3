"""As many processes as ECS is asked for, each as ECS would start, replace and end it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from botocore.exceptions import EndpointConnectionError

from local import cluster
from local.runner import fleet as fleet_module
from local.runner import services
from local.runner import tasks as tasks_module
from local.runner.agent import Agent
from local.runner.fleet import Fleet, pause, plan
from local.runner.output import Output
from local.runner.services import Service
from local.runner.tasks import Task
from local.stack import Stack
from tests.unit.local.runner.conftest import KEY, define, logged, until

SLEEP = ("sleep", "600")
PRINTS_ITS_ENVIRONMENT = "import os; print('\\n'.join(f'{k}={v}' for k, v in os.environ.items()), flush=True)"


class World:
    """A fleet, and what ECS is asked for."""

    def __init__(self, stack: Stack, agent: Agent, fleet: Fleet) -> None:
        self.stack, self.agent, self.fleet = stack, agent, fleet
        self._ecs = boto3.client("ecs")

    def service(self, *command: str, count: int = 1, **environment: str) -> None:
        self._ecs.create_service(
            cluster=cluster.NAME,
            serviceName="s",
            taskDefinition=define(*command, **environment),
            desiredCount=count,
            launchType="FARGATE",
        )

    def change(self, **settings: Any) -> None:
        self._ecs.update_service(cluster=cluster.NAME, service="s", **settings)

    def delete(self) -> None:
        self._ecs.delete_service(cluster=cluster.NAME, service="s", force=True)

    def tasks(self) -> list[Task]:
        """The tasks there are after one more look."""
        self.fleet.tend()
        return [task for crew in self.fleet._crews.values() for task in crew.tasks]

    def until(self, good: Callable[[list[Task]], bool]) -> list[Task]:
        return until(self.tasks, good)


@pytest.fixture
def output(stack: Stack) -> Iterator[Output]:
    output = Output(stack)
    yield output
    output.close()


@pytest.fixture
def world(stack: Stack, output: Output, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(fleet_module, "pause", lambda _failures: 0.1)
    agent = Agent(stack)
    fleet = Fleet(stack, agent, output)
    yield World(stack, agent, fleet)
    fleet.end()
    agent.close()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_as_many_run_as_are_wanted_and_none_once_the_service_is_gone(world: World) -> None:
    world.service(*SLEEP, count=2)
    first = world.tasks()
    assert len(first) == 2
    world.change(desiredCount=1)
    world.until(lambda tasks: len(tasks) == 1)
    world.delete()
    world.until(lambda tasks: not tasks)
    assert [task.process.returncode for task in first] == [-signal.SIGTERM] * 2
    assert list((world.stack.scratch / "tasks").iterdir()) == []


def test_a_task_has_the_environment_of_its_definition_and_nothing_of_the_callers(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_CALLER", "x")
    world.service("python", "-c", PRINTS_ITS_ENVIRONMENT, NAIVE_QUEUE_ID="q", LANG="de_DE.UTF-8")
    (task,) = world.tasks()
    told = dict(line.split("=", 1) for line in logged(10))
    given = {"NAIVE_QUEUE_ID": "q", "NAIVE_API_KEY": "nv_sk_live_k", "LANG": "de_DE.UTF-8", "HOME": str(task.folder)}
    assert given.items() <= told.items()
    assert told.keys() - given.keys() - {"LC_CTYPE"} == {
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_DEFAULT_REGION",
        "AWS_ENDPOINT_URL",
        "AWS_REGION",
        "ECS_AGENT_URI",
        "PATH",
    }


def test_each_task_runs_in_a_new_folder_and_writes_to_a_stream_of_its_own(world: World) -> None:
    world.service("sh", "-c", "ls -A; pwd; touch left; sleep 600", count=2)
    tasks = world.tasks()
    assert {*logged(2)} == {str(task.folder) for task in tasks}
    streams = boto3.client("logs").describe_log_streams(logGroupName="/naive/local/services")["logStreams"]
    assert {stream["logStreamName"] for stream in streams} == {f"s/worker/{task.id}" for task in tasks}


def test_one_that_ends_is_started_again(world: World) -> None:
    world.service("sh", "-c", "echo again; exit 1")
    world.until(lambda _: world.fleet._crews["s"].failures > 2)
    assert logged(3)[:3] == ["again"] * 3


def test_each_failure_is_followed_by_a_longer_pause() -> None:
    assert [pause(failures) for failures in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]


def test_whoever_has_run_for_a_while_is_started_again_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_module, "_HEALTHY_SECONDS", 0)
    world.service(*SLEEP)
    (task,) = world.tasks()
    task.process.kill()
    world.until(lambda tasks: len(tasks) == 1 and tasks[0] is not task)
    assert world.fleet._crews["s"].failures == 0


def test_what_cannot_start_is_told_once_and_tried_again(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.service("no-such-command")
    world.until(lambda _: world.fleet._crews["s"].failures > 2)
    assert logged(1) == ["no-such-command cannot be run: No such file or directory."]
    assert capsys.readouterr().out.count("no-such-command") == 1
    assert list((world.stack.scratch / "tasks").iterdir()) == []


def test_a_key_that_is_gone_is_told_too_and_a_new_deployment_starts_afresh(world: World) -> None:
    (parameter,) = boto3.client("ssm").get_parameters(Names=[KEY], WithDecryption=True)["Parameters"]
    boto3.client("ssm").delete_parameter(Name=KEY)
    world.service(*SLEEP)
    world.until(lambda _: world.fleet._crews["s"].failures > 2)
    (said,) = logged(1)
    assert said.startswith("A secret of the service cannot be read: ")
    boto3.client("ssm").put_parameter(Name=KEY, Value=parameter["Value"], Type="SecureString")
    world.change(forceNewDeployment=True)
    world.until(lambda tasks: len(tasks) == 1)
    assert world.fleet._crews["s"].failures == 0


def test_all_that_a_task_has_started_ends_with_it(world: World) -> None:
    world.service("sh", "-c", "sleep 600 & echo $!; exec sleep 600")
    world.tasks()
    (grandchild,) = logged(1)
    world.tasks()[0].process.kill()
    world.until(lambda _: not alive(int(grandchild)))


def test_whoever_ignores_its_end_is_killed_after_the_grace(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks_module, "GRACE_SECONDS", 0.2)
    world.service("sh", "-c", "trap 'echo no' TERM; echo ready; while :; do sleep 0.05; done")
    (task,) = world.tasks()
    logged(1)
    world.change(desiredCount=0)
    world.until(lambda tasks: not tasks)
    assert task.process.returncode == -signal.SIGKILL
    assert {"ready", "no"} <= {*logged(2)}


def test_what_it_has_put_into_a_session_of_its_own_is_killed_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks_module, "GRACE_SECONDS", 0.2)
    stubborn = "import signal, subprocess; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    child = "child = subprocess.Popen(['sleep', '600'], start_new_session=True); print(child.pid, flush=True)"
    world.service("python", "-c", f"{stubborn}; {child}; child.wait()")
    world.tasks()
    (pid,) = logged(1)
    world.change(desiredCount=0)
    world.until(lambda tasks: not tasks)
    until(lambda: alive(int(pid)), lambda there: not there)


def test_a_new_deployment_replaces_tasks_the_new_before_the_old(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.service(*SLEEP)
    (old,) = world.tasks()
    world.change(forceNewDeployment=True)
    monkeypatch.setattr(fleet_module, "_STEADY_SECONDS", 600)
    assert len(world.until(lambda tasks: len(tasks) == 2)) == 2
    assert not old.stopping
    monkeypatch.setattr(fleet_module, "_STEADY_SECONDS", 0)
    (new,) = world.until(lambda tasks: len(tasks) == 1)
    assert new is not old


def test_a_task_that_protects_itself_goes_on_until_it_does_no_longer(world: World) -> None:
    world.service(*SLEEP)
    (task,) = world.tasks()
    protect(world, task, {"ProtectionEnabled": True, "ExpiresInMinutes": 1})
    world.change(desiredCount=0)
    assert world.tasks() == [task]
    assert not task.stopping
    protect(world, task, {"ProtectionEnabled": False})
    world.until(lambda tasks: not tasks)


def test_deleting_a_service_ends_protected_tasks_as_well(world: World) -> None:
    world.service(*SLEEP)
    (task,) = world.tasks()
    protect(world, task, {"ProtectionEnabled": True})
    world.delete()
    world.until(lambda tasks: not tasks)


def protect(world: World, task: Task, state: dict[str, Any]) -> None:
    uri = world.agent.enrol(task.id, "role")["ECS_AGENT_URI"]
    assert httpx.put(f"{uri}/task-protection/v1/state", json=state).status_code == 200


def test_tasks_go_on_while_aws_does_not_answer_which_is_said_once(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world.service(*SLEEP)
    (task,) = world.tasks()

    def silence(_ecs: Any) -> list[Service]:
        raise EndpointConnectionError(endpoint_url="http://127.0.0.1:4566")

    monkeypatch.setattr(services, "read", silence)
    assert world.tasks() == world.tasks() == [task]
    assert not task.stopping
    assert capsys.readouterr().out.count("What services there are is not known") == 1


class Fake:
    """A task as far as a plan needs it."""

    def __init__(self, id: str, age: float = 60, *, deployment: str = "new", stopping: bool = False) -> None:
        self.id, self.age, self.deployment, self.stopping = id, age, deployment, stopping


@pytest.mark.parametrize(
    "tasks, count, protected, missing, surplus",
    [
        ([], 3, "", 3, ""),
        ([Fake("a")], 3, "", 2, ""),
        ([Fake("a", stopping=True)], 1, "", 1, ""),
        ([Fake("a", 3), Fake("b", 2), Fake("c", 1)], 1, "", 0, "cb"),
        ([Fake("a", 3), Fake("b", 2), Fake("c", 1)], 1, "c", 0, "ba"),
        ([Fake("a"), Fake("b")], 0, "ab", 0, ""),
        ([Fake("a", deployment="old"), Fake("b", deployment="old")], 2, "", 2, ""),
        ([Fake("a", deployment="old"), Fake("b", 0.5)], 1, "", 0, ""),
        ([Fake("a", deployment="old"), Fake("b", 1)], 1, "", 0, "a"),
        ([Fake("a", deployment="old"), Fake("b", 1)], 1, "a", 0, ""),
        ([Fake("a", deployment="old"), Fake("b", deployment="old")], 1, "ab", 0, ""),
        ([Fake("a", deployment="old")], 0, "", 0, "a"),
    ],
)
def test_what_is_started_and_stopped_is_what_ecs_would(
    tasks: Any, count: int, protected: str, missing: int, surplus: str
) -> None:
    planned = plan(tasks, "new", count, {*protected})
    assert (planned[0], "".join(task.id for task in planned[1])) == (missing, surplus)


def test_a_machine_is_not_asked_for_more_than_it_may_have(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_module, "MOST", 2)
    world.service(*SLEEP, count=1000)
    assert len(world.tasks()) == 2


DOCKER = """#!/bin/sh
echo "$@" >> {log}
case "$1" in
    version) echo 1 ;;
    run) echo "key $NAIVE_API_KEY"; exec sleep 600 ;;
esac
"""


@pytest.fixture
def docker_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a fake docker notes what it was told."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "docker").write_text(DOCKER.format(log=tmp_path / "docker.log"))
    (folder / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return tmp_path / "docker.log"


def test_an_image_without_a_command_is_run_by_docker_and_its_key_is_on_no_command_line(
    world: World, docker_log: Path
) -> None:
    world.service(NAIVE_QUEUE_ID="q")
    (task,) = world.tasks()
    assert logged(1) == ["key nv_sk_live_k"]
    world.change(desiredCount=0)
    world.until(lambda tasks: not tasks)
    said = docker_log.read_text()
    assert "nv_sk_live_k" not in said
    (run,) = (line for line in said.splitlines() if line.startswith("run "))
    assert run.endswith(" --env NAIVE_QUEUE_ID --env NAIVE_API_KEY me/worker")
    assert f"--name naive-{task.id} " in run
    assert "--network host" in run
    assert said.splitlines()[-1] == f"rm --force naive-{task.id}"


def test_an_image_without_a_command_says_what_is_missing_where_docker_does_not_answer(
    world: World, docker_log: Path
) -> None:
    docker_log.parent.joinpath("bin", "docker").write_text("#!/bin/sh\nexit 1\n")
    world.service()
    world.until(lambda _: world.fleet._crews["s"].failures > 2)
    assert logged(1) == [
        "The service has no command, and no docker answers here to run its image me/worker: "
        "give it a command, or start docker."
    ]


def test_a_plain_process_is_what_a_command_is_run_as_also_where_docker_answers(world: World, docker_log: Path) -> None:
    world.service(*SLEEP)
    (task,) = world.tasks()
    listed = subprocess.run(["ps", "-p", str(task.process.pid), "-o", "args="], capture_output=True, text=True)
    assert listed.stdout.strip() == "sleep 600"
    assert not docker_log.exists()
