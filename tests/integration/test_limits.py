"""One key's requests and waiting polls are counted, and what is more than its share is refused."""

from typing import Any

import boto3
import pytest
from botocore.exceptions import ReadTimeoutError

from tenancy import leases, limits
from tenancy.buckets import PAUSE_SECONDS, TELL_SECONDS, Limit
from tenancy.names import timestamp
from tests.integration.conftest import Answer, Api, Calls, Clock, aws_fault, forget_grants


@pytest.fixture(autouse=True)
def clock(clock: Clock) -> Clock:
    """Every test says how time passes."""
    return clock


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Limit:
    """A limit that a test can exceed."""
    limit = Limit(rate=2, burst=5)
    monkeypatch.setattr(limits, "_REQUESTS", limit)
    monkeypatch.setattr(limits, "_WAITING_POLLS", 3)
    return limit


def item(api: Api) -> dict[str, Any]:
    """What is stored of the only key that was used."""
    (found,) = boto3.client("dynamodb").scan(TableName="usage")["Items"]
    return dict(found)


def seconds_taken(api: Api, clock: Clock) -> float:
    """How long the bucket takes to be full again."""
    return float(item(api)["full_at"]["N"]) - clock.time()


def exhaust(api: Api, queue: str) -> Answer:
    """Send until it is too much."""
    for _ in range(1000):
        answer = api("POST", f"/v1/queue/{queue}/messages", {"body": "x"})
        if answer.status != 201:
            return answer
    raise AssertionError("nothing was refused")


def test_fifty_sends_write_once_and_the_item_says_on_which_day(api: Api, calls: Calls, clock: Clock) -> None:
    queue = api.queue()
    calls.usage.clear()
    for _ in range(50):
        api.send(queue)
    assert len(calls.usage) == 1
    assert set(item(api)) == {"id", "last_used_on", "expires_at", "full_at"}
    assert item(api)["last_used_on"] == {"S": timestamp(clock.time())[:10]}
    assert 399 < (int(item(api)["expires_at"]["N"]) - clock.time()) / 86_400 <= 400


def test_what_was_taken_is_told_a_second_later_and_is_all_there(api: Api, calls: Calls, clock: Clock) -> None:
    queue = api.queue()
    for _ in range(50):
        api.send(queue)
    assert seconds_taken(api, clock) <= 0
    clock.passed += TELL_SECONDS
    calls.usage.clear()
    api.send(queue)
    assert len(calls.usage) == 1
    assert 50 / 200 - 1.5 < seconds_taken(api, clock) <= 50 / 200 - 1
    api.send(queue)
    assert len(calls.usage) == 1


def test_a_few_requests_are_not_worth_a_write_until_the_next_day(api: Api, calls: Calls, clock: Clock) -> None:
    queue = api.queue()
    api.send(queue)
    calls.usage.clear()
    for _ in range(3):
        clock.passed += 60
        api.send(queue)
    assert calls.usage == []
    clock.passed += 86_400
    api.send(queue)
    assert len(calls.usage) == 1
    assert item(api)["last_used_on"] == {"S": timestamp(clock.time())[:10]}


def test_a_request_that_wrote_costs_one_write_more_only_when_the_guess_was_wrong(
    api: Api, calls: Calls, clock: Clock, few: Limit
) -> None:
    queue = api.queue()
    writes = []
    for _ in range(6):
        exhaust(api, queue)
        clock.passed += TELL_SECONDS
        calls.usage.clear()
        api("POST", f"/v1/queue/{queue}/messages", {"body": "x"})
        writes.append(len(calls.usage))
    assert writes[0] <= 2
    assert writes[2:] == [1, 1, 1, 1]


def test_too_many_are_429_and_say_when_to_come_again(api: Api, clock: Clock, few: Limit) -> None:
    answer = exhaust(api, api.queue())
    assert (answer.status, answer.code) == (429, "rate_limited")
    assert answer.json["error"]["message"] == "this key may make 2 requests a second, and 5 at once"
    headers = {name: answer.headers[name] for name in answer.headers if name.startswith(("X-RateLimit", "Retry"))}
    assert headers == {
        "Retry-After": "1",
        "X-RateLimit-Limit": "2",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": "1",
    }


def test_when_it_says_so_there_is_room_again(api: Api, clock: Clock, few: Limit) -> None:
    queue = api.queue()
    for _ in range(20):
        answer = exhaust(api, queue)
        clock.passed += int(answer.headers["Retry-After"])
        api.send(queue)


