"""Why a job ran at an instant, or did not: from its record, else from where its schedule stands."""

import re
from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.instants import from_iso, to_iso
from duecourse.domain.jobs.cursor import Cursor, PlannedResume
from duecourse.domain.jobs.job import Job, JobState, Tombstone
from duecourse.domain.jobs.pause import pause
from duecourse.domain.runs.explain import ExplainContext, Explanation, Verdict, before, explain, recorded
from duecourse.domain.runs.states import Run, RunState
from duecourse_schedules import ScheduleSpec
from tests.support import runs
from tests.support.jobs import NOON, cursor, job, moved

DAY = 86_400
AROUND = ExplainContext(lookahead=300, horizon=840, retention=90 * DAY, lane_kept=14 * DAY)


def hourly(**changes: Any) -> Job:
    """On the hour, created at noon; 13:00 is the first."""
    return job("0 * * * *", id="hourly", **changes)


def at(text: str) -> int:
    return int(from_iso(f"2026-11-{text}Z"))


def asked(
    when: int,
    of: Job | Tombstone | None,
    standing: Cursor | None = None,
    record: Run | None = None,
    *,
    now: float,
    **changes: Any,
) -> Explanation:
    return explain(when, of, standing, record, replace(AROUND, **changes), now=now)


def standing(of: Job, occurrence: str | None) -> Cursor:
    """The cursor when the dispatcher has handed over everything before `occurrence`."""
    return moved(cursor(of), None if occurrence is None else at(occurrence))


class TestFromItsRecord:
    @pytest.mark.parametrize(
        ("state", "changes", "verdict", "words"),
        [
            (RunState.SUCCEEDED, {}, Verdict.FIRED, "It ran and succeeded after 2 attempts, 250 ms after it was due."),
            (RunState.SUCCEEDED, {"attempt": 1}, Verdict.FIRED, "after 1 attempt,"),
            (RunState.DEAD, {"code": "http.503"}, Verdict.FIRED, r"dead after 2 attempts \(http.503\)"),
            (RunState.RUNNING, {}, Verdict.RUNNING, "It is running, attempt 2"),
            (RunState.WAITING, {"waiting_until": NOON + 60}, Verdict.RUNNING, "callback until 2026-11-21T12:01:00Z"),
            (RunState.RETRYING, {"not_before": NOON + 9.5}, Verdict.RUNNING, "Attempt 2 failed; the next .*12:00:09Z"),
            (
                RunState.CANCELLED,
                {"reason": "deleted"},
                Verdict.CANCELLED,
                "after 2 attempts because the job was deleted",
            ),
            (RunState.SKIPPED, {"reason": "overlap"}, Verdict.SKIPPED, "another run of the job was active"),
            (RunState.SKIPPED, {"reason": "missed"}, Verdict.SKIPPED, "the job skips missed occurrences"),
            (
                RunState.SKIPPED,
                {"reason": "skipped_on_request", "requested_by": "ada"},
                Verdict.SKIPPED,
                r"it was skipped on request \(ada\)",
            ),
            (RunState.SKIPPED, {"reason": "paused"}, Verdict.PAUSED, "the job was paused"),
            (RunState.SKIPPED, {"reason": "deleted"}, Verdict.DELETED, "the job was deleted"),
            (RunState.SKIPPED, {"reason": "upstream_failed"}, Verdict.SKIPPED, "upstream step of its workflow failed"),
            (
                RunState.SKIPPED,
                {"reason": "upstream_skipped"},
                Verdict.SKIPPED,
                "an upstream step of its workflow was skipped",
            ),
            (RunState.SKIPPED, {"reason": "not_needed"}, Verdict.SKIPPED, "no upstream step of its workflow failed"),
            (
                RunState.SKIPPED,
                {"reason": "not_its_time"},
                Verdict.SKIPPED,
                "not part of this occurrence of its workflow",
            ),
            (RunState.CANCELLED, {"reason": "workflow_over"}, Verdict.CANCELLED, "the run of its workflow had ended"),
            (
                RunState.DEAD,
                {"reason": "steps_failed", "error": "failed: eu (http.500)"},
                Verdict.FIRED,
                r"^Its steps have ended; failed: eu \(http.500\). Correct the cause, then redrive it or rerun",
            ),
            (RunState.SKIPPED, {"reason": "newly_invented"}, Verdict.SKIPPED, "newly_invented"),
        ],
    )
    def test_explain_reports_run_with_its_state(
        self, state: RunState, changes: dict[str, Any], verdict: Verdict, words: str
    ) -> None:
        of = hourly()
        record = runs.run(of, state, **changes)
        found = asked(int(NOON), of, cursor(of), record, now=NOON + 100)
        assert found.verdict is verdict
        assert re.search(words, found.sentence)
        assert found.run == record
        assert found.facts["state"] == state.value

    def test_explain_reports_catch_up_run_for_all_occurrences_that_it_covers(self) -> None:
        of = hourly()
        record = runs.run(of, RunState.SUCCEEDED, occurrence=at("21T13:00:00"), through=at("21T18:00:00"), count=6)
        found = asked(at("21T16:00:00"), of, standing(of, "21T20:00:00"), record, now=at("21T19:30:00"))
        assert found.verdict is Verdict.FIRED
        assert "hourly.20261121T130000Z covers 6 occurrences, including this one" in found.sentence
        assert found.facts["count"] == 6

    def test_explain_reports_instant_between_the_occurrences_of_a_range_as_no_occurrence(self) -> None:
        of = hourly()
        record = runs.run(of, RunState.SKIPPED, occurrence=at("21T13:00:00"), through=at("21T18:00:00"), count=6)
        found = asked(at("21T16:20:00"), of, standing(of, "21T20:00:00"), record, now=at("21T19:30:00"))
        assert (found.verdict, found.run) == (Verdict.NOT_AN_OCCURRENCE, None)

    def test_explain_reports_occurrence_skipped_by_an_edit_without_the_former_schedule(self) -> None:
        of = hourly()
        start, end = at("21T13:20:00"), at("21T18:20:00")
        record = runs.run(of, RunState.SKIPPED, occurrence=start, through=end, count=16, reason="edited")
        found = asked(at("21T14:40:00"), of, standing(of, "21T20:00:00"), record, now=at("21T19:30:00"))
        assert found.verdict is Verdict.SKIPPED
        assert "the job's schedule changed" in found.sentence

    def test_explain_reports_run_of_a_deleted_job_from_its_record(self) -> None:
        record = runs.run(hourly(), RunState.SUCCEEDED)
        assert asked(int(NOON), None, None, record, now=NOON + 100).verdict is Verdict.FIRED


