"""Running checks side by side: each is a function whose name is a sentence, and each ends in one line."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Literal

from tests.smoke.deployment import Deployment

type Check = Callable[[Deployment], None]

AT_ONCE = 6
"""A new AWS account may have no more than 10 concurrent executions, and somebody else may be using the stack."""


class Unmet(Exception):
    """Raised by a check: what was seen instead of what AWS must do."""


class Skipped(Exception):
    """Raised by a check that cannot be made here, with the reason."""


@dataclass(frozen=True)
class Outcome:
    """What became of a check."""

    verdict: Literal["ok", "FAILED", "skipped"]
    sentence: str
    detail: str
    seconds: float

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.verdict:8} {self.sentence} ({self.seconds:.1f} s){detail}"


def expect(seen: object, wanted: object) -> None:
    """Raises Unmet unless both are equal."""
    if seen != wanted:
        raise Unmet(f"{seen}, not {wanted}")


def run(checks: Sequence[Check], deployment: Deployment, report: Callable[[Outcome], None]) -> None:
    """Run the checks and report each as it ends. Whatever ends this early ends those that run in good order."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            for future in as_completed([pool.submit(outcome, check, deployment) for check in checks]):
                report(future.result())
        except BaseException:
            deployment.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def outcome(check: Check, deployment: Deployment) -> Outcome:
    """Run one check."""
    started = time.monotonic()
    verdict: Literal["ok", "FAILED", "skipped"] = "FAILED"
    try:
        check(deployment)
        verdict, detail = "ok", ""
    except Skipped as reason:
        verdict, detail = "skipped", str(reason)
    except Unmet as seen:
        detail = str(seen)
    except Exception as fault:
        detail = f"{type(fault).__name__}: {fault}"
    return Outcome(verdict, sentence(check), " ".join(detail.split()), time.monotonic() - started)


def sentence(check: Check) -> str:
    """The check's name as it is read."""
    return check.__name__.replace("_", " ")
