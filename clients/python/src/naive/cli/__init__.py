"""The command `naive`."""

import sys


def main() -> None:
    """Run the command line; what goes wrong in it ends as a sentence, never as a traceback."""
    try:
        _run()
    except KeyboardInterrupt:
        sys.exit(130)


def _run() -> None:
    try:
        from naive.cli import streams
        from naive.cli.app import app
        from naive.cli.words import say
    except ModuleNotFoundError as missing:
        sys.exit(f"Error: {missing.name} is not installed. The command line needs: pip install 'naive-queue[cli]'")
    with streams.prepared():
        try:
            app()
        except SystemExit as end:
            if isinstance(end.__context__, BrokenPipeError):
                sys.exit(141)  # as if by SIGPIPE, like others whose reader has gone
            raise
        except OSError as fault:
            sys.exit(f"Error: {fault.strerror or fault}.")
        except Exception as bug:
            say(f"Error: {type(bug).__name__}: {bug}. This is a bug in naive, please report it.")
            sys.exit(1)
