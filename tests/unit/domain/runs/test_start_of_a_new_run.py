"""The first start of a run that has no record, by its schedule or by hand.

- A message for a run without a record: does the job as it is now still want it?
- What a worker does with a run that somebody asked for by hand.
"""

from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.job import (
    Delivery,
    Job,
    JobSnapshot,
    JobState,
    Lane,
    MissedMode,
    MissedPolicy,
    RetryPolicy,
    Tombstone,
)
from duecourse.domain.runs.decision import Decision, Drop, Start, StartRequest, Transition
from duecourse.domain.runs.states import Running, RunState
from duecourse.domain.runs.transitions import decide_start
from tests.support.jobs import NOON, job
from tests.support.start_requests import DUE, EXPIRES, GENERATION, context, expect, run, start_request

EDITED = GENERATION + 30_000


def decide(job: JobSnapshot, offered: StartRequest | None = None, *, now: float = DUE) -> Decision:
    return decide_start(start_request() if offered is None else offered, job, None, context(), now=now)


def edited(at: float, **changes: Any) -> Job:
    """A job whose schedule, pause or deletion changed at `at`."""
    return job(generation=EDITED, changed_at=at, updated_at=at, **changes)


def test_an_occurrence_of_an_active_job_starts_and_every_field_of_its_record_is_said() -> None:
    decision = decide(job(retry=RetryPolicy(max_attempts=3)), now=DUE + 0.25)
    assert decision == Start(
        Running(
            RunIdentity(tenant="default", job_id="tick-tock", occurrence=DUE, due=DUE, generation=GENERATION),
            lane=Lane.NORMAL,
            attempt=1,
            attempts_allowed=3,
            fencing_token="request-1/message-1",
            message_id="message-1",
            nonce="nonce-1",
            lease_until=DUE + 120,
            first_started_at=DUE + 0.25,
            started_at=DUE + 0.25,
            expires_at=EXPIRES,
        ),
        None,
        "due",
    )
    assert isinstance(decision, Start)
    assert decision.run.lateness == 0.25


def test_a_job_that_runs_at_most_once_is_allowed_a_single_attempt() -> None:
    decision = expect(Start, decide(job(delivery=Delivery.AT_MOST_ONCE, retry=RetryPolicy(max_attempts=5))))
    assert decision.run.attempts_allowed == 1


def test_a_run_is_recorded_in_the_lane_that_the_job_has_now() -> None:
    assert expect(Start, decide(job(timeout_seconds=600, priority=Lane.HIGH))).run.lane is Lane.LONG


def test_a_run_with_a_suffix_keeps_it() -> None:
    assert str(expect(Start, decide(job(), start_request(suffix=".m1"))).run.name).endswith("Z.m1")


def test_a_retry_whose_record_has_expired_does_not_start_from_the_beginning() -> None:
    assert decide(job(), start_request(attempt=2)) == Drop("the record of an earlier attempt no longer exists")


# The job is gone.


def test_what_was_due_before_its_job_was_deleted_is_skipped_with_a_record() -> None:
    decision = expect(Transition, decide(Tombstone(deleted_at=DUE + 0.5), now=DUE + 1))
    assert (decision.reason, decision.run.state, decision.run.reason) == ("deleted", RunState.SKIPPED, "deleted")
    assert (decision.run.attempt, decision.run.first_started_at, decision.run.expires_at) == (0, None, EXPIRES)


def test_what_was_due_at_the_very_instant_of_the_deletion_is_skipped_with_a_record() -> None:
    assert isinstance(decide(Tombstone(deleted_at=float(DUE))), Transition)


def test_what_was_due_after_its_job_was_deleted_leaves_no_record() -> None:
    assert decide(Tombstone(deleted_at=DUE - 0.5)) == Drop("the job does not exist")


def test_what_belongs_to_a_job_that_nobody_knows_leaves_no_record() -> None:
    assert decide(None) == Drop("the job does not exist")


def test_a_message_of_a_deleted_job_does_not_start_in_a_job_created_anew_under_its_id() -> None:
    anew = job(at=DUE - 10.0)
    assert decide(anew) == Drop("the job was deleted and created again")
    later = job(at=DUE + 10.0)
    assert decide(later, now=DUE + 11) == Drop("the job was deleted and created again")


# The job changed.