def test_a_refused_request_asks_nobody_and_counts_nothing(api: Api, calls: Calls, clock: Clock, few: Limit) -> None:
    queue = api.queue()
    exhaust(api, queue)
    calls.made.clear()
    for _ in range(100):
        assert exhaust(api, queue).status == 429
    assert calls.made == []
    forget_grants()
    assert exhaust(api, queue).status == 429
    assert calls.names() == ["BatchGetItem"]
    clock.passed += 60
    assert [exhaust(api, queue).status, len(calls.arguments("SendMessage"))] == [429, 5]


def test_all_functions_have_one_share_of_a_key(api: Api, clock: Clock, few: Limit) -> None:
    queue = api.queue()
    for _ in range(3):
        clock.passed += TELL_SECONDS
        exhaust(api, queue)
        while api("GET", f"/v1/queue/{queue}/messages", wait=0).status == 200:
            pass
    assert api("GET", f"/v1/queue/{queue}").status == 429
    assert api("DELETE", f"/v1/queue/{queue}").status == 429


def test_another_key_has_a_share_of_its_own(api: Api, stranger: Api, clock: Clock, few: Limit) -> None:
    colleague = api.new_key()
    queue, theirs = api.queue(), stranger.queue()
    exhaust(api, queue)
    colleague.send(queue)
    stranger.send(theirs)


@pytest.mark.parametrize("mount", ["/v1/queue/{id}", "/v1/users/{id}/queue"])
def test_what_is_refused_for_another_reason_counts_too(api: Api, clock: Clock, few: Limit, mount: str) -> None:
    path = mount.format(id="00000000-0000-4000-8000-000000000000")
    assert [api("GET", path).status for _ in range(6)] == [404] * 5 + [429]


def test_an_unknown_key_counts_nowhere(api: Api, calls: Calls) -> None:
    nobody = Api(api.company, api.user, "nv_sk_live_" + "A" * 43)
    assert nobody("GET", "/v1/queue").status == 401
    assert calls.usage == []


