"""What the last accepted template makes, to tell what a change of it would delete or replace in a stack that is in use.

`python -m tests.snapshot` accepts the template as it is now.
"""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

from local.environments import ROOT, SAM
from tests.template import translated

FILE = ROOT / "tests" / "unit" / "template.snapshot.json"
REPLACED_BY_DESIGN = ("AWS::Lambda::LayerVersion", "AWS::Lambda::Permission")
"""Made anew whenever they change, and nothing is lost with the old ones."""

type Snapshot = dict[str, Any]


def accepted() -> Snapshot:
    """What was written last."""
    return dict(json.loads(FILE.read_text()))


def taken(template: dict[str, Any], replacing: dict[str, list[str]]) -> Snapshot:
    """A template's resources with what may not change of them; `replacing` names those properties for each type."""
    resources = {
        name: {"Type": resource["Type"]} | _identity(resource, replacing.get(resource["Type"], []))
        for name, resource in sorted(template["Resources"].items())
        if resource["Type"] not in REPLACED_BY_DESIGN
    }
    return {"replacing": replacing, "resources": resources}


def changes(before: Snapshot, after: Snapshot) -> Iterator[str]:
    """What CloudFormation would delete, replace and make on the way from one to the other."""
    old, new = before["resources"], after["resources"]
    for name, was in old.items():
        if name not in new or new[name]["Type"] != was["Type"]:
            yield f"delete {name} ({was['Type']})"
        else:
            for field in sorted(was.keys() | new[name].keys()):
                if was.get(field) != new[name].get(field):
                    yield (
                        f"replace {name} ({was['Type']}), since {field} was {was.get(field)} "
                        f"and would be {new[name].get(field)}"
                    )
    for name, made in new.items():
        if name not in old or old[name]["Type"] != made["Type"]:
            yield f"make {name} ({made['Type']})"


def _identity(resource: dict[str, Any], replacing: list[str]) -> dict[str, Any]:
    properties = resource["Properties"]
    identity = {field: properties[field] for field in replacing if field in properties}
    if "KeySchema" in identity:
        # A key of another type is another key; the schemas do not say so.
        keys = {key["AttributeName"] for key in properties["KeySchema"]}
        types = [entry for entry in properties["AttributeDefinitions"] if entry["AttributeName"] in keys]
        identity["AttributeDefinitions"] = types
    return identity


def _accept() -> None:
    kinds = {resource["Type"] for resource in translated()["Resources"].values()} - set(REPLACED_BY_DESIGN)
    command = [SAM.python, ROOT / "tests" / "replacing.py", *sorted(kinds)]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    FILE.write_text(json.dumps(taken(translated(), json.loads(answer)), indent=2) + "\n")


if __name__ == "__main__":
    _accept()
