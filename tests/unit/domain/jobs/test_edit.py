"""Edits and pauses.

- What an edit makes of a job and its cursor.
- Where a cursor stands in a pause, and what is made of that when the pause ends.
"""

from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.jobs.cursor import Cursor, SkippedRange
from duecourse.domain.jobs.edit import edit, resolve_anchor
from duecourse.domain.jobs.job import Job, JobState, Lane, MissedMode, MissedPolicy, Overlap, Precision, Spread
from duecourse.domain.jobs.pause import PauseChange, pause, resume, runs_left
from duecourse.domain.targets.targets import AwsTarget, HttpTarget
from duecourse_schedules import ScheduleError, ScheduleSpec
from duecourse_schedules.exclusions import ExclusionError
from tests.support.jobs import NOON, cursor, job, moved

T0 = int(NOON)
MINUTELY = job("* * * * *")
NONE = ScheduleSpec("")


def every(expression: str) -> ScheduleSpec:
    return ScheduleSpec(expression, anchor=T0)


def edited(
    of: Job, standing: Cursor | None = None, *, at: float = 90.0, sent_until: int = 0, **changes: Any
) -> PauseChange:
    where = cursor(of) if standing is None else standing
    return edit(of, where, replace(of, **changes), now=NOON + at, sent_until=T0 + sent_until)


def test_job_changes_edit_without_effect_writes_nothing() -> None:
    change = edited(MINUTELY, name="")
    assert (change.job is MINUTELY, change.cursor == cursor(MINUTELY), change.skipped) == (True, True, ())


def test_job_changes_edit_ignores_bookkeeping_fields() -> None:
    change = edited(MINUTELY, state=JobState.PAUSED, revision=9, generation=5, paused_because="?", updated_at=1.0)
    assert change.job is MINUTELY


@pytest.mark.parametrize(
    ("before", "after"), [({"a": 1}, {"a": True}), ([0], [False]), ({"a": [1]}, {"a": [1.0]}), (None, {})]
)
def test_job_changes_edit_distinguishes_values_that_differ_in_json(before: Any, after: Any) -> None:
    of = replace(MINUTELY, payload=before)
    assert edited(of, payload=after).job.revision == of.revision + 1
    target = AwsTarget("ecs", "UpdateService", before, "role")
    assert edited(replace(of, target=target), target=replace(target, parameters=after)).job.revision == of.revision + 1


def test_job_changes_edit_of_other_fields_keeps_generation_and_cursor_position() -> None:
    standing = moved(cursor(MINUTELY), T0 + 840)
    policy = MissedPolicy(MissedMode.SKIP)
    change = edited(
        MINUTELY,
        standing,
        name="new",
        priority=Lane.HIGH,
        timeout_seconds=300,
        precision=Precision.EXACT,
        missed=policy,
        overlap=Overlap.ALLOW,
    )
    assert (change.job.generation, change.job.revision) == (MINUTELY.generation, MINUTELY.revision + 1)
    assert (change.job.changed_at, change.job.updated_at) == (MINUTELY.changed_at, NOON + 90)
    assert change.cursor == replace(standing, lane=Lane.LONG, precision=Precision.EXACT, missed=policy)
    assert change.skipped == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"schedule": every("*/2 * * * *")},
        {"schedule": ScheduleSpec("* * * * *", "Europe/Berlin", anchor=T0)},
        {"exclude": ("2026-11-22",)},
        {"jitter_seconds": 10},
        {"max_runs": 100},
    ],
)
def test_job_changes_edit_of_the_schedule_starts_a_new_generation_with_its_cursor_after_now(
    changes: dict[str, Any],
) -> None:
    change = edited(MINUTELY, moved(cursor(MINUTELY), T0 + 840), **changes)
    assert change.job.generation == T0 * 1000 + 90_000
    assert (change.job.changed_at, change.job.state) == (NOON + 90, JobState.ACTIVE)
    assert change.cursor.generation == change.job.generation
    assert change.cursor.due is not None
    assert change.cursor.due > NOON + 90
    assert change.skipped == ()


def test_job_changes_edits_within_a_millisecond_increase_the_generation() -> None:
    ahead = replace(MINUTELY, generation=T0 * 1000 + 10**6)
    assert edited(ahead, schedule=every("*/2 * * * *")).job.generation == ahead.generation + 1


