"""A workflow's run ends just while one of its steps is about to start: the step does not run."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from duecourse.domain.ids import RunName
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import MessageKind
from duecourse.ports import Call, WorkflowRead
from duecourse.stores.workflows import WorkflowStore
from tests.support.jobs import NOON
from tests.support.workflows import add_workflow, graph_of
from tests.support.world import World

CHAIN = graph_of({"extract": (), "load": ("extract",)})


@dataclass
class Slow:
    """WorkflowStore: something happens between reads of the workflow's run and what is done about them. Each of
    `happens` says when (it is asked after each such read) and is done once.
    """

    store: WorkflowStore
    happens: list[Callable[[], bool]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def read(self, tenant: str, run: RunName, parts: Iterable[int], *, with_run: bool = True) -> WorkflowRead:
        found = self.store.read(tenant, run, parts, with_run=with_run)
        if with_run and self.happens:
            happen = self.happens.pop()
            if not happen():
                self.happens.append(happen)
        return found


def cancelled(world: World) -> None:
    """The workflow's run is cancelled, and with it the steps that are due."""
    (run,) = world.runs("nightly")
    world.tell(world.about(run, MessageKind.CANCEL))


def test_workflow_cancellation_prevents_the_start_of_a_step_that_was_previously_read_as_active(
    world: World,
) -> None:
    def after_extract() -> bool:
        ended = "extract.20261121T120100Z" in world.caller.runs
        if ended:
            cancelled(world)
        return ended

    world.workflows = Slow(world.workflows, [after_extract])  # type: ignore[assignment]
    add_workflow(world, CHAIN)
    world.until(NOON + 90)
    assert world.caller.runs == ["extract.20261121T120100Z"]
    assert [(run.state, run.reason) for run in world.runs("load")] == [(RunState.CANCELLED, "workflow_over")]
    assert [run.state for run in world.runs("nightly")] == [RunState.CANCELLED]


def test_workflow_cancellation_prevents_the_start_of_a_step_that_was_previously_read_as_skipped(
    world: World,
) -> None:
    fails, reads = [True], []

    def answer(_: Call) -> Outcome:
        return Failed("no", retryable=False, code="http.500") if fails else Returned()

    def second_read_of_the_second_attempt() -> bool:
        (run,) = world.runs("nightly")
        if run.attempt == 2:
            reads.append(run)
        if len(reads) == 2:  # the one after the record that says that it was skipped
            cancelled(world)
        return len(reads) == 2

    world.caller.answer = answer
    add_workflow(world, CHAIN)
    world.until(NOON + 90)
    assert [run.state for run in world.runs("load")] == [RunState.SKIPPED]
    fails.clear()
    world.workflows = Slow(world.workflows, [second_read_of_the_second_attempt])  # type: ignore[assignment]
    (dead,) = world.runs("extract")
    world.tell(world.about(dead, MessageKind.REDRIVE))
    world.until(NOON + 180)
    assert "load.20261121T120100Z" not in world.caller.runs
    assert [(run.state, run.reason) for run in world.runs("load")] == [(RunState.CANCELLED, "workflow_over")]
