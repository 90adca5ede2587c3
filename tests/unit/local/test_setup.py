"""How a Python 3.13 is found: the real script, on machines made of folders."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "local" / "setup.sh"
WORKS = f'#!/bin/sh\nFOUND="$0" exec "{sys.executable}" "$@"\n'
# As a version manager's shim that knows the name but has not got the version.
BROKEN = "#!/bin/sh\necho 'command not found' >&2\nexit 127\n"
# Runs, but as some other Python: it refuses what 3.13 accepts.
OLDER = "#!/bin/sh\nexit 1\n"


class Machine:
    """A checkout, a home and a PATH of which nothing is the real machine's but four plain tools."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.checkout = root / "check out"
        self.path = [root / "tools"]
        (self.checkout / "local").mkdir(parents=True)
        (self.checkout / "local" / "__init__.py").touch()
        (self.checkout / "local" / "environments.py").write_text(
            "import os, sys\nprint(os.environ['FOUND'], *sys.argv[1:])"
        )
        # Where some systems keep Pythons must not reach this machine's.
        script = SCRIPT.read_text().replace(" /opt/", f" {root}/opt/").replace(" /Library/", f" {root}/Library/")
        (self.checkout / "local" / "setup.sh").write_text(script)
        self.path[0].mkdir()
        for tool in ("sh", "dirname", "ls", "tr"):
            (self.path[0] / tool).symlink_to(f"/bin/{tool}" if Path(f"/bin/{tool}").exists() else f"/usr/bin/{tool}")

    def add(self, place: Path, text: str) -> Path:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(0o755)
        return place

    def on_path(self, folder: str, name: str, text: str) -> Path:
        place = self.path[0].parent / folder / name
        self.path.append(place.parent)
        return self.add(place, text)

    def setup(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", self.checkout / "local" / "setup.sh", *arguments],
            env={"HOME": str(self.home), "PATH": ":".join(map(str, self.path))},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_python_on_the_path_is_taken_and_told_what_to_install(machine: Machine) -> None:
    python = machine.on_path("bin", "python3.13", WORKS)
    assert machine.setup("sam", "emulator").stdout == f"{python} sam emulator\n"


def test_a_shim_that_does_not_run_hides_no_later_one(machine: Machine) -> None:
    machine.on_path("shims", "python3.13", BROKEN)
    python = machine.on_path("bin", "python3.13", WORKS)
    assert machine.setup().stdout == f"{python}\n"


@pytest.mark.parametrize("place", ["versions/3.13.1/bin/python", "installs/python/3.13.1/bin/python"])
def test_the_versions_beside_a_shim_that_is_set_to_another_are_found(machine: Machine, place: str) -> None:
    shim = machine.on_path("manager/shims", "python3.13", BROKEN)
    machine.add(shim.parents[1] / place.replace("3.13.1", "3.12.9"), OLDER)
    machine.add(shim.parents[1] / place, WORKS)
    assert machine.setup().stdout == f"{shim.parent}/../{place}\n"


def test_a_plain_python3_counts_when_it_is_a_3_13(machine: Machine) -> None:
    machine.on_path("old", "python3", OLDER)
    python = machine.on_path("bin", "python3", WORKS)
    assert machine.setup().stdout == f"{python}\n"


def test_the_environment_of_the_checkout_comes_first(machine: Machine) -> None:
    machine.on_path("bin", "python3.13", WORKS)
    machine.add(machine.checkout / ".venv" / "bin" / "python", WORKS)
    assert machine.setup().stdout == ".venv/bin/python\n"


def test_a_broken_environment_of_the_checkout_is_passed_over(machine: Machine) -> None:
    python = machine.on_path("bin", "python3.13", WORKS)
    vanished = machine.checkout / ".venv" / "bin" / "python"
    vanished.parent.mkdir(parents=True)
    vanished.symlink_to("/nowhere/python3.13")
    assert machine.setup().stdout == f"{python}\n"


@pytest.mark.parametrize(
    "place",
    [
        ".pyenv/versions/3.13.1/bin/python",
        ".local/share/uv/python/cpython-3.13.2-linux-x86_64-gnu/bin/python3.13",
        ".local/bin/python3.13",
        ".asdf/installs/python/3.13.0/bin/python3.13",
        ".local/share/mise/installs/python/3.13.0/bin/python3.13",
    ],
)
def test_a_python_that_is_not_on_the_path_is_found_where_its_manager_keeps_it(machine: Machine, place: str) -> None:
    python = machine.add(machine.home / place, WORKS)
    assert machine.setup().stdout == f"{python}\n"


def test_uv_is_asked_for_its_python(machine: Machine) -> None:
    python = machine.add(machine.home / "elsewhere" / "python3.13", WORKS)
    machine.on_path("bin", "uv", f"#!/bin/sh\necho '{python}'\n")
    assert machine.setup().stdout == f"{python}\n"


def test_without_any_one_line_says_what_to_install(machine: Machine) -> None:
    machine.on_path("shims", "python3.13", BROKEN)
    done = machine.setup()
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("Python 3.13 with venv is missing: install it (")
    assert done.stderr.count("\n") == 1
