"""What a worker does with a run that somebody asked for by hand."""

from __future__ import annotations

from typing import Any

import pytest

from duecourse.domain.jobs.job import Gone, Job, JobState, MissedMode, MissedPolicy
from duecourse.domain.runs.decision import Decision, Drop, Start, StartRequest, Transition
from duecourse.domain.runs.states import RunState
from duecourse.domain.runs.transitions import decide_start
from tests.support.jobs import NOON, job
from tests.support.start_requests import DUE, GENERATION, context, run, start_request

NOW = DUE + 1.0


def asked(**changes: Any) -> StartRequest:
    return start_request(suffix=".mAbCd1234", requested_by="anna", **changes)


def decide(event: StartRequest, of: Job | Gone | None, *, now: float = NOW) -> Decision:
    return decide_start(event, of, None, context(), now=now)


@pytest.mark.parametrize("state", list(JobState))
def test_a_run_by_hand_starts_in_any_state_of_the_job(state: JobState) -> None:
    decision = decide(asked(own_payload=True), job(state=state, paused_at=NOON))
    assert isinstance(decision, Start)
    begun = decision.run
    assert (begun.suffix, begun.requested_by, begun.own_payload) == (".mAbCd1234", "anna", True)


def test_a_change_of_the_schedule_is_not_about_it() -> None:
    changed = job(generation=GENERATION + 1, changed_at=NOON + 30, paused_at=NOON + 10)
    assert isinstance(decide(asked(), changed), Start)


@pytest.mark.parametrize("mode", list(MissedMode))
def test_a_run_by_hand_is_never_missed_or_superseded(mode: MissedMode) -> None:
    decision = decide(asked(), job(missed=MissedPolicy(mode)), now=DUE + 86_400.0)
    assert isinstance(decision, Start)


def test_a_start_deadline_holds_for_it_too() -> None:
    decision = decide(asked(), job(start_deadline_seconds=30), now=DUE + 31.0)
    assert isinstance(decision, Transition)
    assert (decision.run.state, decision.run.reason) == (RunState.SKIPPED, "start_deadline")
    assert decision.run.requested_by == "anna"


def test_a_run_by_hand_belongs_to_its_job_and_to_no_job_recreated_after_it() -> None:
    anew = job(generation=GENERATION + 5, created_generation=GENERATION + 5)
    assert decide(asked(), anew) == Drop("the job was deleted and created anew")


def test_a_run_by_hand_does_not_start_when_its_job_is_gone() -> None:
    assert decide(asked(), None) == Drop("the job is gone")
    decision = decide(asked(), Gone(deleted_at=DUE + 0.5))
    assert isinstance(decision, Transition)
    assert decision.run.reason == "deleted"


def test_a_later_attempt_still_knows_whose_payload_it_has() -> None:
    retrying = run(RunState.RETRYING, suffix=".mAbCd1234", own_payload=True, requested_by="anna")
    decision = decide_start(
        start_request(suffix=".mAbCd1234", attempt=2), job(), retrying, context("message-2"), now=DUE + 10.0
    )
    assert isinstance(decision, Start)
    assert (decision.run.own_payload, decision.run.requested_by) == (True, "anna")
