"""The Python environments of this repository, installed from the locks and left alone while nothing has changed.

Runs on the standard library only: it makes the environment that everything else runs in. More than one, since the SAM
CLI, the emulator and checkov pin packages that would hold ours back.
"""

import fcntl
import hashlib
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from local.steps import LocalError, say, step

ROOT = Path(__file__).resolve().parent.parent
UV = ROOT / ".venv" / "bin" / "uv"
UV_LOCK = ROOT / "requirements" / "uv.lock"
CLIENT = ROOT / "clients" / "python"
# The interpreter behind any virtual environment this may be running in: that one may be about to be made again.
BASE_PYTHON: str = getattr(sys, "_base_executable", sys.executable)


@dataclass(frozen=True)
class Environment:
    """One virtual environment and the files that say what is in it."""

    folder: Path
    lock: Path
    also: tuple[Path, ...] = ()

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def stamp(self) -> Path:
        return self.folder / ".installed"

    def wanted(self) -> str:
        """What the stamp says once this environment is as the repository wants it, in this place."""
        digest = hashlib.sha256(b"".join(path.read_bytes() for path in (self.lock, *self.also))).hexdigest()
        return f"{digest} {self.folder}"

    def ready(self) -> bool:
        """Whether it is installed as wanted and its interpreter still runs."""
        return self.stamp.is_file() and self.stamp.read_text() == self.wanted() and runs(self.python)

    def usable(self) -> bool:
        """Whether it was once installed whole and in this place: then only what changed needs installing."""
        return self.stamp.is_file() and self.stamp.read_text().endswith(f" {self.folder}") and runs(self.python)


DEV = Environment(ROOT / ".venv", ROOT / "requirements" / "dev.lock", also=(UV_LOCK, CLIENT / "pyproject.toml"))
SAM = Environment(ROOT / ".local" / "sam", ROOT / "requirements" / "sam.lock")
EMULATOR = Environment(ROOT / ".local" / "emulator", ROOT / "requirements" / "emulator.lock")
CHECKOV = Environment(ROOT / ".local" / "checkov", ROOT / "requirements" / "checkov.lock")
TOOLS = {"sam": SAM, "emulator": EMULATOR, "checkov": CHECKOV}


def main(names: list[str]) -> int:
    """Installs .venv and the named tools' environments where they are not as the locks say."""
    wanted = [DEV, *(TOOLS[name] for name in names)]
    if all(environment.ready() for environment in wanted):
        return 0
    try:
        _refuse_separator()
        with _alone():
            for environment in wanted:
                if not environment.ready():
                    install(environment)
    except LocalError as fault:
        say(str(fault))
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def install(environment: Environment) -> None:
    """Installs exactly what the lock says, into a new environment where the old one is unusable."""
    usable = environment.usable()
    environment.stamp.unlink(missing_ok=True)
    with step(f"Installing {environment.folder.relative_to(ROOT)}"):
        if not usable:
            _make(environment)
        _call(UV, "pip", "sync", "--quiet", "--require-hashes", "--python", environment.python, environment.lock)
        if environment is DEV:
            # uv is this package's build backend too, so nothing is fetched that has no hash in a lock.
            quietly = ("--quiet", "--no-deps", "--offline", "--python", environment.python)
            # Relative: of an absolute path uv would take what follows a # for a URL's fragment.
            _call(UV, "pip", "install", *quietly, "--editable", CLIENT.relative_to(ROOT))
    environment.stamp.write_text(environment.wanted())


def runs(python: Path) -> bool:
    """Whether this interpreter is there, starts, and is a 3.13."""
    check = "import sys; sys.exit(sys.version_info[:2] != (3, 13))"
    try:
        return subprocess.run([python, "-c", check], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def certificates() -> dict[str, str]:
    """Lets uv trust what this machine trusts, as pip does: behind a company's proxy nothing installs otherwise."""
    paths = ssl.get_default_verify_paths()
    # A Mac's are in no file, and uv refuses to start where there are none at all.
    has_any = sys.platform == "darwin" or paths.cafile or (paths.capath and any(Path(paths.capath).iterdir()))
    return {"UV_SYSTEM_CERTS": os.environ.get("UV_SYSTEM_CERTS", "true" if has_any else "false")}


def _refuse_separator() -> None:
    """No environment can be put on a PATH whose own path has what separates its folders."""
    if os.pathsep in str(ROOT):
        raise LocalError(f"The path of this folder has a '{os.pathsep}' in it ({ROOT}): rename or move the folder.")


@contextmanager
def _alone() -> Iterator[None]:
    """Two commands started at once install one after the other."""
    (ROOT / ".local").mkdir(exist_ok=True)
    with (ROOT / ".local" / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(environment: Environment) -> None:
    """.venv is made by venv, which brings pip: pip brings uv, and `sam build` wants a Python that has pip."""
    if environment is DEV:
        _call(BASE_PYTHON, "-m", "venv", "--clear", DEV.folder)
        _call(DEV.python, "-m", "pip", "install", "--quiet", "--require-hashes", "--requirement", UV_LOCK)
    else:
        _call(UV, "venv", "--quiet", "--clear", "--no-project", "--python", BASE_PYTHON, environment.folder)


def _call(*command: str | Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    environment |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1"} | certificates()
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True, check=False)
    if done.returncode:
        words = (done.stderr or done.stdout).strip()
        raise LocalError(f"{words}\nInstalling failed: see above, check the network and run the same command again.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