def test_job_changes_edit_skips_due_occurrences_that_were_not_enqueued() -> None:
    change = edited(MINUTELY, at=200, schedule=every("0 * * * *"))
    assert change.skipped == (SkippedRange(T0 + 60, T0 + 180, 3, "edited"),)


def test_job_changes_edit_does_not_skip_occurrences_sent_without_a_claim() -> None:
    assert edited(MINUTELY, at=90, sent_until=120, schedule=every("0 * * * *")).skipped == ()
    later = edited(MINUTELY, at=200, sent_until=120, schedule=every("0 * * * *"))
    assert later.skipped == (SkippedRange(T0 + 180, T0 + 180, 1, "edited"),)


def test_job_changes_edit_does_not_count_occurrences_enqueued_but_not_yet_due_as_runs() -> None:
    of = replace(MINUTELY, max_runs=20)
    ahead = replace(moved(cursor(of), T0 + 900), remaining=6)  # fourteen enqueued, one of them due by now
    change = edited(of, ahead, at=90, schedule=every("*/2 * * * *"))
    assert change.cursor.remaining == 19
    assert edited(of, ahead, at=90, max_runs=30).cursor.remaining == 29
    assert edited(of, ahead, at=90, max_runs=None).cursor.remaining is None


def test_job_changes_first_max_runs_counts_from_the_edit() -> None:
    assert edited(MINUTELY, moved(cursor(MINUTELY), T0 + 840), at=700, max_runs=3).cursor.remaining == 3


def test_job_changes_max_runs_not_above_the_number_of_due_occurrences_is_rejected() -> None:
    of = replace(MINUTELY, max_runs=20)
    ahead = replace(moved(cursor(of), T0 + 900), remaining=6)
    with pytest.raises(ScheduleError) as refused:
        edited(of, ahead, at=190, max_runs=3)
    assert (refused.value.field, refused.value.detail) == (
        "max_runs",
        "must be more than 3, the number of occurrences that are already due",
    )


def test_job_changes_occurrences_skipped_by_an_edit_count_towards_max_runs() -> None:
    of = replace(MINUTELY, max_runs=10)
    change = edited(of, at=200, schedule=every("0 * * * *"))
    assert (change.skipped[0].count, change.cursor.remaining) == (3, 7)


def test_job_changes_schedule_without_future_occurrences_is_rejected() -> None:
    with pytest.raises(ScheduleError, match="no occurrence in the future"):
        edited(MINUTELY, schedule=every("at(2026-11-21T12:01:00)"))


def test_job_changes_exclusion_of_all_future_occurrences_is_rejected_with_its_index() -> None:
    with pytest.raises(ExclusionError, match="excludes 2026-11-21T12:10:00Z") as refused:
        edited(MINUTELY, schedule=every("at(2026-11-21T12:10:00)"), exclude=("2026-11-20", "2026-11-21"))
    assert refused.value.index == 1


def test_job_changes_completed_job_fires_again_after_a_new_schedule_but_not_after_a_new_name() -> None:
    once = job("at(2026-11-21T12:01:00)", state=JobState.COMPLETED)
    over = moved(cursor(once), None)
    assert edited(once, over, name="x").job.state is JobState.COMPLETED
    again = edited(once, over, schedule=every("at(2026-11-21T12:05:00)"))
    assert (again.job.state, again.cursor.occurrence, again.cursor.last) == (JobState.ACTIVE, T0 + 300, None)


def test_job_changes_edit_keeps_a_paused_job_out_of_the_index_and_records_the_occurrences_of_the_pause() -> None:
    stopped = pause(MINUTELY, moved(cursor(MINUTELY), T0 + 840), now=NOON + 90)
    change = edited(stopped.job, stopped.cursor, at=200, schedule=every("*/5 * * * *"))
    assert (change.job.state, change.cursor.occurrence, change.cursor.due) == (JobState.PAUSED, None, None)
    assert change.skipped == (SkippedRange(T0 + 120, T0 + 180, 2, "paused"),)
    resumed = resume(change.job, change.cursor, now=NOON + 700, catch_up=False)
    assert resumed.skipped == (SkippedRange(T0 + 300, T0 + 600, 2, "paused"),)
    assert resumed.cursor.occurrence == T0 + 900


