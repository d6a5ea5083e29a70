"""The forecast of a run, against a simulation that starts and ends steps by the rules of WorkflowState."""

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.job import Job, Lane, NoticeCause, NotifyRule, NotifyTarget
from duecourse.domain.runs.decision import Readiness
from duecourse.domain.runs.states import Attempts, Dead, Deadlines, Retrying, Run, Running, Succeeded, Waiting
from duecourse.domain.workflows.forecast import (
    MAX_RECORDS,
    MIN_SAMPLES,
    SAMPLES,
    DeadlineField,
    Duration,
    EndDeadline,
    NotDue,
    at_risk_from,
    at_risk_notice,
    decide_forecast,
    duration_of,
    forecast,
    next_check,
    remaining,
    samples_of,
    span,
)
from duecourse.domain.workflows.graph import Graph, Rule, Step, StepOutcome, StepOutcomes, end_by
from duecourse.domain.workflows.state import WorkflowState
from duecourse.domain.workflows.view import WorkflowRunView, viewed
from tests.support.jobs import NOON, job

BEGIN = NOON
REF = "nightly@g"


def identity(job_id: str, due: float = BEGIN, **more: Any) -> RunIdentity:
    return RunIdentity("default", job_id, int(NOON), int(due), 10**13, workflow=REF, **more)


def workflow_run(until: float = BEGIN + 86_400) -> Waiting:
    attempts = Attempts(1, BEGIN, BEGIN)
    return Waiting(identity("nightly"), Lane.NORMAL, attempts=attempts, deadlines=Deadlines(until))


def active(step: str, due: float) -> Running:
    return Running(identity(step, due), Lane.NORMAL, attempts=Attempts(1, due, due), lease_until=due + 900)


def ended(step: str, due: float, at: float, **more: Any) -> Succeeded:
    return Succeeded(identity(step, due), Lane.NORMAL, attempts=Attempts(1, due, due), finished_at=at, **more)


NO_ENDS = StepOutcomes()


def seen(graph: Graph, ends: StepOutcomes = NO_ENDS, *records: Run) -> WorkflowRunView:
    return viewed(workflow_run(), graph, ends, records)


def chain(*names: str, **more: Any) -> Graph:
    return Graph(tuple(Step(id=name, after=names[at - 1 : at] if at else (), **more) for at, name in enumerate(names)))


def by(seconds: float, field: DeadlineField = DeadlineField.FINISH_BY) -> EndDeadline:
    return EndDeadline(field, BEGIN + seconds)


TEN = Duration(600.0, 20)


def test_forecast_adds_the_p90_of_the_steps_of_the_critical_path() -> None:
    steps = Step(id="a"), Step(id="b", after=("a",)), Step(id="c", after=("a",)), Step(id="d", after=("b", "c"))
    durations = {0: TEN, 1: Duration(60.0, 5), 2: Duration(300.0, 7), 3: TEN}
    found = forecast(seen(Graph(steps)), durations, by(1600), BEGIN)
    assert found.predicted_end == BEGIN + 1500
    assert [(each.id, each.ends_at - BEGIN) for each in found.path] == [("a", 600), ("c", 900), ("d", 1500)]
    assert not found.at_risk
    assert found.reason == "predicted to end 100 s before finish_by"


def test_forecast_of_unknown_steps_is_a_lower_bound_with_the_reason() -> None:
    found = forecast(seen(chain("a", "b")), {0: TEN}, by(900), BEGIN)
    assert (found.predicted_end, found.is_lower_bound, found.unknown) == (BEGIN + 600, True, ("b",))
    bound = "predicted to end at most 5 min before finish_by"
    assert found.reason == f"{bound} (steps with fewer than 3 earlier runs: 1)"
    assert found.path[-1].duration is None


def test_forecast_counts_what_an_active_step_has_already_taken() -> None:
    view = seen(chain("a", "b"), StepOutcomes(), active("a", BEGIN + 100))
    durations = {0: TEN, 1: TEN}
    assert forecast(view, durations, None, BEGIN + 400).predicted_end == BEGIN + 1300
    late = forecast(view, durations, None, BEGIN + 800)
    assert (late.predicted_end, late.overdue, late.is_lower_bound) == (BEGIN + 1400, ("a",), True)


def test_forecast_waits_for_the_next_attempt_of_a_step() -> None:
    attempts = Attempts(1, BEGIN, BEGIN)
    again = Retrying(identity("a"), Lane.NORMAL, attempts=attempts, finished_at=BEGIN + 9, not_before=BEGIN + 900)
    assert forecast(seen(chain("a"), StepOutcomes(), again), {0: TEN}, None, BEGIN + 10).predicted_end == BEGIN + 900