def test_an_occurrence_due_before_an_edit_runs() -> None:
    assert expect(Start, decide(edited(DUE + 0.5), now=DUE + 1)).run.generation == GENERATION


def test_an_occurrence_due_at_the_very_instant_of_an_edit_runs() -> None:
    assert isinstance(decide(edited(float(DUE))), Start)


def test_an_occurrence_due_after_an_edit_belongs_to_the_new_schedule_and_is_dropped() -> None:
    assert decide(edited(DUE - 0.5)) == Drop("the schedule changed before this occurrence was due")


def test_an_occurrence_due_after_a_pause_is_dropped_too() -> None:
    assert decide(edited(DUE - 0.5, state=JobState.PAUSED)) == Drop(
        "the schedule changed before this occurrence was due"
    )


def test_an_occurrence_due_before_a_pause_is_skipped_with_a_record() -> None:
    decision = expect(Transition, decide(edited(DUE + 0.5, state=JobState.PAUSED), now=DUE + 1))
    assert (decision.run.state, decision.run.reason) == (RunState.SKIPPED, "paused")


def test_the_new_generation_of_an_edited_job_starts() -> None:
    assert isinstance(decide(edited(DUE - 0.5), start_request(generation=EDITED)), Start)


def test_a_paused_job_starts_nothing_of_its_own_generation() -> None:
    assert decide(job(state=JobState.PAUSED)) == Drop("the job is PAUSED")


def test_a_job_whose_last_run_ended_before_this_one_started_starts_it() -> None:
    assert isinstance(decide(job(state=JobState.COMPLETED)), Start)


def test_what_comes_for_a_completed_job_when_its_record_may_have_expired_is_dropped() -> None:
    days = 14 * 86_400
    done = job(state=JobState.COMPLETED, missed=missed(MissedMode.RUN_ALL))

    def after(seconds: int) -> Decision:
        now = DUE + seconds
        return decide_start(start_request(), done, None, replace(context(), expires_at=now + days), now=now)

    assert isinstance(after(days - 1), Start)
    assert after(days) == Drop("the job is COMPLETED")


def test_a_message_from_a_generation_that_the_job_has_not_reached_is_dropped() -> None:
    assert decide(job(), start_request(generation=GENERATION + 1)) == Drop("the message is newer than the job")


# It waited too long.

GRACE = 60
LATE = DUE + GRACE + 0.5


def missed(mode: MissedMode, grace: int = GRACE) -> MissedPolicy:
    return MissedPolicy(mode, grace)


@pytest.mark.parametrize("mode", list(MissedMode))
def test_a_run_that_waited_as_long_as_the_grace_starts_whatever_the_policy(mode: MissedMode) -> None:
    assert isinstance(decide(job("* * * * *", missed=missed(mode)), now=DUE + GRACE), Start)


def test_a_run_that_waited_longer_is_skipped_where_the_job_skips_what_it_missed() -> None:
    decision = expect(Transition, decide(job("* * * * *", missed=missed(MissedMode.SKIP)), now=LATE))
    assert (decision.run.state, decision.run.reason) == (RunState.SKIPPED, "missed")


def test_a_run_that_waited_longer_starts_where_the_job_runs_all_it_missed() -> None:
    assert isinstance(decide(job("* * * * *", missed=missed(MissedMode.RUN_ALL)), now=LATE), Start)


def test_a_run_that_waited_longer_is_superseded_where_a_later_occurrence_has_come_due() -> None:
    decision = expect(Transition, decide(job("* * * * *"), now=LATE))
    assert (decision.run.state, decision.run.reason) == (RunState.SKIPPED, "superseded")


def test_the_last_of_a_bounded_row_is_superseded_by_nothing() -> None:
    assert isinstance(decide(job("* * * * *", max_runs=1), start_request(final=True), now=LATE), Start)
    skipping = job("* * * * *", max_runs=1, missed=missed(MissedMode.SKIP))
    assert isinstance(decide(skipping, start_request(final=True), now=LATE), Transition)


def test_a_run_that_waited_longer_starts_where_no_later_occurrence_has_come_due() -> None:
    assert isinstance(decide(job("*/10 * * * *"), now=LATE), Start)
    assert isinstance(decide(job("at(2026-11-21T12:01:00)"), now=LATE), Start)


