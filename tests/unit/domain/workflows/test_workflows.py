"""Graphs are checked, their jobs become ready and have results.

- What is wrong with a workflow is said at its place, with a remedy, all at once.
- When a step of a workflow may start, by the ends of those before it.
- Payloads that take much, or look as if they did: what a tenant posts must not occupy a worker that others share.
"""

from typing import Any

import pytest

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.decision import Readiness, WorkflowOutcome
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.domain.tenants.rate import STEPS, Budget
from duecourse.domain.workflows.check import graph_faults, step_faults, time_faults
from duecourse.domain.workflows.graph import PART_STEPS, Graph, Rule, Step, StepOutcome, StepOutcomes
from duecourse.domain.workflows.results import UpstreamResultError, blanked, filled, result_faults, taken_by
from duecourse.domain.workflows.state import WorkflowState
from duecourse_schedules import ScheduleSpec
from tests.support.jobs import NOON, job
from tests.support.workflows import graph_of


def said(after: dict[str, tuple[str, ...]], budget: Budget | None = None, **rules: dict[str, Any]) -> dict[str, str]:
    faults = graph_faults(graph_of(after, **rules).steps, budget or Budget())
    return {"/".join(map(str, fault.path)): fault.detail for fault in faults}


def test_workflows_report_a_cycle_with_its_path() -> None:
    assert said({"extract": (), "load-eu": ("extract", "report"), "report": ("load-eu",)}) == {
        "jobs/report/after/0": "creates a cycle: load-eu -> report -> load-eu; remove one of these edges"
    }
    assert said({"a": ("a",)}) == {"jobs/a/after/0": "creates a cycle: a -> a; remove one of these edges"}


def test_workflows_reject_an_unknown_upstream_step_with_a_suggestion() -> None:
    assert said({"load-eu": (), "report": ("load-uk", "load-eu", "load-eu")}) == {
        "jobs/report/after/0": "load-uk is not a step of this workflow; did you mean load-eu?",
        "jobs/report/after/2": "names load-eu twice; remove one of them",
    }


def test_workflows_suggest_corrections_for_the_first_ten_unknown_names_only() -> None:
    after: dict[str, tuple[str, ...]] = {f"job-number-{n}": (f"job-numbre-{n}",) for n in range(300)}
    details = list(said(after).values())
    assert len(details) == 300
    assert sum("did you mean" in each for each in details) == 10


def test_workflows_suggest_names_that_differ_in_beginning_middle_or_end() -> None:
    for name in ("load-customers-eu", "load-custmers", "laod-customers", "Xload-customers", "load_customers"):
        assert said({"load-customers": (), "extract": (), "b": (name,)})["jobs/b/after/0"].endswith(
            "did you mean load-customers?"
        )
    assert "did you mean" not in said({"load-customers": (), "b": ("send-report",)})["jobs/b/after/0"]


def test_workflows_compare_similar_names_within_the_step_budget_of_the_request() -> None:
    names = [f"{'a' * 30}{n:04}{'a' * 30}" for n in range(1024)]
    budget = Budget()
    steps = graph_of({name: (name.replace("0", "b", 1) + "x",) for name in names}).steps
    assert len(graph_faults(steps, budget)) == 1024
    assert 0 <= budget.steps <= STEPS - 10 * 1024
    assert "did you mean" not in said({"load-eu": (), "b": ("load-uk",)}, budget=Budget(0))["jobs/b/after/0"]


def test_workflows_require_upstream_steps_for_any_rules() -> None:
    assert said({"a": ()}, a={"when": Rule.ANY_FAILURE}) == {
        "jobs/a/when": "any_failure needs after, because this step has no upstream steps"
    }


def test_workflows_report_a_path_that_is_too_long() -> None:
    chain = {f"j{n}": (f"j{n - 1}",) if n else () for n in range(112)}
    begin, end = "j0 -> j1 -> j2 -> j3 -> j4 -> j5", "j106 -> j107 -> j108 -> j109 -> j110 -> j111"
    assert said(chain) == {
        "jobs/j111/after": f"path {begin} -> ... -> {end} is 112 steps long; at most 100 are allowed"
    }


def test_workflows_report_the_count_of_too_many_steps_or_edges() -> None:
    assert said({f"j{n}": () for n in range(1100)}) == {"jobs": "has 1,100 steps; 1 to 1,024 are allowed"}
    assert said({}) == {"jobs": "has 0 steps; 1 to 1,024 are allowed"}
    wide = {f"j{n}": () for n in range(1001)}
    assert said({**wide, "join": tuple(wide)}) == {
        "jobs/join/after": "has 1,001 upstream steps; at most 1,000 are allowed"
    }
    fan = {f"j{n}": ("root",) for n in range(1001)}
    assert said({"root": (), **fan}) == {"jobs/root": "has 1,001 steps directly after it; at most 1,000 are allowed"}
    dense = {f"j{n}": tuple(f"i{m}" for m in range(101)) for n in range(100)}
    assert said({**{f"i{m}": () for m in range(101)}, **dense}) == {
        "jobs": "has 10,100 edges; at most 10,000 are allowed"
    }


