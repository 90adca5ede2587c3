"""The command `naive`."""

import sys


def main() -> None:
    """Run the command line; what goes wrong in it ends as a sentence, never as a traceback."""
    try:
        from naive.cli.app import app
    except ModuleNotFoundError as missing:
        sys.exit(f"Error: {missing.name} is not installed. The command line needs: pip install 'naive-queue[cli]'")
    try:
        app()
    except Exception as bug:
        sys.exit(f"Error: {type(bug).__name__}: {bug}. This is a bug in naive, please report it.")
