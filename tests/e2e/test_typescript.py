"""The TypeScript client on the deployed stack: its own tests, as its own runner runs them."""

import os
import subprocess

from tests.e2e import seen
from tests.e2e.deployed import environment
from tests.template import ROOT

TYPESCRIPT = ROOT / "clients/typescript"


def test_the_typescript_client_its_examples_and_its_documents_work_on_a_running_stack() -> None:
    env = {**os.environ, **{name: environment(name) for name in ("NAIVE_BASE_URL", "NAIVE_API_KEY")}, "NO_COLOR": "1"}
    subprocess.run(["make", "--silent", "node"], cwd=ROOT, check=True)
    command = ["npm", "run", "--silent", "test:e2e"]
    run = subprocess.run(command, cwd=TYPESCRIPT, env=env, capture_output=True, text=True, timeout=900, check=False)
    seen.command(command, run.stdout, run.stderr)
    assert run.returncode == 0, run.stdout + run.stderr
