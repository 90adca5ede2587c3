"""Calls operations in a process of its own, whose AWS endpoints the environment names; prints what each answered."""

import importlib
import json
import sys
import time
from typing import Any

from tests.template import ROOT

OPERATIONS: dict[str, tuple[str, dict[str, Any] | None, dict[str, str]]] = {
    "create_queue": ("POST", {"name": "jobs"}, {}),
    "list_queues": ("GET", None, {}),
    "get_queue": ("GET", None, {}),
    "update_queue": ("PATCH", {"visibility_timeout": 5}, {}),
    "get_queue_attributes": ("GET", None, {}),
    "purge_queue": ("POST", None, {}),
    "delete_queue": ("DELETE", None, {}),
    "send_message": ("POST", {"body": "x"}, {}),
    "send_message_batch": ("POST", {"messages": [{"body": "x"}]}, {}),
    "receive_messages": ("GET", None, {"wait": "1", "max": "10"}),
    "delete_message": ("DELETE", None, {"receipt_handle": "HANDLE"}),
    "change_message_visibility": ("PATCH", {"receipt_handle": "HANDLE", "visibility": 5}, {}),
    "settle_messages": ("POST", {"ack": ["HANDLE"]}, {}),
    "peek_dlq": ("GET", None, {}),
    "purge_dlq": ("POST", None, {}),
    "redrive_dlq": ("POST", {}, {}),
    "create_compute": ("POST", {"name": "worker", "type": "service", "image": "me/worker"}, {}),
    "list_compute": ("GET", None, {}),
    "get_compute": ("GET", None, {}),
    "delete_compute": ("DELETE", None, {}),
    "start_compute": ("POST", None, {}),
    "stop_compute": ("POST", None, {}),
    "scale_compute": ("POST", {"count": 2}, {}),
    "get_compute_logs": ("GET", None, {}),
}
NAMING_NOTHING = {"create_queue", "list_queues", "create_compute", "list_compute"}

QUEUE = "3f6f3b9e-8a53-4a39-9d0c-3f1c6f6f7a10"
SERVICE = "5b0c2f1e-6a4d-4e0b-8c7f-2d9e1a3b4c5d"
KEY = "nv_sk_live_" + "A" * 43


class Context:
    """What Lambda tells a handler that has just been started."""

    def get_remaining_time_in_millis(self) -> int:
        return 28_000


def call(folder: str) -> dict[str, Any]:
    """What one operation answers, and after how many seconds."""
    from tenancy import receipts

    handle = receipts.issue(receipts.Receipt("handle", int(time.time()), 30), QUEUE)
    method, body, query = OPERATIONS[folder]
    event = json.loads((ROOT / "events/send_message.json").read_text().replace("HANDLE", handle))
    event["headers"]["authorization"] = f"Bearer {KEY}"
    event["requestContext"]["http"]["method"] = method
    event["body"] = None if body is None else json.dumps(body).replace("HANDLE", handle)
    event["queryStringParameters"] = {name: value.replace("HANDLE", handle) for name, value in query.items()}
    if folder in NAMING_NOTHING:
        event.pop("pathParameters")
    elif "compute" in folder:
        event["pathParameters"] = {"service_id": SERVICE}
    handler = importlib.import_module(f"functions.{folder}.app").handler
    started = time.monotonic()
    answer = handler(event, Context())
    return {
        "folder": folder,
        "status": answer["statusCode"],
        "code": json.loads(answer.get("body") or "{}").get("error", {}).get("code"),
        "retry_after": answer["headers"].get("Retry-After"),
        "seconds": time.monotonic() - started,
    }


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print("\n" + json.dumps({"answer": call(name)}), flush=True)
