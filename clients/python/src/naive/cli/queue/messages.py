"""The commands about messages: in, out, and done with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from naive.cli import output
from naive.cli.options import AsJson, BaseUrl, HandleArgument, HandlesArgument, QueueArgument, User, filled_in
from naive.cli.session import connect, for_queue, whole_queue
from naive.cli.streams import text_of_stdin
from naive.cli.words import say
from naive.constants import MAX_SETTLE_ENTRIES

if TYPE_CHECKING:
    from naive.calls.ids import QueueRef
    from naive.models import RetryEntry, SentMessage, Settled

NOTHING_RECEIVED = 3


def send(
    queue: QueueArgument,
    body: Annotated[str | None, typer.Argument(metavar="BODY", help="The message, or - for stdin.")] = None,
    group: Annotated[
        str | None, typer.Option("--group", metavar="ID", callback=filled_in, help="The group; needed on fifo.")
    ] = None,
    dedup: Annotated[
        str | None, typer.Option("--dedup", metavar="ID", callback=filled_in, help="The deduplication id, on fifo.")
    ] = None,
    delay: Annotated[
        int | None, typer.Option("--delay", metavar="SECONDS", help="How long the message stays hidden.")
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", metavar="FILE", help="Send each line as one message; - for stdin.")
    ] = None,
    as_json: AsJson = False,
    user: User = None,
    base_url: BaseUrl = None,
) -> None:
    """Send a message, or every line of a file.

    The body arrives exactly as it is given: nothing is parsed, trimmed or re-encoded. A line of a file is a body
    without its line end; empty lines are left out. Lines that fail are named, and the exit code is then 1.

    \b
    Examples:
      naive queue send jobs '{"task":"resize"}'
      cat job.xml | naive queue send jobs -
      naive queue send orders '{"order":17}' --group customer-4
      naive queue send jobs --file jobs.jsonl
    """
    if (body is None) == (file is None):
        raise typer.BadParameter("give either a body (- for stdin) or --file.")
    if file is not None and dedup is not None:
        raise typer.BadParameter("--dedup would make all lines of --file duplicates of one message.")
    if file is not None:
        from naive.cli.queue.bulk import send_file  # here, since only this needs a progress bar

        send_file(connect(user, base_url), queue, file, group, delay, as_json)
        return
    text = _text(body or "")
    client = connect(user, base_url)

    def deliver(found: QueueRef) -> SentMessage:
        return client.queue.send(found, text, group_id=group, dedup_id=dedup, delay_seconds=delay)

    # Only a grouped message can be meant for a fifo queue, and only there it needs a dedup id of its own.
    known = group and not dedup
    output.show(deliver(whole_queue(client, queue)) if known else for_queue(client, queue, deliver), as_json)


def receive(
    queue: QueueArgument,
    max: Annotated[int | None, typer.Option("--max", metavar="N", help="How many at most, up to 10, if not 1.")] = None,
    wait: Annotated[
        int | None,
        typer.Option("--wait", metavar="SECONDS", help="How long to wait for the first, up to 20, if not 1."),
    ] = None,
    visibility: Annotated[
        int | None,
        typer.Option("--visibility", metavar="SECONDS", help="How long to lease them, if not as the queue says."),
    ] = None,
    as_json: AsJson = False,
    user: User = None,
    base_url: BaseUrl = None,
) -> None:
    """Lease messages; the exit code is 3 when there are none.

    \b
    Examples:
      naive queue receive jobs --wait 20
      naive queue receive jobs --max 10 --visibility 120 --json
    """
    client = connect(user, base_url)
    received = for_queue(client, queue, partial(client.queue.receive, max=max, wait=wait, visibility=visibility))
    output.show(received, as_json)
    if not received.messages:
        raise typer.Exit(NOTHING_RECEIVED)


def ack(
    queue: QueueArgument,
    handles: HandlesArgument,
    as_json: AsJson = False,
    user: User = None,
    base_url: BaseUrl = None,
) -> None:
    """Delete messages whose work is done.

    \b
    Example:
      naive queue ack jobs <receiptHandle>
    """
    client = connect(user, base_url)
    if len(handles) == 1:
        for_queue(client, queue, lambda found: client.queue.ack(found, handles[0]))
        say("Acked.")
        return

    def acknowledge(found: str, chunk: Sequence[str]) -> Settled:
        return client.queue.settle(found, ack=chunk)

    for_queue(client, queue, lambda found: _settle(handles, as_json, "Acked", partial(acknowledge, found)))


def retry(
    queue: QueueArgument,
    handles: HandlesArgument,
    delay: Annotated[int, typer.Option("--delay", metavar="SECONDS", help="How long they stay hidden.")] = 0,
    as_json: AsJson = False,
    user: User = None,
    base_url: BaseUrl = None,
) -> None:
    """Give messages back, to be received again.

    \b
    Examples:
      naive queue retry jobs <receiptHandle>
      naive queue retry jobs <receiptHandle> --delay 60
    """
    client = connect(user, base_url)
    if len(handles) == 1:
        lease = for_queue(client, queue, lambda found: client.queue.retry(found, handles[0], delay_seconds=delay))
        output.show(lease, as_json)
        return

    def give_back(found: str, chunk: Sequence[str]) -> Settled:
        entries: list[RetryEntry] = [{"receipt_handle": handle, "delay_seconds": delay} for handle in chunk]
        return client.queue.settle(found, retry=entries)

    for_queue(client, queue, lambda found: _settle(handles, as_json, "Gave back", partial(give_back, found)))


def extend(
    queue: QueueArgument,
    handle: HandleArgument,
    visibility: Annotated[int, typer.Option("--visibility", metavar="SECONDS", help="How long from now.")],
    as_json: AsJson = False,
    user: User = None,
    base_url: BaseUrl = None,
) -> None:
    """Keep a message for longer.

    \b
    Example:
      naive queue extend jobs <receiptHandle> --visibility 300
    """
    client = connect(user, base_url)
    output.show(for_queue(client, queue, lambda found: client.queue.extend(found, handle, visibility)), as_json)


def _text(body: str) -> str:
    """The body as given, or all of stdin; both are taken as UTF-8 without a change."""
    if body == "-":
        return text_of_stdin()
    try:
        body.encode()
    except UnicodeEncodeError as fault:
        raise typer.BadParameter(f"the body is not UTF-8 at character {fault.start}.") from None
    return body


def _settle(handles: Sequence[str], as_json: bool, done: str, settle: Callable[[Sequence[str]], Settled]) -> None:
    """Settle many messages, a request at a time, and name those that failed by their place among the arguments."""
    failed = 0
    for start in range(0, len(handles), MAX_SETTLE_ENTRIES):
        settled = settle(handles[start : start + MAX_SETTLE_ENTRIES])
        if output.wants_json(as_json):
            output.emit(settled.raw_json)
        for place, result in enumerate([*settled.ack, *settled.retry], start + 1):
            if result.error:
                failed += 1
                say(f"Handle {place}: {result.error.message} ({result.error.code})")
    say(f"{done} {len(handles) - failed} of {len(handles)} messages.")
    if failed:
        raise typer.Exit(1)
