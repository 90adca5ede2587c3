"""A file of jobs such as people really have: documents of all sizes in several scripts, some of which nobody can do."""

import json
import random
from pathlib import Path

SCRIPTS = [
    "the quick brown fox jumps over the lazy dog",
    "съешь ещё этих мягких французских булок",
    "いろはにほへと ちりぬるを",
    "نص حكيم له سر قاطع وذو شأن عظيم",
    "ऋषियों को सताने वाले दुष्ट राक्षसों",
    "zażółć gęślą jaźń",
    '😀👩‍👩‍👧🏳️‍🌈 "quoted" \\ back\\slash\ttab',
    "敏捷的棕色狐狸跳过懒狗",
]
SMALLEST, LARGEST = 20, 200_000


def write(path: Path, number: int, poison: int, seed: int) -> None:
    """Write so many jobs, one JSON document a line, `poison` of them impossible."""
    chance = random.Random(seed)
    impossible = set(chance.sample(range(number), poison))
    with path.open("w", encoding="utf-8", newline="") as file:
        for index in range(number):
            file.write(_job(chance, index, poison=index in impossible) + "\n")


def is_poison(body: str) -> bool:
    return bool(json.loads(body).get("poison"))


def _job(chance: random.Random, index: int, *, poison: bool) -> str:
    """A document whose size is as often between 20 and 200 bytes as between 20 and 200 kilobytes."""
    size = int(SMALLEST * (LARGEST / SMALLEST) ** chance.random())
    job: dict[str, object] = {"job": f"job-{index:06}"}
    if poison:
        job["poison"] = True
    text = ""
    while len(text.encode()) < size:
        text += chance.choice(SCRIPTS) + "\r\n"
        text += text[: size // 8]
    # What the quotes and backslashes of the text take in JSON is left free.
    room = int((size - len(_json(job).encode())) * 0.9) - len(',"text":""')
    if room > 0:
        job["text"] = text.encode()[:room].decode(errors="ignore")
    return _json(job)


def _json(job: dict[str, object]) -> str:
    return json.dumps(job, ensure_ascii=False, separators=(",", ":"))