def times(schedule: str, **fields: str) -> list[str]:
    spec = ScheduleSpec(schedule, "Europe/Berlin")
    return [fault.detail for fault in time_faults([Step(id="a", **fields)], spec, (), int(NOON), Budget())]


def test_workflows_times_of_a_step_must_be_valid_and_match_the_schedule() -> None:
    assert times("0 2 * * *", only="0 2 * * 1", not_before="0 8 * * *") == []
    assert times("0 2 * * *", only="0 3 * * 1") == [
        "does not match any occurrence of the workflow's schedule; choose a schedule that shares occurrences with it"
    ]
    assert times("", only="0 3 * * 1") == [], "a workflow that runs when asked meets nothing"
    assert times("0 2 * * *", not_before="8 o'clock")[0].startswith("is not valid: ")
    assert times("0 2 * * *", not_before="at(2020-01-01T00:00:00)") == [
        "has no occurrence in the future; choose a schedule with a future occurrence"
    ]


def test_workflows_report_at_most_ten_steps_that_never_match_the_schedule() -> None:
    steps = [Step(id=f"j{n}", only=f"{n % 59 + 1} {n // 59} 1 2 *") for n in range(1000)]
    assert len(time_faults(steps, ScheduleSpec("0 0 31 1 *"), (), int(NOON), Budget())) == 10


def test_workflows_check_rare_matches_with_the_schedule_within_the_step_budget_of_the_request() -> None:
    """The schedule moves on by a minute a day, and each step wants a time some hundred days away."""
    steps = [Step(id=f"j{n}", only=f"{n % 60} {13 + n % 9} * * *") for n in range(1024)]
    budget = Budget()
    assert time_faults(steps, ScheduleSpec("rate(1441 minutes)", anchor=int(NOON)), (), int(NOON), budget) == []
    assert budget.steps == 0


def jobs(found: dict[str, Job], *names: str, inline: tuple[str, ...] = ()) -> list[tuple[str, bool]]:
    steps = [Step(id=name) for name in names]
    return [(fault.detail, fault.conflict) for fault in step_faults("nightly", steps, dict.fromkeys(inline), found)]


def test_workflows_steps_must_exist_or_be_defined_and_have_no_schedule() -> None:
    remedy = "create it, name another in job_id, or define it here in job"
    assert jobs({}, "extract") == [(f"there is no job extract; {remedy}", False)]
    assert jobs({}, "extract", inline=("extract",)) == []
    assert jobs({"extract": job("")}, "extract") == []
    assert jobs({"extract": job("0 2 * * *")}, "extract") == [
        ("has its own schedule (0 2 * * *); set the schedule to null first, or add shared: true", True)
    ]
    assert jobs({"other": job("", target=WorkflowTarget("x"))}, "other") == []
    assert jobs({"other": job("@daily", target=WorkflowTarget("x"))}, "other") == [
        ("has its own schedule (@daily); set the schedule to null first", True)
    ]
    assert jobs({}, "nightly") == [("is the workflow's own id; choose another id for the step", False)]


def test_workflows_allow_payloads_to_use_results_of_upstream_steps_only() -> None:
    graph = graph_of({"a": (), "b": ("a",), "c": ("b",), "d": ("a",)})
    payload = {"x": "{{upstream.a.result.rows}}", "y": ["{{upstream.d.result}}"], "z": "{{workflow.payload.day}}"}
    assert list(result_faults(payload, "c", graph)) == [
        (("y", 0), "upstream.d is not an upstream step of c; name a step that must end before it")
    ]
    forms = "upstream.STEP.result.PATH, upstream.STEP.state, .run_id, .code or .error, workflow.payload.PATH"
    assert list(result_faults("{{upstream.a.rows}}", "c", graph)) == [
        ((), f"{{{{upstream.a.rows}}}} is not valid; use one of {forms}")
    ]
    assert list(result_faults(r"\{{upstream.d.result}}", "c", graph)) == []


def test_workflows_check_placeholders_of_a_thousand_chained_steps() -> None:
    after: dict[str, tuple[str, ...]] = {
        f"j{level}-{n}": tuple(f"j{level - 1}-{m}" for m in range(10)) if level else ()
        for level in range(100)
        for n in range(10)
    }
    graph = graph_of(after)
    assert [list(result_faults("{{upstream.j0-0.state}}", name, graph)) for name in after if name[:3] != "j0-"] == (
        [[]] * 990
    )
    assert list(result_faults("{{upstream.j5-0.state}}", "j5-1", graph)) == [
        ((), "upstream.j5-0 is not an upstream step of j5-1; name a step that must end before it")
    ]


