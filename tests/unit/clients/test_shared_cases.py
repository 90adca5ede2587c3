"""Both clients do what clients/cases.json says that every client does."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from typing import Any

import pydantic
import pytest

import naive
from naive import AsyncNaive, Naive, NaiveError, constants, webhooks
from naive.answers import failure
from naive.calls.call import encode
from tests.unit.clients.fake_api import BASE_URL, KEY
from tests.unit.clients.scripted_server import AsyncTransport, Script, Transport, serving
from tests.unit.clients.shared_cases import TABLE, argument, differences, resolved

Case = dict[str, Any]
Play = Callable[[Case, Script, str, list[float]], Any]


def blocking(case: Case, script: Script, url: str, pauses: list[float]) -> Any:
    """What the blocking client makes of a case."""
    with Naive(KEY, url, transport=Transport(script), sleep=pauses.append) as client:
        result = _called(client, case, asynchronous=False)
        return list(islice(result, case.get("take"))) if isinstance(result, Iterator) else result


def asynchronous(case: Case, script: Script, url: str, pauses: list[float]) -> Any:
    """What the asynchronous client makes of it."""

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async def play() -> Any:
        async with AsyncNaive(KEY, url, transport=AsyncTransport(script), sleep=sleep) as client:
            result = _called(client, case, asynchronous=True)
            if not isinstance(result, AsyncIterator):
                return await result
            entries: list[Any] = []
            async for entry in result:
                entries.append(entry)
                if len(entries) == case.get("take"):
                    break
            return entries

    return asyncio.run(play())


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["name"])
@pytest.mark.parametrize("play", [blocking, asynchronous])
def test_a_client_does_what_every_client_does(case: Case, play: Play) -> None:
    script = Script(resolved(case["server"]))
    pauses: list[float] = []
    error: NaiveError | None = None
    with serving(script) as url:
        try:
            result = _plain(play(case, script, url, pauses))
        except NaiveError as raised:
            error = raised
    _check_requests(case, script)
    assert script.acts == [], "something was not asked for"
    bounds = case.get("pauses", [])
    assert len(pauses) == len(bounds), f"it waited for {pauses}"
    assert all(least <= pause <= most for pause, (least, most) in zip(pauses, bounds, strict=True)), pauses
    if "error" not in case:
        assert error is None, error
        assert list(differences(resolved(case["result"]), result)) == []
    else:
        assert error is not None, "it succeeded"
        shown = {**vars(error), "class": type(error).__name__}
        assert list(differences(case["error"], shown)) == []
        assert error.details == case["error"].get("details", error.details)


def test_the_names_of_cases_are_different() -> None:
    names = [case["name"] for case in TABLE["cases"]]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("path", TABLE["surface"])
@pytest.mark.parametrize("kind", [Naive, AsyncNaive])
def test_a_client_has_the_calls_that_every_client_has_and_no_others(kind: type[Naive | AsyncNaive], path: str) -> None:
    client = kind(KEY, BASE_URL)
    noun: Any = functools.reduce(getattr, path.split(".") if path else [], client)
    methods = {name for name, _ in inspect.getmembers(noun, inspect.ismethod) if not name.startswith("_")}
    assert methods == set(TABLE["surface"][path])


@pytest.mark.parametrize("name", TABLE["constants"])
def test_the_numbers_are_those_of_every_client(name: str) -> None:
    assert getattr(constants, name.upper()) == TABLE["constants"][name]


@pytest.mark.parametrize(("status", "code", "kind"), TABLE["errors"]["by_code"])
def test_each_code_is_the_error_that_it_is_everywhere(status: int, code: str, kind: str) -> None:
    error = failure(status, {}, encode({"error": {"code": code, "message": "m", "request_id": "r"}}))
    assert (type(error).__name__, error.status, error.code) == (kind, status, code)


def test_the_tree_of_errors_is_the_one_of_every_client() -> None:
    tree = TABLE["errors"]["tree"]
    for parent, children in tree.items():
        assert [kind.__name__ for kind in getattr(naive, parent).__subclasses__()] == children
    leaves = {name for children in tree.values() for name in children} - set(tree)
    assert [name for name in sorted(leaves) if getattr(naive, name).__subclasses__()] == []


@pytest.mark.parametrize("delivery", TABLE["webhooks"]["deliveries"], ids=lambda delivery: delivery["name"])
def test_a_webhooks_request_is_known_or_refused(delivery: Case) -> None:
    delivery = resolved(delivery)

    def verify() -> naive.WebhookMessage:
        secret, now = TABLE["webhooks"]["secret"], float(TABLE["webhooks"]["now"])
        return webhooks.verify(secret, delivery["headers"], delivery["body"], now=lambda: now)

    if "error" in delivery:
        with pytest.raises(naive.InvalidWebhookError, match=delivery["error"]):
            verify()
    else:
        assert list(differences(delivery["result"], _plain(verify()))) == []


@pytest.mark.parametrize("secret", TABLE["webhooks"]["no_secrets"])
def test_what_is_no_secret_of_a_webhook_is_a_mistake_of_the_program(secret: str) -> None:
    delivery, now = TABLE["webhooks"]["deliveries"][0], float(TABLE["webhooks"]["now"])
    with pytest.raises(naive.ConfigurationError, match="secret"):
        webhooks.verify(secret, delivery["headers"], delivery["body"], now=lambda: now)


def _called(client: Naive | AsyncNaive, case: Case, asynchronous: bool) -> Any:
    user = client.for_user(case["user"]) if "user" in case else client
    method: Any = functools.reduce(getattr, case["call"].split("."), user)
    arguments = [argument(value, asynchronous) for value in case.get("args", [])]
    options = {name: argument(value, asynchronous) for name, value in case.get("options", {}).items()}
    return method(*arguments, **options)


def _check_requests(case: Case, script: Script) -> None:
    assert len(script.seen) == len(case["requests"])
    for place, (seen, expected) in enumerate(zip(script.seen, resolved(case["requests"]), strict=True)):
        if "$again" in expected:
            assert seen.is_again(script.seen[expected["$again"]]), f"request {place} differs"
            continue
        shown = seen.shown()
        assert list(differences(expected, shown, f"request {place}")) == []
        for exact in ("query", "body"):
            if exact in expected and "${" not in str(expected):
                assert shown[exact] == expected[exact]


def _plain(result: Any) -> Any:
    """The result as JSON has it."""
    if isinstance(result, list):
        return [_plain(entry) for entry in result]
    return result.model_dump(mode="json") if isinstance(result, pydantic.BaseModel) else result
