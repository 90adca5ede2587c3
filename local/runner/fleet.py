"""As many tasks of each service as ECS is asked for: started, replaced and ended in the order that ECS has."""

import os
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from botocore.exceptions import BotoCoreError, ClientError

from local.runner import docker, services
from local.runner.agent import Agent
from local.runner.output import Output
from local.runner.services import Container, Service
from local.runner.tasks import CannotStart, Task, spawn
from local.stack import IMPATIENT, REGION, Stack

MOST = 50
"""Tasks of one service that a machine is asked to run."""
_STEADY_SECONDS = 1
"""A task that runs for so long is taken to have started: then it may take the place of an older one."""
_HEALTHY_SECONDS = 10
"""Whoever ends sooner has failed to start."""
_LONGEST_PAUSE = 60


@dataclass
class Crew:
    """The tasks of a service, and how starting them goes."""

    tasks: list[Task] = field(default_factory=list)
    deployment: str = ""
    failures: int = 0
    retry_at: float = 0
    told: set[str] = field(default_factory=set)
    """What was said of why they do not start."""

    def begin(self, deployment: str) -> None:
        self.deployment, self.failures, self.retry_at, self.told = deployment, 0, 0, set()

    def failed(self) -> None:
        """Wait before the next start, longer each time."""
        self.retry_at = time.monotonic() + pause(self.failures)
        self.failures += 1


class Fleet:
    """The tasks of all services of a stack."""

    def __init__(self, stack: Stack, agent: Agent, output: Output) -> None:
        self._stack, self._agent, self._output = stack, agent, output
        self._ecs, self._ssm = stack.client("ecs", **IMPATIENT), stack.client("ssm", **IMPATIENT)
        self._wanted: dict[str, Service] = {}
        self._crews: dict[str, Crew] = {}
        self._fault = ""

    def tend(self) -> None:
        """Look once at what is wanted and what there is, and do what is to be done now."""
        self._read()
        for name in self._wanted.keys() | self._crews.keys():
            crew, service = self._crews.setdefault(name, Crew()), self._wanted.get(name)
            self._reap(name, crew)
            if service is None:
                for task in crew.tasks:
                    task.stop()
                if not crew.tasks:
                    del self._crews[name]
            else:
                self._adjust(crew, service)

    def end(self) -> None:
        """End all tasks and wait until they have."""
        for crew in self._crews.values():
            for task in crew.tasks:
                task.stop()
        while any(crew.tasks for crew in self._crews.values()):
            for name, crew in self._crews.items():
                self._reap(name, crew)
            time.sleep(0.05)

    def _read(self) -> None:
        """What is wanted; where the emulator does not say, what it said last."""
        try:
            self._wanted = {service.name: service for service in services.read(self._ecs)}
            fault = ""
        except (BotoCoreError, ClientError) as failed:
            fault = str(failed)
        if fault not in ("", self._fault):
            print(f"What services there are is not known: {fault}", flush=True)
        self._fault = fault

    def _reap(self, name: str, crew: Crew) -> None:
        for task in [task for task in crew.tasks if task.ended()]:
            crew.tasks.remove(task)
            task.clean_up()
            if task.container:
                docker.remove(task.container)
            self._agent.dismiss(task.id)
            print(f"{name}: task {task.id} ended with {task.process.returncode}", flush=True)
            if task.stopping:
                continue
            if task.age < _HEALTHY_SECONDS:
                crew.failed()
            else:
                crew.failures = 0

    def _adjust(self, crew: Crew, service: Service) -> None:
        if crew.deployment != service.deployment:
            crew.begin(service.deployment)
        protected = {task.id for task in crew.tasks if self._agent.protects(task.id)}
        missing, surplus = plan(crew.tasks, service.deployment, min(service.count, MOST), protected)
        for task in surplus:
            task.stop()
        if time.monotonic() < crew.retry_at:
            return
        for _ in range(missing):
            try:
                crew.tasks.append(self._start(crew, service))
            except (CannotStart, BotoCoreError, ClientError) as fault:
                if str(fault) not in crew.told:
                    print(f"{service.name}: {fault}", flush=True)
                crew.told.add(str(fault))
                crew.failed()
                return

    def _start(self, crew: Crew, service: Service) -> Task:
        container, task = services.container(self._ecs, service.definition), uuid.uuid4().hex
        stream = f"{container.log_prefix}/{task}"
        try:
            started = self._run(container, task, service)
        except CannotStart as fault:
            self._agent.dismiss(task)
            if str(fault) not in crew.told:
                self._output.say(container.log_group, stream, str(fault))
            raise
        self._output.follow(container.log_group, stream, started.output)
        return started

    def _run(self, container: Container, task: str, service: Service) -> Task:
        if not container.command and not docker.answers():
            raise CannotStart(
                f"The service has no command, and no docker answers here to run its image {container.image}: "
                "give it a command, or start docker."
            )
        folder = self._stack.scratch / "tasks" / task
        given = self._environment(container, task)
        if container.command:
            own = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
            return Task(task, service.deployment, spawn(container.command, own | given, folder), folder)
        name = f"naive-{task}"
        command = docker.run_command(container.image, name, given, str(self._stack.home))
        return Task(task, service.deployment, spawn(command, docker.environment() | given, folder), folder, name)

    def _environment(self, container: Container, task: str) -> dict[str, str]:
        """What ECS gives a task on Fargate; and where AWS is, which is elsewhere here."""
        try:
            secrets = services.resolved(self._ssm, container.secrets)
        except ClientError as fault:
            raise CannotStart(f"A secret of the service cannot be read: {fault}") from fault
        aws = {"AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION, "AWS_ENDPOINT_URL": self._stack.endpoint}
        return {**aws, **self._agent.enrol(task, container.role), **container.environment, **secrets}


def pause(failures: int) -> float:
    """How long to wait before the next start, after so many that failed before this one."""
    return min(1 << failures, _LONGEST_PAUSE)


def plan(tasks: Sequence[Task], deployment: str, count: int, protected: set[str]) -> tuple[int, list[Task]]:
    """How many tasks to start now, and which to stop.

    As ECS does: of a new deployment all start before those of the former one end, at most twice as many run meanwhile,
    and one that is protected goes on.
    """
    running = [task for task in tasks if not task.stopping]
    current = [task for task in running if task.deployment == deployment]
    former = [task for task in running if task.deployment != deployment]
    missing = max(0, min(count - len(current), 2 * count - len(running)))
    newest_first = sorted(current, key=lambda task: task.age)
    surplus = [task for task in newest_first if task.id not in protected][: max(0, len(current) - count)]
    if sum(task.age >= _STEADY_SECONDS for task in current) >= count:
        surplus += [task for task in former if task.id not in protected]
    return missing, surplus
