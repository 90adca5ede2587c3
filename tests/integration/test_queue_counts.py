"""How many queues a user has is counted on its record, which is how one is kept from having more than its share."""

import time
from typing import Any

import pytest
from botocore.exceptions import ClientError

from functions.reconcile.app import handler as reconcile
from tenancy import reservations
from tests.integration.conftest import Api, Calls, Context, aws_fault, forget_grants
from tests.integration.leftovers import counted, stored


@pytest.fixture
def two_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reservations, "QUEUES_PER_USER", 2)


def cancelled(*codes: str) -> ClientError:
    """What DynamoDB answers when it does not do a transaction, by why each write of it was not done."""
    response: Any = {
        "Error": {"Code": "TransactionCanceledException", "Message": "arn:aws:dynamodb:secret"},
        "CancellationReasons": [{"Code": code} for code in codes],
        "ResponseMetadata": {"HTTPStatusCode": 400},
    }
    return ClientError(response, "TransactWriteItems")


CONFLICT = cancelled("None", "TransactionConflict", "None")


def create(api: Api, name: str, **settings: Any) -> tuple[int, str]:
    answer = api("POST", "/v1/queue", {"name": name, **settings})
    return answer.status, "" if answer.status == 201 else answer.code


def test_the_count_is_that_of_the_names(api: Api) -> None:
    assert counted(api.user) == (0, 0)
    ids = [api.queue(name, dlq=True) for name in "abc"]
    assert counted(api.user) == (3, 3)
    assert create(api, "a") == (409, "already_exists")
    assert counted(api.user) == (3, 3)
    for number, queue in enumerate(ids, start=1):
        assert api("DELETE", f"/v1/queue/{queue}").status == 204
        assert api("DELETE", f"/v1/queue/{queue}").status == 404
        assert counted(api.user) == (3 - number, 3 - number)


def test_users_are_counted_apart(api: Api, two_at_most: None) -> None:
    client = api.new_key(api.new_user())
    for name in "ab":
        api.queue(name)
        client.queue(name)
    assert (counted(api.user), counted(client.user)) == ((2, 2), (2, 2))
    assert create(client, "c") == (429, "rate_limited")


def test_one_more_than_a_user_may_have_is_refused_until_one_is_deleted(api: Api, two_at_most: None) -> None:
    queue = api.queue("a", dlq=True)
    api.queue("b")
    answer = api("POST", "/v1/queue", {"name": "c"})
    assert (answer.status, answer.code) == (429, "rate_limited")
    assert "a user may have 2 queues" in answer.json["error"]["message"]
    assert "Delete queues" in answer.json["error"]["hint"]
    limits = {name: answer.headers[f"X-RateLimit-{name}"] for name in ("Limit", "Remaining", "Reset")}
    assert limits == {"Limit": "2", "Remaining": "0", "Reset": "300"}
    assert answer.headers["Retry-After"] == "300"
    assert create(api, "a") == (409, "already_exists"), "the name says more than the number"
    assert counted(api.user) == (2, 2)
    assert api("DELETE", f"/v1/queue/{queue}").status == 204
    assert create(api, "c") == (201, "")
    assert create(api, "d") == (429, "rate_limited")


def test_a_refused_queue_leaves_nothing(api: Api, two_at_most: None) -> None:
    for name in "ab":
        api.queue(name)
    before = stored()
    assert create(api, "c", dlq=True) == (429, "rate_limited")
    assert stored() == before


def test_a_half_made_queue_counts_until_it_is_destroyed_or_taken_over(
    api: Api, calls: Calls, two_at_most: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.queue("a")
    calls.fail("CreateQueue", aws_fault("InternalError", 500))
    assert create(api, "b") == (503, "unavailable")
    assert counted(api.user) == (2, 2)
    assert create(api, "c") == (429, "rate_limited")
    later = time.time() + 31
    monkeypatch.setattr(time, "time", lambda: later)
    calls.fail("CreateQueue", aws_fault("InternalError", 500))
    assert create(api, "b") == (503, "unavailable"), "at the limit, the name can still be taken over"
    assert counted(api.user) == (2, 2)
    later += 31
    assert [action["outcome"] for action in reconcile({}, Context())] == ["destroyed", "destroyed"]
    assert counted(api.user) == (1, 1)
    assert create(api, "c") == (201, "")


@pytest.mark.parametrize("conflicts", [1, 4])
def test_creates_and_deletes_that_meet_others_of_their_user_are_tried_again(
    api: Api, calls: Calls, conflicts: int
) -> None:
    calls.fail("TransactWriteItems", *[CONFLICT] * conflicts)
    queue = api.queue("jobs")
    assert counted(api.user) == (1, 1)
    calls.fail("TransactWriteItems", *[CONFLICT] * conflicts)
    assert api("DELETE", f"/v1/queue/{queue}").status == 204
    assert counted(api.user) == (0, 0)


@pytest.mark.parametrize(
    "faults",
    [
        [CONFLICT] * 5,
        [cancelled("None", "ThrottlingError", "None")],
        [cancelled("ConditionalCheckFailed", "ThrottlingError")],
        [cancelled("ProvisionedThroughputExceeded")],
    ],
    ids=["conflicts-without-end", "throttled", "refused-and-throttled", "overloaded"],
)
def test_what_does_not_pass_at_once_is_503_and_changes_nothing(api: Api, calls: Calls, faults: list[Any]) -> None:
    queue = api.queue("kept")
    calls.fail("TransactWriteItems", *faults)
    assert create(api, "jobs") == (503, "unavailable")
    calls.fail("TransactWriteItems", *faults)
    answer = api("DELETE", f"/v1/queue/{queue}")
    assert (answer.status, answer.code) == (503, "unavailable")
    assert "secret" not in answer.text
    assert counted(api.user) == (1, 1)
    assert api("GET", f"/v1/queue/{queue}").status == 200


def test_a_conflict_that_hid_a_refusal_is_still_a_refusal(api: Api, calls: Calls) -> None:
    api.queue("jobs")
    calls.fail("TransactWriteItems", cancelled("ConditionalCheckFailed", "TransactionConflict", "None"))
    assert create(api, "jobs") == (409, "already_exists")


def test_a_queue_that_another_request_makes_meanwhile_is_counted_once(api: Api, calls: Calls) -> None:
    calls.fail("TransactWriteItems", lambda: api.queue("jobs"))
    assert create(api, "jobs") == (409, "already_exists")
    assert counted(api.user) == (1, 1)


def test_the_last_place_is_taken_by_one_of_two(api: Api, calls: Calls, two_at_most: None) -> None:
    api.queue("a")
    calls.fail("TransactWriteItems", lambda: api.queue("b"))
    assert create(api, "c") == (429, "rate_limited")
    assert counted(api.user) == (2, 2)


def test_a_place_that_gets_free_meanwhile_is_taken(api: Api, calls: Calls, two_at_most: None) -> None:
    first, _ = api.queue("a"), api.queue("b")
    forget_grants()
    # Between the try that is refused and the question why.
    calls.fail("BatchGetItem", None, lambda: api("DELETE", f"/v1/queue/{first}"))
    assert create(api, "c") == (201, "")
    assert counted(api.user) == (2, 2)
