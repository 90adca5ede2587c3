"""Write docs/cli.md, the reference of the command line, from what `--help` says.

python clients/python/scripts/cli_reference.py > docs/cli.md
python clients/python/scripts/cli_reference.py --check
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from typer.testing import CliRunner

from naive.cli.app import app

REFERENCE = Path(__file__).parents[3] / "docs" / "cli.md"

INTRODUCTION = """\
# Command line

<!-- Generated from `naive --help` by `make docs`. -->

`pip install 'naive-queue[cli]'` installs the command `naive`.

**Output.** Data is on stdout, words are on stderr. On a terminal data is a table; piped, or with `--json`, it is the
API's own JSON as the server gave it. `send --file` prints one answer of a batch call for each batch it sent, with the
results in the order of the lines; `redrive` prints one answer with the numbers of all its rounds summed up; `watch`
prints one line for each look, with the `desired` and `running` number of `workers` where a service works for the
queue, `compute logs` one answer of the API a line, and `work` one line for each message, with its `message_id`,
`outcome` (`done`, `failed`, `given_back` or `lost`), `seconds`, `receive_count` and `exit_code` or `status`. Commands
whose call answers nothing (`ack` of one message, `delete`, `remove`, `revoke`) print nothing. A narrow terminal gets
fewer columns, or each row as a list of its fields; no name or id is ever cut. Characters that a terminal would obey
are escaped, in JSON too when it goes there, and so are line ends in a name, an error or a line of a log. Those that it
lacks are `?`. JSON is always UTF-8.

**Exit codes.** 0: done. 1: failed; stderr says what was wrong, what to do, and the code and request id to quote.
2: wrong usage. 3: nothing was received. 130: interrupted by Ctrl-C, also where that is the usual end (`watch`).
141: whoever read the output has gone.

**Configuration.** A flag goes first, then the environment, then `~/.naive/config.json`, which `naive login` and
`naive use` write and only its owner can read. An empty variable counts as not set; an empty flag, name or id is wrong
usage. A file that cannot be read is left aside with a word on stderr, until `naive login` writes it anew. One that
others can read is told, and mended when it is written.

| what | flag | environment | stored by |
|---|---|---|---|
| API key | none: it would be in the shell's history | `NAIVE_API_KEY` | `naive login` |
| address of the API | `--base-url` | `NAIVE_BASE_URL` | `naive login` |
| user to act for | `--user` | `NAIVE_ACTIVE_USER_ID` | `naive use` |

**A key among the arguments** is answered by a warning: it is then in the shell's history, and others could see it in
the list of processes. Where anything but a message's body is expected it is refused, and nothing is sent. No word on
stderr repeats a key.

**Users and keys** are the company's: `naive users` and `naive keys` act for nobody, whoever the active user is.
`naive use` looks the user up first and keeps one that is there, or that cannot be looked up now. `naive keys create` is
the one command that shows a key, this once, and `naive queue consumer set --url` the one that shows a webhook's secret.

**`naive login`** tries the key first. It keeps one that could not be tried because nothing answered, and stores nothing
when the key is refused or when what answers is not this API. The address is without `/v1`.

**Proxies** are taken from `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`; this machine (`localhost`,
`127.0.0.0/8`, `::1`) is never asked for through one. SOCKS needs `pip install 'httpx[socks]'`.

**Queues and services** are named by their id or by their name. What has the form of an id is taken for one, and for a
name where nothing has that id. **Destructive commands** (`purge`, `delete`, `remove`, `revoke`) ask on a terminal,
unless `--yes` is given; where nobody can answer they do not ask.

**Message bodies** are text, kept exactly: `send QUEUE -` takes stdin as UTF-8 without trimming or changing line ends,
and `send QUEUE --file FILE` takes each line as a body, without its `\\n` or `\\r\\n`, skipping empty lines. An argument
that starts with `-` goes after `--`: `naive queue send jobs -- -5`.

**Workers** run their command by `sh -c`, each in a process group of its own, so that Ctrl-C is for the worker alone.
What a command writes goes to stderr, or on a terminal above the counters. It finds in its environment, beside that of
the worker:

| variable | |
|---|---|
| `NAIVE_QUEUE_ID`, `NAIVE_MESSAGE_ID`, `NAIVE_SENT_AT` | |
| `NAIVE_RECEIVE_COUNT` | how often the message was received, with this time |
| `NAIVE_MAX_RECEIVE_COUNT` | where there are dead letters: the count with which this is the last try |
| `NAIVE_GROUP_ID`, `NAIVE_DEDUP_ID` | where the message has them |
| `NAIVE_ATTRIBUTES` | all attributes as a JSON object, where there are any |
| `NAIVE_ATTRIBUTE_<NAME>` | each attribute: its name in capitals, `_` for all but letters and digits |
| `NAIVE_ATTRIBUTES_OMITTED` | `true`, and the two above are not there: all together they are above 64 KiB |

`--url` sends what a webhook consumer sends, but without a signature, follows no redirects and waits up to 5 minutes for
an answer. `Retry-After` in an answer that is not 2xx says when the message comes back. A worker that has lost a lease,
or whose time to drain is over, ends the command with SIGTERM, and 5 s later with SIGKILL. On ECS (`ECS_AGENT_URI` is
set) a worker protects its task from being scaled in while it holds messages.
"""


def reference() -> str:
    """The whole document."""
    return "\n".join([INTRODUCTION, *(_section(words) for words in _commands(()))])


def _commands(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The command with these words, and those under it, as the help lists them."""
    yield words
    listed = re.search(r"^Commands:\n((?:  .*\n)+)", _help(words), flags=re.MULTILINE)
    for name in re.findall(r"^  (\w+)", listed[1], flags=re.MULTILINE) if listed else ():
        yield from _commands((*words, name))


def _section(words: tuple[str, ...]) -> str:
    name = " ".join(("naive", *words))
    return f"## {name}\n\n```text\n{_help(words).rstrip()}\n```\n"


def _help(words: tuple[str, ...]) -> str:
    """What `--help` prints on a terminal of 80 columns, which is the width of the runner."""
    return CliRunner().invoke(app, [*words, "--help"], prog_name="naive").stdout


if __name__ == "__main__":
    if "--check" not in sys.argv:
        sys.stdout.write(reference())
    elif REFERENCE.read_text(encoding="utf-8") != reference():
        sys.exit(f"{REFERENCE} differs from --help: run `make docs`.")
