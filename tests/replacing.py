"""Prints which properties of resource types make CloudFormation replace a resource when they change, as JSON.

A script of its own, run by SAM's interpreter: cfn-lint, which brings CloudFormation's schemas, pins packages.
"""

import json
import sys

# The environment that the types are checked in does not have it.
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-not-found]


def replacing(kind: str) -> list[str]:
    """The top-level properties, those included that only sometimes make it replace one."""
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", kind).schema
    paths = schema.get("createOnlyProperties", []) + schema.get("conditionalCreateOnlyProperties", [])
    return sorted({path.split("/")[2] for path in paths})


if __name__ == "__main__":
    print(json.dumps({kind: replacing(kind) for kind in sys.argv[1:]}))
