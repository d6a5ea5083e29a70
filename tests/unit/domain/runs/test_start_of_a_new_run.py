"""The first start of a run that has no record, by its schedule or by hand.

- A message for a run without a record: does the job as it is now still want it?
- What a worker does with a run that somebody asked for by hand.
"""

from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.job import (
    Definition,
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
from duecourse.domain.runs.decision import Decision, Drop, PutBack, RetryLater, Start, StartRequest, Transition
from duecourse.domain.runs.states import Attempts, Running, RunState
from duecourse.domain.runs.transitions import decide_start
from tests.support.jobs import NOON, job
from tests.support.start_requests import DUE, EXPIRES, GENERATION, context, expect, run, start_request

EDITED = GENERATION + 30_000


def decide(job: JobSnapshot, offered: StartRequest | None = None, *, now: float = DUE) -> Decision:
    return decide_start(start_request() if offered is None else offered, job, None, context(), now=now)


def edited(at: float, **changes: Any) -> Job:
    """A job whose schedule, pause or deletion changed at `at`."""
    return job(generation=EDITED, changed_at=at, updated_at=at, **changes)


def test_new_run_occurrence_of_an_active_job_starts_with_a_complete_record() -> None:
    decision = decide(job(retry=RetryPolicy(max_attempts=3)), now=DUE + 0.25)
    assert decision == Start(
        Running(
            RunIdentity(tenant="default", job_id="tick-tock", occurrence=DUE, due=DUE, generation=GENERATION),
            lane=Lane.NORMAL,
            attempts=Attempts(attempt=1, started_at=DUE + 0.25, first_started_at=DUE + 0.25),
            attempts_allowed=3,
            fencing_token="request-1/message-1",
            message_id="message-1",
            nonce="nonce-1",
            lease_until=DUE + 120,
            expires_at=EXPIRES,
        ),
        None,
        "due",
    )
    assert isinstance(decision, Start)
    assert decision.run.lateness == 0.25


def test_new_run_at_most_once_job_is_allowed_a_single_attempt() -> None:
    decision = expect(Start, decide(job(delivery=Delivery.AT_MOST_ONCE, retry=RetryPolicy(max_attempts=5))))
    assert decision.run.attempts_allowed == 1


def test_new_run_uses_the_current_lane_of_the_job() -> None:
    assert expect(Start, decide(job(timeout_seconds=600, priority=Lane.HIGH))).run.lane is Lane.LONG


def test_new_run_keeps_the_suffix_of_its_name() -> None:
    assert str(expect(Start, decide(job(), start_request(suffix=".m1"))).run.name).endswith("Z.m1")


def test_new_run_retry_whose_record_expired_is_dropped() -> None:
    assert decide(job(), start_request(attempt=2)) == Drop("the record of an earlier attempt no longer exists")


# The job is gone.


def test_new_run_due_before_the_deletion_of_its_job_is_skipped_with_a_record() -> None:
    decision = expect(Transition, decide(Tombstone(deleted_at=DUE + 0.5), now=DUE + 1))
    assert (decision.reason, decision.run.state, decision.run.reason) == ("deleted", RunState.SKIPPED, "deleted")
    assert (decision.run.attempt, decision.run.first_started_at, decision.run.expires_at) == (0, None, EXPIRES)


def test_new_run_due_exactly_at_the_deletion_of_its_job_is_skipped_with_a_record() -> None:
    assert isinstance(decide(Tombstone(deleted_at=float(DUE))), Transition)


def test_new_run_due_after_the_deletion_of_its_job_leaves_no_record() -> None:
    assert decide(Tombstone(deleted_at=DUE - 0.5)) == Drop("the job does not exist")


def test_new_run_of_an_unknown_job_leaves_no_record() -> None:
    assert decide(None) == Drop("the job does not exist")


def test_new_run_message_of_a_deleted_job_does_not_start_in_a_recreated_job() -> None:
    anew = job(at=DUE - 10.0)
    assert decide(anew) == Drop("the job was deleted and created again")
    later = job(at=DUE + 10.0)
    assert decide(later, now=DUE + 11) == Drop("the job was deleted and created again")


# The job changed.


def test_new_run_due_before_an_edit_starts() -> None:
    assert expect(Start, decide(edited(DUE + 0.5), now=DUE + 1)).run.generation == GENERATION


def test_new_run_due_exactly_at_an_edit_starts() -> None:
    assert isinstance(decide(edited(float(DUE))), Start)


def test_new_run_due_after_an_edit_is_dropped_in_favour_of_the_new_schedule() -> None:
    assert decide(edited(DUE - 0.5)) == Drop("the schedule changed before this occurrence was due")


def test_new_run_due_after_a_pause_is_dropped() -> None:
    assert decide(edited(DUE - 0.5, state=JobState.PAUSED)) == Drop(
        "the schedule changed before this occurrence was due"
    )


def test_new_run_due_before_a_pause_is_left_to_the_resume() -> None:
    before = (Definition(GENERATION, DUE - 60.0),)
    paused = edited(DUE + 0.5, state=JobState.PAUSED, earlier=before)
    assert decide(paused, now=DUE + 1) == PutBack("the job was paused before it started")
    left = expect(PutBack, decide(replace(paused, earlier=()), now=DUE + 1))
    assert left.earlier
    assert left.skipped is not None
    assert left.skipped.run.reason == "paused"


def test_new_run_waits_until_its_job_is_resumed_by_all_clocks() -> None:
    resumed = edited(DUE + 0.5, paused_until=DUE + 3)
    assert expect(RetryLater, decide(resumed, now=DUE + 1)).until == DUE + 3


def test_new_run_new_generation_of_an_edited_job_starts() -> None:
    assert isinstance(decide(edited(DUE - 0.5), start_request(generation=EDITED)), Start)


def test_new_run_paused_job_drops_occurrences_of_its_own_generation() -> None:
    assert decide(job(state=JobState.PAUSED)) == Drop("the job is PAUSED")


def test_new_run_job_already_completed_by_its_last_run_still_starts_an_earlier_one() -> None:
    assert isinstance(decide(job(state=JobState.COMPLETED)), Start)


def test_new_run_message_for_a_completed_job_is_dropped_once_its_record_may_have_expired() -> None:
    days = 14 * 86_400
    done = job(state=JobState.COMPLETED, missed=missed(MissedMode.RUN_ALL))

    def after(seconds: int) -> Decision:
        now = DUE + seconds
        return decide_start(start_request(), done, None, replace(context(), expires_at=now + days), now=now)

    assert isinstance(after(days - 1), Start)
    assert after(days) == Drop("the job is COMPLETED")


def test_new_run_message_of_a_future_generation_is_dropped() -> None:
    assert decide(job(), start_request(generation=GENERATION + 1)) == Drop("the message is newer than the job")


# It waited too long.

GRACE = 60
LATE = DUE + GRACE + 0.5


def missed(mode: MissedMode, grace: int = GRACE) -> MissedPolicy:
    return MissedPolicy(mode, grace)


@pytest.mark.parametrize("mode", list(MissedMode))
def test_new_run_delayed_by_exactly_the_grace_period_starts_under_every_missed_policy(mode: MissedMode) -> None:
    assert isinstance(decide(job("* * * * *", missed=missed(mode)), now=DUE + GRACE), Start)


def test_new_run_delayed_beyond_the_grace_period_is_skipped_by_the_skip_policy() -> None:
    decision = expect(Transition, decide(job("* * * * *", missed=missed(MissedMode.SKIP)), now=LATE))
    assert (decision.run.state, decision.run.reason) == (RunState.SKIPPED, "missed")


def test_new_run_delayed_beyond_the_grace_period_starts_under_the_run_all_policy() -> None:
    assert isinstance(decide(job("* * * * *", missed=missed(MissedMode.RUN_ALL)), now=LATE), Start)


def test_new_run_delayed_beyond_the_grace_period_is_superseded_if_a_later_occurrence_is_due() -> None:
    decision = expect(Transition, decide(job("* * * * *"), now=LATE))
    assert (decision.run.state, decision.run.reason) == (RunState.SKIPPED, "superseded")


def test_new_run_last_of_a_limited_series_is_not_superseded() -> None:
    assert isinstance(decide(job("* * * * *", max_runs=1), start_request(final=True), now=LATE), Start)
    skipping = job("* * * * *", max_runs=1, missed=missed(MissedMode.SKIP))
    assert isinstance(decide(skipping, start_request(final=True), now=LATE), Transition)


def test_new_run_delayed_beyond_the_grace_period_starts_if_no_later_occurrence_is_due() -> None:
    assert isinstance(decide(job("*/10 * * * *"), now=LATE), Start)
    assert isinstance(decide(job("at(2026-11-21T12:01:00)"), now=LATE), Start)


def test_new_run_is_superseded_from_the_instant_a_later_occurrence_is_due() -> None:
    tight = job("* * * * *", missed=missed(MissedMode.RUN_ONCE, grace=10))
    assert isinstance(decide(tight, now=DUE + 59.999), Start)
    assert isinstance(decide(tight, now=DUE + 60.0), Transition)


def test_new_run_is_superseded_by_a_later_occurrence_with_jitter_only_when_that_is_due() -> None:
    moved = job("*/2 * * * *", jitter_seconds=110, missed=missed(MissedMode.RUN_ONCE, grace=1))
    occurrences = moved.occurrences()
    first = next(at for at in range(int(NOON), int(NOON) + 7200, 120) if occurrences.due(at + 120) > at + 130)
    due, later = occurrences.due(first), occurrences.due(first + 120)
    offered = start_request(occurrence=first, due=due, generation=moved.generation)
    assert isinstance(decide(moved, offered, now=later - 0.5), Start)
    assert isinstance(decide(moved, offered, now=float(later)), Transition)


def test_new_run_catch_up_lateness_counts_from_the_time_of_the_catch_up() -> None:
    hours = DUE + 7 * 3600
    offered = start_request(count=421, through=hours - 60, caught_up_at=float(hours))
    decision = expect(Start, decide(job("* * * * *"), offered, now=hours + GRACE))
    assert (decision.run.count, decision.run.through) == (421, hours - 60)


def test_new_run_delayed_catch_up_is_superseded_by_the_occurrence_after_its_last_one() -> None:
    hours = DUE + 7 * 3600
    offered = start_request(count=421, through=hours - 60, caught_up_at=float(hours))
    decision = expect(Transition, decide(job("* * * * *"), offered, now=hours + GRACE + 1))
    assert (decision.run.reason, decision.run.count, decision.run.through) == ("superseded", 421, hours - 60)
    # Nothing after the last of them has come due yet: what lies between them supersedes nothing.
    ahead = start_request(count=421, through=hours + 120, caught_up_at=float(hours))
    assert isinstance(decide(job("* * * * *"), ahead, now=hours + GRACE + 1), Start)


def test_new_run_lateness_of_an_old_generation_follows_its_own_schedule() -> None:
    minutely, weekly = job("* * * * *").schedule, job("0 0 * * 1").schedule
    after_the_next = edited(DUE + 60.5, schedule=weekly)
    decision = expect(Transition, decide(after_the_next, start_request(following=DUE + 60), now=LATE))
    assert decision.reason == "superseded"
    assert isinstance(
        decide(edited(DUE + 0.5, schedule=minutely), start_request(following=DUE + 86_400), now=LATE), Start
    )


def test_new_run_late_run_is_not_superseded_by_an_occurrence_that_a_change_removed() -> None:
    assert isinstance(decide(edited(DUE + 59.5), start_request(following=DUE + 60), now=LATE), Start)


def test_new_run_old_message_without_a_following_occurrence_is_not_superseded() -> None:
    assert isinstance(decide(edited(DUE + 0.5, schedule=job("* * * * *").schedule), now=LATE), Start)


# What came between it and the present definition.


def changes(*since: float, **of: Any) -> Job:
    """A job whose definition changed at these instants, one after the other."""
    made = job(**of)
    for instant in since:
        made = made.redefined(instant)
    return made


def test_new_run_change_that_ended_its_definition_decides_among_several() -> None:
    assert isinstance(decide(changes(DUE + 0.5, DUE + 20), now=DUE + 21), Start)
    assert decide(changes(DUE - 0.5, DUE + 20), now=DUE + 21) == Drop(
        "the schedule changed before this occurrence was due"
    )
    between = changes(DUE - 0.5, DUE + 20)
    assert isinstance(decide(between, start_request(generation=between.earlier[-1].generation), now=DUE + 21), Start)


def test_new_run_catch_up_after_a_resume_is_not_affected_by_the_earlier_pause() -> None:
    resumed = changes(DUE - 30, DUE + 300, paused_at=DUE - 30)
    edited_since = resumed.redefined(DUE + 310)
    caught_up = start_request(generation=resumed.generation, caught_up_at=DUE + 301.0)
    assert isinstance(decide(edited_since, caught_up, now=DUE + 311), Start)
    assert decide(edited_since, now=DUE + 311) == Drop("the schedule changed before this occurrence was due")


def test_new_run_former_definitions_are_removed_when_no_message_can_refer_to_them() -> None:
    fortnight = 15 * 86_400
    assert len(changes(*(NOON + hour for hour in range(50))).earlier) == 20
    assert [each.since for each in changes(NOON + 10, NOON + 20, NOON + 10 + fortnight).earlier] == [NOON + 20]


def test_new_run_time_does_not_go_backwards_between_definitions() -> None:
    made = changes(NOON + 10, NOON + 5)
    assert made.changed_at == NOON + 10
    assert made.generation > made.earlier[-1].generation


# It has a start deadline.

URGENT = job("* * * * *", start_deadline_seconds=20, missed=missed(MissedMode.RUN_ALL))


def test_new_run_starts_up_to_its_start_deadline() -> None:
    assert isinstance(decide(URGENT, now=DUE + 20), Start)


def test_new_run_is_skipped_after_its_start_deadline_under_every_policy() -> None:
    decision = expect(Transition, decide(URGENT, now=DUE + 20.001))
    assert (decision.run.state, decision.run.reason, decision.reason) == (
        RunState.SKIPPED,
        "start_deadline",
        "start_deadline",
    )
    assert isinstance(decide(URGENT, start_request(final=True), now=DUE + 21), Transition)


def test_new_run_start_deadline_of_a_catch_up_counts_from_the_due_time() -> None:
    caught_up = start_request(caught_up_at=DUE + 300.0)
    assert expect(Transition, decide(URGENT, caught_up, now=DUE + 301)).reason == "start_deadline"


NOW = DUE + 1.0


def asked(**changes: Any) -> StartRequest:
    return start_request(suffix=".mAbCd1234", requested_by="anna", **changes)


def manual_decide(event: StartRequest, of: Job | Tombstone | None, *, now: float = NOW) -> Decision:
    return decide_start(event, of, None, context(), now=now)


@pytest.mark.parametrize("state", list(JobState))
def test_new_run_manual_run_starts_in_every_state_of_the_job(state: JobState) -> None:
    decision = expect(Start, manual_decide(asked(own_payload=True), job(state=state, paused_at=NOON)))
    begun = decision.run
    assert (begun.suffix, begun.requested_by, begun.own_payload) == (".mAbCd1234", "anna", True)


def test_new_run_manual_run_is_not_affected_by_a_schedule_change() -> None:
    changed = job(generation=GENERATION + 1, changed_at=NOON + 30, paused_at=NOON + 10)
    assert isinstance(manual_decide(asked(), changed), Start)


@pytest.mark.parametrize("mode", list(MissedMode))
def test_new_run_manual_run_is_never_missed_or_superseded(mode: MissedMode) -> None:
    assert isinstance(manual_decide(asked(), job(missed=MissedPolicy(mode)), now=DUE + 86_400.0), Start)


def test_new_run_start_deadline_applies_to_a_manual_run() -> None:
    decision = expect(Transition, manual_decide(asked(), job(start_deadline_seconds=30), now=DUE + 31.0))
    assert (decision.run.state, decision.run.reason) == (RunState.SKIPPED, "start_deadline")
    assert decision.run.requested_by == "anna"


def test_new_run_manual_run_does_not_start_in_a_recreated_job() -> None:
    anew = job(generation=GENERATION + 5, created_generation=GENERATION + 5)
    assert manual_decide(asked(), anew) == Drop("the job was deleted and created again")


def test_new_run_manual_run_does_not_start_after_its_job_is_deleted() -> None:
    assert manual_decide(asked(), None) == Drop("the job does not exist")
    assert expect(Transition, manual_decide(asked(), Tombstone(deleted_at=DUE + 0.5))).run.reason == "deleted"


def test_new_run_later_attempt_of_a_manual_run_keeps_its_payload_and_requester() -> None:
    retrying = run(RunState.RETRYING, suffix=".mAbCd1234", own_payload=True, requested_by="anna")
    decision = decide_start(
        start_request(suffix=".mAbCd1234", attempt=2), job(), retrying, context("message-2"), now=DUE + 10.0
    )
    assert isinstance(decision, Start)
    assert (decision.run.own_payload, decision.run.requested_by) == (True, "anna")
