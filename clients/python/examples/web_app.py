"""A web app that puts its work on a queue, so that who asks for it need not wait.

NAIVE_BASE_URL=… NAIVE_API_KEY=… NAIVE_QUEUE_ID=… PORT=3000 python web_app.py
curl -d '{"url": "https://…"}' http://127.0.0.1:3000/thumbnails

Any WSGI server runs it as `web_app:app`.
"""

import json
import os
import sys
from wsgiref.simple_server import make_server

from naive import Naive, NaiveError, PayloadTooLargeError

naive = Naive()  # one for all requests: threads may share it
queue_id = os.environ["NAIVE_QUEUE_ID"]


def app(environ, start_response):
    """Take a job, and answer at once."""
    if (environ["REQUEST_METHOD"], environ["PATH_INFO"]) != ("POST", "/thumbnails"):
        start_response("404 Not Found", [])
        return []
    body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"] or 0)).decode()
    try:
        sent = naive.queue.send(queue_id, body, attributes={"kind": "thumbnail"})
    except NaiveError as error:
        print(error, file=sys.stderr)  # has the request's id, for whoever runs the service
        is_too_large = isinstance(error, PayloadTooLargeError)
        start_response("413 Content Too Large" if is_too_large else "503 Service Unavailable", [])
        return []
    start_response("202 Accepted", [("Content-Type", "application/json")])
    return [json.dumps({"id": sent.message_id}).encode()]


if __name__ == "__main__":
    with make_server("127.0.0.1", int(os.environ.get("PORT", "3000")), app) as server:
        print("listening")
        server.serve_forever()
