"""What workers share: records, locks, line and lane of one job, as values. Every step makes a new state.

All that is large is held once (`Kept`) and named by a number, so that states are compared and remembered cheaply.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, NamedTuple

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.overlap import Lock, has_released
from duecourse.domain.runs.states import Run, is_written_as
from duecourse.messages import RunMessage
from duecourse.ports import Conflict
from duecourse.usecases.worker.overlap import position_of
from tests.support.replayed import Asked

VISIBLE_AFTER_SECONDS = 150
"""How long a delivered message is hidden from others."""

READS = frozenset({"get", "job", "locked", "locks", "waiting", "length", "watch"})


@dataclass
class Kept:
    """Numbers for values, from 1 on; 0 is None."""

    values: list[Any] = field(default_factory=lambda: [None])
    numbers: dict[Any, int] = field(default_factory=dict)

    def of(self, value: Any) -> int:
        """The number of a value."""
        if value is None:
            return 0
        number = self.numbers.get(value)
        if number is None:
            number = self.numbers[value] = len(self.values)
            self.values.append(value)
        return number


class Letter(NamedTuple):
    """A message in the lane, visible from a time on. `copy`: SQS delivers it once more under the same id."""

    visible: int
    message_id: int
    copy: int
    receives: int
    message: int


class Worker(NamedTuple):
    """An invocation with one letter. `node` is what it has been answered; `seen` are the places (numbers) that
    stood in line when it received the letter. `most` is the highest limit of active runs that it or a worker
    beside it may have read (0: none).
    """

    node: int
    message_id: int
    copy: int
    killed_at: int
    seen: tuple[int, ...]
    most: int = 0


class Left(NamedTuple):
    """How much may still go wrong: `early` is how often time passes while something could be done, `limits` how often
    the limit of active runs changes.
    """

    crashes: int = 0
    losses: int = 0
    copies: int = 0
    watches: int = 0
    early: int = 0
    failures: int = 0
    limits: int = 0


class State(NamedTuple):
    """Everything, by numbers of `Kept`; `line` is sorted by places, `called` has each attempt that was called. `job` is
    the definition of the job that is in force.
    """

    time: int
    records: tuple[tuple[int, int], ...]
    locks: tuple[tuple[int, int], ...]
    line: tuple[tuple[int, int], ...]
    watch: int
    lane: tuple[Letter, ...]
    workers: tuple[Worker, ...]
    left: Left
    called: tuple[tuple[int, int], ...]
    asked_to_end: tuple[tuple[int, int], ...]
    job: int = 0


@dataclass
class Shared:
    """Answers questions: what DynamoDB and SQS do, without DynamoDB and SQS. Equal answers are the same object."""

    kept: Kept
    jobs: tuple[Job, ...] = ()
    conflicts: dict[int, Conflict] = field(default_factory=dict)
    wait_queues: dict[tuple[int, ...], tuple[RunMessage, ...]] = field(default_factory=dict)
    places: dict[tuple[tuple[int, int], ...], dict[int, Lock]] = field(default_factory=dict)

    def record(self, state: State, local: str) -> Run | None:
        """The record of a run."""
        run: Run | None = self.kept.values[dict(state.records).get(self.kept.of(local), 0)]
        return run

    def held(self, state: State) -> list[Lock]:
        """The locks that a run holds whose end is not recorded: their items remain."""
        held = []
        for _, number in state.locks:
            lock: Lock = self.kept.values[number]
            holder = self.record(state, lock.holder) if lock.holder else None
            if lock.holder and not (holder is not None and has_released(lock, holder)):
                held.append(lock)
        return held

    def answer(self, state: State, asked: Asked) -> tuple[Any, State]:
        """What a port answers, and the state after it."""
        match asked.what, asked.with_:
            case "get", (local,):
                return self.record(state, local), state
            case "write", (run, previous):
                return self._write(state, run, previous)
            case "job", ():
                return self.jobs[state.job], state
            case "locked", ():
                return self.kept.values[dict(state.locks).get(0, 0)], state
            case "locks", ():
                if state.locks not in self.places:
                    self.places[state.locks] = {place: self.kept.values[number] for place, number in state.locks}
                return self.places[state.locks], state
            case "lock", (lock, previous, place):
                locks = dict(state.locks)
                standing: Lock | None = self.kept.values[locks.get(place, 0)]
                if standing in (None, previous, lock):
                    locks[place] = self.kept.of(lock)
                    return None, state._replace(locks=tuple(sorted(locks.items())))
                return standing, state
            case (("enter" | "leave" | "waiting" | "length"), _):
                return self._of_line(state, asked)
            case "watch", ():
                return self.kept.values[state.watch], state
            case "set_watch", (watch, previous):
                if state.watch != self.kept.of(previous):  # told apart by the nonce, new each time, and the call
                    return False, state
                return True, state._replace(watch=self.kept.of(watch))
            case "send", (message, delay):
                return True, self.posted(state, message, delay)
            case _:
                raise AssertionError(f"nobody answers {asked}")

    def _of_line(self, state: State, asked: Asked) -> tuple[Any, State]:
        values, of = self.kept.values, self.kept.of
        match asked.what, asked.with_:
            case "enter", (message,):
                place = of(position_of(message))
                if any(standing == place for standing, _ in state.line):
                    return False, state
                return True, state._replace(line=self._sorted([*state.line, (place, of(message))]))
            case "leave", (place, through):
                number = of(place)
                (entry,) = [values[message] for each, message in state.line if each == number] or [None]
                if entry is None or (through is not None and entry.starts > through):
                    return False, state
                return True, state._replace(line=tuple(each for each in state.line if each[0] != number))
            case "waiting", (limit, newest):
                line = state.line[::-1] if newest else state.line
                numbers = tuple(message for _, message in line[:limit])
                if numbers not in self.wait_queues:
                    self.wait_queues[numbers] = tuple(values[number] for number in numbers)
                return self.wait_queues[numbers], state
            case _:
                (limit,) = asked.with_
                return min(len(state.line), limit), state

    def posted(self, state: State, message: RunMessage, delay: float = 0) -> State:
        """The state with a message in the lane."""
        letter = Letter(ceil(state.time + delay), self.kept.of(("sent", message.nonce)), 0, 0, self.kept.of(message))
        return state._replace(lane=tuple(sorted([*state.lane, letter])))

    def _write(self, state: State, run: Run, previous: Run | None) -> tuple[Any, State]:
        local = run.name.local
        standing = self.record(state, local)
        if (standing is None) != (previous is None) or (
            standing is not None and previous is not None and not is_written_as(standing, previous)
        ):
            if standing is not None and is_written_as(run, standing):
                return None, state
            return self.conflicts.setdefault(self.kept.of(standing), Conflict(standing)), state
        records = dict(state.records) | {self.kept.of(local): self.kept.of(run)}
        return None, state._replace(records=tuple(sorted(records.items())))

    def _sorted(self, line: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        return tuple(sorted(line, key=lambda each: self.kept.values[each[0]]))
