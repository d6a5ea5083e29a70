"""How the ends of the steps affect the run of their workflow."""

import pytest

from duecourse.domain.runs.decision import Evaluated, RetryLater, Transition, WorkflowOutcome
from duecourse.domain.runs.states import RunState
from duecourse.domain.runs.transitions import decide
from tests.support.jobs import job
from tests.support.start_requests import DUE, context, run, start_request
from tests.support.varied import varied

NOW = DUE + 30.0
OFFER = start_request(nonce="nonce-c")
BY = context("message-c")


@pytest.mark.parametrize("outcome", [WorkflowOutcome.DONE, WorkflowOutcome.FAILED])
def test_workflow_run_does_not_end_before_its_dead_steps_are_redriven(
    outcome: WorkflowOutcome,
) -> None:
    redriven = varied(run(RunState.RUNNING), redriven_at=NOW - 1.0)
    assert isinstance(decide(Evaluated(OFFER, outcome), job(), redriven, BY, now=NOW), RetryLater)


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.WAITING])
def test_workflow_run_succeeds_once_its_steps_have_ended(state: RunState) -> None:
    begun = run(RunState.RUNNING) if state is RunState.RUNNING else varied(run(state), redriven_at=NOW - 1.0)
    decision = decide(Evaluated(OFFER, WorkflowOutcome.DONE), job(), begun, BY, now=NOW)
    assert isinstance(decision, Transition)
    assert decision.run.state is RunState.SUCCEEDED
