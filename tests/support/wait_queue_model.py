"""What workers share: records, locks, lines and lane of a few jobs and a key, as values. Every step makes a new state.

All that is large is held once (`Kept`) and named by a number, so that states are compared and remembered cheaply.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, NamedTuple

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.breaker import BreakerState
from duecourse.domain.runs.overlap import PAUSE, Lock, has_place, has_released, held_by, position_in
from duecourse.domain.runs.rate import Change, Hold, Move, Recount, Spent, moved
from duecourse.domain.runs.states import Run, RunState, is_written_as
from duecourse.messages import RunMessage
from duecourse.ports import Conflict, Watch
from tests.support.replayed import Asked

VISIBLE_AFTER_SECONDS = 150
"""How long a delivered message is hidden from others."""

READS = frozenset({"get", "job", "locked", "locks", "waiting", "length", "watch", "spent", "breaker"})

ACTIVE = frozenset({RunState.RUNNING, RunState.WAITING})


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
    """An invocation with one letter. `node` is what it has been answered; `seen` are the places (numbers of line and
    position) that stood in line when it received the letter, none if its run had its place already. `most` is the
    highest limit of active runs that it or a worker beside it may have read (0: none); with a limit above 1, `beside`
    are the runs that were alive when it received the letter.
    """

    node: int
    message_id: int
    copy: int
    killed_at: int
    seen: tuple[tuple[int, int], ...]
    most: int = 0
    beside: tuple[str, ...] = ()


class Left(NamedTuple):
    """How much may still go wrong: `early` is how often time passes while something could be done, `limits` how often
    the limit of active runs changes, `refusals` how often the target refuses a call, which is no failure of it.
    """

    crashes: int = 0
    losses: int = 0
    copies: int = 0
    watches: int = 0
    early: int = 0
    failures: int = 0
    limits: int = 0
    refusals: int = 0


class State(NamedTuple):
    """Everything, by numbers of `Kept`: `locks` by line and place, `line` by line and position, `watches` by line;
    `called` has each attempt that was called. `job` is the definition of the jobs that is in force. `rates` has the
    starts of each rate key, `paid` when the paid starts begin. `breakers` has the breaker of each key, `probes` the
    instants at which a breaker opened until then, a probe of it began, and its lease ends or it was given back.
    `active` are the runs that became active under a former limit, until they end or wait: they may continue beyond the
    present one.
    """

    time: int
    records: tuple[tuple[int, int], ...]
    locks: tuple[tuple[tuple[int, int], int], ...]
    line: tuple[tuple[tuple[int, int], int], ...]
    watches: tuple[tuple[int, int], ...]
    lane: tuple[Letter, ...]
    workers: tuple[Worker, ...]
    left: Left
    called: tuple[tuple[int, int], ...]
    asked_to_end: tuple[tuple[int, int], ...]
    job: int = 0
    rates: tuple[tuple[int, Spent], ...] = ()
    paid: tuple[float, ...] = ()
    breakers: tuple[tuple[int, int], ...] = ()
    probes: tuple[tuple[int, int, int], ...] = ()
    active: tuple[int, ...] = ()


def _pays(move: Change) -> bool:
    """Whether the move pays for a start. A job with a slower rate pays and counts anew at once."""
    match move:
        case Move():
            return move.counter == "paid"
        case Recount():
            return move.after.step > move.before.step
        case Hold():
            return False


@dataclass
class Shared:
    """Answers questions: what DynamoDB and SQS do, without DynamoDB and SQS. Equal answers are the same object."""

    kept: Kept
    jobs: tuple[Job, ...] = ()
    conflicts: dict[int, Conflict] = field(default_factory=dict)
    wait_queues: dict[tuple[int, ...], tuple[RunMessage, ...]] = field(default_factory=dict)
    places: dict[tuple[int, tuple[Any, ...]], dict[int, Lock]] = field(default_factory=dict)
    named: dict[tuple[int, str], Job] = field(default_factory=dict)

    def record(self, state: State, run_id: str) -> Run | None:
        """The record of a run."""
        run: Run | None = self.kept.values[dict(state.records).get(self.kept.of(run_id), 0)]
        return run

    def held(self, state: State, line: str | None = None) -> list[Lock]:
        """The locks (of one line) that a run holds whose end is not recorded: their items remain."""
        held = []
        for (number, _), value in state.locks:
            lock, whose = self.kept.values[value], self.kept.values[number]
            if not lock.holder or line not in (None, whose):
                continue
            holder = self.record(state, str(held_by(lock.holder, whose)))
            if whose.startswith("*"):
                held += [lock] * has_place(lock, holder, whose[1:], now=state.time)
            elif holder is None or not has_released(lock, holder):
                held.append(lock)
        return held

    def is_paused(self, state: State, line: str) -> bool:
        """Whether the key of this line is paused."""
        number = dict(state.locks).get((self.kept.of(line), PAUSE), 0)
        return number > 0 and state.time < self.kept.values[number].until

    def job(self, state: State, job_id: str) -> Job:
        """A job as it is defined now."""
        return self.named.setdefault((state.job, job_id), replace(self.jobs[state.job], id=job_id))

    def answer(self, state: State, asked: Asked) -> tuple[Any, State]:
        """What a port answers, and the state after it."""
        of = self.kept.of
        match asked.what, asked.with_:
            case (("get" | "write"), _):
                return self._of_record(state, asked)
            case "job", (job_id,):
                return self.job(state, job_id), state
            case "locked", (line,):
                return self.kept.values[dict(state.locks).get((of(line), 0), 0)], state
            case "locks", (line,):
                key = of(line), state.locks
                if key not in self.places:
                    own = ((place, value) for (number, place), value in state.locks if number == of(line))
                    self.places[key] = {place: self.kept.values[value] for place, value in own}
                return self.places[key], state
            case "lock", (line, lock, previous, place):
                locks, where = dict(state.locks), (of(line), place)
                standing: Lock | None = self.kept.values[locks.get(where, 0)]
                if standing in (None, previous, lock):
                    locks[where] = of(lock)
                    return None, state._replace(locks=tuple(sorted(locks.items())))
                return standing, state
            case (("enter" | "leave" | "waiting" | "length"), _):
                return self._of_line(state, asked)
            case (("spent" | "spend" | "breaker" | "count_failure" | "set_breaker"), _):
                return self._of_rate(state, asked) if asked.what.startswith("spen") else self._of_breaker(state, asked)
            case (("watch" | "set_watch" | "remove_calls"), _):
                return self._of_watch(state, asked)
            case "send", (message, delay):
                return True, self.posted(state, message, delay)
            case _:
                raise AssertionError(f"nobody answers {asked}")

    def _of_watch(self, state: State, asked: Asked) -> tuple[Any, State]:
        line, *changes = asked.with_
        watches, number = dict(state.watches), self.kept.of(line)
        standing: Watch | None = self.kept.values[watches.pop(number, 0)]
        match asked.what:
            case "watch":
                return standing, state
            case "remove_calls":
                watch = None if standing is None else replace(standing, calls=standing.calls - set(changes[0]))
                answer: Any = self.kept.values[self.kept.of(watch)]
            case _:
                watch, previous = changes
                if standing != previous:  # told apart by the nonce, new each time, and the calls
                    return False, state
                answer = True
        if watch is not None:
            watches[number] = self.kept.of(watch)
        return answer, state._replace(watches=tuple(sorted(watches.items())))

    def _of_record(self, state: State, asked: Asked) -> tuple[Any, State]:
        if asked.what == "get":
            return self.record(state, *asked.with_), state
        return self._write(state, *asked.with_)

    def _of_rate(self, state: State, asked: Asked) -> tuple[Any, State]:
        key, *moves = asked.with_
        rates, number = dict(state.rates), self.kept.of(key)
        spent, made, paid = rates.get(number, Spent()), False, state.paid
        if not moves:
            return self.kept.values[self.kept.of(spent)], state
        made, rates[number] = moved(spent, moves[0])
        if made and _pays(moves[0]):
            burst = max(job.rate.burst for job in self.jobs if job.rate is not None)
            after = rates[number]  # the worker may hold the start until then, as `start_paid_by`
            paid = (*paid, max(float(state.time), (after.paid - burst * after.step) / 1_000_000))
        answer = self.kept.values[self.kept.of((made, rates[number]))]
        return answer, state._replace(rates=tuple(sorted(rates.items())), paid=paid)

    def _of_breaker(self, state: State, asked: Asked) -> tuple[Any, State]:
        key, *changes = asked.with_
        breakers, number, values, of = dict(state.breakers), self.kept.of(key), self.kept.values, self.kept.of
        before: BreakerState = values[breakers.get(number, 0)] or BreakerState()
        if asked.what == "breaker":
            return values[of(before)], state
        if asked.what == "count_failure":
            after = replace(before, failures=before.failures + 1)
            answer: Any = values[of(after)]
        else:
            after = changes[0] if before == changes[1] else before
            answer = values[of((after == changes[0], after))]
        probes = state.probes
        if after.probe and after.probe != before.probe:
            probes = (*probes, (after.open_until, state.time, after.probe_until))
        elif before.probe and not after.probe and after.open_until == before.open_until:  # it is given back
            probes = (*probes[:-1], (*probes[-1][:2], state.time))
        breakers[number] = of(after)
        return answer, state._replace(breakers=tuple(sorted(breakers.items())), probes=probes)

    def _of_line(self, state: State, asked: Asked) -> tuple[Any, State]:
        values, of = self.kept.values, self.kept.of
        match asked.what, asked.with_:
            case "enter", (message,):
                place = of(message.line), of(position_in(message.line, message))
                standing = values[dict(state.line).get(place, 0)]
                if standing is not None and standing.starts >= message.starts:
                    return False, state
                others = [each for each in state.line if each[0] != place]
                return True, state._replace(line=self._sorted([*others, (place, of(message))]))
            case "leave", (line, position, through):
                place = of(line), of(position)
                entry = values[dict(state.line).get(place, 0)]
                if entry is None or (through is not None and entry.starts > through):
                    return False, state
                return True, state._replace(line=tuple(each for each in state.line if each[0] != place))
            case "waiting", (line, limit, newest):
                own = [message for (number, _), message in state.line if number == of(line)]
                numbers = tuple((own[::-1] if newest else own)[:limit])
                if numbers not in self.wait_queues:
                    self.wait_queues[numbers] = tuple(values[number] for number in numbers)
                return self.wait_queues[numbers], state
            case _:
                line, limit = asked.with_
                return min(sum(number == of(line) for (number, _), _ in state.line), limit), state

    def posted(self, state: State, message: RunMessage, delay: float = 0) -> State:
        """The state with a message in the lane."""
        letter = Letter(ceil(state.time + delay), self.kept.of(("sent", message.nonce)), 0, 0, self.kept.of(message))
        return state._replace(lane=tuple(sorted([*state.lane, letter])))

    def _write(self, state: State, run: Run, previous: Run | None) -> tuple[Any, State]:
        run_id = str(run.name)
        standing = self.record(state, run_id)
        if (standing is None) != (previous is None) or (
            standing is not None and previous is not None and not is_written_as(standing, previous)
        ):
            if standing is not None and is_written_as(run, standing):
                return None, state
            return self.conflicts.setdefault(self.kept.of(standing), Conflict(standing)), state
        number = self.kept.of(run_id)
        records = dict(state.records) | {number: self.kept.of(run)}
        active = tuple(each for each in state.active if each != number or run.state in ACTIVE)
        return None, state._replace(records=tuple(sorted(records.items())), active=active)

    def _sorted(self, line: Sequence[tuple[tuple[int, int], int]]) -> tuple[tuple[tuple[int, int], int], ...]:
        return tuple(sorted(line, key=lambda each: (each[0][0], self.kept.values[each[0][1]])))
