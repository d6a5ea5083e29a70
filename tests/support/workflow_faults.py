"""Stories of workflows in which a process dies, or an answer is lost, at a write of one's choice."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import Redrive
from duecourse.ports import Call
from duecourse.usecases.runs.commands import CommandSender, NotDeadError
from duecourse.usecases.runs.requests import RunRequest
from tests.support.fault_table.danger import Aim, Danger
from tests.support.fault_table.direct import dynamodb
from tests.support.fault_table.ending import is_held
from tests.support.fault_table.points import Point
from tests.support.fault_table.ports import Target
from tests.support.fault_table.stage import RECONCILER_SECONDS, Stage
from tests.support.for_each import listed_graph
from tests.support.jobs import NOON
from tests.support.tables import create_tables
from tests.support.workflow_world import CHAIN, DIAMOND, INSTANT
from tests.support.workflows import add_workflow, graph_of

PATIENCE_SECONDS = 3600
S, D, K = RunState.SUCCEEDED, RunState.DEAD, RunState.SKIPPED
Ends = Mapping[str, RunState]


class Steps(Target):
    """Counts calls by run; jobs in `failing`, and items named like `load.i1`, fail for good. The job `list` returns a
    list.
    """

    failing: frozenset[str] = frozenset()
    counted: Counter[str]

    def call(self, call: Call) -> Outcome:
        self.counted[str(call.run.name)] += 1
        occurrence, name = call.run.occurrence - int(NOON), call.job.id
        name += "" if call.run.name.item is None else f".i{call.run.name.item}"
        answers: list[Outcome] = []
        if name in self.failing:
            answers = [Failed("no", retryable=False, code="http.500")]
        elif name == "list":
            answers = [Returned({"items": ["a", "b"]})]
        self.answers = {occurrence: answers}
        return super().call(call)


class WorkflowStage(Stage):
    """A stage with a workflow."""

    def __init__(self, danger: Danger) -> None:
        super().__init__(create_tables(dynamodb()), danger)
        self.steps = Steps(self.clock, danger)
        self.steps.counted = Counter()
        self.target = self.steps
        self.caller = self.steps  # type: ignore[assignment]
        self.failed_again = ""

    def run(self, job_id: str, local: str = INSTANT) -> Run | None:
        return self.stored.run_store().get("default", job_id, local)

    def redrive(self, job_id: str, local: str = INSTANT) -> None:
        """As the API does it; it refuses once the run is alive again. Nor is it repeated once the run is dead again."""
        before = self.run(job_id, local)

        def send() -> None:
            run = self.run(job_id, local)
            assert run is not None
            assert before is not None
            if run.state is not D or run.attempt != before.attempt:
                raise NotDeadError(run)
            CommandSender(self.wheel, self.clock, self.randomness).send_one(Redrive(), run)

        self.ask(send, NotDeadError)

    def rerun(self, begin: Sequence[str]) -> None:
        asked = RunRequest("anna", "again")
        self.ask(lambda: self.api.reruns.rerun("default", f"nightly.{INSTANT}", begin, asked))


@dataclass(frozen=True)
class WorkflowStory:
    """`ends`: the state in which each job's run of INSTANT ends, and each run of an item (`load.i1`); `rerun`: the same
    of the run that repeats it; `calls`: how often each job is called in all, without a fault. `after` is the name of
    the story that it begins with, where the faults at the writes of that part are left to that story.
    """

    name: str
    play: Callable[[WorkflowStage], None]
    ends: Ends
    calls: Mapping[str, int]
    rerun: Ends | None = None
    after: str | None = None


def _chain(stage: WorkflowStage) -> None:
    add_workflow(stage, graph_of(CHAIN))
    stage.at(400)


def _join(stage: WorkflowStage) -> None:
    add_workflow(stage, graph_of(DIAMOND))
    stage.at(400)


def _failing(stage: WorkflowStage) -> None:
    stage.steps.failing = frozenset({"eu"})
    _join(stage)
    stage.steps.failing = frozenset()


def _redriven(stage: WorkflowStage) -> None:
    _failing(stage)
    stage.redrive("eu")
    stage.at(700)


def _redriven_whole(stage: WorkflowStage) -> None:
    _failing(stage)
    stage.redrive("nightly")
    stage.at(700)


def _rerun(stage: WorkflowStage) -> None:
    _failing(stage)
    stage.rerun(["eu"])
    stage.at(700)


def _items(stage: WorkflowStage) -> None:
    add_workflow(stage, listed_graph(at_once=1))
    stage.at(400)


def _failing_item(stage: WorkflowStage) -> None:
    stage.steps.failing = frozenset({"load.i1"})
    _items(stage)
    stage.steps.failing = frozenset()


def _redriven_items(stage: WorkflowStage) -> None:
    _failing_item(stage)
    stage.redrive("load")
    stage.at(700)


def _redriven_item(stage: WorkflowStage) -> None:
    _failing_item(stage)
    stage.redrive("load", f"{INSTANT}.i1")
    stage.at(700)


INNER: dict[str, tuple[str, ...]] = {"copy": (), "index": ("copy",)}
OUTER: dict[str, tuple[str, ...]] = {"extract": (), "load": ("extract",), "report": ("load",)}


def _nested(stage: WorkflowStage) -> None:
    add_workflow(stage, graph_of(INNER), id="load", schedule="", workflow="nightly")
    add_workflow(stage, graph_of(OUTER, load={"nested": True}, report={"shared": True}))
    stage.at(400)


def _failing_nested(stage: WorkflowStage) -> None:
    stage.steps.failing = frozenset({"copy"})
    _nested(stage)
    stage.steps.failing = frozenset()


def _redriven_inner(stage: WorkflowStage) -> None:
    _failing_nested(stage)
    stage.redrive("copy")
    stage.at(700)


def _redriven_inner_fails(stage: WorkflowStage) -> None:
    _failing_nested(stage)
    stage.steps.failing = frozenset({"copy"})
    stage.redrive("copy")
    stage.at(700)


def _redriven_nested(stage: WorkflowStage) -> None:
    _failing_nested(stage)
    stage.redrive("load")
    stage.at(700)


def _redriven_outer(stage: WorkflowStage) -> None:
    _failing_nested(stage)
    stage.redrive("nightly")
    stage.at(700)


def _all(graph: Iterable[str], **others: RunState) -> Ends:
    return dict.fromkeys((*graph, "nightly"), S) | others


ONCE = dict.fromkeys(DIAMOND, 1)
ITEMS = ("list", "load", "report", *(f"load.i{index}" for index in range(2)))
ITEM_CALLS = {"list": 1, "load": 2, "report": 1}
NESTED = ("extract", "load", "copy", "index", "report.wnightly")
NESTED_CALLS = {"extract": 1, "copy": 1, "index": 1, "report": 1}
NESTED_FAILED = _all(NESTED, copy=D, index=K, load=D, **{"report.wnightly": K}, nightly=D)
STORIES = (
    WorkflowStory("a chain", _chain, _all(CHAIN), dict.fromkeys(CHAIN, 1)),
    WorkflowStory("a join", _join, _all(DIAMOND), ONCE),
    WorkflowStory("a failure", _failing, _all(DIAMOND, eu=D, report=K, nightly=D), ONCE | {"report": 0}),
    WorkflowStory("a redriven job", _redriven, _all(DIAMOND), ONCE | {"eu": 2}),
    WorkflowStory("a redriven workflow", _redriven_whole, _all(DIAMOND), ONCE | {"eu": 2}),
    WorkflowStory(
        "a rerun", _rerun, _all(DIAMOND, eu=D, report=K, nightly=D), ONCE | {"eu": 2}, rerun=_all(("eu", "report"))
    ),
    WorkflowStory("a list of items", _items, _all(ITEMS), ITEM_CALLS),
    WorkflowStory(
        "a failed item",
        _failing_item,
        _all(ITEMS, **{"load.i1": D}, load=D, report=K, nightly=D),
        ITEM_CALLS | {"report": 0},
    ),
    WorkflowStory(
        "a redriven step with items", _redriven_items, _all(ITEMS), ITEM_CALLS | {"load": 3}, after="a failed item"
    ),
    WorkflowStory("a redriven item", _redriven_item, _all(ITEMS), ITEM_CALLS | {"load": 3}, after="a failed item"),
    WorkflowStory("a nested workflow", _nested, _all(NESTED), NESTED_CALLS),
    WorkflowStory(
        "a failure in a nested workflow",
        _failing_nested,
        NESTED_FAILED,
        NESTED_CALLS | {"index": 0, "report": 0},
    ),
    WorkflowStory(
        "a redriven step of a nested workflow that fails again",
        _redriven_inner_fails,
        NESTED_FAILED,
        NESTED_CALLS | {"copy": 2, "index": 0, "report": 0},
        after="a failure in a nested workflow",
    ),
    *(
        WorkflowStory(name, again, _all(NESTED), NESTED_CALLS | {"copy": 2}, after="a failure in a nested workflow")
        for name, again in (
            ("a redriven step of a nested workflow", _redriven_inner),
            ("a redriven nested workflow", _redriven_nested),
            ("a redriven outer workflow", _redriven_outer),
        )
    ),
)


@dataclass(frozen=True)
class WorkflowPlay:
    """The writes on the way, and what was wrong in the end."""

    points: tuple[Point, ...]
    problems: tuple[str, ...]


def play(story: WorkflowStory, aim: Aim | None = None) -> WorkflowPlay:
    """The story on fresh tables, with a fault where one is aimed at, until all is settled."""
    danger = Danger(aim)
    stage = WorkflowStage(danger)
    try:
        story.play(stage)
        end = stage.clock.now() + PATIENCE_SECONDS
        while (found := tuple(_problems(story, stage))) and stage.clock.now() < end:
            stage.until(stage.clock.now() + RECONCILER_SECONDS)
        return WorkflowPlay(tuple(danger.points), found)
    finally:
        for table in (stage.stored.jobs, stage.stored.runs):
            stage.stored.client.delete_table(TableName=table)


def _problems(story: WorkflowStory, stage: WorkflowStage) -> Iterable[str]:
    stored = stage.stored.client.scan(TableName=stage.stored.runs, ConsistentRead=True)["Items"]
    records = {
        (item["PK"]["S"].split("#")[-1], item["SK"]["S"].removeprefix("RUN#")): item["state"]["S"]
        for item in stored
        if item["SK"]["S"].startswith("RUN#")
    }
    parts = INSTANT + ".i", INSTANT + ".w"
    first = {
        job_id + local.removeprefix(INSTANT): state
        for (job_id, local), state in records.items()
        if local == INSTANT or local.startswith(parts)
    }
    others = {
        job_id: state for (job_id, local), state in records.items() if local != INSTANT and not local.startswith(parts)
    }
    if first != story.ends:
        yield f"ended {first}"
    whole = stage.run("nightly")
    if whole is not None and whole.state.final and stage.api.workflow_runs.look(whole).continues:
        yield "the workflow continues"
    if others != (story.rerun or {}):
        yield f"the rerun ended {others}"
    if len(records) != len(first) + len(others):
        yield f"{len(records)} records"
    yield from ("left: a lock" for item in stored if item["SK"]["S"] == "ACTIVE" and is_held(item, stored))
    if len(stage.wheel):
        yield f"{len(stage.wheel)} messages are left"
    calls = Counter(name.partition(".")[0] for name in stage.steps.counted.elements())
    more = {name: calls[name] - count for name, count in story.calls.items() if calls[name] != count}
    if any(extra < 0 for extra in more.values()) or sum(more.values()) > stage.danger.attempt_lost:
        yield f"called {dict(calls)}"
    dead = {name.partition(".")[0] for name, state in first.items() if state == D}
    letters = {held.message.job_id for held in stage.wheel.dead_letters}
    if letters != dead:
        yield f"dead letters of {letters}"
