"""Secrets are struck out in time that is bounded, whatever they are and whatever a target answers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.adapters.targets.invocation import MAX_FORMS_BYTES, READ_BYTES, Automaton, Redaction, excerpt

WORDS = st.lists(st.text(alphabet="ab", min_size=1, max_size=6), min_size=1, max_size=8)


@given(WORDS, st.text(alphabet="abc", max_size=60))
def test_every_occurrence_is_hidden_and_nothing_else(words: list[str], text: str) -> None:
    hidden = {
        at for word in words for start in range(len(text)) if text.startswith(word, start)
        for at in range(start, start + len(word))
    }  # fmt: skip
    spans, _ = Automaton(word.encode() for word in words).spans(text.encode())
    assert {at for start, end in spans for at in range(start, end)} == hidden
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


@given(WORDS, st.text(alphabet="abc", max_size=40))
def test_the_end_that_begins_a_word_is_known(words: list[str], text: str) -> None:
    _, begun = Automaton(word.encode() for word in words).spans(text.encode())
    lengths = [n for n in range(len(text) + 1) if any(word.startswith(text[len(text) - n :]) for word in words)]
    assert begun == max(lengths)


def test_secrets_side_by_side_and_one_in_another_vanish_as_wholes() -> None:
    redaction = Redaction(["secret", "secret-of-mine", "other"])
    assert redaction.text("a secret-of-mine, a secret, secretother.") == "a ***, a ***, ******."


def test_text_that_is_no_unicode_stays_readable_around_the_secret() -> None:
    assert Redaction(["kéy"]).data(b"\xff k\xe9y \xe9 k\xc3\xa9y") == b"\xff *** \xe9 ***"


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of Python the work takes: what a clock would say without its weather."""
    count = 0

    def local(_frame: Any, event: str, _arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return local

    standing = sys.gettrace()
    sys.settrace(lambda *_: local)
    try:
        work()
    finally:
        sys.settrace(standing)
    return count


HOSTILE = {
    "nested": (["a" * length for length in range(4, 100)], b"a"),
    "late difference": (["a" * length + "b" for length in range(4, 100)], b"a"),
    "many": ([f"{number:04x}" for number in range(1_000)], b"0123456789abcdef"),
}


@pytest.mark.parametrize(("words", "pattern"), HOSTILE.values(), ids=HOSTILE)
def test_the_work_grows_with_the_answer_alone_however_many_secrets_there_are(words: list[str], pattern: bytes) -> None:
    data = pattern * (20_000 // len(pattern))
    redaction = Redaction(words)
    assert lines_run(lambda: redaction.data(data, broken_off=True)) < 12 * len(data)


def test_headers_too_large_to_be_looked_for_let_nothing_of_an_answer_be_kept() -> None:
    redaction = Redaction(f"{number:08}" for number in range(MAX_FORMS_BYTES))
    assert redaction.data(b"anything") == b"***"
    assert redaction.text("anything") == "***"
    assert redaction.value({"a": 1}) == "***"


def test_of_an_answer_only_what_can_be_shown_is_looked_at() -> None:
    secret = "x" * 40
    body = b" " * 16_380 + secret.encode() + b"end" * READ_BYTES
    assert "x" not in excerpt(body, Redaction([secret]))
    assert excerpt(b"why not: " + body, Redaction([secret])) == "why not:"