class TestWithoutARecord:
    def test_explain_reports_future_occurrence_with_the_time_of_its_enqueueing(self) -> None:
        of = hourly()
        found = asked(at("21T18:00:00"), of, standing(of, "21T13:00:00"), now=NOON + 60)
        assert found.verdict is Verdict.FUTURE
        assert (found.facts["enqueued_from"], found.facts["enqueued_by"]) == (
            "2026-11-21T17:46:00Z",
            "2026-11-21T17:55:00Z",
        )
        assert (found.before, found.after) == (at("21T17:00:00"), at("21T19:00:00"))

    def test_explain_reports_enqueued_occurrence_before_its_due_time_as_queued(self) -> None:
        of = hourly()
        found = asked(at("21T13:00:00"), of, standing(of, "21T14:00:00"), now=at("21T12:58:00"))
        assert found.verdict is Verdict.QUEUED
        assert "delayed until it is due, at 2026-11-21T13:00:00Z" in found.sentence

    def test_explain_reports_occurrence_sent_directly_by_the_api_as_queued_before_the_cursor_passes_it(self) -> None:
        of = job("rate(10 seconds)")
        assert asked(int(NOON) + 60, of, cursor(of), now=NOON + 1, sent_until=int(NOON) + 120).verdict is Verdict.QUEUED
        assert (
            asked(int(NOON) + 130, of, cursor(of), now=NOON + 1, sent_until=int(NOON) + 120).verdict is Verdict.FUTURE
        )

    def test_explain_reports_due_occurrence_without_a_record_as_waiting_for_a_worker(self) -> None:
        of = hourly()
        found = asked(at("21T13:00:00"), of, standing(of, "21T14:00:00"), now=at("21T13:00:05"))
        assert found.verdict is Verdict.QUEUED
        assert "waits for a worker" in found.sentence

    def test_explain_reports_due_occurrence_that_was_not_enqueued_as_late(self) -> None:
        of = hourly()
        assert asked(at("21T13:00:00"), of, standing(of, "21T13:00:00"), now=at("21T13:10:00")).verdict is Verdict.LATE

    @pytest.mark.parametrize(
        ("later", "changes", "verdict"),
        [
            (600, {"lane_empty": True}, Verdict.QUEUED),
            (901, {"lane_empty": True}, Verdict.LOST),
            (901, {"lane_empty": False}, Verdict.QUEUED),
            (901, {"lane_empty": None}, Verdict.QUEUED),
            (14 * DAY, {"lane_empty": False}, Verdict.LOST),
            (14 * DAY, {"searched": False}, Verdict.UNCLEAR),
        ],
    )
    def test_explain_reports_occurrence_that_no_queue_can_contain_any_more_as_lost(
        self, later: int, changes: dict[str, Any], verdict: Verdict
    ) -> None:
        of = hourly()
        when = at("21T13:00:00")
        assert asked(when, of, standing(of, "21T14:00:00"), now=when + later, **changes).verdict is verdict

    def test_explain_reports_occurrence_older_than_the_record_retention_as_expired(self) -> None:
        of = hourly()
        late = at("21T13:00:00") + 90 * DAY
        found = asked(at("21T13:00:00"), of, standing(of, "21T14:00:00"), now=late)
        assert found.verdict is Verdict.EXPIRED
        assert "90 days" in found.sentence

    @pytest.mark.parametrize("when", ["20T13:00:00", "21T12:00:00"])
    def test_explain_reports_instant_before_the_creation_of_the_job(self, when: str) -> None:
        found = asked(at(when), hourly(), cursor(hourly()), now=NOON + 60)
        assert found.verdict is Verdict.BEFORE_CREATION
        assert found.facts == {"created_at": "2026-11-21T12:00:00Z"}
        assert (found.before, found.after) == (None, at(when) + 3600)

    def test_explain_reports_deleted_job_with_the_time_of_the_deletion(self) -> None:
        gone = Tombstone(NOON)
        after, earlier = asked(int(NOON) + 60, gone, now=NOON + 90), asked(int(NOON) - 60, gone, now=NOON + 90)
        assert (after.verdict, earlier.verdict) == (Verdict.DELETED, Verdict.DELETED)
        assert after.sentence == "The job was deleted at 2026-11-21T12:00:00Z, before this instant."
        assert (
            earlier.sentence
            == "The job was deleted at 2026-11-21T12:00:00Z, and there is no record of this occurrence."
        )

    def test_explain_reports_changed_job_without_its_earlier_schedule(self) -> None:
        of = hourly(changed_at=at("21T15:30:00"))
        found = asked(at("21T15:00:00"), of, standing(of, "21T17:00:00"), now=at("21T16:30:00"))
        assert found.verdict is Verdict.CHANGED
        assert found.facts == {"changed_at": "2026-11-21T15:30:00Z"}

    def test_explain_reports_quarantined_cursor_with_its_error(self) -> None:
        of = hourly()
        broken = replace(cursor(of), error="no such zone")
        assert "no such zone" in asked(at("21T13:00:00"), of, broken, now=NOON + 60).sentence
        assert asked(at("21T13:00:00"), of, None, now=NOON + 60).verdict is Verdict.UNCLEAR

    def test_explain_reports_schedule_that_is_no_longer_valid_as_unclear(self) -> None:
        of = replace(hourly(), schedule=ScheduleSpec("0 * * * *", "Mars/Olympus"))
        found = asked(at("21T13:00:00"), of, None, now=NOON + 60)
        assert (found.verdict, found.before, found.after) == (Verdict.UNCLEAR, None, None)


