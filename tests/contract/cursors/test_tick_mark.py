"""The tick's sign of life and the shards' watermarks, on every emulator of DynamoDB."""

from __future__ import annotations

from duecourse.testing.clock import SettableClock
from tests.support.tables import Stores

NOW = 1_795_262_400.25


def test_a_mark_is_there_once_it_was_made_and_the_last_one_counts(any_tables: Stores) -> None:
    mark = any_tables.tick_mark()
    assert mark.last() is None
    mark.mark(NOW)
    mark.mark(NOW + 60)
    assert mark.last() == NOW + 60


def test_every_shard_ever_used_is_told_with_its_watermark(any_tables: Stores) -> None:
    mark = any_tables.tick_mark()
    assert mark.progress().watermarks == {}
    cursors = any_tables.cursor_store(SettableClock(NOW))
    cursors.highest_shards(120)
    cursors.advance_watermark(0, "2026-11-21T09")
    cursors.advance_watermark(119, "2026-11-21T10")
    found = mark.progress().watermarks
    assert (len(found), found[0], found[1], found[119]) == (120, "2026-11-21T09", None, "2026-11-21T10")
