"""What the container of a service may be: its image, command, environment and size. Pure rules."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from tenancy.aws import ACCOUNT, STAGE
from tenancy.errors import InvalidInput

# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/fargate-tasks-services.html#fargate-tasks-size
_MEMORY: Mapping[int, Sequence[int]] = {
    256: (512, 1024, 2048),
    512: range(1024, 4096 + 1, 1024),
    1024: range(2048, 8192 + 1, 1024),
    2048: range(4096, 16_384 + 1, 1024),
    4096: range(8192, 30_720 + 1, 1024),
    8192: range(16_384, 61_440 + 1, 4096),
    16_384: range(32_768, 122_880 + 1, 8192),
}
"""By CPU units, the MiB of memory that Fargate gives with them."""

_MAX_BYTES = 48 * 1024
"""What command and environment may be as JSON: a task definition is at most 64 KiB in all."""

_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE = (
    rf"^(?:{_HOST}(?:\.{_HOST})*(?::[0-9]{{1,5}})?/)?{_PART}(?:/{_PART})*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$"
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_RESERVED = "NAIVE_"
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
"""What no process can be given."""


def _allowed_command(value: object) -> object:
    for text in value if isinstance(value, list) else ():
        if isinstance(text, str) and _NO_TEXT.search(text):
            raise InvalidInput("command must not have NUL characters or halves of surrogate pairs", field="command")
    return value


def _allowed_env(value: object) -> object:
    for name, text in value.items() if isinstance(value, dict) else ():
        if not _VARIABLE.fullmatch(name):
            raise _bad_env(f"the name {name[:80]!r} must be 1 to 128 letters, digits and _, the first one no digit")
        if name.startswith(_RESERVED):
            raise _bad_env(f"the name {name} is the service's own, as all are that begin with {_RESERVED}")
        if not isinstance(text, str) or len(text) > 4096 or _NO_TEXT.search(text):
            raise _bad_env(f"{name} must be a string of at most 4096 characters, none of them NUL")
    return value


def _bad_env(rule: str) -> InvalidInput:
    return InvalidInput(f"env: {rule}", field="env")


Image = Annotated[
    str,
    Field(pattern=_IMAGE, max_length=255, description="the name of a container image, as in me/worker:latest"),
]
Command = Annotated[
    list[Annotated[str, Field(max_length=4096, description="a string of at most 4096 characters")]],
    Field(max_length=100),
    BeforeValidator(_allowed_command),
]
Env = Annotated[
    dict[str, str],
    Field(max_length=100, description="at most 100 pairs: name (letters, digits, _) and string"),
    BeforeValidator(_allowed_env),
]
Cpu = Literal[256, 512, 1024, 2048, 4096, 8192, 16_384]
Memory = Annotated[int, Field(ge=512, le=122_880)]


def fit_size(cpu: int, memory: int) -> None:
    """Raise InvalidInput for a pair that Fargate does not have."""
    if memory not in _MEMORY[cpu]:
        allowed = ", ".join(map(str, _MEMORY[cpu]))
        raise InvalidInput(f"with cpu {cpu}, memory must be one of {allowed}, not {memory}", field="memory")


def fit_definition(command: Sequence[str], env: Mapping[str, str]) -> None:
    """Raise InvalidInput for more than a task definition can hold."""
    size = len(json.dumps([command, env]))
    if size > _MAX_BYTES:
        raise InvalidInput(f"command and env must be at most {_MAX_BYTES} bytes as JSON, not {size}", field="env")


def fit_company(image: str, company: str) -> None:
    """Raise InvalidInput for a private image of this account that is not the company's: tasks could pull any."""
    host, _, path = image.partition("/")
    own = f"naive/{STAGE}/{company}/"
    if host.startswith(f"{ACCOUNT}.") and not path.startswith(own):
        raise InvalidInput(f"the images of this registry that you may use begin with {host}/{own}", field="image")
