"""The picture of a run's states in ARCHITECTURE.md shows the transitions that are decided, and no others."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

from duecourse.domain.jobs.job import (
    Completion,
    Delivery,
    JobSnapshot,
    JobState,
    MissedMode,
    MissedPolicy,
    RetryPolicy,
    Tombstone,
)
from duecourse.domain.runs.decision import (
    WORKFLOW_OVER,
    CancelAsked,
    Completed,
    DeadLettered,
    DeadlineCame,
    Ended,
    Evaluated,
    Event,
    GivenUp,
    Readiness,
    Start,
    StepTurn,
    Transition,
    WorkflowOutcome,
)
from duecourse.domain.runs.states import Alive, Retrying, Run, RunState, Skipped
from duecourse.domain.runs.transitions import decide, queued
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from tests.support.jobs import job
from tests.support.start_requests import DUE, GENERATION, WAITS_UNTIL, context, run, start_request, waiting_run
from tests.support.varied import varied

Arrow = tuple[str, str]

PAGE = Path(__file__).parents[4] / "ARCHITECTURE.md"
SECTION = re.compile(r"^## State of a run\n(?P<text>.*?)^## ", re.MULTILINE | re.DOTALL)
DIAGRAM = re.compile(r"^```mermaid\nstateDiagram-v2\n(?P<lines>.*?)^```$", re.MULTILINE | re.DOTALL)
ARROW = re.compile(r"^\s*(?P<source>\S+) --> (?P<aim>[A-Z]+)\s*:\s*(?P<causes>\S.*)$")

STOPPED = {RunState.SKIPPED: Readiness.UPSTREAM_FAILED.value, RunState.CANCELLED: WORKFLOW_OVER}
"""Why a workflow stops the run of a step that ends so."""

MOMENTS = (DUE + 1.0, DUE + 30.0, DUE + 200.0, WAITS_UNTIL + 10_000.0)
OUTCOMES: tuple[Outcome, ...] = (Returned("done"), Failed("HTTP 503"), Failed("no", forbidden=True))


def jobs() -> Iterator[JobSnapshot]:
    """As it was, changed, paused, gone, created anew; of every kind that decides otherwise."""
    yield None
    yield Tombstone(DUE + 5.0)
    yield job("* * * * *", at=DUE + 20.0)
    plain = job("* * * * *", retry=RetryPolicy(max_attempts=2))
    yield plain
    yield replace(plain, delivery=Delivery.AT_MOST_ONCE)
    yield replace(plain, completion=Completion.CALLBACK)
    yield replace(plain, completion=Completion.CALLBACK, heartbeat_seconds=20)
    yield replace(plain, missed=MissedPolicy(MissedMode.SKIP), start_deadline_seconds=5)
    yield replace(plain, state=JobState.PAUSED, generation=GENERATION + 9000, changed_at=DUE + 9.0)


def records(state: RunState) -> Iterator[Run | None]:
    """Every shape of a record in that state."""
    if state is RunState.QUEUED:
        yield None  # written only where a run waits in the wait queue
        yield from (queued(run(attempts_allowed=allowed), DUE + 1.0) for allowed in (1, 2))
        return
    shapes = [waiting_run(state)] if state is RunState.WAITING else [run(state), waiting_run(state)]
    if state is RunState.WAITING:
        shapes.append(varied(shapes[0], workflow=f"{shapes[0].job_id}@3f2a"))
    if state in STOPPED:
        shapes.append(varied(run(state), reason=STOPPED[state]))
    for shape in shapes:
        beats = (None, DUE + 20.0) if isinstance(shape, Alive) and shape.deadlines is not None else (None,)
        asks = (None,) if isinstance(shape, Retrying | Skipped) else (None, "cancelled")
        for attempt, beat, asked in product((1, 2), beats, asks):
            yield varied(shape, attempt=attempt, attempts_allowed=2, heartbeat_until=beat, cancel_requested=asked)


@cache
def events() -> tuple[Event, ...]:
    """Everything that can come, about this attempt, an earlier or a later one, in the same words or others."""
    found: list[Event] = [Ended(outcome, 0.5) for outcome in OUTCOMES]
    for attempt, nonce in product((1, 2, 3), ("nonce-1", "nonce-2")):
        offered = start_request(attempt=attempt, nonce=nonce)
        found += [offered, replace(offered, redrive=True), Completed(offered, "done"), DeadlineCame(offered, 0.5)]
        found += [GivenUp(offered, failed, 0.5) for failed in OUTCOMES if isinstance(failed, Failed)]
        found += [CancelAsked(offered, "cancelled"), DeadLettered(offered, True), DeadLettered(offered, False)]
    offered = start_request(attempt=1, nonce="nonce-2")
    step = varied(offered, workflow="nightly@3f2a")
    turns = [StepTurn(each, round=noted) for each in (Readiness.READY, Readiness.NOT_NEEDED) for noted in (0, 1)]
    found += [replace(step, turn=turn) for turn in turns]
    found += [CancelAsked(replace(step, turn=turn), WORKFLOW_OVER) for turn in turns]
    found += [Evaluated(offered, outcome) for outcome in WorkflowOutcome]
    return tuple(found)


@cache
def decided() -> frozenset[Arrow]:
    """The transitions that come about when everything is tried on everything."""
    arrows: set[Arrow] = set()
    hands = (context("message-1"), context("message-2"))
    for state in RunState:
        spread = product(records(state), list(jobs()), hands, MOMENTS, events())
        for record, of, by, now, event in spread:
            if isinstance(event, Ended) and (record is None or state is not RunState.RUNNING):
                continue  # a call ends on the record that it was begun with
            decision = decide(event, of, record, by, now=now)
            if isinstance(decision, Start | Transition):
                arrows.add((state.value, decision.run.state.value))
    return frozenset(arrows)


def drawn() -> list[re.Match[str]]:
    section = SECTION.search(PAGE.read_text(encoding="utf-8"))
    assert section is not None
    diagrams = DIAGRAM.findall(section["text"])
    assert len(diagrams) == 1, "one diagram"
    lines = [line for line in diagrams[0].splitlines() if "-->" in line and "[*]" not in line]
    arrows = [arrow for line in lines if (arrow := ARROW.match(line))]
    assert len(arrows) == len(lines), "every arrow names its causes"
    return arrows


def test_state_diagram_shows_exactly_the_implemented_transitions() -> None:
    assert {(arrow["source"], arrow["aim"]) for arrow in drawn()} == decided()


def test_state_diagram_shows_every_transition_once() -> None:
    arrows = [(arrow["source"], arrow["aim"]) for arrow in drawn()]
    assert len(arrows) == len(set(arrows))


def test_state_diagram_covers_all_states_that_runs_can_reach() -> None:
    assert {aim for _, aim in decided()} | {"QUEUED"} == {state.value for state in RunState}


def test_state_diagram_leaves_a_final_state_only_by_a_redrive_or_the_workflow() -> None:
    final = {state.value for state in RunState if state.final}
    stopped = product(("SKIPPED", "CANCELLED"), ("RUNNING", "CANCELLED", "SKIPPED"))
    left = {(source, aim) for source, aim in decided() if source in final}
    again = {("DEAD", "RUNNING"), ("DEAD", "SKIPPED"), ("DEAD", "CANCELLED"), ("SUCCEEDED", "RUNNING")}
    assert left - set(stopped) == again
