"""Ids, times and SQS names."""

import pytest

from tenancy.names import is_id, new_id, queue_names, queue_prefix, timestamp

ID = "3f6f3b9e-8a53-4a39-9d0c-3f1c6f6f7a10"


def test_a_new_id_is_an_id() -> None:
    assert is_id(new_id())


@pytest.mark.parametrize(
    "text",
    ["", "x", "-", ID.upper(), ID + "\n", "{" + ID + "}", ID.replace("-4", "-1")],
)
def test_everything_else_is_none(text: str) -> None:
    assert not is_id(text)


def test_the_longest_sqs_name_has_at_most_80_characters() -> None:
    name, dlq_name = queue_names("st4ge678", new_id(), new_id(), fifo=True)
    assert max(len(name), len(dlq_name)) <= 80
    assert name.endswith(".fifo")
    assert dlq_name == name.removesuffix(".fifo") + "-dlq.fifo"


def test_all_sqs_names_of_a_user_begin_alike_and_those_of_no_other_user() -> None:
    prefix = queue_prefix("test", ID)
    assert prefix == "nv-test-3f6f3b9e8a534a399d0c3f1c-"
    assert all(name.startswith(prefix) for name in queue_names("test", ID, new_id(), fifo=True))
    assert not any(name.startswith(prefix) for name in queue_names("test", new_id(), ID, fifo=True))


def test_times_are_utc_with_milliseconds() -> None:
    assert timestamp(1_796_040_000.0625) == "2026-11-30T12:00:00.062Z"