class TestWhileItIsPaused:
    def paused(self, **changes: Any) -> tuple[Job, Cursor]:
        of = hourly()
        change = pause(of, standing(of, "21T14:00:00"), now=at("21T13:30:00"), because="maintenance")
        return replace(change.job, **changes), change.cursor

    def test_explain_reports_occurrence_during_a_pause_with_time_principal_and_reason(self) -> None:
        of, where = self.paused(paused_by="ada@example.com")
        found = asked(at("21T15:00:00"), of, where, now=at("21T15:10:00"))
        assert found.verdict is Verdict.PAUSED
        assert found.facts == {"since": "2026-11-21T13:30:00Z", "by": "ada@example.com", "note": "maintenance"}
        assert found.sentence == (
            "It did not run: the job has been paused since 2026-11-21T13:30:00Z by ada@example.com (maintenance)."
        )

    def test_explain_reports_future_occurrence_of_a_paused_job_as_dependent_on_a_resume(self) -> None:
        of, where = self.paused()
        found = asked(at("21T15:00:00"), of, where, now=at("21T14:10:00"))
        assert "will not run unless the job is resumed before then" in found.sentence

    def test_explain_reports_pause_with_a_planned_resume_and_the_occurrence_due_at_its_end(self) -> None:
        of = hourly()
        end = PlannedResume(int(at("21T15:00:00")))
        paused = pause(of, standing(of, "21T14:00:00"), now=at("21T13:30:00"), by="ada", end=end)
        during = asked(at("21T14:00:00"), paused.job, paused.cursor, now=at("21T14:10:00"))
        assert (during.verdict, during.facts["until"]) == (Verdict.PAUSED, "2026-11-21T15:00:00Z")
        assert during.sentence == (
            "It did not run: the job has been paused since 2026-11-21T13:30:00Z until 2026-11-21T15:00:00Z by ada."
        )
        after = asked(at("21T15:00:00"), paused.job, paused.cursor, now=at("21T14:10:00"))
        assert (after.verdict, after.facts["until"]) == (Verdict.FUTURE, "2026-11-21T15:00:00Z")
        assert after.sentence.endswith("The job is paused until 2026-11-21T15:00:00Z.")

    def test_explain_reports_occurrence_due_before_a_pause_independently_of_the_pause(self) -> None:
        of, where = self.paused()
        assert asked(at("21T13:00:00"), of, where, now=at("21T14:10:00")).verdict is Verdict.CHANGED

    def test_explain_reports_occurrence_due_but_not_enqueued_before_a_pause_as_paused(self) -> None:
        of = hourly()
        stopped = pause(of, standing(of, "21T13:00:00"), now=at("21T15:30:00"))
        assert asked(at("21T13:00:00"), stopped.job, stopped.cursor, now=at("21T15:40:00")).verdict is Verdict.PAUSED
        before = asked(at("21T12:00:00"), stopped.job, stopped.cursor, now=at("21T15:40:00"))
        assert before.verdict is not Verdict.PAUSED

    def test_explain_reports_instant_outside_the_schedule_of_a_paused_job_as_no_occurrence(self) -> None:
        of, where = self.paused()
        assert asked(at("21T15:01:00"), of, where, now=at("21T15:10:00")).verdict is Verdict.NOT_AN_OCCURRENCE


