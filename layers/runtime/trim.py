"""Cuts an installed package tree down to what a function can use: it is unpacked at every cold start."""

import json
import shutil
import sys
from pathlib import Path

# The AWS services that functions call. Any other raises UnknownServiceError at run time, so it is named here first.
SERVICES = ("cloudwatch", "dynamodb", "ecs", "iam", "lambda", "logs", "resourcegroupstaggingapi", "sqs", "ssm")

# What only people and tools read. Metadata too: nobody looks a version up, and pydantic searches all of it for plugins.
UNUSED = (
    "*.dist-info",
    "bin",
    "boto3/data",
    "boto3/examples",
    "botocore/data/*/*/examples-1.json*",
    "**/*.pyi",
    "**/py.typed",
)


def trim(packages: Path) -> None:
    """Removes the models and endpoints of other services, and what no function reads."""
    data = packages / "botocore" / "data"
    for entry in data.iterdir():
        # The files beside the services' folders (endpoints, partitions, retries) serve all of them.
        if entry.is_dir() and entry.name not in SERVICES:
            shutil.rmtree(entry)
    _trim_endpoints(data / "endpoints.json")
    for path in [path for pattern in UNUSED for path in packages.glob(pattern)]:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _trim_endpoints(path: Path) -> None:
    """Every new client reads this file, 1.2 MB of other services' addresses."""
    endpoints = json.loads(path.read_text())
    for partition in endpoints["partitions"]:
        partition["services"] = {name: what for name, what in partition["services"].items() if name in SERVICES}
    # A new file: the installed one may be a hard link into the installer's cache.
    path.unlink()
    path.write_text(json.dumps(endpoints, separators=(",", ":")))


if __name__ == "__main__":
    trim(Path(sys.argv[1]))
