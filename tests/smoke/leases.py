"""What SQS says to a receipt handle whose lease is over, was given back, or runs for long."""

from datetime import datetime
from typing import Any

from tests.smoke.deployment import Deployment, said
from tests.smoke.runner import Check, Unmet, expect

EXPIRED = "400 receipt_expired"
LONGEST = 43_200
MEBIBYTE = 1024 * 1024
# A lease, and what is waited for its end.
SHORT, OVER = 3, 5


def a_late_handle_is_refused_on_fifo(deployment: Deployment) -> None:
    """SQS must refuse every use of a fifo handle once its lease is over, and we must say so."""
    with deployment.queue(type="fifo") as queue:
        path = _send(deployment, queue, "ack", "extend", "settle")
        handles = _handles(deployment, path, 3)
        deployment.pause(OVER)
        extend = {"receipt_handle": handles["extend"], "visibility": 30}
        settled = deployment.done(200, "POST", f"{path}/settle", {"ack": [handles["settle"]]})
        seen = {
            "ack": said(deployment.call("DELETE", path, receipt_handle=handles["ack"])),
            "extend": said(deployment.call("PATCH", path, extend)),
            "settle": settled["ack"][0].get("error", {}).get("code", "ok"),
        }
    expect(seen, {"ack": EXPIRED, "extend": EXPIRED, "settle": "receipt_expired"})


def a_handle_that_was_given_back_is_refused_on_fifo(deployment: Deployment) -> None:
    """SQS must refuse a fifo handle after the message was received again: somebody else works on it."""
    with deployment.queue(type="fifo") as queue:
        path = _send(deployment, queue, "work")
        handle = _handles(deployment, path, 1, visibility=60)["work"]
        deployment.done(200, "PATCH", path, {"receipt_handle": handle, "visibility": 0})
        _handles(deployment, path, 1, visibility=60)
        answer = deployment.call("DELETE", path, receipt_handle=handle)
    expect(said(answer), EXPIRED)


def a_second_ack_after_an_extension_is_accepted_on_fifo(deployment: Deployment) -> None:
    """SQS must take an ack for the second time as long as the extended lease would run."""
    with deployment.queue(type="fifo") as queue:
        path = _send(deployment, queue, "work")
        handle = _handles(deployment, path, 1)["work"]
        deployment.done(200, "PATCH", path, {"receipt_handle": handle, "visibility": 60})
        deployment.pause(OVER)
        seen = [said(deployment.call("DELETE", path, receipt_handle=handle)) for _ in range(2)]
    expect(seen, ["204", "204"])


def a_late_extension_is_refused_on_standard(deployment: Deployment) -> None:
    """SQS must refuse to change a standard lease that is over, and still take an ack of it."""
    with deployment.queue() as queue:
        path = _send(deployment, queue, "work")
        handle = _handles(deployment, path, 1)["work"]
        deployment.pause(OVER)
        extended = said(deployment.call("PATCH", path, {"receipt_handle": handle, "visibility": 30}))
        acked = said(deployment.call("DELETE", path, receipt_handle=handle))
    expect((extended, acked), (EXPIRED, "204"))


def no_lease_outlives_12_hours(deployment: Deployment) -> None:
    """SQS ends a lease 12 h after its receive and refuses longer wishes, so it must take ours, which is cut."""
    with deployment.queue() as queue:
        path = _send(deployment, queue, "work")
        (message,) = deployment.done(200, "GET", path, wait=20, visibility=60)["messages"]
        deployment.pause(SHORT)
        extend = {"receipt_handle": message["receipt_handle"], "visibility": LONGEST}
        extended = deployment.done(200, "PATCH", path, extend)
    lease = _seconds(extended["lease_expires_at"]) - _seconds(message["lease_expires_at"]) + 60
    if not LONGEST - 60 < lease <= LONGEST:
        raise Unmet(f"a lease of {lease:.0f} s, not of up to {LONGEST}")


def large_messages_are_leased_only_when_returned(deployment: Deployment) -> None:
    """Lambda must take the answer to a receive of the largest messages, and SQS count no more in flight than it has."""
    with deployment.queue() as queue:
        path = _send(deployment, queue, *['"' * MEBIBYTE] * 3)
        returned = len(deployment.done(200, "GET", path, max=10, wait=20, visibility=600)["messages"])
        wanted = {"depth": 3 - returned, "in_flight": returned}

        def counts() -> dict[str, int]:
            seen = deployment.done(200, "GET", f"/v1/queue/{queue['id']}/attributes")
            return {name: seen[name] for name in wanted}

        seen = deployment.eventually(counts, lambda seen: seen == wanted, within=60)
    expect((returned > 0, seen), (True, wanted))


def _send(deployment: Deployment, queue: dict[str, Any], *bodies: str) -> str:
    """Send messages, on fifo each in a group of its own; the answer is the path of the queue's messages."""
    path = f"/v1/queue/{queue['id']}/messages"
    for number, body in enumerate(bodies):
        deployment.done(201, "POST", path, {"body": body, "group_id": f"group-{number}"})
    return path


def _handles(deployment: Deployment, path: str, number: int, visibility: int = SHORT) -> dict[str, str]:
    """Receive so many messages: their bodies and handles."""
    handles: dict[str, str] = {}

    def receive() -> int:
        for message in deployment.done(200, "GET", path, max=10, wait=5, visibility=visibility)["messages"]:
            handles[message["body"]] = message["receipt_handle"]
        return len(handles)

    if deployment.eventually(receive, lambda seen: seen == number, within=30) != number:
        raise Unmet(f"{len(handles)} messages received, not {number}")
    return handles


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


CHECKS: list[Check] = [
    large_messages_are_leased_only_when_returned,
    a_late_handle_is_refused_on_fifo,
    a_handle_that_was_given_back_is_refused_on_fifo,
    a_second_ack_after_an_extension_is_accepted_on_fifo,
    a_late_extension_is_refused_on_standard,
    no_lease_outlives_12_hours,
]
