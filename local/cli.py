"""The verbs of the local stack; the Makefile calls them."""

import argparse
import os
import shlex
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType

from local import company, deploy, emulator, functions, lifecycle, logs
from local.stack import PORT, Stack
from local.steps import LocalError, say

RECENT_SECONDS = 600
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    """Runs one verb; what the user can mend is told in one line."""
    for number in STOPPING:
        signal.signal(number, _interrupt)
    try:
        arguments = _parse()
        code = int(arguments.verb(arguments) or 0)
        sys.stdout.flush()
        return code
    except LocalError as fault:
        say(str(fault))
        return 1
    except BrokenPipeError:
        # Whoever reads has seen enough, as `head` has. What is still to be written would fail once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def up(arguments: argparse.Namespace) -> None:
    """bring the stack up to what the checkout says"""
    started = time.monotonic()
    here = emulator.port(Stack(arguments.home, PORT))
    stack = Stack(arguments.home, arguments.port or here or PORT)
    base_url = lifecycle.up(stack)
    say(f"\nThe API answers at {base_url} after {time.monotonic() - started:.0f} s. Next:\n")
    say(f"  source {os.path.relpath(stack.env_file)}")
    say("  naive queue create --name jobs")
    say("""  naive queue send jobs '{"task":"resize"}'\n""")
    say("The command of a compute service runs as a process on this machine, see docs/operating.md.\n")


def down(arguments: argparse.Namespace) -> None:
    """stop everything and keep the data"""
    lifecycle.down(Stack(arguments.home, PORT))


def reset(arguments: argparse.Namespace) -> None:
    """stop everything and forget the data"""
    lifecycle.reset(Stack(arguments.home, PORT))


def status(arguments: argparse.Namespace) -> None:
    """print the address of the API when it is up"""
    stack = _running(arguments.home)
    print(stack.base_url(deploy.outputs(stack)["ApiId"]))


def follow_logs(arguments: argparse.Namespace) -> None:
    """show the functions' latest log lines and go on with the new ones"""
    with suppress(KeyboardInterrupt):
        logs.follow(_running(arguments.home), time.time() - RECENT_SECONDS)


def new_company(arguments: argparse.Namespace) -> None:
    """make another company and print its key alone"""
    stack, name = _running(arguments.home), arguments.name
    try:
        print(company.create(stack, name, new_key=arguments.new_key))
    except LocalError as refused:
        if arguments.new_key:
            raise
        command = f"make -s local-company NAME={shlex.quote(name)} NEW_KEY=1"
        raise LocalError(f"{refused}\nAnother key of a company that is there: {command}") from None


def reconcile(arguments: argparse.Namespace) -> None:
    """show what functions that died have left, and the reconciler would destroy"""
    left = functions.invoke(_running(arguments.home), "ReconcileFunctionName", {"dry_run": True})
    for action in left:
        print("{resource}, {left}, due since {due_at}: {outcome}".format(**action))
    if not left:
        say("Nothing is left half made or half destroyed.")


def run(arguments: argparse.Namespace) -> int:
    """run a command against a stack of its own, of which nothing is left afterwards"""
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if not command:
        raise LocalError("What should run? python -m local run -- COMMAND")
    return lifecycle.run(command)


VERBS = {
    "up": up,
    "down": down,
    "reset": reset,
    "status": status,
    "logs": follow_logs,
    "company": new_company,
    "reconcile": reconcile,
    "run": run,
}


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m local", description="The service on this machine.")
    home = os.environ.get("LOCAL_HOME", str(lifecycle.HOME))
    parser.add_argument("--home", type=_folder, default=home, help="the folder of the stack (.local, or LOCAL_HOME)")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    commands = {name: verbs.add_parser(name, help=verb.__doc__) for name, verb in VERBS.items()}
    for name, command in commands.items():
        command.set_defaults(verb=VERBS[name])
    where = f"where to listen (where it already does, else {PORT})"
    commands["up"].add_argument("--port", type=_port, help=where)
    commands["company"].add_argument("--new-key", action="store_true", help="another key of a company that is there")
    commands["company"].add_argument("name")
    commands["run"].add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args()


def _folder(name: str) -> Path:
    """Resolved, since a stack's processes are known by it."""
    return Path(name).resolve()


def _port(text: str) -> int:
    """A port that needs no special rights; said in one line, where argparse would print its usage."""
    if text.isdecimal() and 1024 <= int(text) < 65536:
        return int(text)
    raise LocalError(f"'{text}' is no port: choose one between 1024 and 65535, as in make local LOCAL_PORT=4600")


def _running(home: Path) -> Stack:
    port = emulator.port(Stack(home, PORT))
    if port is None:
        raise LocalError("The local stack is not running: make local starts it.")
    return Stack(home, port)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Once is enough: what has been started is being cleaned up from then on."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