def test_a_later_occurrence_supersedes_from_the_instant_it_is_due() -> None:
    tight = job("* * * * *", missed=missed(MissedMode.RUN_ONCE, grace=10))
    assert isinstance(decide(tight, now=DUE + 59.999), Start)
    assert isinstance(decide(tight, now=DUE + 60.0), Transition)


def test_a_later_occurrence_that_jitter_holds_back_supersedes_only_when_it_is_due() -> None:
    moved = job("*/2 * * * *", jitter_seconds=110, missed=missed(MissedMode.RUN_ONCE, grace=1))
    occurrences = moved.occurrences()
    first = next(at for at in range(int(NOON), int(NOON) + 7200, 120) if occurrences.due(at + 120) > at + 130)
    due, later = occurrences.due(first), occurrences.due(first + 120)
    offered = start_request(occurrence=first, due=due, generation=moved.generation)
    assert isinstance(decide(moved, offered, now=later - 0.5), Start)
    assert isinstance(decide(moved, offered, now=float(later)), Transition)


def test_a_run_for_missed_occurrences_is_late_only_by_what_it_waited_since_it_was_caught_up() -> None:
    hours = DUE + 7 * 3600
    offered = start_request(count=421, through=hours - 60, caught_up_at=float(hours))
    decision = expect(Start, decide(job("* * * * *"), offered, now=hours + GRACE))
    assert (decision.run.count, decision.run.through) == (421, hours - 60)


def test_a_run_for_missed_occurrences_that_waited_on_is_superseded_by_the_one_after_the_last_it_stands_for() -> None:
    hours = DUE + 7 * 3600
    offered = start_request(count=421, through=hours - 60, caught_up_at=float(hours))
    decision = expect(Transition, decide(job("* * * * *"), offered, now=hours + GRACE + 1))
    assert (decision.run.reason, decision.run.count, decision.run.through) == ("superseded", 421, hours - 60)
    # Nothing after the last of them has come due yet: what lies between them supersedes nothing.
    ahead = start_request(count=421, through=hours + 120, caught_up_at=float(hours))
    assert isinstance(decide(job("* * * * *"), ahead, now=hours + GRACE + 1), Start)


def test_an_old_generation_is_judged_for_lateness_by_the_schedule_that_it_is_of() -> None:
    minutely, weekly = job("* * * * *").schedule, job("0 0 * * 1").schedule
    after_the_next = edited(DUE + 60.5, schedule=weekly)
    decision = expect(Transition, decide(after_the_next, start_request(following=DUE + 60), now=LATE))
    assert decision.reason == "superseded"
    assert isinstance(
        decide(edited(DUE + 0.5, schedule=minutely), start_request(following=DUE + 86_400), now=LATE), Start
    )


def test_a_late_run_is_not_superseded_by_one_that_a_change_took_back() -> None:
    assert isinstance(decide(edited(DUE + 59.5), start_request(following=DUE + 60), now=LATE), Start)


def test_of_an_old_message_that_does_not_say_what_follows_nothing_is_guessed() -> None:
    assert isinstance(decide(edited(DUE + 0.5, schedule=job("* * * * *").schedule), now=LATE), Start)


# What came between it and the present definition.


def changes(*since: float, **of: Any) -> Job:
    """A job whose definition changed at these instants, one after the other."""
    made = job(**of)
    for instant in since:
        made = made.redefined(instant)
    return made


def test_of_several_changes_the_one_that_ended_its_definition_counts() -> None:
    assert isinstance(decide(changes(DUE + 0.5, DUE + 20), now=DUE + 21), Start)
    assert decide(changes(DUE - 0.5, DUE + 20), now=DUE + 21) == Drop(
        "the schedule changed before this occurrence was due"
    )
    between = changes(DUE - 0.5, DUE + 20)
    assert isinstance(decide(between, start_request(generation=between.earlier[-1].generation), now=DUE + 21), Start)


def test_what_a_resumed_job_catches_up_on_is_no_part_of_the_pause_that_is_over() -> None:
    resumed = changes(DUE - 30, DUE + 300, paused_at=DUE - 30)
    edited_since = resumed.redefined(DUE + 310)
    caught_up = start_request(generation=resumed.generation, caught_up_at=DUE + 301.0)
    assert isinstance(decide(edited_since, caught_up, now=DUE + 311), Start)
    assert decide(edited_since, now=DUE + 311) == Drop("the schedule changed before this occurrence was due")


