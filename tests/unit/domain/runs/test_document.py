"""The document of a run that the API returns."""

import pytest

from duecourse.domain.runs.document import run_document
from duecourse.domain.runs.states import RunState, with_last_listed
from tests.support.jobs import job
from tests.support.runs import run

LAST = "2026-11-21T12:00:10.250Z"


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.WAITING, RunState.SUCCEEDED, RunState.DEAD])
def test_run_document_has_the_start_of_the_last_attempt_beside_that_of_the_first(state: RunState) -> None:
    document = run_document(run(job(), state))
    assert (document["started_at"], document["attempt_started_at"]) == ("2026-11-21T12:00:00.250Z", LAST)
    assert document["next_attempt_at"] is None


def test_run_document_of_a_run_that_is_retried_has_the_time_of_its_next_attempt() -> None:
    retrying = run(job(), RunState.RETRYING, finished_at=1_000_000_000.0, not_before=1_000_000_060.5)
    document = run_document(retrying)
    assert (document["attempt_started_at"], document["next_attempt_at"]) == (LAST, "2001-09-09T01:47:40.500Z")


def test_run_document_of_a_run_whose_attempts_are_all_over_has_no_start_of_an_attempt() -> None:
    dead = run(job(), RunState.DEAD)
    assert dead.attempts is not None
    cancelled = run(job(), RunState.CANCELLED, attempts=with_last_listed(dead.attempts, dead))
    never = run(job(), RunState.SKIPPED, attempt=0, reason="paused")
    assert run_document(cancelled)["attempt_started_at"] is None
    assert run_document(never)["attempt_started_at"] is None
