"""When a member of a workflow may start, by the ends of those before it."""

from __future__ import annotations

import pytest

from duecourse.domain.runs.decision import Readiness, WorkflowOutcome
from duecourse.domain.workflows.graph import PART_MEMBERS, End, Graph, MemberEnds, Rule
from duecourse.domain.workflows.state import WorkflowState
from tests.support.jobs import NOON
from tests.support.workflows import graph_of

OK, F, C, K = End.OK, End.FAILED, End.CUT, End.SKIPPED
READY, WAITS = Readiness.READY, Readiness.WAITS
FAILED, SKIPPED, UNNEEDED = Readiness.UPSTREAM_FAILED, Readiness.UPSTREAM_SKIPPED, Readiness.NOT_NEEDED


def state(graph: Graph, *ends: End | None, suffix: str = "") -> WorkflowState:
    """The members in their order have ended so."""
    known = MemberEnds()
    for number, end in enumerate(ends):
        known = known if end is None else known.having(number, end)
    return WorkflowState(graph, int(NOON), suffix, known)


@pytest.mark.parametrize(
    ("rule", "ends", "expected"),
    [
        (Rule.ALL_SUCCESS, (OK, None), WAITS),
        (Rule.ALL_SUCCESS, (OK, OK), READY),
        (Rule.ALL_SUCCESS, (F, None), FAILED),
        (Rule.ALL_SUCCESS, (None, C), FAILED),
        (Rule.ALL_SUCCESS, (OK, K), SKIPPED),
        (Rule.ALL_SUCCESS, (None, K), WAITS),
        (Rule.ALL_DONE, (F, None), WAITS),
        (Rule.ALL_DONE, (F, C), READY),
        (Rule.ALL_DONE, (K, K), READY),
        (Rule.ANY_SUCCESS, (None, None), WAITS),
        (Rule.ANY_SUCCESS, (None, OK), READY),
        (Rule.ANY_SUCCESS, (F, None), WAITS),
        (Rule.ANY_SUCCESS, (F, K), FAILED),
        (Rule.ANY_SUCCESS, (K, K), SKIPPED),
        (Rule.ANY_FAILURE, (OK, None), WAITS),
        (Rule.ANY_FAILURE, (None, F), READY),
        (Rule.ANY_FAILURE, (C, None), READY),
        (Rule.ANY_FAILURE, (OK, K), UNNEEDED),
        (Rule.NONE_FAILED, (OK, None), WAITS),
        (Rule.NONE_FAILED, (OK, K), READY),
        (Rule.NONE_FAILED, (K, K), SKIPPED),
        (Rule.NONE_FAILED, (OK, F), FAILED),
    ],
)
def test_each_rule_looks_at_the_ends_before_it(rule: Rule, ends: tuple[End | None, ...], expected: Readiness) -> None:
    graph = graph_of({"a": (), "b": (), "c": ("a", "b")}, c={"when": rule})
    assert state(graph, *ends).readiness(2) is expected


@pytest.mark.parametrize("rule", [Rule.ALL_SUCCESS, Rule.ALL_DONE, Rule.NONE_FAILED])
def test_what_comes_after_nothing_is_ready(rule: Rule) -> None:
    assert state(graph_of({"a": ()}, a={"when": rule})).readiness(0) is READY


def test_a_workflow_is_open_until_all_are_settled_and_fails_by_those_that_may_not() -> None:
    graph = graph_of({"a": (), "b": (), "c": ("b",)}, b={"may_fail": True})
    assert state(graph, OK, F).outcome is WorkflowOutcome.OPEN
    assert state(graph, OK, F, C).outcome is WorkflowOutcome.DONE
    assert state(graph, F, F, C).outcome is WorkflowOutcome.FAILED


def test_a_job_that_was_cut_is_to_start_once_the_one_before_it_has_succeeded_after_all() -> None:
    graph = graph_of({"a": (), "b": ("a",)})
    assert state(graph, F, C).to_start() == []
    assert state(graph, OK, C).to_start() == [1]
    assert state(graph, OK, C).outcome is WorkflowOutcome.OPEN


def test_a_job_is_idle_on_days_that_are_not_its_own_but_not_in_a_run_that_somebody_asked_for() -> None:
    graph = graph_of({"a": ()}, a={"only": "0 12 * * 1"})  # NOON is a Saturday
    assert state(graph).readiness(0) is Readiness.NOT_ITS_TIME
    assert state(graph, suffix=".bx").readiness(0) is Readiness.NOT_ITS_TIME
    assert state(graph, suffix=".mx").readiness(0) is READY


def test_the_time_before_which_a_job_does_not_start_is_the_first_one_from_the_occurrence_on() -> None:
    graph = graph_of({"a": (), "b": ()}, a={"not_before": "0 12 * * *"}, b={"not_before": "0 8 * * *"})
    assert graph.not_before(0, int(NOON), "") == NOON
    assert graph.not_before(1, int(NOON), "") == NOON + 20 * 3600
    assert graph.not_before(1, int(NOON), ".mx") is None


def test_only_the_last_of_a_part_reads_the_other_parts_for_a_join() -> None:
    wide = {f"part-{number}": () for number in range(2 * PART_MEMBERS)}
    graph = graph_of({**wide, "join": tuple(wide)})
    all_but_one = [OK] * (PART_MEMBERS - 1)
    assert state(graph, *all_but_one).parts_wanted(0) == set()
    assert state(graph, *all_but_one, OK).parts_wanted(0) == {1, 2}
    assert state(graph, F).parts_wanted(0) == {2}, "the join is cut at once, unless it was already"


def test_what_comes_before_and_after_is_found_at_any_distance() -> None:
    graph = graph_of({"a": (), "b": ("a",), "c": ("b",), "d": ("a",)})
    assert graph.before(2) == 0b0011
    assert graph.after(0b0010) == 0b0110
