"""The text of a workflow's run, also with more steps than a terminal has lines."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from duecourse.cli.output.workflows import forecast_text, workflow_run_text
from duecourse.client.models import Counts, Forecast, PathStep, StepRun, WorkflowRun

NONE = Counts(succeeded=0, failed=0, aborted=0, skipped=0, due=0, waiting=0, left=0)


def step(number: int, state: Any) -> StepRun:
    name = f"step-{number}"
    return StepRun(
        id=name,
        job_id=f"nightly--{name}",
        state=state,
        reason=None,
        run=None,
        carried_over=False,
        after=(),
        when="all_success",
        waits_for=(),
        has_items=False,
        is_workflow=False,
        attempts=1,
        started_at=None,
        finished_at=None,
        code=None,
        error=None,
    )


def run(counts: Counts, *states: str) -> WorkflowRun:
    return WorkflowRun(
        run="nightly.20261121T020000Z",
        state="WAITING",
        reason=None,
        occurrence=datetime(2026, 11, 21, 2, tzinfo=UTC),
        started_at=None,
        finished_at=None,
        deadline=None,
        rerun_of=None,
        rerun_from=(),
        code=None,
        error=None,
        counts=counts,
        forecast=None,
        jobs=tuple(step(number, state) for number, state in enumerate(states)),
    )


MANY = run(
    replace(NONE, succeeded=60, failed=1, due=1, waiting=30), *["SUCCEEDED"] * 60, "DEAD", "RUNNING", *["WAITS"] * 30
)


def test_cli_workflow_run_counts_its_steps() -> None:
    lines = workflow_run_text(MANY, 100).plain.splitlines()
    assert lines[1] == "92 steps: 60 succeeded, 1 failed, 1 due or active, 30 waiting"
    assert [line.split()[0] for line in lines[3:]] == [each.id for each in MANY.jobs], "in the order of the workflow"


def test_cli_workflow_run_with_more_steps_than_lines_shows_dead_and_active_steps_first() -> None:
    lines = workflow_run_text(MANY, 100, height=40).plain.splitlines()
    assert [line.split()[:2] for line in lines[3:6]] == [
        ["step-60", "DEAD"],
        ["step-61", "RUNNING"],
        ["step-62", "WAITS"],
    ]


FORECAST = Forecast(
    predicted_end=datetime(2026, 11, 21, 4, tzinfo=UTC),
    is_lower_bound=True,
    at_risk=True,
    deadline="finish_by",
    deadline_at=datetime(2026, 11, 21, 3, tzinfo=UTC),
    reason="predicted to end at least 60 min after finish_by (steps with fewer than 3 earlier runs: 1)",
    critical_path=tuple(
        PathStep(
            id=f"step-{number}",
            job_id=f"nightly--step-{number}",
            ends_at=datetime(2026, 11, 21, 4, tzinfo=UTC),
            p90_seconds=None if number == 0 else 600.0,
            samples=0 if number == 0 else 20,
        )
        for number in range(7)
    ),
    unknown=("step-0",),
    overdue=(),
)


def test_cli_forecast_has_the_predicted_end_the_reason_and_the_critical_path() -> None:
    first, second = forecast_text(FORECAST).plain.splitlines()
    assert first.startswith("predicted end at the earliest ")
    assert first.endswith(FORECAST.reason)
    assert second.startswith("critical path: step-0 (unknown), step-1 (p90 600 s of 20 runs), ")
    assert second.endswith(", 2 more")


def test_cli_forecast_leaves_room_for_the_steps_on_a_terminal_of_80_columns() -> None:
    lines = workflow_run_text(MANY, 80, 20, FORECAST).plain.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[2].startswith("predicted end")
    assert " ".join(lines[2:4]).endswith(FORECAST.reason)
    assert lines[4].startswith("critical path")
    nearly = workflow_run_text(MANY, 80, len(MANY.jobs) + 6, FORECAST).plain.splitlines()
    assert nearly[8].startswith("step-60"), "the forecast takes five lines"