class TestWhatItsScheduleDoesNotName:
    def test_explain_reports_instant_between_two_occurrences_with_both(self) -> None:
        of = hourly()
        found = asked(at("21T14:20:00"), of, cursor(of), now=NOON)
        assert (found.verdict, found.before, found.after) == (
            Verdict.NOT_AN_OCCURRENCE,
            at("21T14:00:00"),
            at("21T15:00:00"),
        )
        assert "at minute 0" in found.sentence or "hour" in found.sentence

    def test_explain_reports_job_without_a_schedule_as_running_on_request(self) -> None:
        of = job("", id="hourly")
        found = asked(at("21T14:20:00"), of, cursor(of), now=at("21T15:00:00"))
        assert (found.verdict, found.sentence, found.before, found.after) == (
            Verdict.NOT_AN_OCCURRENCE,
            "The job has no schedule: it runs only on demand.",
            None,
            None,
        )
        record = runs.run(of, RunState.SUCCEEDED, occurrence=at("21T14:20:00"))
        assert asked(at("21T14:20:00"), of, cursor(of), record, now=at("21T15:00:00")).verdict is Verdict.FIRED

    def test_explain_reports_instant_outside_the_window_with_its_start_or_end(self) -> None:
        spec = ScheduleSpec("0 * * * *", start=at("22T00:00:00"), end=at("23T00:00:00"))
        of = replace(hourly(), schedule=spec)
        early, late = (asked(at(when), of, cursor(of), now=NOON) for when in ("21T14:00:00", "23T00:00:00"))
        assert (early.verdict, early.sentence) == (
            Verdict.BEFORE_START,
            "Its schedule starts later, at 2026-11-22T00:00:00Z.",
        )
        assert (late.verdict, late.sentence) == (
            Verdict.AFTER_END,
            "Its schedule ended earlier, at 2026-11-23T00:00:00Z.",
        )

    def test_explain_reports_excluded_occurrence_with_the_matching_entry(self) -> None:
        of = hourly(exclude=("2026-12-24", "2026-11-22/2026-11-23"))
        found = asked(at("23T08:00:00"), of, cursor(of), now=NOON)
        assert (found.verdict, found.facts) == (Verdict.EXCLUDED, {"excluded_by": "2026-11-22/2026-11-23"})
        assert (to_iso(found.before or 0), to_iso(found.after or 0)) == ("2026-11-21T23:00:00Z", "2026-11-24T00:00:00Z")

    def test_explain_what_a_window_replaced_names_both_occurrences(self) -> None:
        window = "2026-11-30T17:30:00Z/2026-11-30T20:15:00Z/catch_up"
        of = hourly(exclude=(window,))
        left = asked(at("30T19:00:00"), of, cursor(of), now=NOON)
        assert left.sentence == f'It is excluded by "{window}" and replaced by the occurrence at 2026-11-30T20:15:00Z.'
        assert left.facts == {"excluded_by": window, "moved_to": "2026-11-30T20:15:00Z"}
        arrived = asked(at("30T20:15:00"), of, cursor(of), now=NOON)
        assert (arrived.verdict, arrived.facts["moved_from"]) == (Verdict.FUTURE, "2026-11-30T18:00:00Z")
        assert "It replaces the occurrences that a window excluded, from 2026-11-30T18:00:00Z on." in arrived.sentence

    def test_explain_what_moved_off_an_excluded_day_names_both_days(self) -> None:
        spec = ScheduleSpec("0 18 L * *", on_excluded="previous")
        of = hourly(schedule=spec, exclude=("2026-11-30", "2026-12-31/2027-03-01"))
        left = asked(at("30T18:00:00"), of, cursor(of), now=NOON)
        assert (left.verdict, left.facts) == (
            Verdict.EXCLUDED,
            {"excluded_by": "2026-11-30", "moved_to": "2026-11-29T18:00:00"},
        )
        arrived = asked(at("29T18:00:00"), of, cursor(of), now=NOON)
        assert (arrived.verdict, arrived.facts["moved_from"]) == (Verdict.FUTURE, "2026-11-30T18:00:00")
        assert "It moved here from 2026-11-30T18:00:00 (UTC), an excluded day." in arrived.sentence
        without = asked(
            int(from_iso("2027-01-31T18:00:00Z")), replace(of, exclude=("2026-12-01/2027-03-01",)), now=NOON
        )
        assert (without.verdict, "moved_to" in without.facts) == (Verdict.EXCLUDED, False)

    def test_explain_reports_completed_job_with_its_last_occurrence(self) -> None:
        of = job("at(2026-11-21T13:00:00)", state=JobState.COMPLETED)
        found = asked(at("21T14:00:00"), of, moved(cursor(of), None), now=at("21T15:00:00"))
        assert found.verdict is Verdict.COMPLETED
        assert "its last occurrence was 2026-11-21T13:00:00Z" in found.sentence
        assert (found.before, found.after) == (at("21T13:00:00"), None)

    def test_explain_reports_instant_after_the_last_of_max_runs(self) -> None:
        of = hourly(max_runs=3)
        third, fourth = (asked(at(when), of, cursor(of), now=NOON) for when in ("21T15:00:00", "21T16:00:00"))
        assert (third.verdict, fourth.verdict) == (Verdict.FUTURE, Verdict.MAX_RUNS)
        used_up = replace(cursor(of), occurrence=None, due=None, last=at("21T15:00:00"), remaining=0)
        assert asked(at("21T16:00:00"), of, used_up, now=at("21T18:00:00")).verdict is Verdict.MAX_RUNS
        assert asked(at("21T15:00:00"), of, used_up, now=at("21T15:00:01")).verdict is Verdict.QUEUED


