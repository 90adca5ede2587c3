"""The package as somebody gets it: built, and installed in an environment that has nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import naive
from local.environments import certificates
from tests.unit.clients.fake_api import KEY, QUEUE_ID, Served, queue_json

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "clients/python"
NAME = f"naive_queue-{naive.__version__}"
SOURCES = {
    path.relative_to(PACKAGE / "src").as_posix()
    for path in (PACKAGE / "src").rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    _uv("build", "--offline", "--out-dir", folder, PACKAGE)  # uv is the backend too, so nothing else is needed
    return folder


@dataclass(frozen=True)
class Installed:
    """An environment with the package."""

    folder: Path

    def run(self, program: str, *words: str, code: int = 0, **env: str) -> str:
        """What one of its programs says, on stdout and on stderr."""
        command = [str(self.folder / "bin" / program), *words]
        home = {"HOME": str(self.folder), "NO_PROXY": "*"}
        ended = subprocess.run(
            command, cwd=self.folder, env=home | env, capture_output=True, text=True, check=False, timeout=60
        )
        assert ended.returncode == code, ended.stderr
        return ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def install(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Installed]:
    """Installs the wheel with these extras, and what it needs as the lock says."""

    def installed(extras: str) -> Installed:
        folder = tmp_path_factory.mktemp("installed")
        _uv("venv", "--no-project", "--python", sys.executable, folder)
        wanted = f"naive-queue{extras} @ {(built / f'{NAME}-py3-none-any.whl').as_uri()}"
        python = folder / "bin" / "python"
        _uv("pip", "install", "--python", python, "--constraint", ROOT / "requirements/dev.lock", wanted)
        return Installed(folder)

    return installed


@pytest.fixture(scope="module")
def bare(install: Callable[[str], Installed]) -> Installed:
    return install("")


@pytest.fixture(scope="module")
def whole(install: Callable[[str], Installed]) -> Installed:
    return install("[cli,otel]")


def _uv(*words: str | Path) -> None:
    env = {**os.environ, **certificates()}
    ended = subprocess.run(
        [Path(sys.executable).parent / "uv", words[0], "--quiet", *words[1:]],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr


def test_the_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(built / f"{NAME}-py3-none-any.whl") as wheel:
        files = {name for name in wheel.namelist() if not name.endswith("/")}
        about = wheel.read(f"{NAME}.dist-info/METADATA").decode()
    of_its_own = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
    assert files == SOURCES | {f"{NAME}.dist-info/{name}" for name in of_its_own}
    assert "naive/py.typed" in files
    assert {name for name in SOURCES if not name.endswith(".py")} == {"naive/py.typed"}
    assert "\nRequires-Python: >=3.10\n" in about
    assert [line for line in about.splitlines() if line.startswith("Requires-Dist") and "extra" not in line] == [
        "Requires-Dist: httpx>=0.27,<1",
        "Requires-Dist: pydantic>=2.7,<3",
    ]


def test_the_source_distribution_holds_what_the_wheel_is_made_of(built: Path) -> None:
    with tarfile.open(built / f"{NAME}.tar.gz") as archive:
        files = {member.name.removeprefix(f"{NAME}/") for member in archive if member.isfile()}
    of_its_own = {"LICENSE", "PKG-INFO", "README.md", "pyproject.toml", "pyproject.toml.orig"}
    assert files == {f"src/{name}" for name in SOURCES} | of_its_own


def test_the_versions_are_in_step() -> None:
    with (ROOT / "clients/typescript/package.json").open() as file:
        assert json.load(file)["version"] == naive.__version__
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## [")]
    assert headings[0] == "## [Unreleased]"
    assert all(heading.startswith(f"## [{naive.__version__}] ") for heading in headings[1:2])


BOTH = f"""
import asyncio
from naive import AsyncNaive, Naive

async def name():
    async with AsyncNaive() as naive:
        return (await naive.queue.get("{QUEUE_ID}")).name

with Naive() as naive:
    print(naive.queue.get("{QUEUE_ID}").name, asyncio.run(name()))
"""


def test_both_clients_work_from_there(bare: Installed, served: Served) -> None:
    served.answer = queue_json(name="h\u00e9llo")
    said = bare.run("python", "-c", BOTH, NAIVE_API_KEY=KEY, NAIVE_BASE_URL=served.url, PYTHONIOENCODING="utf-8")
    assert said == "h\u00e9llo h\u00e9llo\n"
    assert served.paths == [f"/v1/queue/{QUEUE_ID}"] * 2


@pytest.mark.parametrize(
    ("code", "loaded"),
    [
        ("import naive", {"naive", "naive.constants"}),
        ("from naive import NotFoundError", {"naive", "naive.constants", "naive.errors"}),
    ],
)
def test_next_to_nothing_is_loaded_before_it_is_used(bare: Installed, code: str, loaded: set[str]) -> None:
    modules = _loaded(bare, code)
    assert {name for name in modules if name.startswith("naive")} == loaded
    assert not modules & {"httpx", "pydantic", "asyncio"}


@pytest.mark.parametrize(("name", "others"), [("Naive", {"naive.aio", "asyncio"}), ("AsyncNaive", {"naive.blocking"})])
def test_a_client_loads_neither_the_other_nor_what_is_optional(bare: Installed, name: str, others: set[str]) -> None:
    modules = _loaded(bare, f"from naive import {name}")
    assert {"httpx", "pydantic"} <= modules
    assert not modules & others
    optional = ("naive.cli", "naive.consumer", "naive.otel", "naive.spans", "naive.webhooks")
    assert not [name for name in modules if name.startswith((*optional, "opentelemetry", "typer", "rich", "click"))]


def test_what_is_optional_says_what_it_needs(bare: Installed) -> None:
    needs = "is not installed. The command line needs: pip install 'naive-queue[cli]'\n"
    assert bare.run("naive", "--version", code=1).endswith(needs)
    said = bare.run("python", "-c", "import naive.otel", code=1)
    assert said.endswith("opentelemetry is not installed. Traces need: pip install 'naive-queue[otel]'\n")


def test_the_command_works_from_there(whole: Installed, served: Served) -> None:
    assert whole.run("naive", "--version") == f"{naive.__version__}\n"
    assert "Commands:" in whole.run("naive", "--help")
    served.answer = queue_json()
    said = whole.run("naive", "queue", "show", QUEUE_ID, NAIVE_API_KEY=KEY, NAIVE_BASE_URL=served.url)
    assert json.loads(said) == queue_json()


def test_traces_work_from_there(whole: Installed, served: Served) -> None:
    served.answer = {"message_id": "m-1"}
    code = (
        "from naive import Naive; from naive.otel import traced; print(traced(Naive().queue).send('q', 'x').message_id)"
    )
    assert whole.run("python", "-c", code, NAIVE_API_KEY=KEY, NAIVE_BASE_URL=served.url) == "m-1\n"


def _loaded(installed: Installed, code: str) -> set[str]:
    """The modules that a program has loaded beyond those of every Python."""
    program = f"import sys; before = {{*sys.modules}}; {code}; print(*sorted({{*sys.modules}} - before))"
    return set(installed.run("python", "-c", program).split())
