"""The locks are of the requirements as they are."""

from hashlib import sha1
from pathlib import Path

import pytest

from tests.template import ROOT

WANTED = sorted([*ROOT.glob("requirements/*.in"), *ROOT.glob("layers/*/requirements.in")])


@pytest.mark.parametrize("wanted", WANTED, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_lock_was_made_of_its_requirements_as_they_are(wanted: Path) -> None:
    # Said in its head by the id that git gives a file, so that neither the network nor a resolver is needed to tell.
    data = wanted.read_bytes()
    digest = sha1(b"blob %d\0" % len(data) + data).hexdigest()
    head = wanted.with_suffix(".lock").read_text().splitlines()[1]
    assert digest in head, f"{wanted.relative_to(ROOT)} has changed since its lock was made: run 'make lock'"
