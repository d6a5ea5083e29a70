"""A search through everything that can happen to a few runs of one job that wait for one another. Each step is one of
the worker itself (tests.support.replayed), so the model cannot differ from it.

Depth first, each state once. What a state promises is looked at by tests.support.wait_queue_promises; a promise that is
broken is told with the steps that led there.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from duecourse.domain.ids import RunIdentity, key_queue
from duecourse.domain.jobs.job import Completion, Job
from duecourse.domain.runs.overlap import holder_of
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.messages import Complete, RunMessage
from duecourse.ports import NoAnswerError
from duecourse.stores.table import Delete, Put, Update
from duecourse.usecases.worker.attempt import LaneWorker
from tests.support.repaired import repaired
from tests.support.replayed import LEASE_SECONDS, Asked, Beginning, Replay
from tests.support.wait_queue_model import (
    ACTIVE,
    QUEUED,
    READS,
    VISIBLE_AFTER_SECONDS,
    Kept,
    Left,
    Letter,
    Shared,
    State,
    Worker,
)
from tests.support.wait_queue_promises import BrokenError, Promises, limit_of

Step = tuple[tuple[object, ...], State]
"""What happens, in words and things, and the state after it."""

LOST = NoAnswerError("no answer")
SUCCEEDED, FAILED = Returned("fine"), Failed("HTTP 503", code="http.503")
BUSY = Failed("HTTP 503", code="http.503", retry_after=60)
REFUSED = Failed("HTTP 408", code="http.408")
"""Which does not count as a failure of the target, and is retried."""

OFTEN = 0.02
"""How often something goes wrong at a step of a history that is drawn."""

MOST_STEPS = 20_000
"""Of a history that is drawn. Most have a few hundred."""


@dataclass(frozen=True)
class Case:
    """What is searched: the job, how many of its runs are due at once, how many workers there are, what goes wrong.
    With several `jobs`, which are alike, the runs are theirs in turn.
    `changed_to` is the job after its definition has changed. A search of more states than `most` ends.
    With `pauses`, a target that fails asks for a pause.
    """

    job: Job
    runs: int
    workers: int
    left: Left
    changed: Callable[[LaneWorker], LaneWorker] = lambda worker: worker
    changed_to: Job | None = None
    most: int | None = None
    jobs: int = 1
    pauses: bool = False


@dataclass
class Found:
    """What a search has seen. `histories` counts different orders of steps from the beginning to an end. `all`: all
    states have been seen.
    """

    states: int = 0
    all: bool = True
    histories: int = 0
    ends: int = 0
    repairs: int = 0
    most_messages: int = 0


@dataclass
class _Node:
    """What a worker has been answered, and what it asks next."""

    beginning: Beginning
    answers: tuple[tuple[Any, float], ...]
    asked: Asked
    following: dict[tuple[int, int], int] = field(default_factory=dict)


class Explorer:
    """One search."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.kept = Kept()
        jobs = (case.job,) if case.changed_to is None else (case.job, case.changed_to)
        self.shared = Shared(self.kept, jobs)
        self.replay = Replay(case.job, self.kept, case.changed, case.changed_to is not None)
        self.found = Found()
        self._nodes: list[_Node] = []
        self._first_nodes: dict[Beginning, int] = {}
        self._promises = Promises(case.job, self.kept, self.shared, case.left)

    def __call__(self) -> Found:
        """Search all. Raises BrokenError with the steps that lead to a promise that is not kept."""
        histories: dict[int, int] = {}  # by the hashes of states: numbers only, so each run of the tests has the same
        beginning = self.beginning()
        path: list[tuple[tuple[object, ...], State, Iterator[Step]]] = [((), beginning, self._steps(beginning))]
        sums = [0]
        try:
            while path:
                _, state, steps = path[-1]
                following = next(steps, None)
                if following is None:
                    path.pop()
                    total = histories[hash(state)] = max(sums.pop(), 1)
                    if sums:
                        sums[-1] += total
                elif (known := histories.get(hash(following[1]))) is not None:
                    sums[-1] += known
                elif self.case.most is not None and len(histories) + len(path) >= self.case.most:
                    self.found.all = False
                else:
                    path.append((*following, self._steps(following[1])))
                    sums.append(0)
        except BrokenError as broken:
            raise _as_told(broken, [said for said, _, _ in path]) from broken
        self.found.states, self.found.histories = len(histories), histories[hash(beginning)]
        return self.found

    def wander(self, random: Random, histories: int) -> Found:
        """Play some histories, drawn at random, of a case with too many states. What may go wrong does so at any time.
        Raises as a search does.
        """
        for _ in range(histories):
            state, path = self.beginning(), list[tuple[object, ...]]()
            try:
                while len(path) <= MOST_STEPS and (steps := list(self._steps(state))):
                    usual = [each for each in steps if each[1].left == state.left]
                    wrong = [each for each in steps if each[1].left != state.left]
                    said, state = random.choice(wrong if wrong and (not usual or random.random() < OFTEN) else usual)
                    path.append(said)
            except BrokenError as broken:
                raise _as_told(broken, path) from broken
            if len(path) > MOST_STEPS:
                raise _as_told(BrokenError("a history does not end", path[-1]), path)
            self.found.states += len(path)
        self.found.all, self.found.histories = False, histories
        return self.found

    def beginning(self) -> State:
        """All runs are due, each with its message in the lane."""
        job, ids = self.case.job, [f"{self.case.job.id}{'-' * number}" for number in range(self.case.jobs)]
        state = State(0, (), (), (), self.case.left, (), ())
        first = int(job.created_at) + 60
        state = state._replace(time=first + 60 * self.case.runs)
        for number in range(self.case.runs):
            at = first + 60 * (number // len(ids))
            message = RunMessage(
                RunIdentity(job.tenant, ids[number % len(ids)], at, at, job.generation),
                job.lane,
                float(at),
                f"start-{number}",
                following=at + 60,
            )
            self.kept.of(str(message.name))  # numbered in their order
            state = self.shared.posted(state, message)
        return state

    def _steps(self, state: State) -> Iterator[Step]:
        """Everything that may happen next."""
        self._promises.hold(state, [self._nodes[worker.node].asked for worker in state.workers])
        self.found.most_messages = max(self.found.most_messages, len(state.lane))
        for worker in state.workers:
            if self._nodes[worker.node].asked.what in ("send", "done", "call"):
                # What nobody else can see: to do it at once, and not after a step of another one, makes no difference.
                yield from self._of_worker(state, worker)
                return
        for worker in state.workers:
            yield from self._of_worker(state, worker)
        visible = [letter for letter in state.lane if letter.visible <= state.time]
        if len(state.workers) < self.case.workers:
            for letter in visible:
                yield from self._deliveries(state, letter)
        completed = list(self._completed(state))
        yield from completed
        if state.left.watches:
            held = {worker.message_id for worker in state.workers}
            for letter in state.lane:
                if self.kept.values[letter.message].watch is not None and letter.message_id not in held:
                    left = state.left._replace(watches=state.left.watches - 1)
                    yield ("the watch is lost",), state._replace(lane=_without(state.lane, letter), left=left)
        if state.left.limits and self.case.changed_to is not None:
            yield from self._limited(state)
        if not visible and not state.workers:
            self._promises.hold_at_rest(state)
        if not visible and not state.workers and not completed:
            yield from self._rest(state)
        elif state.left.early and (state.workers or completed):
            yield from self._later(state._replace(left=state.left._replace(early=state.left.early - 1)))

    def _limited(self, state: State) -> Iterator[Step]:
        """The job is changed. Whoever has read it before may still go by its former limit."""
        job = 1 - state.job
        limit = limit_of(self.shared.jobs[job]) or 0
        workers = tuple(sorted(each._replace(most=max(each.most, limit)) for each in state.workers))
        left = state.left._replace(limits=state.left.limits - 1)
        runs = self.shared.records(state)
        active = tuple(self.kept.of(str(run.name)) for run in runs if run.state in ACTIVE)
        yield ("the limit is now", limit), state._replace(job=job, workers=workers, left=left, active=active)

    def _rest(self, state: State) -> Iterator[Step]:
        """Nothing can be done now."""
        if state.lane:
            yield from self._later(state)
        elif self._promises.all_ended(state):
            self._promises.hold_at_the_end(state)
            self.found.ends += 1
        else:
            called = repaired(self.case.job, self.shared, state)
            if called == state:
                raise BrokenError("a run never ends, and index repair finds nothing", ("index repair",))
            self.found.repairs += 1
            yield ("index repair",), called

    def _later(self, state: State) -> Iterator[Step]:
        """Time passes until the next message is visible; who has lived for too long by then is killed."""
        coming = [letter.visible for letter in state.lane if letter.visible > state.time]
        if coming:
            time = min(coming)
            alive = tuple(worker for worker in state.workers if worker.killed_at > time)
            yield (time - state.time, "s pass"), state._replace(time=time, workers=alive)

    def _deliveries(self, state: State, letter: Letter) -> Iterator[Step]:
        message: RunMessage = self.kept.values[letter.message]
        said = ("delivered", message)
        receives = letter.receives + 1
        hidden = letter._replace(visible=state.time + VISIBLE_AFTER_SECONDS, receives=receives)
        others = _without(state.lane, letter)
        beginning = Beginning(message, letter.message_id, letter.copy, receives, state.time)
        run = self.shared.record(state, str(message.name))
        of = self.case.job.concurrency
        owner = message.job_id if of is None else key_queue(of.key)
        holders = {lock.holder for lock in self.shared.held(state, owner)}
        # It was first when it took its place.
        keeps_place = (run is not None and run.wait is not None) or holder_of(message, owner) in holders
        queue = self.shared.stored(state, QUEUED)
        seen = () if keeps_place else tuple((entry.owner, entry.rest) for entry in queue)
        killed_at = state.time + LEASE_SECONDS
        # Beside a worker that has read a higher limit, this one may not be the only one to start.
        most = max([limit_of(self.shared.jobs[state.job]) or 0, *(each.most for each in state.workers)])
        asked = [self._nodes[each.node].asked for each in state.workers]
        beside = tuple(sorted(self._promises.alive(state, asked))) if most > 1 else ()
        worker = Worker(self._first_node(beginning), letter.message_id, letter.copy, killed_at, seen, most, beside)
        taken = state._replace(lane=tuple(sorted([*others, hidden])), workers=tuple(sorted([*state.workers, worker])))
        yield said, self._begun(taken, worker)
        if state.left.copies and not letter.copy:
            again = letter._replace(copy=1, receives=receives)
            left = state.left._replace(copies=state.left.copies - 1)
            taken = taken._replace(lane=tuple(sorted([*others, hidden, again])), left=left)
            yield (*said, "and once more"), self._begun(taken, worker)

    def _begun(self, state: State, worker: Worker) -> State:
        """What it reads first it reads at once: to read later is to be delivered later."""
        asked = self._nodes[worker.node].asked
        return self._answered(state, worker, self.shared.answer(state, asked)[0]) if asked.what in READS else state

    def _completed(self, state: State) -> Iterator[Step]:
        """Whoever works on a run completes it, once."""
        if self.case.job.completion is not Completion.CALLBACK:
            return
        for run in self.shared.records(state):
            local = self.kept.of(str(run.name))
            if run.state is RunState.WAITING and (local, run.attempt) not in state.asked_to_end:
                nonce = f"complete-{run.name}-{run.attempt}"
                message = RunMessage(run.identity, run.lane, float(state.time), nonce, run.attempt, command=Complete())
                asked = tuple(sorted([*state.asked_to_end, (local, run.attempt)]))
                yield (run.name, "is completed"), self.shared.posted(state, message)._replace(asked_to_end=asked)

    def _of_worker(self, state: State, worker: Worker) -> Iterator[Step]:
        """The worker is answered, or dies, or its answer gets lost."""
        asked, left = self._nodes[worker.node].asked, state.left
        said: tuple[object, ...] = (worker, asked)
        others = [self._nodes[each.node].asked for each in state.workers if each is not worker]
        self._promises.hold_before(state, worker, asked, said, others)
        if asked.what == "done":
            yield said, self._done(state, worker, *asked.with_)
        elif asked.what == "call":
            local, attempt = asked.with_
            called = tuple(sorted([*state.called, (self.kept.of(local), attempt)]))
            # It may be beyond a limit that was lowered after a worker had read the former one.
            beyond = worker.most > (limit_of(self.shared.jobs[state.job]) or 0)
            active = tuple(sorted({*state.active, self.kept.of(local)})) if beyond else state.active
            yield said, self._answered(state._replace(called=called, active=active), worker, None)
        elif asked.what == "end of call":
            yield said, self._answered(state, worker, SUCCEEDED)
            if left.failures:
                failed = state._replace(left=left._replace(failures=left.failures - 1))
                yield (*said, "failed"), self._answered(failed, worker, BUSY if self.case.pauses else FAILED)
            if left.refusals:
                refused = state._replace(left=left._replace(refusals=left.refusals - 1))
                yield (*said, "refused"), self._answered(refused, worker, REFUSED)
        else:
            answer, after = self.shared.answer(state, asked)
            yield said, self._answered(after, worker, answer)
            if asked.what in READS:
                return
            if left.losses:
                fewer = left._replace(losses=left.losses - 1)
                lost = False if asked.what == "send" else LOST
                yield (*said, "is refused"), self._answered(state._replace(left=fewer), worker, lost)
                yield (*said, "answer lost"), self._answered(after._replace(left=fewer), worker, lost)
                if asked.what == "write":  # the SDK repeats it, and what comes back is the second answer
                    second, twice = self.shared.answer(after, asked)
                    yield (*said, "made twice"), self._answered(twice._replace(left=fewer), worker, second)
        if left.crashes:
            dead = tuple(each for each in state.workers if each is not worker)
            yield (worker, "dies"), state._replace(workers=dead, left=left._replace(crashes=left.crashes - 1))

    def _done(self, state: State, worker: Worker, deleted: bool, hidden_for: int | None) -> State:
        (letter,) = [each for each in state.lane if (each.message_id, each.copy) == (worker.message_id, worker.copy)]
        lane = _without(state.lane, letter)
        if not deleted:
            seconds = VISIBLE_AFTER_SECONDS if hidden_for is None else hidden_for
            lane = tuple(sorted([*lane, letter._replace(visible=state.time + seconds)]))
        return state._replace(lane=lane, workers=tuple(each for each in state.workers if each is not worker))

    def _answered(self, state: State, worker: Worker, answer: Any) -> State:
        node = self._nodes[worker.node]
        key = (id(answer), state.time)  # equal answers are one object, which its node keeps
        number = node.following.get(key)
        if number is None:
            number = node.following[key] = self._node(node.beginning, (*node.answers, (answer, float(state.time))))
        others = [each for each in state.workers if each is not worker]
        return state._replace(workers=tuple(sorted([*others, worker._replace(node=number)])))

    def _first_node(self, beginning: Beginning) -> int:
        number = self._first_nodes.get(beginning)
        if number is None:
            number = self._first_nodes[beginning] = self._node(beginning, ())
        return number

    def _node(self, beginning: Beginning, answers: tuple[tuple[Any, float], ...]) -> int:
        self._nodes.append(_Node(beginning, answers, self.replay.asks(beginning, answers)))
        return len(self._nodes) - 1


def _as_told(broken: BrokenError, path: Sequence[tuple[object, ...]]) -> AssertionError:
    told = "\n".join(map(_in_words, path))
    return AssertionError(f"{broken}, after {told}\nthen {_in_words(broken.step)}")


def _without(lane: tuple[Letter, ...], letter: Letter) -> tuple[Letter, ...]:
    return tuple(each for each in lane if each is not letter)


def _in_words(said: tuple[object, ...]) -> str:
    return " ".join(_short(each) for each in said)


def _short(value: Any) -> str:
    match value:
        case Asked(what, with_):
            return f"{what}({', '.join(_short(each) for each in with_)})"
        case Put(item=key) | Update(key=key) | Delete(key=key):
            return f"{type(value).__name__} {_short(key)}"
        case {"PK": {"S": partition}, "SK": {"S": sort}}:
            return f"{partition} {sort}"
        case RunMessage():
            return f"{value.kind} {value.name.local[9:15]}" + (" (watch)" if value.watch else "")
        case Worker():
            return f"worker of m{value.message_id}:"
        case _:
            return str(getattr(value, "state", getattr(value, "local", getattr(value, "holder", value))))
