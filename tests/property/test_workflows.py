"""Any graph of a few jobs, any failures: what runs is what a model of some lines says, once each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.runs.states import RunState
from duecourse.domain.workflows.graph import Graph, Rule, Step
from duecourse.ports import Outgoing
from tests.support import in_process
from tests.support.examples import examples
from tests.support.jobs import NOON
from tests.support.tables import create_tables
from tests.support.workflow_world import WorkflowWorld

JOBS = 8


@dataclass(frozen=True)
class Model:
    """Says by recursion how each job ends. It shares no code with the domain."""

    graph: Graph
    failing: frozenset[str]

    @cached_property
    def ends(self) -> dict[str, str]:
        ends: dict[str, str] = {}
        for step in self.graph.steps:  # what comes before a job stands before it
            ends[step.id] = self._end(step, [ends[name] for name in step.after])
        return ends

    def _end(self, step: Step, before: list[str]) -> str:
        runs = "failed" if step.id in self.failing else "ok"
        bad = "failed" in before or "cut" in before
        good = "ok" in before
        match step.when:
            case Rule.ALL_SUCCESS:
                return "cut" if bad else "skipped" if "skipped" in before else runs
            case Rule.ALL_DONE:
                return runs
            case Rule.ANY_SUCCESS:
                return runs if good else "cut" if bad else "skipped"
            case Rule.ANY_FAILURE:
                return runs if bad else "skipped"
            case Rule.NONE_FAILED:
                return "cut" if bad else runs if good or not before else "skipped"

    @property
    def ran(self) -> set[str]:
        return {name for name, end in self.ends.items() if end in ("ok", "failed")}

    @property
    def fails(self) -> bool:
        return any(self.ends[step.id] == "failed" and not step.may_fail for step in self.graph.steps)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    steps: list[Step] = []
    for number in range(draw(st.integers(1, JOBS))):
        names = [step.id for step in steps]
        after = draw(st.lists(st.sampled_from(names), unique=True, max_size=3)) if names else []
        rules = list(Rule) if after else [Rule.ALL_SUCCESS, Rule.ALL_DONE, Rule.NONE_FAILED]
        when, may_fail = draw(st.sampled_from(rules)), draw(st.booleans())
        steps.append(Step(id=f"job-{number}", after=tuple(after), when=when, may_fail=may_fail))
    return Graph(tuple(steps))


failing = st.frozensets(st.sampled_from([f"job-{number}" for number in range(JOBS)]), max_size=4)

ENDED = {"ok": RunState.SUCCEEDED, "failed": RunState.DEAD, "cut": RunState.SKIPPED, "skipped": RunState.SKIPPED}


def as_the_model_says(world: WorkflowWorld, model: Model) -> None:
    found = {name: run.state for name in model.ends if (run := world.run(name)) is not None}
    assert found == {name: ENDED[end] for name, end in model.ends.items()}
    workflow = world.run("nightly")
    assert workflow.state is (RunState.DEAD if model.fails else RunState.SUCCEEDED)


@examples(60)
@given(graphs(), failing, st.sets(st.integers(0, 30), max_size=6))
def test_workflows_run_exactly_the_jobs_of_the_model_despite_duplicate_messages(
    graph: Graph, fails: frozenset[str], twice: set[int]
) -> None:
    world = WorkflowWorld(create_tables(in_process.dynamodb()))
    world.answers.failing = set(fails)
    world.wheel = Twice(world, twice)  # type: ignore[assignment]
    world.begin(graph, NOON + 400)
    model = Model(graph, fails)
    as_the_model_says(world, model)
    assert sorted(world.called()) == sorted(model.ran), "once each"


@dataclass(frozen=True)
class Redriven(Model):
    """How each job ends once these were redriven, after it has ended as in `first`: what has run is not run again, what
    was skipped is decided again, and a job that is redriven runs if the jobs before it allow that.
    """

    first: dict[str, str]
    again: frozenset[str]

    def _end(self, step: Step, before: list[str]) -> str:
        had = self.first[step.id]
        stays = had in ("ok", "failed") and step.id not in self.again
        return had if stays else super()._end(step, before)


@examples(40)
@given(graphs(), failing, failing)
def test_workflows_that_are_redriven_end_as_if_the_corrected_jobs_had_never_failed(
    graph: Graph, fails: frozenset[str], still: frozenset[str]
) -> None:
    world = WorkflowWorld(create_tables(in_process.dynamodb()))
    world.answers.failing = set(fails)
    world.begin(graph, NOON + 200)
    first = Model(graph, fails)
    as_the_model_says(world, first)
    if not first.fails:
        return
    world.answers.failing = set(fails & still)
    world.redrive("nightly")
    world.until(NOON + 300)
    dead = frozenset(name for name, end in first.ends.items() if end == "failed")
    as_the_model_says(world, Redriven(graph, fails & still, first.ends, dead))
    assert all(world.called().count(name) <= 1 + (name in dead) for name in first.ends)


@examples(40)
@given(graphs(), failing, st.lists(st.tuples(st.integers(0, JOBS), st.booleans()), min_size=1, max_size=3))
def test_workflows_redriven_job_also_restarts_the_jobs_decided_by_its_failure(
    graph: Graph, fails: frozenset[str], redrives: list[tuple[int, bool]]
) -> None:
    world = WorkflowWorld(create_tables(in_process.dynamodb()))
    world.answers.failing = set(fails)
    world.begin(graph, NOON + 200)
    model = Model(graph, fails)
    for place, succeeds in redrives:
        dead = [name for name, end in model.ends.items() if end == "failed"]
        if not dead:
            return
        name = dead[place % len(dead)]
        world.answers.failing -= {name} if succeeds else set()
        world.redrive(name)
        world.until(world.clock.now() + 20)
        model = Redriven(graph, frozenset(world.answers.failing), model.ends, frozenset({name}))
        as_the_model_says(world, model)


class Twice:
    """Lanes that store some messages twice, each copy with a nonce of its own as `SqsLanes` sends them."""

    def __init__(self, world: WorkflowWorld, numbers: set[int]) -> None:
        self._wheel = world.wheel
        self._numbers = numbers
        self._sent = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._wheel, name)

    def __len__(self) -> int:
        return len(self._wheel)

    def send(self, outgoing: Sequence[Outgoing]) -> list[bool]:
        accepted = self._wheel.send(outgoing)
        for one in outgoing:
            if self._sent in self._numbers:
                again = replace(one, message=one.message.again(nonce=f"again {self._sent}"))
                self._wheel.send([again])
            self._sent += 1
        return accepted
