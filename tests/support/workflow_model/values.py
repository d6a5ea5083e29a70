"""What a state of the model is made of. All that is large is held once (`Kept`) and named by a number."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from duecourse.domain.runs.states import Run
from duecourse.domain.workflows.graph import Graph, StepOutcome
from duecourse.messages import RunMessage

EARLY = 1_763_726_461.0
"""Now, as long as a lease that was given may still be alive (UTC seconds)."""

LATE = EARLY + 40_000
"""Now, where leases and the workflow's deadline have passed."""

LEASE_SECONDS = 120.0

DEADLINE_SECONDS = 3_600


class Letter(NamedTuple):
    """A message and who it is: 0 while nobody has received it, since until then it is like any other with its words.
    `moved`: how often it came back from the dead letters, each time under another id. `replaced` are the numbers of
    the messages that it was sent instead of.
    """

    message: RunMessage
    id: int = 0
    moved: int = 0
    replaced: tuple[int, ...] = ()

    @property
    def message_id(self) -> str:
        """The id under which it is received."""
        return f"{self.id}.{self.moved}"

    @property
    def received(self) -> RunMessage:
        """The message as its worker reads it."""
        return replace(
            self.message, nonce=str(self.id), replaces=tuple((f"{each}.0", str(each)) for each in self.replaced)
        )

    @property
    def ids(self) -> int:
        """The numbers in it, as a mask."""
        return sum(1 << each for each in {self.id, *self.replaced} if each)


class WorkflowRun(NamedTuple):
    """What a step asks of its workflow's run."""

    alive: bool
    redriven_at: float | None = None


class Left(NamedTuple):
    """What may still happen, and how often: a worker dies; a message comes once more; a send is refused; a step fails
    for good, or is tried again; somebody redrives a dead step, the dead workflow's run, brings a dead letter back,
    cancels the workflow's run, or a step; its deadline comes; a step is paused for a while.
    """

    crashes: int = 0
    copies: int = 0
    refusals: int = 0
    failures: int = 0
    retries: int = 0
    redrives: int = 0
    run_redrives: int = 0
    returns: int = 0
    cancels: int = 0
    step_cancels: int = 0
    deadlines: int = 0
    pauses: int = 0


NOTHING = Left()


@dataclass(frozen=True)
class Case:
    """What is searched. `attempts`: how often a step is tried."""

    name: str
    graph: Graph
    left: Left = NOTHING
    workers: int = 2
    attempts: int = 2


class Seen(NamedTuple):
    """What the promises remember. `truth`: how steps have ended by their records, the highest end of each (a number
    of `StepOutcomes`). Masks of steps: `ready`, who could begin by that at any time; `late`, who began after the
    workflow's run was over and has not heard of it; `owed`, who was dead when a redrive of the workflow's run began
    and still is. `again`: how often redrives let each dead step run again. `told`: what follows from the end of the
    workflow's run was done.
    """

    truth: int
    ready: int
    again: tuple[int, ...]
    late: int = 0
    owed: int = 0
    told: bool = False


class State(NamedTuple):
    """Everything. `records`: the workflow's run, then its steps'. `paused` is a mask of steps, `dead` the dead
    letters, `workers` what each of them asks for next (a number of a node of the explorer).
    """

    records: tuple[int, ...]
    parts: tuple[int, ...]
    lane: tuple[int, ...]
    dead: tuple[int, ...]
    workers: tuple[int, ...]
    left: Left
    paused: int
    seen: Seen


Step = tuple[tuple[object, ...], State]
"""What happens, in words and things, and the state after it."""


# What a worker asks of the world. `run` is 0 for the workflow's run, else one more than the step's number.


Key = tuple[str, int]


class Read(NamedTuple):
    """Items, in any order, each at a moment of its own: `own` record of the message's run, `seen` another one's record,
    the workflow's run that a step is `of`, a `part` of the ends.
    """

    keys: tuple[Key, ...]


class Write(NamedTuple):
    """A record over the one that was read; answered by None, or by what was found instead."""

    run: Run
    previous: Run | None


class NoteEnd(NamedTuple):
    """A step's end into its part, upwards only; None: the round begins, and earlier ends are withdrawn. Answered by
    the part, and whether this wrote it.
    """

    number: int
    end: StepOutcome | None
    round: int = 0


class Mark(NamedTuple):
    """That ends were withdrawn in this run, into a part."""

    part: int


class Send(NamedTuple):
    """A message; answered by whether it was accepted."""

    letter: Letter


class Circumstances(NamedTuple):
    """Whether the step's job is paused, and what time it is."""

    run: Run | None


class Call(NamedTuple):
    """The step's target."""


class Delete(NamedTuple):
    """Its message, though it is not done (a mutant's)."""


class Done(NamedTuple):
    """What becomes of the message: `deleted`, `retained` for another delivery, or a `dead` letter."""

    fate: str


Question = Read | Write | NoteEnd | Mark | Send | Circumstances | Call | Delete | Done


class Stage(NamedTuple):
    """Where a worker stands: a method of the protocol and its arguments. What it knew before is forgotten."""

    name: str
    args: tuple[Any, ...]


@dataclass(frozen=True)
class Broken(Exception):
    """A promise is not kept."""

    promise: str


def working(state: State, workers: tuple[int, ...]) -> State:
    """As `_replace`, which takes half of the time otherwise."""
    records, parts, lane, dead, _, left, paused, seen = state
    return State(records, parts, lane, dead, workers, left, paused, seen)


def posting(state: State, lane: tuple[int, ...]) -> State:
    records, parts, _, dead, workers, left, paused, seen = state
    return State(records, parts, lane, dead, workers, left, paused, seen)


def with_number(numbers: tuple[int, ...], number: int) -> tuple[int, ...]:
    return tuple(sorted((*numbers, number)))


def fewer(state: State, name: str) -> State:
    return state._replace(left=state.left._replace(**{name: getattr(state.left, name) - 1}))


def lowest(named: int) -> int:
    number = 1
    while named >> number & 1:
        number += 1
    return number
