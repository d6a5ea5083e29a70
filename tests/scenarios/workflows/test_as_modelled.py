"""Workers do what the protocol of `make model` says, in its order: reads, writes, notes of ends, sends."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from duecourse.domain.ids import RunName
from duecourse.domain.runs.states import Record, Run
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.domain.workflows.graph import StepOutcome
from duecourse.messages import MessageKind
from duecourse.ports import Call, Conflict, Outgoing, RecordedEnd, WorkflowRead
from duecourse.stores.runs import RunStore
from duecourse.stores.workflows import WorkflowStore
from tests.support.jobs import NOON
from tests.support.tables import Tables
from tests.support.wheel import Held, Wheel
from tests.support.workflow_model.cases import CHAIN
from tests.support.workflow_model.values import Case, Left, Letter
from tests.support.workflow_model.world import World as Model
from tests.support.workflows import add_workflow
from tests.support.world import World

NAMES = [step.id for step in CHAIN.steps]
IN_BULK = replace(CHAIN, steps=tuple(replace(step, bulk=True) for step in CHAIN.steps))
"""The model knows no seats: no message moves from one queue of its lane to the other."""


@dataclass
class LoggedRuns:
    """RunStore."""

    store: RunStore
    log: list[str]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def get(self, tenant: str, job_id: str, local: str) -> Run | None:
        self.log.append(f"read the record of {job_id}")
        return self.store.get(tenant, job_id, local)

    def write(self, run: Run, previous: Run | None) -> Conflict | None:
        conflict = self.store.write(run, previous)
        self.log.append(f"write {run.job_id} {run.state}")
        return conflict


@dataclass
class LoggedWorkflows:
    """WorkflowStore."""

    store: WorkflowStore
    log: list[str]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def record_end(
        self, tenant: str, run: RunName, number: int, end: StepOutcome, *, in_round: int = 0, expires_at: int
    ) -> RecordedEnd:
        self.log.append(f"note {NAMES[number]} {end}")
        return self.store.record_end(tenant, run, number, end, in_round=in_round, expires_at=expires_at)

    def withdraw(
        self, tenant: str, run: RunName, rounds: Mapping[int, int], parts: Iterable[int], *, expires_at: int
    ) -> None:
        wanted = sorted(parts)
        self.log += [f"mark {part}" for part in wanted or [0]] + [f"withdraw {NAMES[number]}" for number in rounds]
        self.store.withdraw(tenant, run, rounds, wanted, expires_at=expires_at)

    def read(self, tenant: str, run: RunName, parts: Iterable[int], *, with_run: bool = True) -> WorkflowRead:
        wanted = sorted(parts)
        assert not (with_run and wanted), "the model reads the ends first, then the run"
        self.log.append("read whether the run is alive" if with_run else f"read parts {wanted}")
        return self.store.read(tenant, run, wanted, with_run=with_run)

    def records(self, tenant: str, runs: Sequence[RunName]) -> list[Run]:
        self.log.append(f"read records of {[run.job_id for run in runs]}")
        return self.store.records(tenant, runs)


@dataclass
class LoggedWheel:
    """The lanes."""

    wheel: Wheel
    log: list[str]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wheel, name)

    def send(self, messages: Sequence[Outgoing]) -> list[bool]:
        for each in messages:
            if each.message.kind is not MessageKind.DEADLINE:  # which the model lets come at any time
                self.log.append(f"send {each.message.kind} {each.message.job_id}")
        return self.wheel.send(messages)

    def put_back(self, held: Held) -> None:
        self.wheel.dead_letters.append(held)  # at once; in the model a delivery before that is a copy


def played(tables: Tables, fails: str, redriven: Sequence[str]) -> list[str]:
    """What a real worker does, message after message."""
    world, failing, log = World(tables), {fails}, list[str]()

    def answer(call: Call) -> Outcome:
        return Failed("no", retryable=False, code="no") if call.job.id in failing else Returned()

    world.caller.answer = answer
    add_workflow(world, IN_BULK)
    world.run_store = LoggedRuns(world.run_store, log)  # type: ignore[assignment]
    world.workflows = LoggedWorkflows(world.workflows, log)  # type: ignore[assignment]
    lanes = world.wheel
    world.wheel = LoggedWheel(lanes, log)  # type: ignore[assignment]
    world.until(NOON + 90, ticking=False)
    failing.clear()
    for job_id in redriven:
        (run,) = world.runs(job_id)
        redrive = replace(world.about(run, MessageKind.REDRIVE), bulk=True)
        lanes.send([Outgoing(redrive, 0)])
        world.until(world.clock.now() + 30, ticking=False)
    return log


def modelled(fails: str, redriven: Sequence[str]) -> list[str]:
    """What one worker of the model does, with messages in the order of their sends."""
    runs = redriven.count("nightly")
    left = Left(failures=len(fails), redrives=len(redriven) - runs, run_redrives=runs)
    model = Model(Case("chain of 2", CHAIN, left, workers=1))
    state, lane, asked, lines = model.beginning(), ["start nightly"], list(redriven), list[str]()
    while True:
        options = list(model.steps(state))
        if state.workers:
            options = [each for each in options if not _is_event(each[0])]
        elif lane:
            wanted = lane.pop(0)
            options = [each for each in options if each[0][0] == "received:" and _letter(each[0][1].letter) == wanted]
        elif asked:
            wanted = f"redrive {asked.pop(0)}"
            options = [each for each in options if _is_event(each[0]) and _letter(each[0][1]) == wanted]
        else:
            return lines
        failing = [each for each in options if "failures" in each[0] and f"write {fails} RUNNING" in _lines(each[0])]
        said, state = (failing or options)[0]
        if _is_event(said):
            lane.append(_letter(said[1]))
        new = _lines(said)
        lane += [line.removeprefix("send ") for line in new if line.startswith("send ")]
        lines += new


def _is_event(said: tuple[Any, ...]) -> bool:
    return said[0] in Left._fields


def _letter(letter: Letter) -> str:
    return f"{letter.message.kind} {letter.message.job_id}"


def _lines(said: tuple[Any, ...]) -> list[str]:
    """A step of the model in the words of the log."""
    if _is_event(said):
        return []
    node, does, *more = said[1:] if said[0] == "received:" else said
    sends = [f"send {_letter(each)}" for each in more if isinstance(each, Letter)]
    match does, more:
        case "reads", [("own", _), *_]:
            return [f"read the record of {node.letter.message.job_id}", *sends]
        case "reads", [("of", _), *_]:
            return ["read whether the run is alive", *sends]
        case "reads", [("part", part), *_]:
            return [f"read parts [{part}]", *sends]
        case "reads", [("seen", number), *_]:
            return [f"read records of {[NAMES[number - 1]]}", *sends]
        case "writes", [Record() as run, *_]:
            return [f"write {run.job_id} {run.state}", *sends]
        case "marks", [int() as part, *_]:
            return [f"mark {part}", *sends]
        case "notes", ["again", int() as number, *_]:
            return [f"withdraw {NAMES[number]}", *sends]
        case "notes", [StepOutcome() as end, *_]:
            return [f"note {node.letter.message.job_id} {end}", *sends]
        case other:
            raise AssertionError(other)


@pytest.mark.parametrize(
    ("fails", "redriven"),
    [("", ()), ("a", ()), ("b", ()), ("a", ("a",)), ("b", ("b",)), ("a", ("nightly",))],
    ids=["success", "first fails", "last fails", "first is redriven", "last is redriven", "all is redriven"],
)
def test_workflow_model_matches_the_steps_of_a_worker(tables: Tables, fails: str, redriven: tuple[str, ...]) -> None:
    lines = played(tables, fails, redriven)
    expected = modelled(fails, redriven)
    assert expected.pop(0) == "read the record of nightly"  # whose first delivery reads none: its write finds out
    assert lines == expected