class TestDaylightSaving:
    """New York, 2026: 02:00 becomes 03:00 on March 8 (07:00 UTC); 02:00 becomes 01:00 on November 1 (06:00 UTC)."""

    MARCH = from_iso("2026-03-01T00:00:00Z")
    OCTOBER = from_iso("2026-10-30T00:00:00Z")

    def test_explain_reports_time_in_a_dst_gap_with_the_time_used_instead(self) -> None:
        of = job("30 2 * * *", timezone="America/New_York", at=self.MARCH)
        found = asked(int(from_iso("2026-03-08T07:30:00Z")), of, cursor(of), now=self.MARCH)
        assert found.verdict is Verdict.GAP
        assert found.sentence == (
            "The clock of America/New_York jumped over 2026-03-08T02:30:00; with dst_gap next, the occurrence is at"
            " 2026-03-08T07:00:00Z."
        )
        assert to_iso(found.before or 0) == "2026-03-08T07:00:00Z"

    def test_explain_reports_time_in_a_dst_gap_as_dropped_with_dst_gap_skip(self) -> None:
        spec = ScheduleSpec("30 2 * * *", "America/New_York", dst_gap="skip")
        of = replace(job(at=self.MARCH), schedule=spec)
        found = asked(int(from_iso("2026-03-08T07:30:00Z")), of, cursor(of), now=self.MARCH)
        assert (found.verdict, found.facts["instead"]) == (Verdict.GAP, [])
        assert "the occurrence is dropped" in found.sentence

    def test_explain_reports_interval_time_in_a_dst_gap_as_dropped(self) -> None:
        of = job("*/15 2 * * *", timezone="America/New_York", at=self.MARCH)
        found = asked(int(from_iso("2026-03-08T07:15:00Z")), of, cursor(of), now=self.MARCH)
        assert found.verdict is Verdict.GAP
        assert "jumped over 2026-03-08T02:15:00; for an interval, the occurrence is dropped" in found.sentence

    def test_explain_reports_repeated_time_in_a_dst_fold_with_the_pass_that_counts(self) -> None:
        of = job("30 1 * * *", timezone="America/New_York", at=self.OCTOBER)
        found = asked(int(from_iso("2026-11-01T06:30:00Z")), of, cursor(of), now=self.OCTOBER)
        assert found.verdict is Verdict.FOLD
        assert (
            "showed 2026-11-01T01:30:00 twice; with dst_fold first, the occurrence is at 2026-11-01T05:30:00Z"
            in found.sentence
        )

    def test_explain_reports_single_local_time_in_a_dst_gap(self) -> None:
        of = job("at(2026-03-08T02:30:00)", timezone="America/New_York", at=self.MARCH)
        found = asked(int(from_iso("2026-03-08T07:30:00Z")), of, cursor(of), now=self.MARCH)
        assert (found.verdict, found.facts["instead"]) == (Verdict.GAP, ["2026-03-08T07:00:00Z"])

    def test_explain_reports_rate_without_dst_changes(self) -> None:
        of = job("rate(1 hour)", timezone="America/New_York", at=self.MARCH)
        found = asked(int(from_iso("2026-03-08T07:30:00Z")), of, cursor(of), now=self.MARCH)
        assert found.verdict is Verdict.NOT_AN_OCCURRENCE

    def test_explain_reports_instant_outside_the_expression_near_a_dst_gap_as_no_occurrence(self) -> None:
        of = job("30 2 * * *", timezone="America/New_York", at=self.MARCH)
        found = asked(int(from_iso("2026-03-08T07:31:00Z")), of, cursor(of), now=self.MARCH)
        assert found.verdict is Verdict.NOT_AN_OCCURRENCE


