"""The documents' Python, as it stands, on the deployed stack: each snippet for a company that has nothing yet."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from naive import Naive
from tests.e2e import seen
from tests.e2e.conftest import unique
from tests.e2e.deployed import environment, invoked
from tests.e2e.programs import running, wake_poll
from tests.template import ROOT

DOCUMENTS = ["README.md", "docs/sdk-python.md", "clients/python/README.md"]
SNIPPETS = {
    f"{document}-{place}": code
    for document in DOCUMENTS
    for place, code in enumerate(re.findall(r"^```python\n(.*?)^```$", (ROOT / document).read_text(), re.M | re.S), 1)
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_snippet_runs_as_it_stands(name: str, tmp_path: Path) -> None:
    code = SNIPPETS[name]
    key = invoked("bootstrap", company=unique())["api_key"]
    seen.keys.add(key)
    (tmp_path / "snippet.py").write_text(code, encoding="utf-8")
    (tmp_path / "jobs.jsonl").write_text("1\n2\n3\n")
    with Naive(key, environment("NAIVE_BASE_URL")) as naive:
        queue = naive.queue.create("of-the-reader", dlq=True)
        is_worker = "consume(" in code
        if is_worker:
            naive.queue.send_batch(queue, [{"body": '"not yet"'}, {"body": '"job"'}])
        words = (ROOT / "tests/e2e/reader.py", "snippet.py")
        with running(tmp_path, *words, NAIVE_API_KEY=key, NAIVE_QUEUE_ID=queue.id) as program:
            if is_worker:
                program.says("job")
                program.process.send_signal(signal.SIGTERM)
                wake_poll(naive, queue.id)
            program.ends()


def test_the_documents_show_how_to_use_it() -> None:
    assert len(SNIPPETS) > 15
    shown = "".join(SNIPPETS.values())
    for call in ("AsyncNaive()", "Retry(after=", "on_result=", "list_all()", "webhooks.verify(", "traced(", "redrive("):
        assert call in shown
