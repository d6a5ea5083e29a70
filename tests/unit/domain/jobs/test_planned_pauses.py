"""Planned pauses, after a resume and after a further plan."""

import pytest

from duecourse.domain.jobs.calendars import PlannedPause

CAUGHT_UP = PlannedPause("erp", 1000, 1999, catch_up=True)
SKIPPED = PlannedPause("erp", 1000, 1999)


def test_planned_pause_is_shown_with_its_end() -> None:
    assert CAUGHT_UP.exclude == ("1970-01-01T00:16:40Z/1970-01-01T00:33:20Z/catch_up",)
    assert SKIPPED.window == "1970-01-01T00:16:40Z/1970-01-01T00:33:20Z"


@pytest.mark.parametrize(
    ("pause", "now", "catch_up", "left"),
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
    pause: PlannedPause, now: float, catch_up: bool, left: tuple[int, int, bool] | None
) -> None:
    found = pause.resumed(now, catch_up=catch_up)
    assert found == (None if left is None else PlannedPause("erp", *left))


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
    had: PlannedPause | None, now: float, begin: int, whole: tuple[int, int, bool]
) -> None:
    assert PlannedPause(None, begin, 2999).extending(had, now) == PlannedPause(None, *whole)
