"""The plots are drawn from what was recorded, and that is what the documents say of it."""

from itertools import groupby

from docs.plots import recording, scaling


def test_the_plot_is_drawn_from_the_recording() -> None:
    assert scaling.SVG.read_text() == scaling.draw(recording.read()), "run 'make docs'"


def test_the_recorded_service_wakes_goes_up_and_rests_when_it_was_idle() -> None:
    samples = recording.read()
    assert max(sample.ready for sample in samples) == recording.MESSAGES
    first, *up, last = [count for count, _ in groupby(sample.desired for sample in samples)]
    assert (first, max(up), last) == (0, 10, 0)
    assert up == sorted(up)
    done = max(sample.seconds for sample in samples if sample.ready or sample.in_flight)
    assert done == 12
    at_work = max(sample.seconds for sample in samples if sample.desired)
    assert at_work - done >= 59, "idle_seconds, by samples that are half a second apart"
