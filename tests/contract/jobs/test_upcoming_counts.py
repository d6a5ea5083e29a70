"""The upcoming load on every emulator: it reads few cursors, and counts what every stored cursor shows."""

import pytest

from duecourse.testing.stores import Stores
from tests.support.upcoming import check


@pytest.mark.parametrize("seed", [7, 21])
def test_upcoming_counts_are_those_of_every_cursor_on_each_emulator(any_tables: Stores, seed: int) -> None:
    check(any_tables, seed, 40)
