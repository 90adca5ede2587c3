"""What a container may be: names of images, and the sizes that Fargate has."""

import pytest
from pydantic import TypeAdapter, ValidationError

from tenancy.containers import Image, fit_company, fit_definition, fit_size
from tenancy.errors import InvalidInput

SHA = "sha256:" + "0123456789abcdef" * 4
IMAGES = [
    "worker",
    "me/worker",
    "me/worker:latest",
    "me/worker:V1.0_rc-1",
    f"me/worker@{SHA}",
    f"me/worker:1@{SHA}",
    "a__b/c-d.e/f--g",
    "localhost/worker",
    "localhost:5000/worker:1",
    "ghcr.io/me/worker",
    "Registry.Example.com:443/team/app/worker:1",
    "123456789012.dkr.ecr.eu-central-1.amazonaws.com/naive/dev/worker:1",
    "public.ecr.aws/docker/library/python:3.13-slim",
    "a" * 255,
]
NO_IMAGES = [
    "",
    " ",
    "Worker",
    "me/Worker",
    "me//worker",
    "/worker",
    "worker/",
    "me/worker:",
    "me/worker:.1",
    "me/worker:" + "1" * 129,
    "me/worker@",
    "me/worker@sha256:0123",
    f"me/worker@{SHA.upper()}",
    f"me/worker@{SHA}:1",
    "me/worker@sha512:" + "0" * 128,
    "-me/worker",
    "me-/worker",
    "me/worker ",
    "me/worker\n",
    "me/work er",
    "me/wörker",
    "https://registry/worker",
    "registry:port/worker",
    "a.b.:1/worker",
    "me/worker:1:2",
    "me/a___b",
    "$(id)",
    "a" * 256,
]

# Every pair of https://docs.aws.amazon.com/AmazonECS/latest/developerguide/fargate-tasks-services.html#fargate-tasks-size
# in GiB of memory: the least, the most and the step between, but for the smallest, which doubles.
SIZES = {512: (1, 4, 1), 1024: (2, 8, 1), 2048: (4, 16, 1), 4096: (8, 30, 1), 8192: (16, 60, 4), 16_384: (32, 120, 8)}
PAIRS = {(256, memory) for memory in (512, 1024, 2048)} | {
    (cpu, gib * 1024) for cpu, (least, most, step) in SIZES.items() for gib in range(least, most + 1, step)
}

image = TypeAdapter(Image)


@pytest.mark.parametrize("name", IMAGES)
def test_a_name_of_an_image_is_one(name: str) -> None:
    assert image.validate_python(name) == name


@pytest.mark.parametrize("name", NO_IMAGES)
def test_everything_else_is_none(name: str) -> None:
    with pytest.raises(ValidationError):
        image.validate_python(name)


@pytest.mark.parametrize("cpu", [256, *SIZES])
def test_cpu_and_memory_go_together_as_fargate_has_them(cpu: int) -> None:
    taken = set()
    for memory in range(512, 122_880 + 1, 512):
        try:
            fit_size(cpu, memory)
        except InvalidInput as refusal:
            assert refusal.details == {"field": "memory"}
        else:
            taken.add((cpu, memory))
    assert taken == {pair for pair in PAIRS if pair[0] == cpu}


def test_a_definition_stays_below_what_ecs_takes() -> None:
    fit_definition(["x" * 4000] * 6, {f"A{number}": "x" * 4000 for number in range(6)})
    with pytest.raises(InvalidInput, match="at most 49152 bytes as JSON"):
        fit_definition(["x" * 4000] * 6, {f"A{number}": "x" * 4000 for number in range(7)})
    with pytest.raises(InvalidInput):
        fit_definition([], {"A": "\x01" * 8200})  # six bytes each, as JSON


def test_a_private_image_is_its_companys_alone() -> None:
    host = "123456789012.dkr.ecr.us-east-1.amazonaws.com"
    for allowed in (
        "me/worker",
        "123456789012/worker",
        "210987654321.dkr.ecr.us-east-1.amazonaws.com/worker",
        f"{host}/naive/test/acme/worker",
        f"{host}/naive/test/acme/team/worker:1",
    ):
        fit_company(allowed, "acme")
    for refused in (
        f"{host}/worker",
        f"{host}/naive/test/acme",
        f"{host}/naive/test/acme2/worker",
        f"{host}/naive/prod/acme/worker",
        f"{host}:443/naive/test/other/worker",
        "123456789012.dkr-ecr.us-east-1.on.aws/naive/test/other/worker",
    ):
        with pytest.raises(InvalidInput, match="naive/test/acme/"):
            fit_company(refused, "acme")
