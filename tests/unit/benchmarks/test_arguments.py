"""A benchmark's counts are checked where they are given."""

from __future__ import annotations

from argparse import ArgumentTypeError

import pytest

from benchmarks.arguments import positive


def test_a_count_above_zero_is_taken() -> None:
    assert positive("10000") == 10_000


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", "", "²"])
def test_any_other_count_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is not a whole number above 0"):
        positive(text)
