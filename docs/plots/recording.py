"""How deep a queue is and how many workers its service has, while 200 messages are worked off."""

import csv
import os
import time
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

CSV = Path(__file__).with_name("scaling.csv")
MESSAGES = 200
WORK = "sleep 0.2"
_EVERY_SECONDS = 0.5
_BEFORE_SECONDS = 5
_AFTER_SECONDS = 10
_AT_MOST_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Sample:
    """What the API says at a moment, in seconds since the send was answered."""

    seconds: float
    ready: int
    in_flight: int
    desired: int
    running: int


def record() -> list[Sample]:
    """Have a service work off the messages, from its sleep to its rest, and remove all of it."""
    key = {"Authorization": f"Bearer {os.environ['NAIVE_API_KEY']}"}
    name = f"plot-{uuid4().hex[:8]}"
    with httpx.Client(base_url=os.environ["NAIVE_BASE_URL"], headers=key, timeout=30) as api:
        queue = _made(api, "/v1/queue", name=name, visibility_timeout=30)
        command = ["naive", "queue", "work", queue, "--exec", WORK]
        try:
            service = _made(
                api, "/v1/compute", name=name, type="service", image="none", command=command, queue_id=queue
            )
            try:
                return list(_samples(api, queue, service))
            finally:
                api.delete(f"/v1/compute/{service}")
        finally:
            api.delete(f"/v1/queue/{queue}")


def write(samples: list[Sample]) -> None:
    """Keep what was recorded."""
    with CSV.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(field.name for field in fields(Sample))
        rows.writerows(map(astuple, samples))


def read() -> list[Sample]:
    """What was recorded last."""
    with CSV.open(newline="") as file:
        return [
            Sample(float(row.pop("seconds")), **{name: int(number) for name, number in row.items()})
            for row in csv.DictReader(file)
        ]


def _made(api: httpx.Client, path: str, **settings: Any) -> str:
    answer = api.post(path, json=settings).raise_for_status()
    made: str = answer.json()["id"]
    return made


def _samples(api: httpx.Client, queue: str, service: str) -> list[Sample]:
    """Samples from before the send until the service has been at rest for a while."""
    _sample(api, queue, service, 0)  # The first one takes longer.
    began = time.monotonic()
    samples = [_sample(api, queue, service, began)]
    while time.monotonic() < began + _BEFORE_SECONDS:
        samples.append(_sample(api, queue, service, began))
    for _ in range(MESSAGES // 100):
        batch = [{"body": "{}"}] * 100
        api.post(f"/v1/queue/{queue}/messages/batch", json={"messages": batch}).raise_for_status()
    sent = time.monotonic()
    rested = None
    while rested is None or time.monotonic() < rested + _AFTER_SECONDS:
        samples.append(_sample(api, queue, service, began))
        if time.monotonic() > sent + _AT_MOST_SECONDS:
            raise TimeoutError("the service did not come to rest")
        if samples[-1].desired == samples[-1].ready == samples[-1].in_flight == 0 and samples[-2].running:
            rested = rested or time.monotonic()
    return [_since(sample, sent - began) for sample in samples]


def _sample(api: httpx.Client, queue: str, service: str, began: float) -> Sample:
    """A sample, at the beginning of the next half second."""
    time.sleep(_EVERY_SECONDS - (time.monotonic() - began) % _EVERY_SECONDS)
    seconds = time.monotonic() - began
    counts = api.get(f"/v1/queue/{queue}/attributes").raise_for_status().json()
    shown = api.get(f"/v1/compute/{service}").raise_for_status().json()
    return Sample(seconds, counts["depth"], counts["in_flight"], shown["desired"], shown["running"])


def _since(sample: Sample, sent: float) -> Sample:
    return Sample(round(sample.seconds - sent, 1), sample.ready, sample.in_flight, sample.desired, sample.running)
