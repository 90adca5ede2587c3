"""Receipt handles hold what was put into them, for one queue, and nothing else passes for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenancy import receipts, tokens
from tenancy.errors import ReceiptInvalid
from tenancy.names import new_id
from tenancy.receipts import MAX_LEASE, MAX_LENGTH, Receipt

QUEUE = new_id()


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=1400), st.integers(0, 43_200))
def test_a_handle_gives_back_its_lease(handle: str, visibility: int) -> None:
    receipt = Receipt(handle, 1_796_040_000, visibility)
    text = receipts.issue(receipt, QUEUE)
    assert len(text) <= MAX_LENGTH
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    assert receipts.read(text, QUEUE) == receipt


@given(st.text())
def test_no_other_text_is_a_handle(text: str) -> None:
    with pytest.raises(ReceiptInvalid):
        receipts.read(text, QUEUE)


@given(st.data())
def test_a_changed_handle_is_refused(data: st.DataObject) -> None:
    text = receipts.issue(Receipt("AQEB" * 60, 1_796_040_000, 30), QUEUE)
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from([c for c in "Aa0-_=+/ \n" if c != text[place]] + [""]))
    with pytest.raises(ReceiptInvalid):
        receipts.read(text[:place] + other + text[place + 1 :], QUEUE)


def test_a_handle_of_another_queue_is_refused() -> None:
    text = receipts.issue(Receipt("handle", 0, 30), QUEUE)
    with pytest.raises(ReceiptInvalid):
        receipts.read(text, new_id())


@given(st.sampled_from(["queues", "receipt"]), st.binary(max_size=40))
def test_one_that_somebody_made_up_is_a_handle_or_refused(kind: str, content: bytes) -> None:
    text = tokens.seal(kind, content, QUEUE)
    try:
        receipt = receipts.read(text, QUEUE)
    except ReceiptInvalid:
        return
    assert kind == "receipt"
    assert receipts.issue(receipt, QUEUE) == text


@pytest.mark.parametrize(
    ("wished", "age", "given"),
    [(30, 0, 30), (MAX_LEASE, 0, MAX_LEASE - 1), (600, MAX_LEASE - 100, 99), (600, MAX_LEASE + 5, 0), (0, 10, 0)],
)
def test_a_wish_is_cut_at_twelve_hours_from_the_receive(wished: int, age: int, given: int) -> None:
    assert Receipt("handle", 1000, 30).cut(wished, 1000.5 + age) == given
