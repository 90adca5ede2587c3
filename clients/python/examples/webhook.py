"""A receiver of webhooks: the service posts each message of a queue to it, and there is no worker to run.

WEBHOOK_SECRET=whsec_… PORT=3000 python webhook.py

The secret was shown when the consumer was set: `naive.queue.consumer.set(id, type="webhook", url="https://…").secret`.
Any WSGI server runs it as `webhook:app`.
"""

import os
import sys
from wsgiref.simple_server import make_server

from naive import InvalidWebhookError, webhooks

secret = os.environ["WEBHOOK_SECRET"]


def app(environ, start_response):
    """Take one message. It is acked by an answer that is 2xx; after any other it comes again."""
    headers = {name[5:].replace("_", "-"): value for name, value in environ.items() if name.startswith("HTTP_")}
    # The bytes as they came: what was parsed and written again would have another signature.
    body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"] or 0))
    try:
        message = webhooks.verify(secret, headers, body)
    except InvalidWebhookError as error:
        print(error, file=sys.stderr)
        start_response("401 Unauthorized", [])
        return []
    print(f"{message.message_id}: {message.body}")
    start_response("204 No Content", [])
    return []


if __name__ == "__main__":
    with make_server("127.0.0.1", int(os.environ.get("PORT", "3000")), app) as server:
        print("listening")
        server.serve_forever()
