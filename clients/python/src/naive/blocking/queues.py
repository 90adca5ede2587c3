# Generated from naive/aio/queues.py by `make blocking`: a change belongs there.
"""Queues and their messages: the calls of `naive.queue`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from naive.blocking.connection import Connection
from naive.blocking.consumers import Consumers
from naive.blocking.sending import OnResult, Sending
from naive.calls import queues as calls
from naive.calls.ids import QueueRef
from naive.constants import CONCURRENCY, DRAIN_SECONDS, MAX_WAIT
from naive.models import (
    DeadLetters,
    ExtendEntry,
    Lease,
    NewMessage,
    Purging,
    Queue,
    QueueAttributes,
    QueuePage,
    QueueType,
    Received,
    Redriven,
    RetryEntry,
    SentBatch,
    SentMessage,
    Settled,
)

if TYPE_CHECKING:
    from naive.consumer.delivery import Around
    from naive.consumer.events import Counts, Hook
    from naive.consumer.stop import Stop
    from naive.consumer.threads import Handler


class Queues:
    """One user's queues. A queue is named by its id, as text or as a UUID, or by the `Queue` itself.

    A `Queue` tells more than an id: messages for a fifo queue then always have a dedup id, so that a send
    can be repeated safely after any failure.
    """

    consumer: Consumers
    """What works a queue off by itself: a function, a webhook or a service."""

    def __init__(self, connection: Connection, mount: str) -> None:
        self._connection = connection
        self._mount = mount
        self.consumer = Consumers(connection, mount)

    def create(
        self,
        name: str,
        *,
        type: QueueType | None = None,
        dlq: bool | None = None,
        max_receive_count: int | None = None,
        visibility_timeout: int | None = None,
        retention_seconds: int | None = None,
        delay_seconds: int | None = None,
        content_based_dedup: bool | None = None,
    ) -> Queue:
        """Make a queue; what is left out is the server's default."""
        return self._connection.run(
            calls.create_queue(
                self._mount,
                name,
                type,
                dlq,
                max_receive_count,
                visibility_timeout,
                retention_seconds,
                delay_seconds,
                content_based_dedup,
            )
        )

    def list(self, *, limit: int | None = None, cursor: str | None = None, name: str | None = None) -> QueuePage:
        """One page of queues by name, or with `name` the one that is called so."""
        return self._connection.run(calls.list_queues(self._mount, limit, cursor, name))

    def list_all(self, *, limit: int | None = None) -> Iterator[Queue]:
        """Every queue, asked for page by page of up to `limit` as they are taken."""
        return self._connection.entries(lambda cursor: calls.list_queues(self._mount, limit, cursor, None))

    def get(self, queue: QueueRef) -> Queue:
        """A queue with its attributes."""
        return self._connection.run(calls.get_queue(self._mount, queue))

    def update(
        self,
        queue: QueueRef,
        *,
        visibility_timeout: int | None = None,
        retention_seconds: int | None = None,
        delay_seconds: int | None = None,
        max_receive_count: int | None = None,
    ) -> Queue:
        """Change a queue's settings; what is left out stays."""
        return self._connection.run(
            calls.update_queue(
                self._mount, queue, visibility_timeout, retention_seconds, delay_seconds, max_receive_count
            )
        )

    def attributes(self, queue: QueueRef) -> QueueAttributes:
        """How many messages are ready, in flight, delayed and dead-lettered, approximately."""
        return self._connection.run(calls.queue_attributes(self._mount, queue))

    def purge(self, queue: QueueRef) -> Purging:
        """Delete every message of a queue; it takes until `done_by`."""
        return self._connection.run(calls.purge_queue(self._mount, queue))

    def destroy(self, queue: QueueRef) -> None:
        """Delete a queue with its messages and its dead-letter queue."""
        self._connection.run(calls.destroy_queue(self._mount, queue))

    def send(
        self,
        queue: QueueRef,
        body: str,
        *,
        group_id: str | None = None,
        dedup_id: str | None = None,
        delay_seconds: int | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> SentMessage:
        """Send one message; its body arrives exactly as it is.

        Without a dedup id the send is repeated only when the message was surely not accepted. After a
        `NoAnswerError` or an `InternalError` the message may therefore be on the queue or not.
        """
        message = NewMessage(
            body=body, group_id=group_id, dedup_id=dedup_id, delay_seconds=delay_seconds, attributes=attributes
        )
        return self._connection.run(calls.send_message(self._mount, queue, message))

    def send_batch(
        self,
        queue: QueueRef,
        messages: Iterable[NewMessage],
        *,
        on_result: OnResult | None = None,
    ) -> SentBatch:
        """Send messages, however many, as few requests as they fit into; each succeeds or fails alone.

        What fails only for the moment is sent again, and no message of a group overtakes another. `on_result` is
        told each message and what became of it, in order: with it nothing is kept, so that an endless stream can
        be sent. Without it the answer has the results. When a request fails as a whole its error is raised, and
        `details["settled"]` says of how many messages, from the first on, it is known what became of them.
        """
        return Sending(self._connection, self._mount, queue, on_result).send(messages)

    def receive(
        self, queue: QueueRef, *, max: int | None = None, wait: int | None = None, visibility: int | None = None
    ) -> Received:
        """Lease up to `max` messages, waiting up to `wait` seconds for the first."""
        return self._connection.run(calls.receive_messages(self._mount, queue, max, wait, visibility))

    def ack(self, queue: QueueRef, receipt_handle: str) -> None:
        """Delete a message whose work is done."""
        self._connection.run(calls.ack_message(self._mount, queue, receipt_handle))

    def retry(self, queue: QueueRef, receipt_handle: str, *, delay_seconds: int = 0) -> Lease:
        """Give a message back, to be received again after `delay_seconds`."""
        return self._connection.run(calls.extend_message(self._mount, queue, receipt_handle, delay_seconds))

    def extend(self, queue: QueueRef, receipt_handle: str, visibility: int) -> Lease:
        """Keep a message for `visibility` more seconds from now."""
        return self._connection.run(calls.extend_message(self._mount, queue, receipt_handle, visibility))

    def settle(
        self,
        queue: QueueRef,
        *,
        ack: Sequence[str] | None = None,
        retry: Sequence[RetryEntry] | None = None,
        extend: Sequence[ExtendEntry] | None = None,
    ) -> Settled:
        """Ack, give back and keep up to 100 messages in one call; each succeeds or fails alone."""
        return self._connection.run(calls.settle_messages(self._mount, queue, ack, retry, extend))

    def consume(
        self,
        queue: QueueRef,
        handler: Handler,
        *,
        concurrency: int = CONCURRENCY,
        max: int | None = None,
        wait: int = MAX_WAIT,
        visibility: int | None = None,
        drain_seconds: float = DRAIN_SECONDS,
        idle_exit: float | None = None,
        stop: Stop | None = None,
        on_event: Hook | None = None,
        protect_task: bool = True,
        handle_signals: bool = True,
    ) -> Counts:
        """Give each message to the handler, up to `concurrency` at once in threads, until stopped.

        A message is kept leased while its handler runs, acked when it returns, and given back when it raises: after a
        delay that grows with each receive, or after what a `Retry` says. It stops by `stop()`, by SIGTERM or SIGINT in
        the main thread (unless `handle_signals` is off), and after `idle_exit` seconds without a message. Handlers
        that run then have `drain_seconds` to finish; a second signal, or `stop.now()`, does not wait for them.
        `on_event` is told every `Event`, and delays no lease. `protect_task` keeps ECS from ending the task while it
        holds messages.

        An error after which no call can succeed, such as a key that was revoked, is raised when the drain is over.
        """
        # Here, since a program that only sends has no use for them.
        from naive.blocking.consuming import Calls
        from naive.consumer import threads
        from naive.consumer.protection import Protection
        from naive.consumer.settings import Settings
        from naive.consumer.stop import Stop

        found = queue if isinstance(queue, Queue) else self.get(queue)
        protection = Protection.of_this_task() if protect_task else None
        settings = Settings.of(
            found,
            concurrency=concurrency,
            max=max,
            wait=wait,
            visibility=visibility,
            drain_seconds=drain_seconds,
            idle_exit=idle_exit,
            protected=protection is not None,
        )
        asked = Calls(self._connection, self._mount, found.id)
        return threads.run(
            settings, asked, handler, stop or Stop(), on_event, protection, handle_signals, self._around(found)
        )

    def peek_dlq(self, queue: QueueRef, *, max: int | None = None) -> DeadLetters:
        """Look at dead-lettered messages without taking them."""
        return self._connection.run(calls.peek_dlq(self._mount, queue, max))

    def purge_dlq(self, queue: QueueRef) -> Purging:
        """Delete every dead-lettered message; it takes until `done_by`."""
        return self._connection.run(calls.purge_dlq(self._mount, queue))

    def redrive(self, queue: QueueRef, *, max: int | None = None, message_ids: Sequence[str] | None = None) -> Redriven:
        """Move dead-lettered messages back to the queue: up to `max` of them, or those named."""
        return self._connection.run(calls.redrive(self._mount, queue, max, message_ids))

    def _around(self, queue: Queue) -> Around:
        """What each handler of a queue runs in."""
        return lambda message: nullcontext()
