"""Checks a deployed stack on AWS: `python -m tests.smoke STACK`, with an operator's AWS credentials and NAIVE_API_KEY.

It shows what the local stack cannot show, makes a few queues called smoke-… and takes them away again, also when it is
stopped.
"""

import argparse
import os
import signal
import sys
import time
from collections import Counter
from types import FrameType

from tests.smoke import gateway, leases, queues, resources
from tests.smoke.deployment import CannotStart, Deployment, deployed
from tests.smoke.runner import Outcome, run

READING = resources.CHECKS
# The longest first, so that they wait side by side.
MAKING = [*queues.CHECKS, *gateway.CHECKS, *leases.CHECKS]
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    """Run every check; the exit code is 1 when one failed, 2 when none could be made, 130 when stopped."""
    for number in STOPPING:
        signal.signal(number, _interrupt)
    parser = argparse.ArgumentParser(prog="python -m tests.smoke", description="Checks a stack that runs on AWS.")
    parser.add_argument("stack", metavar="STACK", help="the CloudFormation stack's name")
    try:
        key = os.environ.get("NAIVE_API_KEY", "").strip()
        with deployed(parser.parse_args().stack, key, os.environ.get("NAIVE_BASE_URL")) as deployment:
            return _check(deployment)
    except CannotStart as fault:
        _say(str(fault))
        return 2
    except KeyboardInterrupt:
        return 130


def _check(deployment: Deployment) -> int:
    started = time.monotonic()
    verdicts = Counter({"ok": 0, "FAILED": 0, "skipped": 0})

    def report(outcome: Outcome) -> None:
        verdicts[outcome.verdict] += 1
        _say(str(outcome))

    _say(f"Checking {deployment.stack} at {deployment.base_url}")
    try:
        for checks in (READING, MAKING):
            run(checks, deployment, report)
    finally:
        for name in deployment.left_behind:
            _say(f"LEFT     the queue {name} could not be destroyed")
        counts = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.items())
        _say(f"{verdicts.total()} checks in {time.monotonic() - started:.0f} s: {counts}")
    return 1 if verdicts["FAILED"] or deployment.left_behind else 0


def _say(line: str) -> None:
    print(line, flush=True)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Once is enough: from then on the checks that run are left in good order."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
    # Not print: the signal may have come in the middle of one.
    os.write(sys.stderr.fileno(), b"Stopping: open requests end and the queues are destroyed, up to half a minute.\n")
    raise KeyboardInterrupt


if __name__ == "__main__":
    raise SystemExit(main())
