"""Which members of a workflow's run should have gone on, and did not."""

from __future__ import annotations

import pytest

from duecourse.domain.maintenance.audit import STALLED_SECONDS, has_members, stalled
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.workflows.graph import End, Graph, MemberEnds
from duecourse.domain.workflows.view import viewed
from tests.support.jobs import NOON, job
from tests.support.runs import run
from tests.support.workflows import graph_of

S, D, K, C, W = RunState.SUCCEEDED, RunState.DEAD, RunState.SKIPPED, RunState.CANCELLED, RunState.WAITING
CHAIN = graph_of({"extract": (), "load": ("extract",)})
ENDED = NOON + 12.5
"""When the records of `record` end."""
LATER = ENDED + STALLED_SECONDS


def workflow_run(state: RunState, reason: str | None = None) -> Run:
    return run(job(id="nightly"), state, reason=reason, workflow="nightly@abc", started_at=NOON)


def record(job_id: str, state: RunState = S, reason: str | None = None) -> Run:
    return run(job(id=job_id), state, reason=reason, workflow="nightly@abc")


def found(of: Run, *records: Run, now: float = LATER, graph: Graph = CHAIN, **ends: End) -> list[str]:
    known = MemberEnds()
    for name, end in ends.items():
        known = known.having(graph.numbers[name], end)
    return [member.id for member, _ in stalled(viewed(of, graph, known, records), now=now)]


def test_a_member_whose_turn_came_an_hour_ago_has_a_record() -> None:
    of, first = workflow_run(W), record("extract")
    assert found(of, first, now=LATER - 1, extract=End.OK) == []
    assert found(of, first, extract=End.OK) == ["load"]
    assert found(of, first, record("load", RunState.RETRYING), extract=End.OK) == []


def test_a_member_that_ended_has_a_record_too() -> None:
    assert found(workflow_run(S), record("load"), extract=End.OK, load=End.OK) == ["extract"]


def test_a_member_that_was_cut_or_skipped_may_lack_its_record() -> None:
    assert found(workflow_run(D, "members_failed"), record("extract", D), extract=End.FAILED, load=End.CUT) == []


def test_a_member_that_waits_is_not_due() -> None:
    assert found(workflow_run(W), record("extract", RunState.RUNNING)) == []


def test_a_member_whose_end_was_not_noted_for_an_hour_is_found() -> None:
    assert found(workflow_run(W), record("extract"), now=LATER - 1) == []
    assert found(workflow_run(W), record("extract")) == ["extract"]


def test_a_run_that_its_members_ended_has_no_member_that_is_left() -> None:
    assert found(workflow_run(S), record("extract"), extract=End.OK) == ["load"]


@pytest.mark.parametrize(("of", "expected"), [(workflow_run(D, "members_failed"), ["load"]), (workflow_run(S), [])])
def test_a_skipped_member_goes_on_after_a_redrive_unless_its_workflow_has_succeeded(
    of: Run, expected: list[str]
) -> None:
    skipped = record("load", K, "upstream_failed")
    assert found(of, record("extract"), skipped, extract=End.OK, load=End.CUT) == expected


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (workflow_run(W), True),
        (workflow_run(S), True),
        (workflow_run(D, "members_failed"), True),
        (workflow_run(D), False),
        (workflow_run(C, "cancelled"), False),
        (workflow_run(RunState.RUNNING), False),
        (record("extract"), False),
        (run(job(id="nightly"), S), False),
    ],
)
def test_looked_at_are_runs_that_wait_for_their_members_or_that_these_ended(of: Run, expected: bool) -> None:
    assert has_members(of) is expected