class TestTheOccurrenceBefore:
    @pytest.mark.parametrize("expression", ["* * * * * *", "0 0 29 2 *", "rate(7 hours)", "0 9 * * 1"])
    def test_explain_previous_occurrence_is_the_last_one_of_a_long_sequence(self, expression: str) -> None:
        occurrences = job(expression, at=from_iso("2000-01-01T00:00:00Z")).occurrences()
        low, end = int(from_iso("2000-01-01T00:00:00Z")), int(NOON)
        found = before(occurrences, low, end)
        assert found is not None
        assert found < end
        following = occurrences.next(found)
        assert following is not None
        assert following >= end

    def test_explain_previous_occurrence_is_none_without_an_earlier_one(self) -> None:
        occurrences = hourly().occurrences()
        assert before(occurrences, int(NOON), at("21T13:00:00")) is None
        assert before(occurrences, int(NOON), int(NOON) - 5) is None


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-0.1, "0 ms"),
        (0.00478, "5 ms"),
        (0.9999, "1.0 s"),
        (4.56, "4.6 s"),
        (90.4, "90 s"),
        (600, "10 min"),
        (9e4, "25 h"),
    ],
)
def test_explain_how_late_a_run_was_has_a_unit_that_suits_it(seconds: float, said: str) -> None:
    late = {"first_started_at": NOON + seconds, "started_at": NOON + seconds}
    found = recorded(runs.run(job(), RunState.SUCCEEDED, **late), int(NOON))
    assert f", {said} after it was due." in found.sentence
