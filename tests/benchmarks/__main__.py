"""How long programs take to have the Python library: `make bench`.

The programs take turns, and of each the fastest run counts.
"""

import subprocess
import sys
import time

ROUNDS = 15
BARE = "pass"
DEPENDENCIES = "import httpx; from pydantic import BaseModel"
PROGRAMS = {
    "the interpreter alone": BARE,
    "what the library depends on": DEPENDENCIES,
    "import naive": "import naive",
    "from naive import Naive": "from naive import Naive",
    "from naive import AsyncNaive": "from naive import AsyncNaive",
    "the naive command": "import naive.cli.app",
}


def main() -> None:
    fastest = dict.fromkeys(PROGRAMS, float("inf"))
    for _ in range(ROUNDS):
        for name, program in PROGRAMS.items():
            fastest[name] = min(fastest[name], seconds(program))
    bare = fastest["the interpreter alone"]
    unit = fastest["what the library depends on"] - bare
    print(f"{'program':<30}{'import, ms':>12}{'ratio':>8}")
    for name, taken in fastest.items():
        print(f"{name:<30}{(taken - bare) * 1000:>12.0f}{(taken - bare) / unit:>8.2f}")


def seconds(program: str) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-c", program], check=True)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
