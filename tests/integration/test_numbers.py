"""GET /v1/limits: the numbers that hold here, so that a program need not be told."""

from tenancy.limits import FAIR_USE
from tests.integration.conftest import Api


def test_the_limits_are_those_that_are_enforced(api: Api) -> None:
    limits = api("GET", "/v1/limits").json
    assert limits["fair_use"] == FAIR_USE
    assert (limits["queues_per_user"], limits["services_per_user"]) == (1000, 100)
    wait = limits["fields"]["receive_messages"]["wait"]
    assert wait == {"minimum": 0, "maximum": 20, "default": 1}
    queue = api.queue()
    for seconds, status in ((wait["minimum"], 200), (wait["minimum"] - 1, 400), (wait["maximum"] + 1, 400)):
        assert api("GET", f"/v1/queue/{queue}/messages", wait=seconds).status == status
    retention = limits["fields"]["create_queue"]["retention_seconds"]
    for number, (seconds, status) in enumerate(
        (
            (retention["minimum"], 201),
            (retention["minimum"] - 1, 400),
            (retention["maximum"], 201),
            (retention["maximum"] + 1, 400),
        )
    ):
        body = {"name": f"kept-{number}", "retention_seconds": seconds}
        assert api("POST", "/v1/queue", body).status == status
    assert api("GET", f"/v1/queue/{queue}").json["retention_seconds"] == retention["default"]


def test_they_need_no_key() -> None:
    nobody = Api("", "", "")
    assert nobody("GET", "/v1/limits").status == 200


def test_an_operation_without_bounds_is_not_listed(api: Api) -> None:
    fields = api("GET", "/v1/limits").json["fields"]
    assert "health" not in fields
    assert "create_queue_for_user" not in fields
    assert fields["create_key"] == {"name": {"maxLength": 100}}
    assert fields["send_message_batch"]["messages"] == {"minItems": 1, "maxItems": 100}
