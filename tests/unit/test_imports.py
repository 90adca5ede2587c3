"""What a function imports before its first request: most of a cold start, and modules tell it without noise."""

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests import rules
from tests.template import ROOT, translated

# For any function. boto3 brings its resources, s3transfer and multiprocessing, a twentieth of the start; the clients
# are botocore's own.
NEVER = (
    "aws_lambda_powertools.event_handler",
    "aws_lambda_powertools.utilities.data_classes",
    "aws_lambda_powertools.utilities.idempotency",
    "aws_xray_sdk",
    "boto3",
    "functions",
    "multiprocessing",
    "naive",
    "s3transfer",
)
# What every function that asks for a key imports of the tenancy layer, and the model that this makes.
COMMON = {"auth", "aws", "buckets", "endpoint", "errors", "limits", "models", "names", "registry", "table", "telemetry"}
COMMON_MODELS = {"Nothing"}
# What the functions of the data plane import besides, and the models that this makes besides their own.
DATA_PLANE = """
send_message              | batches drafts messages producer wakes                   | NewMessage
send_message_batch        | batches drafts messages producer wakes                   | NewMessage
receive_messages          | batches leases messages receipts tokens wakes            |
delete_message            | batches leases messages receipts tokens wakes            |
change_message_visibility | batches leases messages receipts tokens wakes            |
settle_messages           | batches leases messages receipts settlement tokens wakes | Ack Retry Extend
"""
NEEDED = {
    name.strip(): (COMMON | set(modules.split()), COMMON_MODELS | set(models.split()))
    for name, modules, models in (line.split("|") for line in DATA_PLANE.strip().splitlines())
}
FOLDERS = sorted(rules.folder(function) for function in rules.functions(translated()).values())

# Run by a fresh interpreter, with the folder of a function as its argument.
SCRIPT = f"""
import json, sys
sys.path[:0] = [sys.argv[1], {str(ROOT / "layers" / "tenancy")!r}]
import app
modules = sorted(sys.modules)
from tenancy.models import Input

def below(model):
    return [found for child in model.__subclasses__() for found in (child, *below(child))]

print(json.dumps([modules, [(model.__module__, model.__name__) for model in below(Input)]]))
"""


def environment(folder: str) -> dict[str, str]:
    """Exactly what Lambda and the template give a function, so that one that asks for more fails."""
    (function,) = (found for found in rules.functions(translated()).values() if rules.folder(found) == folder)
    variables = function["Environment"]["Variables"]
    return {
        **{name: value if isinstance(value, str) else _given(name, value) for name, value in variables.items()},
        "AWS_LAMBDA_FUNCTION_NAME": folder.replace("functions/", "naive-"),
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "PATH": os.environ["PATH"],
    }


def _given(name: str, value: dict[str, str]) -> str:
    """A parameter's default, a text with its gaps filled, or for anything else some name."""
    parameter = translated()["Parameters"].get(value.get("Ref"), {})
    text = re.sub(r"\$\{.*?\}", "x", value["Fn::Sub"]) if "Fn::Sub" in value else name.lower()
    return str(parameter.get("Default", text))


@cache
def imported(folder: str) -> tuple[set[str], set[tuple[str, str]]]:
    """The modules after a function's start, and its input models as module and name."""
    command: list[str | Path] = [sys.executable, "-I", "-c", SCRIPT, ROOT / folder]
    done = subprocess.run(command, env=environment(folder), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    modules, models = json.loads(done.stdout)
    return set(modules), {(module, name) for module, name in models}


# A consumer starts for many messages, and nobody waits for it: its batches and its idempotency are worth their import.
@pytest.mark.parametrize("folder", sorted(set(FOLDERS) - rules.CONSUMERS.keys()))
def test_a_function_imports_nothing_that_is_only_heavy(folder: str) -> None:
    modules, _ = imported(folder)
    assert {name for name in modules if any(f"{name}.".startswith(f"{banned}.") for banned in NEVER)} == set()


def test_every_function_of_the_data_plane_says_what_it_needs() -> None:
    functions = rules.functions(translated())
    found = {
        rules.folder(functions[function]).removeprefix("functions/")
        for key, function in rules.routes(translated()).items()
        if "/queue/{id}/messages" in key
    }
    assert set(NEEDED) == found


@pytest.mark.parametrize("name", NEEDED)
def test_a_function_of_the_data_plane_imports_what_it_needs_of_the_layer(name: str) -> None:
    modules, _ = imported(f"functions/{name}")
    assert {module.removeprefix("tenancy.") for module in modules if module.startswith("tenancy.")} == NEEDED[name][0]


@pytest.mark.parametrize("name", NEEDED)
def test_a_function_of_the_data_plane_makes_no_models_of_others(name: str) -> None:
    _, models = imported(f"functions/{name}")
    assert {model for module, model in models if module != "app"} == NEEDED[name][1]


@pytest.mark.parametrize("folder", sorted(rules.CONSUMERS))
def test_a_consumer_needs_nothing_of_this_service(folder: str) -> None:
    modules, _ = imported(folder)
    assert {name for name in modules if name.partition(".")[0] in ("tenancy", "functions", "naive")} == set()


def test_what_calls_a_webhook_is_imported_by_who_calls_one_alone() -> None:
    for module in "standardwebhooks", "tenancy.webhooks":
        assert [folder for folder in FOLDERS if module in imported(folder)[0]] == ["functions/webhook_worker"]
