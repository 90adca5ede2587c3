"""The plot of a service that is woken, scaled up and put to rest: messages above, workers below, by the same time."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from docs.plots.recording import Sample

SVG = Path(__file__).with_suffix(".svg")

_WIDTH, _LEFT, _RIGHT = 760, 56, 16
_INK, _GRID, _READY, _IN_FLIGHT, _WORKERS = "#24292f", "#d0d7de", "#9ecbff", "#0969da", "#bc4c00"
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500)

type Line = Callable[[Sample], int]


class Panel:
    """A part of the plot with its own scale."""

    def __init__(self, samples: Sequence[Sample], top: int, height: int, highest: int) -> None:
        self._samples = samples
        self._first, self._last = samples[0].seconds, samples[-1].seconds
        self._top, self._height, self._highest = top, height, highest

    def x(self, seconds: float) -> float:
        part = (seconds - self._first) / (self._last - self._first)
        return round(_LEFT + part * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(self, count: float) -> float:
        return round(self._top + self._height * (1 - count / self._highest), 1)

    def frame(self, label: str) -> Iterator[str]:
        """The grid, its numbers, and what they count."""
        for count in range(0, self._highest + 1, _step(self._highest, 4)):
            yield f'<path d="M{_LEFT} {self.y(count)}H{_WIDTH - _RIGHT}" stroke="{_GRID}"/>'
            yield _text(_LEFT - 8, self.y(count) + 4, str(count), "end")
        yield _text(_LEFT, self._top - 10, label, "start", bold=True)

    def area(self, line: Line, colour: str) -> str:
        """What is under a line, filled."""
        return f'<path d="{self._path(line)}V{self.y(0)}H{self.x(self._first)}Z" fill="{colour}"/>'

    def line(self, line: Line, colour: str) -> str:
        return f'<path d="{self._path(line)}" fill="none" stroke="{colour}" stroke-width="2"/>'

    def seconds(self) -> Iterator[str]:
        """The axis of time."""
        # None at the edge, where it would be cut off.
        for second in range(0, int(self._last) - 2, _step(int(self._last), 10)):
            yield _text(self.x(second), self._top + self._height + 18, f"{second} s", "middle")

    def _path(self, line: Line) -> str:
        """Each number holds until the next one is seen."""
        steps = "".join(f"H{self.x(sample.seconds)}V{self.y(line(sample))}" for sample in self._samples)
        return f"M{self.x(self._first)} {self.y(line(self._samples[0]))}{steps}"


def draw(samples: Sequence[Sample]) -> str:
    """The plot as SVG."""
    messages = Panel(samples, 40, 160, _ceiling(max(sample.ready + sample.in_flight for sample in samples)))
    workers = Panel(samples, 250, 100, _ceiling(max(sample.desired for sample in samples)))
    parts = [
        *messages.frame("messages in the queue"),
        messages.area(lambda sample: sample.ready + sample.in_flight, _IN_FLIGHT),
        messages.area(lambda sample: sample.ready, _READY),
        *_legend(_WIDTH - 190, 26, (_READY, "ready"), (_IN_FLIGHT, "in flight")),
        *workers.frame("workers"),
        workers.line(lambda sample: sample.desired, _WORKERS),
        *workers.seconds(),
    ]
    said = f"{samples[-1].seconds:.0f} seconds: messages in a queue, ready and in flight, and workers of its service"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} 380" role="img" '
            f'font-family="system-ui, sans-serif" font-size="12" fill="{_INK}">',
            f"<title>{said}</title>",
            f'<rect width="{_WIDTH}" height="380" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _legend(left: int, top: int, *entries: tuple[str, str]) -> Iterator[str]:
    for place, (colour, label) in enumerate(entries):
        x = left + 80 * place
        yield f'<rect x="{x}" y="{top - 10}" width="12" height="12" fill="{colour}"/>'
        yield _text(x + 18, top, label, "start")


def _text(x: float, y: float, text: str, anchor: str, *, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{weight}>{text}</text>'


def _step(highest: int, most: int) -> int:
    """The distance of the grid's lines: so few that there are at most so many."""
    return next(step for step in _STEPS if highest / step <= most)


def _ceiling(highest: int) -> int:
    """The next line of the grid."""
    step = _step(highest, 4)
    return -(-highest // step) * step
