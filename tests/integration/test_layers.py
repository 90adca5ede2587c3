"""What the layers' builds ship: built here as `sam build` builds them, and then looked at."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from layers.runtime.trim import SERVICES
from tests.template import ROOT

# Bytecode checked against nothing: flags 1 says hash-based and not 3, which would read and hash the source each time.
UNCHECKED = (1).to_bytes(4, "little")


def build(layer: str, target: str, artifacts: Path, architecture: str) -> Path:
    """Runs the layer's make target with the tools of .venv, and answers the folder of packages."""
    subprocess.run(
        ["make", "--silent", "-C", ROOT / "layers" / layer, target],
        env=os.environ
        | {
            "ARCHITECTURE": architecture,
            "ARTIFACTS_DIR": str(artifacts),
            "PATH": f"{ROOT}/.venv/bin:{os.environ['PATH']}",
        },
        check=True,
    )
    return artifacts / "python"


@pytest.fixture(scope="module", params=["arm64", "x86_64"])
def architecture(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def runtime(architecture: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("runtime", "build-RuntimeLayer", tmp_path_factory.mktemp("runtime"), architecture)


@pytest.fixture(scope="module")
def tenancy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("tenancy", "build-TenancyLayer", tmp_path_factory.mktemp("tenancy"), "arm64")


def without_bytecode(packages: Path) -> list[Path]:
    sources = list(packages.rglob("*.py"))
    assert sources
    return [source for source in sources if not _is_compiled(source)]


def _is_compiled(source: Path) -> bool:
    compiled = source.parent / "__pycache__" / f"{source.stem}.cpython-313.pyc"
    return compiled.is_file() and compiled.read_bytes()[4:8] == UNCHECKED


def test_every_module_of_the_runtime_layer_ships_unchecked_bytecode(runtime: Path) -> None:
    assert without_bytecode(runtime) == []


def test_every_module_of_the_tenancy_layer_ships_unchecked_bytecode(tenancy: Path) -> None:
    assert without_bytecode(tenancy) == []


def test_the_tenancy_layer_is_our_package_and_nothing_else(tenancy: Path) -> None:
    source = ROOT / "layers" / "tenancy" / "tenancy"
    assert [entry.name for entry in tenancy.iterdir()] == ["tenancy"]
    assert {path.name for path in (tenancy / "tenancy").glob("*.py")} == {path.name for path in source.glob("*.py")}


def test_native_modules_are_for_the_asked_architecture(runtime: Path, architecture: str) -> None:
    names = {"arm64": "aarch64", "x86_64": "x86_64"}
    native = [path.name for path in runtime.rglob("*.so")]
    assert native
    assert all(names[architecture] in name for name in native)


def test_botocore_keeps_the_services_in_use_and_what_all_of_them_read(runtime: Path) -> None:
    data = runtime / "botocore" / "data"
    assert {entry.name for entry in data.iterdir() if entry.is_dir()} == set(SERVICES)
    assert {"endpoints.json", "partitions.json", "_retry.json", "sdk-default-configuration.json"} <= {
        entry.name for entry in data.iterdir()
    }


def test_a_client_of_each_service_is_made_from_the_layer_alone(runtime: Path) -> None:
    # The native modules are another machine's half of the time, so only what is pure Python is tried.
    script = f"""
import sys
sys.path.insert(0, {str(runtime)!r})
import boto3, json
clients = [boto3.client(name, region_name="eu-central-1") for name in {SERVICES!r}]
print(json.dumps([boto3.__file__] + [client.meta.endpoint_url for client in clients]))
"""
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    module, *endpoints = json.loads(done.stdout)
    assert module.startswith(str(runtime))
    regional = {name: f"https://{name}.eu-central-1.amazonaws.com" for name in SERVICES}
    named_otherwise = {
        "cloudwatch": "https://monitoring.eu-central-1.amazonaws.com",
        "iam": "https://iam.amazonaws.com",
        "resourcegroupstaggingapi": "https://tagging.eu-central-1.amazonaws.com",
    }
    assert endpoints == list((regional | named_otherwise).values())
