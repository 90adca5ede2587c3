"""The root of the command line: what every command shares."""

from __future__ import annotations

from typing import Annotated

import typer
from typer.core import TyperGroup

from naive.cli import account, queue
from naive.cli.output import report
from naive.cli.words import say
from naive.constants import VERSION
from naive.errors import NaiveError


class ReportingGroup(TyperGroup):
    """A group of commands whose failures are told on stderr and end with exit code 1."""

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]  # typer.Context is the only public name
        try:
            return super().invoke(ctx)
        except typer.Abort as abort:
            if isinstance(abort.__context__, KeyboardInterrupt):
                raise KeyboardInterrupt from None  # Ctrl-C at a prompt is what it is everywhere
            raise
        except NaiveError as error:
            report(error)
        except BrokenPipeError:
            raise
        except OSError as fault:
            say(f"Error: {fault.strerror or fault}{f': {fault.filename}' if fault.filename else ''}.")
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
    context_settings={"help_option_names": ["--help", "-h"]},
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
