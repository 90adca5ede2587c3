"""The root of the command line: what every command shares."""

from __future__ import annotations

import errno
from typing import Annotated

import typer
from typer.core import TyperGroup

from naive.cli import account, queue
from naive.cli.output import report
from naive.constants import VERSION
from naive.errors import NaiveError


class ReportingGroup(TyperGroup):
    """A group of commands whose failures are told on stderr and end with exit code 1."""

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]  # typer.Context is the only public name
        try:
            return super().invoke(ctx)
        except NaiveError as error:
            report(error)
        except OSError as fault:
            if fault.errno == errno.EPIPE:
                raise
            report(NaiveError(f"{fault.strerror or fault}: {fault.filename}" if fault.filename else str(fault)))
        raise typer.Exit(1)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(VERSION)
        raise typer.Exit


app = typer.Typer(
    name="naive",
    cls=ReportingGroup,
    help="Durable work queues from the shell.",
    epilog="Data is on stdout, words are on stderr. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 nothing received.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


app.command("login")(account.login)
app.command("use")(account.use)
app.add_typer(queue.app, name="queue")