def test_definitions_are_forgotten_when_no_message_can_be_of_them_any_more() -> None:
    fortnight = 15 * 86_400
    assert len(changes(*(NOON + hour for hour in range(50))).earlier) == 20
    assert [each.since for each in changes(NOON + 10, NOON + 20, NOON + 10 + fortnight).earlier] == [NOON + 20]


def test_time_never_goes_back_from_one_definition_to_the_next() -> None:
    made = changes(NOON + 10, NOON + 5)
    assert made.changed_at == NOON + 10
    assert made.generation > made.earlier[-1].generation


# It has a start deadline.

URGENT = job("* * * * *", start_deadline_seconds=20, missed=missed(MissedMode.RUN_ALL))


def test_a_run_starts_up_to_its_start_deadline() -> None:
    assert isinstance(decide(URGENT, now=DUE + 20), Start)


def test_a_run_that_has_not_started_by_its_start_deadline_never_will_whatever_the_policy() -> None:
    decision = expect(Transition, decide(URGENT, now=DUE + 20.001))
    assert (decision.run.state, decision.run.reason, decision.reason) == (
        RunState.SKIPPED,
        "start_deadline",
        "start_deadline",
    )
    assert isinstance(decide(URGENT, start_request(final=True), now=DUE + 21), Transition)


def test_a_start_deadline_counts_from_the_due_second_for_what_was_caught_up_too() -> None:
    caught_up = start_request(caught_up_at=DUE + 300.0)
    assert expect(Transition, decide(URGENT, caught_up, now=DUE + 301)).reason == "start_deadline"


NOW = DUE + 1.0


def asked(**changes: Any) -> StartRequest:
    return start_request(suffix=".mAbCd1234", requested_by="anna", **changes)


def manual_decide(event: StartRequest, of: Job | Tombstone | None, *, now: float = NOW) -> Decision:
    return decide_start(event, of, None, context(), now=now)


@pytest.mark.parametrize("state", list(JobState))
def test_a_run_by_hand_starts_in_any_state_of_the_job(state: JobState) -> None:
    decision = expect(Start, manual_decide(asked(own_payload=True), job(state=state, paused_at=NOON)))
    begun = decision.run
    assert (begun.suffix, begun.requested_by, begun.own_payload) == (".mAbCd1234", "anna", True)


def test_a_change_of_the_schedule_is_not_about_it() -> None:
    changed = job(generation=GENERATION + 1, changed_at=NOON + 30, paused_at=NOON + 10)
    assert isinstance(manual_decide(asked(), changed), Start)


@pytest.mark.parametrize("mode", list(MissedMode))
def test_a_run_by_hand_is_never_missed_or_superseded(mode: MissedMode) -> None:
    assert isinstance(manual_decide(asked(), job(missed=MissedPolicy(mode)), now=DUE + 86_400.0), Start)


def test_a_start_deadline_holds_for_it_too() -> None:
    decision = expect(Transition, manual_decide(asked(), job(start_deadline_seconds=30), now=DUE + 31.0))
    assert (decision.run.state, decision.run.reason) == (RunState.SKIPPED, "start_deadline")
    assert decision.run.requested_by == "anna"


def test_a_run_by_hand_belongs_to_its_job_and_to_no_job_recreated_after_it() -> None:
    anew = job(generation=GENERATION + 5, created_generation=GENERATION + 5)
    assert manual_decide(asked(), anew) == Drop("the job was deleted and created again")


def test_a_run_by_hand_does_not_start_when_its_job_is_gone() -> None:
    assert manual_decide(asked(), None) == Drop("the job does not exist")
    assert expect(Transition, manual_decide(asked(), Tombstone(deleted_at=DUE + 0.5))).run.reason == "deleted"


def test_a_later_attempt_still_knows_whose_payload_it_has() -> None:
    retrying = run(RunState.RETRYING, suffix=".mAbCd1234", own_payload=True, requested_by="anna")
    decision = decide_start(
        start_request(suffix=".mAbCd1234", attempt=2), job(), retrying, context("message-2"), now=DUE + 10.0
    )
    assert isinstance(decision, Start)
    assert (decision.run.own_payload, decision.run.requested_by) == (True, "anna")
