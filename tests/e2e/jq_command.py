"""`jq` for the documents' shell, as far as they use it, so that no machine has to have it."""

import argparse
import json
import sys
from pathlib import Path

import jq


def main() -> int:
    parser = argparse.ArgumentParser()
    for flag in "resR":
        parser.add_argument(f"-{flag}", action="store_true")
    parser.add_argument("program")
    parser.add_argument("file", type=Path, nargs="?")
    asked = parser.parse_args()
    text = asked.file.read_text() if asked.file else sys.stdin.read()
    if asked.R:
        text = json.dumps(text)
    if not text.strip():
        return 4 if asked.e else 0
    try:
        found = jq.compile(asked.program).input_text(text).all()
    except ValueError as fault:
        print(f"jq: {fault}", file=sys.stderr)
        return 5
    for value in found:
        print(value if asked.r and isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return int(asked.e and (not found or found[-1] in (None, False)))


if __name__ == "__main__":
    sys.exit(main())
