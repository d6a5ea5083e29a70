"""The record of a run."""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.ids import RunName
from duecourse.domain.runs.states import RunState, is_written_as
from tests.support.start_requests import DUE, run
from tests.support.varied import varied


def test_a_run_is_over_when_nothing_but_a_redrive_leads_on() -> None:
    assert {state for state in RunState if state.final} == {
        RunState.SUCCEEDED,
        RunState.DEAD,
        RunState.CANCELLED,
        RunState.SKIPPED,
    }


def test_a_run_is_named_by_job_occurrence_and_suffix() -> None:
    assert run(suffix=".m1").name == RunName("tick-tock", DUE, ".m1")


def test_lateness_is_counted_from_the_due_second_to_the_first_start() -> None:
    assert run(due=DUE + 5, first_started_at=DUE + 5.25, started_at=DUE + 99.0).lateness == 0.25


def test_a_run_that_never_started_has_no_lateness() -> None:
    assert run(RunState.SKIPPED, first_started_at=None).lateness is None


def test_a_write_is_recognised_by_its_writer_state_and_attempt() -> None:
    written = run()
    assert is_written_as(written, replace(written, expires_at=1, error="whatever"))
    assert not is_written_as(written, replace(written, token="request-9/message-1"))
    assert not is_written_as(written, varied(written, state=RunState.SUCCEEDED))
    assert not is_written_as(written, replace(written, attempt=2))
