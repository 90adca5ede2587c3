"""`sam build` and `sam deploy` of the template to the emulator, as to AWS, when something has changed."""

import fcntl
import hashlib
import json
import os
import platform
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from botocore.exceptions import ClientError

from local import cluster
from local.environments import EMULATOR, ROOT, SAM, certificates
from local.stack import NAME, Stack, host_architecture
from local.steps import LocalError, step

SOURCES = ("template.yaml", "samconfig.toml", "functions", "layers")
# Kept in the emulator, so that it is saved and lost together with what it speaks of.
DEPLOYED = "/naive/local/deployed"
SHOWN_LINES = 15
# A row of a deployment's table, of which a long reason goes on in the next ones, and an error with all that follows it.
FAILED = re.compile(r"^\w+_FAILED .*(?:\n .*)*", re.M)
ERROR = re.compile(r"^(?:\*\*\* )?Error.*", re.M | re.S)


def deploy(stack: Stack) -> None:
    """Builds and deploys the template unless the emulator has exactly this already."""
    now = fingerprint()
    if deployed(stack) == now:
        return
    architecture = host_architecture()
    with _build_folder():
        with step("Building functions and layers"):
            target = {"ARCHITECTURE": architecture} | _wheel_platform(architecture)
            _sam(stack, "build", environment=target | certificates())
        with step(f"Deploying the stack {NAME}"):
            parameters = ("Stage=local", f"Architecture={architecture}", *cluster.PARAMETERS)
            _sam(stack, "deploy", "--parameter-overrides", *parameters, environment={})
    stack.client("ssm").put_parameter(Name=DEPLOYED, Value=now, Type="String", Overwrite=True)


def fingerprint() -> str:
    """One value for everything that a deployment is made of: it changes when any of it does."""
    digest = hashlib.sha256()
    for path in [*_source_files(), SAM.lock, EMULATOR.lock]:
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def deployed(stack: Stack) -> str | None:
    """The fingerprint of what the emulator has, or None when it has nothing."""
    ssm = stack.client("ssm")
    try:
        return str(ssm.get_parameter(Name=DEPLOYED)["Parameter"]["Value"])
    except ssm.exceptions.ParameterNotFound:
        return None


def outputs(stack: Stack) -> dict[str, str]:
    """The stack's outputs; none when it was never deployed."""
    try:
        found = stack.client("cloudformation").describe_stacks(StackName=NAME)["Stacks"][0]
    except ClientError:
        return {}
    return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", [])}


def resource_ids(stack: Stack) -> dict[str, str]:
    """The stack's resources: logical id to physical id."""
    return {found["LogicalResourceId"]: found["PhysicalResourceId"] for found in _resources(stack)}


def roles(stack: Stack) -> list[str]:
    """The names of the stack's roles."""
    return [found["PhysicalResourceId"] for found in _resources(stack) if found["ResourceType"] == "AWS::IAM::Role"]


def _resources(stack: Stack) -> list[dict[str, str]]:
    pages = stack.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=NAME)
    return [found for page in pages for found in page["StackResourceSummaries"]]


@contextmanager
def _build_folder() -> Iterator[None]:
    """All stacks of this checkout build in one folder, one after the other."""
    with (ROOT / ".local" / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _source_files() -> Iterator[Path]:
    for source in SOURCES:
        path = ROOT / source
        found = [path] if path.is_file() else sorted(path.rglob("*"))
        yield from (file for file in found if file.is_file() and "__pycache__" not in file.parts)


def _wheel_platform(architecture: str) -> dict[str, str]:
    """Functions run on this machine: on a Mac the layer needs a Mac's wheels."""
    if platform.system() != "Darwin":
        return {}
    return {"WHEEL_PLATFORM": f"{'aarch64' if architecture == 'arm64' else 'x86_64'}-apple-darwin"}


def _sam(stack: Stack, verb: str, *options: str, environment: dict[str, str]) -> None:
    """Runs one SAM command to its end; its words go to a log, of which the last are shown when it fails."""
    log = stack.logs / f"sam-{verb}.log"
    with log.open("w") as out, tempfile.TemporaryDirectory(dir=stack.scratch) as scratch:
        # What it would keep in the caller's home, with when it last asked the network for a newer version of itself.
        Path(scratch, "metadata.json").write_text(json.dumps({"lastVersionCheck": time.time()}))
        # Wide, so that its tables break no reason in two.
        own = {"SAM_CLI_TELEMETRY": "0", "COLUMNS": "400", "TMPDIR": scratch, "__SAM_CLI_APP_DIR": scratch}
        sam = subprocess.Popen(
            [SAM.folder / "bin" / "sam", verb, "--config-env", "local", *options],
            cwd=ROOT,
            env=stack.environment() | own | environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = sam.wait()
        except BaseException:
            os.killpg(sam.pid, signal.SIGKILL)
            sam.wait()
            raise
    if code:
        place = os.path.relpath(log)
        raise LocalError(f"{reasons(log)}\nsam {verb} failed: mend what it says above (all of it: {place}), try again.")


def reasons(log: Path) -> str:
    """What a person needs to see of a failed command: its errors with all that they say, or else its end."""
    text = log.read_text(errors="replace").strip()
    failed = [" ".join(row.split()) for row in FAILED.findall(text)]
    error = [line for found in ERROR.findall(text) for line in found.splitlines() if line.strip()]
    lines = [*failed, *error] or text.splitlines()[-SHOWN_LINES:]
    if len(lines) > SHOWN_LINES:
        lines = [*lines[:SHOWN_LINES], "…", lines[-1]]
    return "\n".join(f"  | {line}" for line in lines)