OK, F, C, K = StepOutcome.SUCCEEDED, StepOutcome.FAILED, StepOutcome.ABORTED, StepOutcome.SKIPPED
READY, WAITS = Readiness.READY, Readiness.WAITS
FAILED, SKIPPED, UNNEEDED = Readiness.UPSTREAM_FAILED, Readiness.UPSTREAM_SKIPPED, Readiness.NOT_NEEDED


def state(graph: Graph, *ends: StepOutcome | None, suffix: str = "") -> WorkflowState:
    """The steps in their order have ended so."""
    known = StepOutcomes()
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
def test_workflows_rules_evaluate_the_outcomes_of_upstream_steps(
    rule: Rule, ends: tuple[StepOutcome | None, ...], expected: Readiness
) -> None:
    graph = graph_of({"a": (), "b": (), "c": ("a", "b")}, c={"when": rule})
    assert state(graph, *ends).readiness(2) is expected


@pytest.mark.parametrize("rule", [Rule.ALL_SUCCESS, Rule.ALL_DONE, Rule.NONE_FAILED])
def test_workflows_step_without_upstream_steps_is_ready(rule: Rule) -> None:
    assert state(graph_of({"a": ()}, a={"when": rule})).readiness(0) is READY


def test_workflows_stay_open_until_all_steps_end_and_fail_by_steps_that_may_not_fail() -> None:
    graph = graph_of({"a": (), "b": (), "c": ("b",)}, b={"may_fail": True})
    assert state(graph, OK, F).outcome is WorkflowOutcome.OPEN
    assert state(graph, OK, F, C).outcome is WorkflowOutcome.DONE
    assert state(graph, F, F, C).outcome is WorkflowOutcome.FAILED


def test_workflows_aborted_step_starts_once_its_upstream_step_succeeds_after_all() -> None:
    graph = graph_of({"a": (), "b": ("a",)})
    assert state(graph, F, C).to_start() == []
    assert state(graph, OK, C).to_start() == [1]
    assert state(graph, OK, C).outcome is WorkflowOutcome.OPEN


def test_workflows_step_is_idle_outside_its_own_days_except_in_a_manual_run() -> None:
    graph = graph_of({"a": ()}, a={"only": "0 12 * * 1"})  # NOON is a Saturday
    assert state(graph).readiness(0) is Readiness.NOT_ITS_TIME
    assert state(graph, suffix=".bx").readiness(0) is Readiness.NOT_ITS_TIME
    assert state(graph, suffix=".mx").readiness(0) is READY


def test_workflows_step_does_not_start_before_its_first_not_before_time_from_the_occurrence_on() -> None:
    graph = graph_of({"a": (), "b": ()}, a={"not_before": "0 12 * * *"}, b={"not_before": "0 8 * * *"})
    assert graph.not_before(0, int(NOON), "") == NOON
    assert graph.not_before(1, int(NOON), "") == NOON + 20 * 3600
    assert graph.not_before(1, int(NOON), ".mx") is None


def test_workflows_only_the_last_step_of_a_part_reads_the_other_parts_for_a_join() -> None:
    wide = {f"part-{number}": () for number in range(2 * PART_STEPS)}
    graph = graph_of({**wide, "join": tuple(wide)})
    all_but_one = [OK] * (PART_STEPS - 1)
    assert state(graph, *all_but_one).parts_wanted(0) == set()
    assert state(graph, *all_but_one, OK).parts_wanted(0) == {1, 2}
    assert state(graph, F).parts_wanted(0) == {2}, "the join is cut at once, unless it was already"


def test_workflows_upstream_and_downstream_steps_are_found_at_any_distance() -> None:
    graph = graph_of({"a": (), "b": ("a",), "c": ("b",), "d": ("a",)})
    assert graph.before(2) == 0b0011
    assert graph.after(0b0010) == 0b0110


def test_workflows_placeholder_without_an_end_is_plain_text() -> None:
    text = "{{upstream." + " " * 200_000
    assert taken_by({"text": text}) == []
    assert blanked(text) == text


def test_workflows_spaces_are_not_part_of_placeholder_names() -> None:
    assert [name for _, name, _ in taken_by("{{ upstream.a.state  }}")] == ["upstream.a.state"]
    assert filled("{{  workflow.payload.day }}", {}, lambda: {"day": 5}, str).payload == 5


def test_workflows_three_braces_are_not_a_placeholder() -> None:
    """Braces of the value and of the text would make one."""
    assert blanked("{{{workflow.payload}}}") == "{{{workflow.payload}}}"
    assert taken_by("{{{workflow.payload}}}") == []


@pytest.mark.parametrize("text", ["{{workflow.payload}}", "of {{workflow.payload}}"])
def test_workflows_large_result_is_inserted_once_but_not_a_thousand_times(text: str) -> None:
    large = "x" * 200_000
    assert filled([text], {}, lambda: large, str).texts == {"workflow.payload": large}
    with pytest.raises(UpstreamResultError, match="uses more than 262144 bytes of upstream results"):
        filled([text] * 1000, {}, lambda: large, str)
