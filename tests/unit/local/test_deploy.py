"""When a deployment is due, and what a failed one shows."""

from pathlib import Path

import pytest

from local import deploy
from local.environments import Environment


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder in ("functions/health", "layers/tenancy", "requirements"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("template.yaml", "samconfig.toml", "functions/health/app.py", "requirements/some.lock"):
        (tmp_path / file).write_text("as it was")
    environment = Environment(tmp_path / "env", tmp_path / "requirements" / "some.lock")
    monkeypatch.setattr(deploy, "ROOT", tmp_path)
    monkeypatch.setattr(deploy, "SAM", environment)
    monkeypatch.setattr(deploy, "EMULATOR", environment)
    return tmp_path


@pytest.mark.parametrize(
    "file", ["template.yaml", "samconfig.toml", "functions/health/app.py", "requirements/some.lock"]
)
def test_any_source_that_changes_makes_it_due(checkout: Path, file: str) -> None:
    before = deploy.fingerprint()
    (checkout / file).write_text("otherwise")
    assert deploy.fingerprint() != before


def test_a_file_that_comes_or_moves_makes_it_due(checkout: Path) -> None:
    before = deploy.fingerprint()
    (checkout / "layers" / "tenancy" / "new.py").touch()
    added = deploy.fingerprint()
    (checkout / "layers" / "tenancy" / "new.py").rename(checkout / "layers" / "tenancy" / "other.py")
    assert len({before, added, deploy.fingerprint()}) == 3


def test_bytecode_of_a_test_run_does_not(checkout: Path) -> None:
    before = deploy.fingerprint()
    (checkout / "functions" / "health" / "__pycache__").mkdir()
    (checkout / "functions" / "health" / "__pycache__" / "app.cpython-313.pyc").touch()
    assert deploy.fingerprint() == before


def test_of_a_failed_deployment_its_errors_are_shown(tmp_path: Path) -> None:
    log = tmp_path / "sam-deploy.log"
    log.write_text("CREATE_COMPLETE Api\nCREATE_FAILED Queue no such type\nDELETE_COMPLETE Api\nError: rolled back\n")
    assert deploy.reasons(log) == "  | CREATE_FAILED Queue no such type\n  | Error: rolled back"


def test_of_one_without_errors_its_end_is_shown(tmp_path: Path) -> None:
    log = tmp_path / "sam-build.log"
    log.write_text("\n".join(str(number) for number in range(100)))
    assert deploy.reasons(log).splitlines() == [f"  | {number}" for number in range(85, 100)]
