"""Whatever comes, in whatever order, however often: a run keeps its promises, and it ends."""

from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.jobs.job import Completion, Delivery, Job, MissedMode, MissedPolicy, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Execution, ExecutionService, Failed, Returned
from duecourse.messages import MessageKind
from tests.support.examples import examples
from tests.support.jobs import job
from tests.support.run_promises import Promises
from tests.support.run_world import Letter, World

CLOCKS_DIFFER = 5
"""By how many seconds a worker's clock may be wrong, to either side."""

JOBS = st.builds(
    lambda delivery, completion, heartbeat, attempts, never: job(
        "* * * * *",
        delivery=delivery,
        completion=completion,
        completion_seconds=600,
        heartbeat_seconds=heartbeat,
        missed=MissedPolicy(MissedMode.RUN_ALL),
        retry=RetryPolicy(max_attempts=attempts, min_seconds=2, max_seconds=300, never=never),
    ),
    st.sampled_from([Delivery.AT_LEAST_ONCE, Delivery.AT_LEAST_ONCE, Delivery.AT_MOST_ONCE]),
    st.sampled_from(Completion),
    st.sampled_from([None, 60]),
    st.integers(1, 3),
    st.sampled_from([(), ("callback.heartbeat",)]),
)

DO = st.sampled_from(
    [
        *(["deliver"] * 6 + ["deliver late"] * 2 + ["hold"] * 2 + ["go on"] * 2 + ["end"] * 4),
        *["crash", "wait", "long wait", "very long wait", "forge", "complete", "fail", "cancel", "redrive", "beat"],
        *["strand", "bring back", "send afresh", "reconcile", "reconcile", "change", "delete", "recreate"],
    ]
)
STARTED = Returned("started", Execution(ExecutionService.STATES, "arn:aws:states:eu-west-1:1:execution:flow:1"))
OUTCOMES = st.sampled_from(
    [
        *(Returned("done"), STARTED),
        *(Failed("HTTP 503", code="http.503"), Failed("no", forbidden=True), Failed("x", retry_after=30.0)),
    ]
)


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens; what a step has no use for it ignores."""

    do: str
    pick: int
    skew: float
    crash: bool
    outcome: Any
    kind: MessageKind
    attempt: int


STEPS = st.builds(
    Step,
    DO,
    st.integers(0, 11),
    st.sampled_from([0.0, 0.0, -CLOCKS_DIFFER, CLOCKS_DIFFER, 2.5]),
    st.sampled_from([False, False, False, True]),
    OUTCOMES,
    st.sampled_from([kind for kind in MessageKind if kind is not MessageKind.FORECAST]),  # changes no run
    st.integers(1, 6),
)


def first(do: str, outcome: Any = None, *, crash: bool = False) -> Step:
    return Step(do, 0, 0.0, crash, outcome, MessageKind.START, 1)


TAKEN, REFUSED = first("end", Returned("taken")), first("end", Failed("HTTP 503", code="http.503"))
BEGINNINGS = st.sampled_from(
    [
        [],
        [first("deliver")],
        [first("deliver"), TAKEN],
        [first("deliver"), TAKEN, first("fail")],
        [first("deliver"), TAKEN, first("fail"), first("deliver", crash=True)],
        [first("deliver"), first("cancel")],
        [first("deliver"), REFUSED],
        [first("deliver"), first("end", Failed("HTTP 503"), crash=True)],
        [first("deliver"), first("end", Failed("HTTP 503"), crash=True), first("strand")],
        [first("deliver"), TAKEN, first("fail"), first("deliver"), first("strand"), first("bring back")],
        [first("deliver"), first("crash"), first("strand")],
        [first("deliver"), first("crash"), first("send afresh")],
        [first("deliver"), TAKEN, first("fail"), first("deliver"), first("send afresh"), first("strand")],
    ]
)
"""What chance alone would seldom come to: one is played before the steps that are drawn."""


WAITS = {"wait": (0, 1), "long wait": (115, 2), "very long wait": (0, 600)}
"""Seconds: so many, and so many more for each `pick`."""

COMMANDS = {
    "complete": MessageKind.COMPLETE,
    "fail": MessageKind.FAIL,
    "cancel": MessageKind.CANCEL,
    "redrive": MessageKind.REDRIVE,
}


def play(world: World, step: Step, original: Job) -> None:
    """One step."""
    letter = world.letters[step.pick % len(world.letters)]
    newest = world.letters[-1 - step.pick % min(len(world.letters), 3)]
    match step.do:
        case "deliver":
            world.deliver(newest, skew=step.skew, hold=False, crash=step.crash)
        case "deliver late":
            world.deliver(letter, skew=step.skew, hold=False, crash=step.crash)
        case "hold":
            world.deliver(letter, skew=step.skew, hold=True, crash=False)
        case "go on":
            world.go_on(step.pick, crash=step.crash)
        case "end":
            world.end_call(step.pick, step.outcome, draw=step.pick / 12, crash=step.crash)
        case "crash":
            world.crash_call(step.pick)
        case wait if wait in WAITS:
            least, each = WAITS[wait]
            world.time += least + each * step.pick
        case "forge":
            nonce = letter.request.nonce if step.crash else None
            world.post(step.kind, step.attempt, nonce=nonce)
        case command if command in COMMANDS:
            world.post(COMMANDS[command], 1 if world.record is None else max(world.record.attempt, 1))
        case "beat":
            world.beat()
        case "reconcile":
            world.reconcile(letter, skew=step.skew)
        case "strand" | "bring back" | "send afresh":
            move(world, step.do, newest)
        case "change" | "delete" | "recreate":
            change(world, step, original)
        case other:
            raise AssertionError(f"{other} is no step")


def move(world: World, do: str, letter: Letter) -> None:
    """Between its lane and the dead letters."""
    match do:
        case "strand":
            world.strand(letter)
        case "bring back":
            world.bring_back(letter)
        case "send afresh":
            world.send_afresh(letter)


def change(world: World, step: Step, original: Job) -> None:
    """The job."""
    match step.do:
        case "change" if step.crash:
            world.change_job()
        case "delete" if step.crash:
            world.delete_job()
        case "recreate":
            world.recreate_job(original)


def drain(world: World) -> None:
    """All workers die; from then on everything works. What is left of the letters is delivered until nothing is."""
    world.thinking.clear()
    world.calls.clear()
    for _ in range(60):
        before = world.record
        waiting = [letter for letter in world.letters if letter.home == "lane"]
        for letter in waiting:
            was = world.record
            world.deliver(letter, skew=0.0, hold=False, crash=False)
            world.end_call(0, Returned("done"), draw=0.5, crash=False)
            died_by_it = world.record is not None and world.record.message_id == letter.message_id
            if was == world.record and died_by_it and was is not None and was.state is RunState.DEAD:
                world.strand(letter)
        for letter in list(world.letters):
            world.reconcile(letter, skew=0.0)
        world.time += 300
        # After the end of the run, the reconciler looks once more at the letters that it saw before that end.
        if not any(letter.home == "lane" for letter in world.letters) and _still(world) and world.record == before:
            return
    raise AssertionError("the letters never come to rest")


def _still(world: World) -> bool:
    """Whether nothing in the dead letters is still watched for its worker's end."""
    alive = world.record is not None and not world.record.state.final
    return not (alive and any(letter.home == "dead" for letter in world.letters))


@examples(3_000)
@given(JOBS, BEGINNINGS, st.lists(STEPS, max_size=40))
def test_run_lifecycle_keeps_its_guarantees_and_ends(of: Job, beginning: list[Step], steps: list[Step]) -> None:
    promises = Promises()
    world = World(of, promises.seen, promises.wrote)
    for step in (*beginning, *steps):
        play(world, step, of)
    drain(world)
    if world.record is None:
        assert world.job != of, "only a job that changed leaves a run without a record"
    else:
        assert world.record.state.final
        in_the_dead_letters = [letter for letter in world.letters if letter.home == "dead"]
        if in_the_dead_letters:
            assert world.record.state is RunState.DEAD
        if world.record.state is RunState.DEAD and isinstance(world.job, Job) and world.job.created_at == of.created_at:
            assert in_the_dead_letters, "who looks into the dead letters finds it, and can bring it back"