def test_job_changes_edit_during_a_pause_records_earlier_due_occurrences_that_were_not_enqueued() -> None:
    stopped = pause(MINUTELY, moved(cursor(MINUTELY), T0 + 120), now=NOON + 310)
    change = edited(stopped.job, stopped.cursor, at=400, schedule=every("*/5 * * * *"))
    assert change.skipped == (SkippedRange(T0 + 120, T0 + 360, 5, "paused"),)


def test_job_changes_edit_after_a_pause_keeps_the_time_of_the_resume() -> None:
    stopped = pause(MINUTELY, cursor(MINUTELY), now=NOON + 90)
    again = resume(stopped.job, stopped.cursor, now=NOON + 150, catch_up=False)
    first = edited(again.job, again.cursor, at=200, schedule=every("*/5 * * * *"))
    assert (first.job.paused_at, first.job.resumed_at) == (NOON + 90, NOON + 150)
    second = edited(first.job, first.cursor, at=250, schedule=every("*/3 * * * *"))
    assert second.job.resumed_at == NOON + 150
    assert pause(second.job, second.cursor, now=NOON + 260).job.resumed_at is None


def test_job_changes_edit_of_the_schedule_repairs_a_quarantined_cursor() -> None:
    broken = replace(cursor(MINUTELY), error="no such zone", schedule=ScheduleSpec("* * * * *", "No/Where"))
    change = edited(MINUTELY, broken, schedule=every("*/2 * * * *"))
    assert (change.cursor.error, change.cursor.occurrence, change.skipped) == (None, T0 + 120, ())
    assert edited(MINUTELY, broken, name="x").cursor.error == "no such zone"


def test_job_changes_rate_keeps_its_anchor_if_the_rate_is_unchanged() -> None:
    rated = job("rate(10 minutes)")
    again, other = ScheduleSpec("rate(10 minutes)"), ScheduleSpec("rate(7 minutes)")
    assert resolve_anchor(again, rated, NOON + 95.5).anchor == T0
    assert resolve_anchor(again, None, NOON + 95.5).anchor == T0 + 95
    assert resolve_anchor(other, rated, NOON + 95.5).anchor == T0 + 95
    assert resolve_anchor(ScheduleSpec("rate(10 minutes)", start=T0 + 5), rated, NOON).anchor is None
    assert resolve_anchor(ScheduleSpec("0 9 * * 1"), rated, NOON).anchor is None


def test_job_changes_rate_keeps_its_anchor_if_it_stays_among_several_schedules() -> None:
    rated = job("rate(10 minutes)")
    assert resolve_anchor(ScheduleSpec("0 9 * * 1|rate(10 minutes)"), rated, NOON + 95.5).anchor == T0
    assert resolve_anchor(ScheduleSpec("0 9 * * 1|rate(7 minutes)"), rated, NOON + 95.5).anchor == T0 + 95
    several = job("0 9 * * 1|rate(10 minutes)")
    assert resolve_anchor(ScheduleSpec("rate(10 minutes)"), several, NOON + 95.5).anchor == several.schedule.anchor
    assert resolve_anchor(ScheduleSpec("0 9 * * 1|0 9 * * 2"), rated, NOON + 95.5).anchor is None


def test_job_changes_occurrences_that_jitter_delays_past_the_edit_follow_the_new_schedule() -> None:
    of = job("rate(10 minutes)", jitter_seconds=300)
    change = edited(of, at=605, jitter_seconds=599, sent_until=0)
    assert change.cursor.occurrence in (T0 + 600, T0 + 1200)
    assert change.cursor.due is not None
    assert change.cursor.due > T0 + 605


@pytest.mark.parametrize("minutes", [0, 2, 4])
def test_job_changes_earlier_offset_keeps_an_occurrence_that_has_not_run(minutes: int) -> None:
    of = replace(job("rate(10 minutes)"), spread=Spread(10, 9))
    change = edited(of, moved(cursor(of), T0 + 600), at=900, spread=Spread(10, minutes))
    assert change.skipped == ()
    assert (change.cursor.occurrence, change.cursor.due) == (T0 + 600, T0 + 600 + 60 * minutes)


def test_job_changes_earlier_offset_does_not_add_occurrences_of_another_schedule() -> None:
    of = replace(job("rate(10 minutes)"), spread=Spread(10, 9))
    change = edited(of, moved(cursor(of), T0 + 600), at=900, schedule=every("rate(7 minutes)"), spread=None)
    assert change.cursor.occurrence is not None
    assert change.cursor.occurrence > T0 + 900


