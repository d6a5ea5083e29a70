"""The entries of planned pauses, after a resume and after a further plan."""

import pytest

from duecourse.domain.jobs.calendars import extended_pause, pause_entry, pause_name, pause_window, resumed_pause

CAUGHT_UP = pause_entry("erp", 1000, 2000, catch_up=True)
SKIPPED = pause_entry("erp", 1000, 2000, catch_up=False)


def test_planned_pause_has_the_window_of_its_entry() -> None:
    assert pause_window(CAUGHT_UP) == (1000, 1999, True)
    assert pause_window(SKIPPED) == (1000, 1999, False)
    assert pause_window(pause_entry("a@b", 1000, 1001, catch_up=False)) == (1000, 1000, False)


@pytest.mark.parametrize(
    ("entry", "now", "catch_up", "left"),
    [
        (SKIPPED, 999.9, True, None),
        (CAUGHT_UP, 999.9, False, None),
        (SKIPPED, 1500.5, False, None),
        (SKIPPED, 1500.5, True, (1000, 1501, True)),
        (CAUGHT_UP, 1500.5, False, (1000, 1501, True)),
        (CAUGHT_UP, 1000, False, (1000, 1001, True)),
        (CAUGHT_UP, 1999, False, (1000, 1999, True)),
        (CAUGHT_UP, 1999.5, True, (1000, 1999, True)),
        (SKIPPED, 2000, True, (1000, 1999, False)),
    ],
)
def test_planned_pause_resume_keeps_what_is_caught_up(
    entry: str, now: float, catch_up: bool, left: tuple[int, int, bool] | None
) -> None:
    found = resumed_pause(entry, now, catch_up=catch_up)
    assert (None if found is None else pause_window(found)) == left
    assert found is None or pause_name(found) == "erp"


@pytest.mark.parametrize(
    ("had", "now", "begin", "whole"),
    [
        (CAUGHT_UP, 1500, 2000, (1000, 2999, True)),
        (CAUGHT_UP, 1500, 1600, (1000, 2999, True)),
        (CAUGHT_UP, 1500, 2001, (2001, 2999, False)),
        (CAUGHT_UP, 900, 1600, (1600, 2999, False)),
        (CAUGHT_UP, 2000, 2000, (2000, 2999, False)),
        (SKIPPED, 1500, 1600, (1000, 2999, False)),
        (SKIPPED, 1500, 2001, (2001, 2999, False)),
        (None, 1500, 1600, (1600, 2999, False)),
    ],
)
def test_planned_pause_continues_one_in_progress(
    had: str | None, now: float, begin: int, whole: tuple[int, int, bool]
) -> None:
    found = extended_pause(had, pause_entry(None, begin, 3000, catch_up=False), now)
    assert (pause_window(found), pause_name(found)) == (whole, None)