def test_forecast_starts_no_step_before_its_time_and_leaves_out_those_of_other_occurrences() -> None:
    timed = Graph((Step(id="a", not_before="30 12 * * *"), Step(id="b", only="0 0 1 1 *"), Step(id="c", after=("b",))))
    view = seen(timed)
    found = forecast(view, {0: TEN, 1: TEN, 2: TEN}, None, BEGIN)
    assert found.predicted_end == NOON + 1800 + 600
    assert [each.id for each in found.path] == ["a"]
    assert remaining(view) == [0, 2]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Rule.ALL_SUCCESS, 1800), (Rule.ALL_DONE, 1800), (Rule.NONE_FAILED, 1800),
        (Rule.ANY_SUCCESS, 1200), (Rule.ANY_FAILURE, 1200),
    ],
)  # fmt: skip
def test_forecast_follows_the_rule_of_a_step(rule: Rule, expected: int) -> None:
    """An alert that only runs after a failure does not count: steps are expected to succeed."""
    graph = Graph((Step(id="a"), Step(id="b"), Step(id="c", after=("a", "b"), when=rule)))
    durations = {0: TEN, 1: Duration(1200.0, 9), 2: TEN}
    assert forecast(seen(graph), durations, None, BEGIN).predicted_end == BEGIN + expected


def test_forecast_counts_ended_steps_as_they_ended() -> None:
    view = seen(chain("a", "b"), StepOutcomes(succeeded=1), ended("a", BEGIN, BEGIN + 50))
    found = forecast(view, {1: TEN}, None, BEGIN + 60)
    assert ([each.id for each in found.path], found.predicted_end) == (["b"], BEGIN + 660)


def test_forecast_counts_steps_that_have_ended_without_a_recorded_end_as_they_ended() -> None:
    attempts = Attempts(1, BEGIN, BEGIN)
    failed = Dead(identity("c"), Lane.NORMAL, attempts=attempts, finished_at=BEGIN + 55, reason="not_retryable")
    steps = (*chain("a", "b").steps, Step(id="c"), Step(id="d", after=("c",)))
    view = seen(Graph(steps), NO_ENDS, ended("a", BEGIN, BEGIN + 50), failed)
    found = forecast(view, dict.fromkeys(range(4), TEN), by(700), BEGIN + 60)
    assert ([each.id for each in found.path], found.predicted_end, found.at_risk) == (["b"], BEGIN + 660, False)
    assert found.unknown == ()
    assert remaining(view) == [1, 3]


def test_forecast_of_durations_is_the_nearest_rank_of_successes_without_redrives() -> None:
    runs: list[Run] = [ended("a", BEGIN, BEGIN + seconds) for seconds in range(10, 210, 10)]
    assert duration_of(runs) == Duration(180.0, 20)
    assert duration_of(runs[: MIN_SAMPLES - 1]) is None
    odd = [
        ended("a", BEGIN, BEGIN + 9e5, redriven_at=BEGIN),
        ended("a", BEGIN, BEGIN + 9e5, round=1),
        active("a", BEGIN),
    ]
    assert duration_of([*runs[:3], *odd]) == Duration(30.0, 3)


def test_forecast_reads_a_bounded_number_of_records() -> None:
    assert [samples_of(steps) for steps in (0, 1, 200, 400, 1024)] == [SAMPLES, SAMPLES, 20, 10, MIN_SAMPLES]
    assert all(steps * samples_of(steps) <= MAX_RECORDS for steps in range(1, 1025))


def test_forecast_is_repeated_when_the_run_would_be_at_risk() -> None:
    view = seen(chain("a", "b"), StepOutcomes(), active("a", BEGIN))
    durations = {0: TEN, 1: TEN}
    at = at_risk_from(view, durations, by(2000), BEGIN)
    assert at == BEGIN + 1401  # b needs the last 600 seconds
    assert forecast(view, durations, by(2000), float(at)).at_risk
    assert not forecast(view, durations, by(2000), at - 1.0).at_risk
    assert next_check(view, durations, by(2000), BEGIN) == at
    assert at_risk_from(seen(chain("a"), StepOutcomes(), active("a", BEGIN)), {0: TEN}, by(2000), BEGIN) is None


def test_forecast_is_not_repeated_more_often_than_once_a_minute_nor_after_the_deadline() -> None:
    view = seen(chain("a", "b"), StepOutcomes(), active("a", BEGIN))
    assert next_check(view, {0: TEN, 1: TEN}, by(1205), BEGIN + 590) == BEGIN + 650
    assert next_check(view, {0: Duration(1.0, 3), 1: Duration(20.0, 3)}, by(30), BEGIN) is None


@pytest.mark.parametrize("seed", range(300))
def test_forecast_of_random_graphs_is_the_end_that_the_rules_of_workflows_give(seed: int) -> None:
    graph, durations = drawn(random.Random(seed))
    found = forecast(seen(graph), durations, None, BEGIN)
    assert found.predicted_end - BEGIN == pytest.approx(simulated(graph, durations))
    ends = [each.ends_at for each in found.path]
    assert ends == sorted(ends)
    assert not ends or ends[-1] == found.predicted_end