@pytest.mark.parametrize("fault", [aws_fault("InternalServerError", 500), ReadTimeoutError(endpoint_url="x")])
def test_when_nobody_can_count_requests_go_on_by_what_this_environment_saw(
    api: Api, calls: Calls, clock: Clock, few: Limit, fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    queue = api.queue()
    calls.fail("Usage", fault)
    calls.usage.clear()
    assert exhaust(api, queue).status == 429
    assert len(calls.arguments("SendMessage")) == few.burst
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == ["unhandled"]
    clock.passed += TELL_SECONDS
    api.send(queue)
    assert len(calls.usage) == 1
    clock.passed += PAUSE_SECONDS
    api.send(queue)
    assert len(calls.usage) == 2
    assert float(item(api)["full_at"]["N"]) > 0


class Polls:
    """Polls of SQS, which take as long as they wait unless a test says so, and give what it says."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.waits: list[int] = []
        self.take_time = True
        self.answers: list[Any] = []

    def __call__(self, url: str, most: int, wait: int, visibility: int) -> Any:
        self.waits.append(wait)
        if self.take_time:
            self.clock.passed += wait
        answer = self.answers.pop(0) if self.answers else []
        return answer() if callable(answer) else answer


@pytest.fixture
def polls(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Polls:
    """What is asked of SQS from here on."""
    polls = Polls(clock)
    monkeypatch.setattr(leases, "poll", polls)
    return polls


MESSAGE = {
    "MessageId": "m",
    "ReceiptHandle": "h",
    "Body": "work",
    "Attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "1796040000000"},
}


def hold(api: Api, *places: str) -> None:
    """Let other polls of the key wait."""
    boto3.client("dynamodb").update_item(
        TableName="usage",
        Key={"id": item(api)["id"]},
        UpdateExpression="ADD polls :places",
        ExpressionAttributeValues={":places": {"SS": list(places)}},
    )


def wait(api: Api, queue: str, seconds: int = 20) -> Answer:
    return api("GET", f"/v1/queue/{queue}/messages", wait=seconds)


def changes(calls: Calls) -> list[str]:
    """What was done with places for polls that wait."""
    return [call["UpdateExpression"] for call in calls.usage if "polls" in call["UpdateExpression"]]


def test_a_poll_that_waits_takes_a_place_and_leaves_it(api: Api, calls: Calls, clock: Clock, polls: Polls) -> None:
    queue = api.queue()
    held: list[str] = []

    def look() -> list[Any]:
        held.extend(item(api)["polls"]["SS"])
        return []

    polls.answers = [[], look]
    started = clock.time()
    assert wait(api, queue).json == {"messages": []}
    assert changes(calls) == ["ADD polls :place", "DELETE polls :place"]
    (place,) = held
    assert 20 <= int(place.partition("-")[0]) - started < 22
    assert "polls" not in item(api)


@pytest.mark.parametrize(("seconds", "answers"), [(0, []), (1, []), (20, [[MESSAGE]])])
def test_one_that_hardly_waits_takes_none(
    api: Api, calls: Calls, polls: Polls, seconds: int, answers: list[Any]
) -> None:
    queue = api.queue()
    polls.answers = answers
    assert wait(api, queue, seconds).status == 200
    assert changes(calls) == []


def test_sends_and_acks_take_none(api: Api, calls: Calls) -> None:
    queue = api.queue()
    handles = api.leased(queue, 3)
    api("DELETE", f"/v1/queue/{queue}/messages", receipt_handle=handles[0])
    api("POST", f"/v1/queue/{queue}/messages/settle", {"ack": handles[1:]})
    assert changes(calls) == []


def test_a_poll_that_was_granted_again_meanwhile_counts_once(api: Api, calls: Calls, polls: Polls) -> None:
    queue = api.queue()
    calls.usage.clear()
    wait(api, queue)
    assert polls.waits == [1, 4, 5, 5, 5]
    assert len(calls.usage) - len(changes(calls)) == 1


def test_one_more_than_allowed_is_429_after_a_second(
    api: Api, calls: Calls, clock: Clock, polls: Polls, few: Limit
) -> None:
    queue = api.queue()
    later = int(clock.time()) + 12
    hold(api, *(f"{later + n}-{n}" for n in range(3)))
    answer = wait(api, queue)
    assert (answer.status, answer.code) == (429, "rate_limited")
    assert answer.json["error"]["message"] == "3 calls of this key are waiting already"
    assert "wait=1" in answer.json["error"]["hint"]
    assert (answer.headers["X-RateLimit-Limit"], answer.headers["X-RateLimit-Remaining"]) == ("3", "0")
    assert answer.headers["X-RateLimit-Reset"] == answer.headers["Retry-After"]
    assert 10 <= int(answer.headers["Retry-After"]) <= 12
    assert polls.waits == [1]
    assert len(item(api)["polls"]["SS"]) == 3
    assert wait(api, queue, seconds=1).status == 200


def test_the_twenty_sixth_poll_of_a_key_is_refused(api: Api, polls: Polls) -> None:
    queue = api.queue()
    answers: list[Answer] = []

    def another() -> list[Any]:
        answers.append(wait(api, queue))
        return []

    polls.take_time = False
    polls.answers = [[], another] * 25
    assert wait(api, queue).status == 200
    assert [answer.status for answer in answers] == [429] + [200] * 24
    assert "polls" not in item(api)


def test_places_whose_time_is_over_are_free(api: Api, calls: Calls, clock: Clock, polls: Polls, few: Limit) -> None:
    queue = api.queue()
    now = int(clock.time())
    hold(api, f"{now - 1}-a", f"{now - 600}-b", f"{now + 600}-c")
    calls.usage.clear()
    assert wait(api, queue).status == 200
    assert changes(calls) == ["ADD polls :place", "DELETE polls :over", "ADD polls :place", "DELETE polls :place"]
    assert item(api)["polls"] == {"SS": [f"{now + 600}-c"]}


def test_a_poll_that_ends_badly_leaves_its_place(api: Api, calls: Calls, polls: Polls) -> None:
    queue = api.queue()

    def fail() -> None:
        raise aws_fault("InternalError", 500)

    polls.answers = [[], fail]
    assert wait(api, queue).status == 500
    assert "polls" not in item(api)


def test_when_nobody_can_count_polls_wait_all_the_same(api: Api, calls: Calls, polls: Polls) -> None:
    queue = api.queue()
    wait(api, queue, seconds=0)
    calls.fail("Usage", aws_fault("InternalServerError", 500))
    calls.usage.clear()
    assert wait(api, queue).json == {"messages": []}
    assert changes(calls) == ["ADD polls :place"]
    assert sum(polls.waits) == 20


def test_what_a_poll_waited_for_is_answered_although_its_place_cannot_be_left(
    api: Api, calls: Calls, polls: Polls
) -> None:
    queue = api.queue()
    wait(api, queue, seconds=0)
    polls.answers = [[], [MESSAGE]]
    calls.fail("Usage", None, aws_fault("InternalServerError", 500))
    (message,) = wait(api, queue).json["messages"]
    assert message["body"] == "work"
    assert len(item(api)["polls"]["SS"]) == 1


def test_what_came_late_is_answered_in_time_and_its_place_left_to_end_by_itself(
    api: Api, calls: Calls, clock: Clock, polls: Polls
) -> None:
    queue = api.queue()

    def come_late() -> list[Any]:
        clock.passed += 20
        return [MESSAGE]

    polls.answers = [[], come_late]
    assert len(wait(api, queue).json["messages"]) == 1
    assert changes(calls) == ["ADD polls :place"]