def test_job_changes_less_jitter_keeps_an_occurrence_that_has_not_run() -> None:
    of = job("rate(10 minutes)", jitter_seconds=599)
    occurrence = next(at for at in range(T0 + 600, T0 + 6000, 600) if of.occurrences().due(at) > at + 1)
    change = edited(of, moved(cursor(of), occurrence), at=occurrence + 1 - T0, jitter_seconds=0)
    assert (change.cursor.occurrence, change.skipped) == (occurrence, ())


def test_job_changes_earlier_offset_keeps_a_last_occurrence_that_is_enqueued() -> None:
    of = replace(job("rate(10 minutes)"), spread=Spread(10, 9), max_runs=1)
    claimed = replace(cursor(of), occurrence=None, due=None, remaining=0, last=T0 + 600)
    change = edited(of, claimed, at=900, spread=Spread(10, 2))
    assert (change.cursor.occurrence, change.cursor.remaining) == (T0 + 600, 1)


def test_job_changes_order_of_headers_is_not_a_change() -> None:
    one, other = (("a", "1"), ("b", "2")), (("b", "2"), ("a", "1"))
    of = replace(MINUTELY, target=HttpTarget("https://example.com", headers=one))
    assert edited(of, target=HttpTarget("https://example.com", headers=other)).job is of
    assert edited(of, target=HttpTarget("https://example.com", headers=one[:1])).job.revision == of.revision + 1


def test_job_changes_larger_jitter_does_not_repeat_occurrences_already_due() -> None:
    of = replace(MINUTELY, max_runs=5)
    standing = replace(moved(cursor(of), T0 + 180), remaining=3)
    for jitter in (30, 60, 120):
        change = edited(of, standing, at=130, jitter_seconds=jitter)
        assert (change.cursor.occurrence, change.cursor.remaining) == (T0 + 180, 3)


def test_job_changes_removing_the_schedule_skips_due_occurrences_and_leaves_none_to_come() -> None:
    change = edited(MINUTELY, at=200, schedule=NONE)
    assert change.skipped == (SkippedRange(T0 + 60, T0 + 180, 3, "edited"),)
    assert (change.job.state, change.job.generation) == (JobState.ACTIVE, T0 * 1000 + 200_000)
    left = change.cursor
    assert (left.generation, left.occurrence, left.due, left.after) == (change.job.generation, None, None, T0 + 200)
    assert (left.last, left.ending) == (None, False)


def test_job_changes_first_schedule_of_a_job_places_its_cursor_at_the_first_occurrence() -> None:
    change = edited(job(""), at=90, schedule=every("* * * * *"))
    assert (change.cursor.occurrence, change.cursor.due, change.skipped) == (T0 + 120, T0 + 120, ())
    assert change.job.generation == T0 * 1000 + 90_000


def test_job_changes_completed_job_becomes_active_when_its_schedule_is_removed() -> None:
    once = job("at(2026-11-21T12:01:00)", state=JobState.COMPLETED)
    change = edited(once, moved(cursor(once), None), schedule=NONE)
    assert (change.job.state, change.cursor.occurrence, change.cursor.last) == (JobState.ACTIVE, None, None)


def test_job_changes_schedule_can_be_removed_and_added_during_a_pause() -> None:
    stopped = pause(MINUTELY, moved(cursor(MINUTELY), T0 + 840), now=NOON + 90)
    away = edited(stopped.job, stopped.cursor, at=200, schedule=NONE)
    assert away.skipped == (SkippedRange(T0 + 120, T0 + 180, 2, "paused"),)
    back = edited(away.job, away.cursor, at=300, schedule=every("* * * * *"))
    assert (back.job.state, back.skipped) == (JobState.PAUSED, ())
    resumed = resume(back.job, back.cursor, now=NOON + 400, catch_up=False)
    assert (resumed.skipped[0].first, resumed.cursor.occurrence) == (T0 + 300 + 60, T0 + 420)


def test_job_changes_empty_schedule_gets_no_anchor() -> None:
    assert resolve_anchor(NONE, job("rate(10 minutes)"), NOON) == NONE