@pytest.mark.parametrize("seed", range(60))
def test_forecast_of_random_graphs_never_moves_backwards_while_no_step_ends(seed: int) -> None:
    draw = random.Random(seed)
    graph, durations = drawn(draw)
    roots = [number for number, step in enumerate(graph.steps) if not step.after]
    view = seen(graph, StepOutcomes(), *(active(graph.steps[each].id, BEGIN) for each in roots if draw.random() < 0.7))
    ends = [forecast(view, durations, None, BEGIN + at).predicted_end for at in range(0, 9000, 700)]
    assert ends == sorted(ends)


def drawn(draw: random.Random) -> tuple[Graph, Mapping[int, Duration]]:
    steps = list[Step]()
    for number in range(draw.randint(1, 12)):
        after = tuple(f"s{each}" for each in range(number) if draw.random() < 0.3)
        rule = draw.choice(list(Rule)) if after else Rule.ALL_SUCCESS
        only = "0 0 1 1 *" if draw.random() < 0.15 else None
        steps.append(Step(id=f"s{number}", after=after, when=rule, only=only))
    return Graph(tuple(steps)), {number: Duration(float(draw.randint(1, 900)), 9) for number in range(len(steps))}


def simulated(graph: Graph, durations: Mapping[int, Duration]) -> float:
    """Seconds from the start to the end of a run, by the decisions of WorkflowState after each end."""
    ends, now, running = StepOutcomes(), 0.0, dict[int, float]()
    while True:
        state = WorkflowState(graph, int(NOON), "", ends)
        for number in range(len(graph.steps)):
            if ends.of(number) is not None or number in running:
                continue
            readiness = state.readiness(number)
            if readiness.skips:
                ends = ends.having(number, end_by(readiness))
                break
            if readiness is Readiness.READY:
                running[number] = now + durations[number].p90
        else:
            if not running:
                return now
            number = min(running, key=lambda each: running[each])
            now = running.pop(number)
            ends = ends.having(number, StepOutcome.SUCCEEDED)


def at_risk_job(**more: Any) -> Job:
    rule = NotifyRule((NoticeCause.AT_RISK,), NotifyTarget("tell"))
    return replace(job("0 12 * * *", id="nightly", notify=(rule,)), **more)


def test_forecast_decision_has_a_reason() -> None:
    nightly, run = at_risk_job(), workflow_run()
    due = ended("nightly", BEGIN, BEGIN + 1)
    cases = [
        (None, nightly, BEGIN + 500, "its attempt is about to start", True),
        (None, nightly, BEGIN + 950, "its attempt was not started", False),
        (due, nightly, BEGIN, "the run is SUCCEEDED", False),
        (run, None, BEGIN, "its job does not exist", False),
        (run, replace(nightly, notify=()), BEGIN, "its job does not request forecasts", False),
        (run, nightly, BEGIN + 86_401, "it has no deadline that is still ahead", False),
    ]
    for found, snapshot, now, reason, again in cases:
        assert decide_forecast(found, snapshot, 1, BEGIN + 900, now) == NotDue(reason, again)


def test_forecast_notice_names_the_same_event_at_every_forecast_since_the_start() -> None:
    view, nightly = seen(chain("a", "b")), at_risk_job()
    notices = [
        at_risk_notice(view.run, nightly, forecast(view, {0: TEN, 1: TEN}, by(900), BEGIN + at)) for at in (0, 700)
    ]
    assert len({(each.key, each.at) for each in notices}) == 1
    assert notices[0].text == (
        "Run nightly.20261121T120000Z of nightly is predicted to end at 2026-11-21T12:20:00Z, after its deadline "
        "2026-11-21T12:15:00Z. Critical path: a (p90 10 min of 20 runs), b (p90 10 min of 20 runs)"
    )


def test_forecast_notice_says_that_the_end_is_a_lower_bound() -> None:
    view = seen(chain("a", "b"))
    notice = at_risk_notice(view.run, at_risk_job(), forecast(view, {0: TEN}, by(300), BEGIN))
    assert "is predicted to end at 2026-11-21T12:10:00Z at the earliest, after its deadline" in notice.text


def test_forecast_notice_of_a_long_path_is_short() -> None:
    names = [f"s{number}" for number in range(100)]
    view = seen(chain(*names))
    notice = at_risk_notice(view.run, at_risk_job(), forecast(view, dict.fromkeys(range(50), TEN), by(900), BEGIN))
    assert (len(notice.facts["critical_path"]), notice.facts["critical_path_steps"]) == (20, 100)
    assert len(notice.facts["unknown_steps"]) == 20
    assert notice.text.endswith("and 95 more")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (119, "119 s"), (150, "2 min"), (7199, "120 min"), (9000, "2.5 h")]
)
def test_forecast_spans_are_seconds_minutes_or_hours(seconds: float, text: str) -> None:
    assert span(seconds) == text
