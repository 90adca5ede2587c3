"""`naive queue`: its commands, in the order in which the help shows them."""

import typer

from naive.cli.queue import consumers, dead_letters, messages, queues, watching, work

app = typer.Typer(help="Queues and their messages.", no_args_is_help=True, rich_markup_mode=None)

app.command("create")(queues.create)
app.command("list")(queues.list_queues)
app.command("show")(queues.show)
app.command("attributes")(queues.attributes)
app.command("watch")(watching.watch)
app.command("send")(messages.send)
app.command("receive")(messages.receive)
app.command("ack")(messages.ack)
app.command("retry")(messages.retry)
app.command("extend")(messages.extend)
app.command("work")(work.work)
app.command("dlq")(dead_letters.dlq)
app.command("redrive")(dead_letters.redrive)
app.command("purge")(queues.purge)
app.command("delete")(queues.delete)
app.add_typer(consumers.app, name="consumer")
