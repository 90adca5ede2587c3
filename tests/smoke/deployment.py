"""A deployed stack as its operator sees it: what CloudFormation made, the API with a key, and queues that go again."""

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import httpx
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

SERVICES = ("apigatewayv2", "cloudformation", "dynamodb", "events", "lambda", "logs", "sqs")
PATIENCE = Config(connect_timeout=5, read_timeout=30, retries={"total_max_attempts": 3, "mode": "standard"})
# Longer than the gateway lets any request take.
ANSWERED_WITHIN = 40
TIME_LIMIT = 200
"""After so many seconds no check goes on; what they have made is destroyed in the rest of the four minutes."""


class CannotStart(Exception):
    """Raised when there is nothing to check, in words for the operator."""


class Stopped(Exception):
    """Raised inside a check that must not go on."""


class Deployment:
    """One stack. Its calls end in Stopped once the run is being stopped or its time is over."""

    def __init__(
        self, stack: str, base_url: str, http: httpx.Client, session: boto3.Session, described: dict[str, Any]
    ) -> None:
        self.stack = stack
        self.base_url = base_url
        self.session = session
        self.parameters: dict[str, str] = {
            given["ParameterKey"]: given["ParameterValue"] for given in described.get("Parameters", [])
        }
        self.outputs = outputs(described)
        self.left_behind: list[str] = []
        """The queues that could not be destroyed."""
        self._http = http
        # A session makes clients for one thread only; a client serves all.
        self._clients = {service: client(session, service) for service in SERVICES}
        self._stopping = threading.Event()
        self._deadline = time.monotonic() + TIME_LIMIT

    @property
    def stage(self) -> str:
        return self.parameters["Stage"]

    def aws(self, service: str) -> Any:
        """The operator's client of an AWS service."""
        return self._clients[service]

    def resources(self, kind: str) -> dict[str, str]:
        """The stack's resources of a CloudFormation type: logical id to physical id."""
        pages = self.aws("cloudformation").get_paginator("list_stack_resources").paginate(StackName=self.stack)
        found = [resource for page in pages for resource in page["StackResourceSummaries"]]
        return {r["LogicalResourceId"]: r["PhysicalResourceId"] for r in found if r["ResourceType"] == kind}

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content: bytes | None = None,
        headers: dict[str, str] | None = None,
        **query: str | int,
    ) -> httpx.Response:
        """The API's answer, whatever it is; nothing is tried twice."""
        self._go_on()
        content = json.dumps(body).encode() if body is not None else content
        return self._http.request(method, path, content=content, headers=headers, params=query or None)

    def done(self, status: int, method: str, path: str, body: object = None, **query: Any) -> Any:
        """What the API answers to a call that has to go well."""
        answer = self.call(method, path, body, **query)
        if answer.status_code != status:
            raise RuntimeError(f"{method} {path.partition('?')[0]} answered {said(answer)}, not {status}")
        return answer.json() if answer.content else None

    def pause(self, seconds: float) -> None:
        """Wait."""
        self._go_on()
        self._stopping.wait(max(0.0, min(seconds, self._deadline - time.monotonic())))
        self._go_on()

    def eventually[T](self, look: Callable[[], T], done: Callable[[T], bool], within: float) -> T:
        """What a look shows as soon as it is done, or at last."""
        end = time.monotonic() + within
        while not done(seen := look()) and time.monotonic() < end:
            self.pause(2)
        return seen

    def stop(self) -> None:
        """Let no check go on."""
        self._stopping.set()

    @contextmanager
    def queue(self, **settings: object) -> Iterator[dict[str, Any]]:
        """A new queue as the API shows it, destroyed in the end."""
        name = new_name()
        try:
            yield self.done(201, "POST", "/v1/queue", {"name": name, **settings})
        finally:
            if not self._destroyed(name):
                self.left_behind.append(name)

    @contextmanager
    def native_queue(self, **attributes: str) -> Iterator[str]:
        """The URL of a queue that the operator makes in SQS, destroyed in the end."""
        self._go_on()
        name = new_name()
        url = self.aws("sqs").create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        try:
            yield url
        finally:
            try:
                self.aws("sqs").delete_queue(QueueUrl=url)
            except (BotoCoreError, ClientError):
                self.left_behind.append(name)

    def _destroyed(self, name: str) -> bool:
        """Destroy a queue by name, since a create that failed may have made it; also when the run is being stopped."""
        for pause in (0, 2, 5):
            time.sleep(pause)
            try:
                queues = self._http.get("/v1/queue", params={"name": name}).json()["queues"]
                answers = [self._http.delete(f"/v1/queue/{queue['id']}").status_code for queue in queues]
            except (httpx.HTTPError, ValueError, KeyError):
                continue
            if all(status in (204, 404) for status in answers):
                return True
        return False

    def _go_on(self) -> None:
        if self._stopping.is_set():
            raise Stopped("the run was stopped")
        if time.monotonic() >= self._deadline:
            raise Stopped(f"not done after {TIME_LIMIT} s")


@contextmanager
def deployed(stack: str, key: str, base_url: str | None) -> Iterator[Deployment]:
    """The stack of that name in the account of the ambient credentials. Raises CannotStart."""
    if not key:
        raise CannotStart("NAIVE_API_KEY is not set: put a key of this stack there, see docs/operating.md")
    session = boto3.Session()
    try:
        (described,) = client(session, "cloudformation").describe_stacks(StackName=stack)["Stacks"]
    except (BotoCoreError, ClientError) as fault:
        raise CannotStart(f"The stack {stack} cannot be read: {fault}") from fault
    if "ApiUrl" not in outputs(described):
        raise CannotStart(f"The stack {stack} is none of this service: it has no output ApiUrl")
    base_url = (base_url or outputs(described)["ApiUrl"]).rstrip("/")
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=base_url, headers=headers, timeout=ANSWERED_WITHIN) as http:
        deployment = Deployment(stack, base_url, http, session, described)
        try:
            answer = said(deployment.call("GET", "/v1/queue", limit=1))
        except httpx.HTTPError as fault:
            raise CannotStart(f"{base_url} does not answer: {fault}") from fault
        if answer != "200":
            raise CannotStart(f"{base_url} answers this key with {answer}")
        yield deployment


# boto3's typing is one overload a service, which a name that varies cannot pick from.
def client(session: boto3.Session, service: Any) -> Any:
    """The operator's client of an AWS service."""
    return session.client(service, config=PATIENCE)


def outputs(described: dict[str, Any]) -> dict[str, str]:
    """The outputs of a stack that CloudFormation describes."""
    return {output["OutputKey"]: output["OutputValue"] for output in described.get("Outputs", [])}


def said(answer: httpx.Response) -> str:
    """An answer in a few words: its status, and the code of our error or the message of the gateway's own."""
    try:
        body = answer.json()
    except ValueError:
        return str(answer.status_code)
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        return f"{answer.status_code} {body['error'].get('code')}"
    if isinstance(body, dict) and set(body) == {"message"}:
        return f"{answer.status_code} of the gateway ({body['message']})"
    return str(answer.status_code)


def new_name() -> str:
    """A name that tells where a queue is from."""
    return f"smoke-{uuid.uuid4().hex[:12]}"
