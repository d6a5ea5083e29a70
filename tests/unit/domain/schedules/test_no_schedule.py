"""No schedule: what a job has that runs only when it is asked to."""

from __future__ import annotations

import pytest

from duecourse.domain.schedules import ScheduleError, ScheduleSpec
from duecourse.domain.schedules.parsed_input import counted_from
from duecourse.domain.schedules.preview import preview_schedule
from tests.support.schedules import instants, refusal, schedule, utc


def test_no_schedule_names_no_time() -> None:
    assert instants("", after="0001-01-03 00:00") == []
    assert schedule("").next(utc("2026-01-01 00:00")) is None


def test_no_schedule_lets_a_job_run_again_and_again() -> None:
    none = schedule("")
    assert (none.kind, none.recurring, none.canonical, none.words) == ("none", True, "", "only when asked to run")


def test_no_schedule_still_needs_a_zone_for_the_dates_of_templates() -> None:
    assert refusal("", "No/Where").field == "timezone"


@pytest.mark.parametrize("text", ["", " ", "\t"])
@pytest.mark.parametrize("anchor", [None, 0])
def test_empty_text_that_somebody_gives_is_refused_all_the_same(text: str, anchor: int | None) -> None:
    spec = ScheduleSpec(text, anchor=anchor)
    with pytest.raises(ScheduleError, match="is empty"):
        counted_from(spec, 0)
    with pytest.raises(ScheduleError, match="is empty"):
        preview_schedule(spec, 0, 1)