def through(standing: Cursor, paused: float, resumed: float, *, catch_up: bool = False) -> PauseChange:
    """What a pause between those seconds after NOON comes to."""
    stopped = pause(MINUTELY, standing, now=NOON + paused)
    return resume(stopped.job, stopped.cursor, now=NOON + resumed, catch_up=catch_up)


def test_job_changes_pause_covers_occurrences_due_in_it_if_dispatch_is_not_behind() -> None:
    change = through(moved(cursor(MINUTELY), T0 + 840), 150, 300)
    assert change.skipped == (SkippedRange(T0 + 180, T0 + 300, 3, "paused"),)
    assert change.cursor.occurrence == T0 + 360


def test_job_changes_pause_also_covers_earlier_occurrences_not_enqueued_if_dispatch_is_behind() -> None:
    behind = moved(cursor(MINUTELY), T0 + 120)
    change = through(behind, 600, 660)
    assert change.skipped == (SkippedRange(T0 + 120, T0 + 660, 10, "paused"),)
    caught_up = through(behind, 600, 660, catch_up=True)
    assert (caught_up.skipped, caught_up.cursor.occurrence) == ((), T0 + 120)


def test_job_changes_occurrence_that_jitter_delays_into_a_pause_does_not_count_as_due_before_it() -> None:
    jittered = job("0 * * * *", jitter_seconds=1800)
    standing = cursor(jittered)
    assert standing.occurrence is not None
    assert standing.due is not None
    assert standing.due > standing.occurrence
    stopped = pause(jittered, standing, now=standing.due - 1)
    assert stopped.cursor.after == standing.due - 1
    late = pause(jittered, standing, now=standing.due + 600)
    again = resume(late.job, late.cursor, now=standing.due + 700, catch_up=True)
    assert (again.cursor.occurrence, again.cursor.due) == (standing.occurrence, standing.due)


def test_job_changes_paused_quarantined_job_continues_from_its_cursor_position() -> None:
    aside = replace(moved(cursor(MINUTELY), T0 + 120), error="the lanes are gone")
    assert through(aside, 86_400, 86_460).skipped[0].first == T0 + 120


@pytest.mark.parametrize("remaining", [None, 7])
def test_job_changes_job_whose_schedule_is_no_longer_valid_can_be_paused(remaining: int | None) -> None:
    standing = moved(cursor(MINUTELY), T0 + 120)
    broken = replace(standing, schedule=ScheduleSpec("* * * * *", "No/Where"), remaining=remaining)
    stopped = pause(MINUTELY, broken, now=NOON + 600)
    assert (stopped.cursor.occurrence, stopped.cursor.after, stopped.cursor.remaining) == (None, T0 + 119, remaining)


def test_job_changes_second_pause_keeps_the_occurrences_that_the_first_one_left_for_catch_up() -> None:
    first = through(moved(cursor(MINUTELY), T0 + 840), 150, 600, catch_up=True)
    assert first.cursor.occurrence == T0 + 180
    again = pause(first.job, first.cursor, now=NOON + 601)
    assert resume(again.job, again.cursor, now=NOON + 660, catch_up=True).cursor.occurrence == T0 + 180


@pytest.mark.parametrize("catch_up", [True, False], ids=["caught up", "skipped"])
def test_job_changes_pause_of_a_job_without_a_schedule_covers_nothing_and_does_not_complete_the_job(
    *, catch_up: bool
) -> None:
    asked = job("")
    stopped = pause(asked, cursor(asked), now=NOON + 60)
    change = resume(stopped.job, stopped.cursor, now=NOON + 600, catch_up=catch_up)
    assert (stopped.job.state, change.job.state) == (JobState.PAUSED, JobState.ACTIVE)
    assert change.skipped == ()
    for left in (stopped.cursor, change.cursor):
        assert (left.occurrence, left.due, left.last, left.ending) == (None, None, None, False)


@pytest.mark.parametrize("limit", [5, 1_000])
def test_pause_runs_left_in_a_list_are_those_of_the_job(limit: int) -> None:
    """A list counts few due times of a job. It must not count those of a paused job as if the job were active."""
    hourly = job("0 * * * *", max_runs=limit)
    change = pause(hourly, cursor(hourly), now=NOON + 10)
    left = runs_left(change.job, change.cursor, NOON + 20)
    assert runs_left(change.job, change.cursor, NOON + 20, most=50) == left == limit
