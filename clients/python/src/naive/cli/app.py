"""The root of the command line: what every command shares."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from naive.cli import account, acting, compute, keys, queue, users
from naive.cli.dialect import of_usage
from naive.cli.output import report
from naive.cli.words import harmless, key_in, say, without_keys
from naive.constants import VERSION
from naive.errors import NaiveError

_KEY_AMONG_ARGUMENTS = """\
Warning: There is an API key among the arguments, which ends with {}. It is now in the shell's history, and others
could see it in the list of processes. Make another one with `naive keys create`, and revoke this one with
`naive keys revoke`.
No command takes a key as an argument: `naive login` asks for it or reads it from stdin, as in `naive login < key.txt`,
and NAIVE_API_KEY may hold it."""


class ReportingGroup(TyperGroup):
    """A group of commands whose failures are told on stderr and end with exit code 1."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        key = next(filter(None, map(key_in, args)), None)
        if key and not extra.get("resilient_parsing"):  # which is to complete a line, not to run it
            for line in _KEY_AMONG_ARGUMENTS.format(key[-4:]).splitlines():
                say(line)
        with _in_our_words():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]  # typer.Context is the only public name
        acting.begin(None)
        try:
            with _in_our_words():
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


@contextmanager
def _in_our_words() -> Iterator[None]:
    """Say what is wrong usage as everything else is said; it repeats arguments, so every key is cut off."""
    try:
        yield
    except typer.TyperException as wrong:
        wrong.message = "\n".join(map(harmless, of_usage(without_keys(wrong.message)).split("\n")))
        raise


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
app.add_typer(compute.app, name="compute")
app.add_typer(users.app, name="users")
app.add_typer(keys.app, name="keys")
