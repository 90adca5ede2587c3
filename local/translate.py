"""Prints what SAM makes of a template, the one that CloudFormation gets, as JSON.

A script of its own, run by SAM's interpreter: the translator pins packages, which must not hold ours back.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

# The environment that the types are checked in does not have it.
from samtranslator.translator.transform import transform  # type: ignore[import-not-found]
from samtranslator.yaml_helper import yaml_parse  # type: ignore[import-not-found]


class NoManagedPolicies:
    """In place of the translator's loader, which asks IAM for the ARNs of policies that are given by name alone."""

    def load(self) -> dict[str, str]:
        return {}


def translate(template: dict[str, Any]) -> dict[str, Any]:
    """The template without its transform; the code of a function stays known by its folder."""
    for resource in template["Resources"].values():
        for name in ("CodeUri", "ContentUri"):
            if name in resource.get("Properties", {}):
                resource["Properties"][name] = f"s3://built/{resource['Properties'][name]}"
    return dict(transform(template, {}, NoManagedPolicies()))


if __name__ == "__main__":
    os.environ["AWS_DEFAULT_REGION"] = "us-east-1"
    print(json.dumps(translate(yaml_parse(Path(sys.argv[1]).read_text())), indent=2))
