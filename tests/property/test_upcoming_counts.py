"""The upcoming load, which reads few cursors, is what every stored cursor shows."""

from hypothesis import given
from hypothesis import strategies as st

from duecourse.testing.stores import MemoryStores
from tests.support.examples import examples
from tests.support.upcoming import check


@examples(300)
@given(st.integers(0, 2**32), st.integers(1, 40))
def test_upcoming_counts_are_those_of_every_cursor(seed: int, steps: int) -> None:
    check(MemoryStores(), seed, steps)
