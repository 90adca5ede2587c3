"""The agent that ECS gives each task: its protection from scale-in, and the credentials of its role."""

import json
import re
import threading
import time
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local import cluster
from local.stack import HOST, IMPATIENT, REGION, Stack

_USUAL_MINUTES, _MOST_MINUTES = 120, 2880
_PATH = re.compile(r"/(api|credentials)/([0-9a-f]{32})(/task-protection/v1/state)?")


@dataclass
class _Known:
    """What the agent knows of a task."""

    role: str
    protected_until: float = 0


class Agent:
    """Answers on loopback, to whoever knows a task's id."""

    def __init__(self, stack: Stack) -> None:
        self._sts, self._iam = stack.client("sts", **IMPATIENT), stack.client("iam", **IMPATIENT)
        self._tasks: dict[str, _Known] = {}
        self._server = ThreadingHTTPServer((HOST, 0), partial(_Handler, self))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def enrol(self, task: str, role: str) -> dict[str, str]:
        """Answer to a task from now on, by these variables of its environment."""
        self._tasks[task] = _Known(role)
        where = f"http://{HOST}:{self._server.server_port}"
        return {
            "ECS_AGENT_URI": f"{where}/api/{task}",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{where}/credentials/{task}",
        }

    def dismiss(self, task: str) -> None:
        """Answer to the task no more."""
        self._tasks.pop(task, None)

    def protects(self, task: str) -> bool:
        """Whether the task must not be ended to have fewer of them."""
        return task in self._tasks and self._tasks[task].protected_until > time.time()

    def close(self) -> None:
        """Answer to nobody any more."""
        self._server.shutdown()
        self._server.server_close()

    def knows(self, task: str) -> bool:
        return task in self._tasks

    def protect(self, task: str, minutes: int) -> dict[str, Any]:
        """Let the task be protected for so many minutes, none for no longer."""
        self._tasks[task].protected_until = time.time() + minutes * 60
        return self.protection(task)

    def protection(self, task: str) -> dict[str, Any]:
        until = self._tasks[task].protected_until
        protected = until > time.time()
        state = {"ProtectionEnabled": protected, "TaskArn": _arn(task)}
        if protected:
            state["ExpirationDate"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(until))
        return {"protection": state}

    def credentials(self, task: str) -> dict[str, Any]:
        """Those of the task's role."""
        role = self._tasks[task].role
        self._admit(role.rpartition("/")[2])
        made = self._sts.assume_role(RoleArn=role, RoleSessionName=task)["Credentials"]
        return {
            "RoleArn": role,
            "AccessKeyId": made["AccessKeyId"],
            "SecretAccessKey": made["SecretAccessKey"],
            "Token": made["SessionToken"],
            "Expiration": made["Expiration"].strftime("%Y-%m-%dT%H:%M:%SZ"),
        }

    def _admit(self, role: str) -> None:
        """Let the stack's operator take a role on, in the place of ECS, which is no one here."""
        trust = self._iam.get_role(RoleName=role)["Role"]["AssumeRolePolicyDocument"]
        operator = {"AWS": self._sts.get_caller_identity()["Arn"]}
        admitted = {"Effect": "Allow", "Principal": operator, "Action": "sts:AssumeRole"}
        if admitted not in trust["Statement"]:
            trust["Statement"].append(admitted)
            self._iam.update_assume_role_policy(RoleName=role, PolicyDocument=json.dumps(trust))


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, agent: Agent, *arguments: Any) -> None:
        self._agent = agent
        super().__init__(*arguments)

    def do_GET(self) -> None:
        what, task, protection = self._asked()
        if what == "api" and protection:
            self._answer(200, self._agent.protection(task))
        elif what == "credentials":
            try:
                self._answer(200, self._agent.credentials(task))
            except (BotoCoreError, ClientError) as fault:
                self._refuse(500, "CredentialsError", str(fault))
        else:
            self._refuse(404, "ResourceNotFoundException", "There is no such task.")

    def do_PUT(self) -> None:
        what, task, protection = self._asked()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if what != "api" or not protection:
            return self._refuse(404, "ResourceNotFoundException", "There is no such task.")
        minutes = _minutes(body)
        if minutes is None:
            return self._refuse(400, "InvalidParameterException", "ProtectionEnabled or ExpiresInMinutes is not valid.")
        self._answer(200, self._agent.protect(task, minutes))

    def _asked(self) -> tuple[str, str, bool]:
        match = _PATH.fullmatch(self.path)
        if match is None or not self._agent.knows(match[2]):
            return "", "", False
        return match[1], match[2], bool(match[3])

    def _refuse(self, status: int, code: str, message: str) -> None:
        self._answer(status, {"error": {"Code": code, "Message": message}})

    def _answer(self, status: int, what: dict[str, Any]) -> None:
        body = json.dumps(what).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing: ids of tasks are what opens their credentials."""


def _minutes(body: bytes) -> int | None:
    """For how long a task asks to be protected; None for what ECS does not take."""
    try:
        asked = json.loads(body)
        enabled, minutes = asked["ProtectionEnabled"], asked.get("ExpiresInMinutes", _USUAL_MINUTES)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    if enabled is False:
        return 0
    valid = enabled is True and type(minutes) is int and 1 <= minutes <= _MOST_MINUTES
    return minutes if valid else None


def _arn(task: str) -> str:
    return f"arn:aws:ecs:{REGION}:000000000000:task/{cluster.NAME}/{task}"
