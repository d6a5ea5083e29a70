"""What the runs of one job, or of one key, promise that wait for one another, looked at in every state of a search."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from duecourse.domain.ids import key_queue
from duecourse.domain.jobs.job import Completion, Job
from duecourse.domain.runs.overlap import has_place, position_in
from duecourse.domain.runs.states import Queued, Retrying, RunState, is_written_as
from duecourse.gates.places import MAX_CALLS
from duecourse.messages import MessageKind, RunMessage
from duecourse.stores.keys import WATCH
from tests.support.replayed import Asked
from tests.support.wait_queue_model import PLACE, QUEUED, RECORD, Kept, Left, Shared, State, Worker

MAX_ABOUT_ONE_RUN = 4
"""How many messages about one run may be on their way at once: its start or call, its deadline, its completion, and
the deadline of a worker that found it started.
"""

MAX_MORE = 2
"""How many more after each thing that goes wrong: one more start may be sent, and its worker, which finds another
record than it expected, may send a deadline at each of two tries.
"""

MAX_CANCELLATIONS = 2
"""How many cancellations of the run before it a waiting run may have requested: when it enters the wait queue, and when
it is called.
"""

MAX_SECONDS = 4 * 3600
"""After so long everything must have come to rest."""


def limit_of(job: Job) -> int | None:
    """How many runs of the job, or of its key, may be active."""
    return job.active_limit if job.concurrency is None else job.concurrency.limit


class BrokenError(Exception):
    """A promise is not kept; `step` was to come next."""

    def __init__(self, promise: str, step: tuple[object, ...]) -> None:
        super().__init__(promise)
        self.step = step


@dataclass(frozen=True)
class Promises:
    """Looks at states, and at what workers are about to do."""

    job: Job
    kept: Kept
    shared: Shared
    left: Left
    """How much may go wrong, from the beginning on."""

    def hold(self, state: State, asked: Sequence[Asked]) -> None:
        """In every state."""
        alive = self.alive(state, asked)
        if self.job.overlap.rule.alone:
            jobs = Counter(run_id.partition(".")[0] for run_id in alive)
            self._is(all(count == 1 for count in jobs.values()), f"two runs are alive at once: {sorted(alive)}")
        self._is(state.time < self.job.created_at + MAX_SECONDS, "it never comes to rest")
        self._hold_rate(state)
        self._hold_breaker(state)
        self._hold_in_flight(state)
        if self.job.queue_limit is not None:
            more = len(asked)  # each worker may have counted the wait queue before another one entered it
            waiting = len(self.shared.stored(state, QUEUED))
            self._is(waiting <= self.job.queue_limit + max(more, 1), "more wait than may")

    def _hold_rate(self, state: State) -> None:
        """No more starts are paid than the rate allows, and none begins that is not paid."""
        rates = [job.rate for job in self.shared.jobs if job.rate is not None]
        if not rates:
            return
        burst, per_minute = max(rate.burst for rate in rates), max(rate.per_minute for rate in rates)
        for number, begin in enumerate(state.paid):
            for count, end in enumerate(state.paid[number:], 1):
                most = burst + (end - begin) * per_minute / 60
                self._is(count <= most, f"{count} starts are paid within {end - begin} s")
        self._is(len(state.called) <= len(state.paid), "an attempt starts that is not paid")

    def _hold_breaker(self, state: State) -> None:
        """Each opening of a breaker has one probe at a time, and none before its end."""
        for opened, begin, _ in state.probes:
            self._is(begin >= opened, "a probe begins while the breaker is open")
        for (opened, _, until), (again, begin, _) in pairwise(state.probes):
            self._is(opened != again or begin >= until, "a breaker has two probes at once")

    def alive(self, state: State, asked: Sequence[Asked]) -> set[str]:
        """The runs whose target works on them."""
        alive = {each.with_[0] for each in asked if each.what == "end of call"}
        if self.job.completion is Completion.CALLBACK:
            alive |= {str(run.name) for run in self.shared.records(state) if run.state is RunState.WAITING}
        return alive

    def _hold_in_flight(self, state: State) -> None:
        """Messages do not multiply. The watch repeats a call that was late or lost: once for each thing gone wrong."""
        wrong = sum(self.left) - sum(state.left)
        sent: list[RunMessage] = [self.kept.values[letter.message] for letter in state.lane if not letter.receives]
        about = [message for message in sent if message.watch is None]
        calls = [message for message in about if message.call is not None]
        most = max(Counter(message.wait_queue for message in calls).values(), default=0)
        places = max(limit_of(job) or 1 for job in self.shared.jobs)
        self._is(most <= min(places, MAX_CALLS) + wrong, f"{most} calls of the wait queue are in flight")
        cancels = [message for message in about if message.kind is MessageKind.CANCEL]
        waiting = len(self.shared.stored(state, RECORD)) + wrong
        self._is(len(cancels) <= MAX_CANCELLATIONS * waiting, f"{len(cancels)} cancellations are in flight")
        others = Counter(str(message.name) for message in about if message.kind is not MessageKind.CANCEL)
        for name, count in others.items():
            self._is(count <= MAX_ABOUT_ONE_RUN + MAX_MORE * wrong, f"{count} messages about {name} are in flight")

    def _hold_places(self, state: State) -> None:
        """A run that waits for a rate has a place of its key until its instant, however far that is."""
        for run in self.shared.records(state):
            waits = isinstance(run, Queued | Retrying) and run.wait is not None and run.wait.gate == "rate"
            if not isinstance(run, Queued | Retrying) or not waits or self.job.concurrency is None:
                continue
            key, until = self.job.concurrency.key, run.not_before or 0.0
            if state.time > until:  # its message is late, as that of a worker that died
                continue
            of_key = [place.value for place in self.shared.stored(state, PLACE) if place.owner == key_queue(key)]
            mine = [lock for lock in of_key if lock.holder == str(run.name)]
            kept = any(has_place(replace(lock, until=0.0), run, key, now=until) for lock in mine)
            self._is(kept, f"{run.name} waits for the rate without a place of its key", ("time passes",))

    def hold_before(
        self, state: State, worker: Worker, asked: Asked, step: tuple[object, ...], others: Sequence[Asked]
    ) -> None:
        """Before a worker does what it asks for. `others` is what other workers ask."""
        match asked.what, asked.with_:
            case "call", (local, attempt):
                if limit_of(self.job) is not None and self.kept.of(local) not in state.active:
                    alive = self.alive(state, others) | {local}
                    self._is(len(alive) <= worker.most, f"{len(alive)} runs are alive, and {worker.most} may be", step)
                self._is((self.kept.of(local), attempt) not in state.called, "an attempt starts twice", step)
                if attempt == 1:
                    still = self.alive(state, others) & set(worker.beside)
                    self._in_order(state, worker, local, len(still), step)
            case "write", _:
                for old in self.shared.records(state):
                    if old.state.final:
                        new = self.shared.record(self.shared.answer(state, asked)[1], str(old.name))
                        self._is(new is not None and is_written_as(new, old), "an end is written over", step)

    def hold_at_rest(self, state: State) -> None:
        """Where nothing can be done until time passes: a run that waits has no message; one watches."""
        self._hold_places(state)
        watches = {each.owner: each.value for each in self.shared.stored(state, WATCH)}
        named, with_message = Counter[str](), set[str]()
        for letter in state.lane:
            message: RunMessage = self.kept.values[letter.message]
            run, watch = self.shared.record(state, str(message.name)), watches.get(message.wait_queue)
            if message.watch is not None:
                named[message.wait_queue] += watch is not None and watch.nonce == message.watch
            elif message.kind is MessageKind.START and not letter.receives and isinstance(run, Queued):
                with_message |= {str(run.name)} if run.wait is None else set()
        copied = self.left.copies - state.left.copies  # a copy may be decided first, and the other message later
        self._is(len(with_message) <= copied, f"{with_message} wait and have a message", ("time passes",))
        self._is(max(named.values(), default=0) <= 1, "several messages watch one wait queue", ("time passes",))
        # After anything but a copy has gone wrong, the watch or a redelivered message finds it.
        if state.left._replace(copies=self.left.copies) == self.left:
            for owner in {entry.owner for entry in self.shared.stored(state, QUEUED)}:
                job = self.shared.jobs[state.job]
                limit = (limit_of(job) if owner.startswith("*") else job.active_limit) or 1
                holders = {lock.holder for lock in self.shared.held(state, owner)}
                held = len(holders) >= limit or self.shared.is_paused(state, owner)
                self._is(held, "the lock is free, and nobody is called", ("time passes",))
                self._is(named[owner] == 1, "nobody watches the wait queue", ("time passes",))

    def all_ended(self, state: State) -> bool:
        """Whether every run has come to its end."""
        runs = self.shared.records(state)
        return bool(runs) and all(run.state.final for run in runs)

    def hold_at_the_end(self, state: State) -> None:
        """When all is over."""
        spoilt = (state.left.watches, state.left.early) != (self.left.watches, self.left.early)
        # One that was lost, or noted after its message had come, leaves its item.
        watch = () if spoilt else self.shared.stored(state, WATCH)
        queue = self.shared.stored(state, QUEUED)
        for name, what in (("ACTIVE", self.shared.held(state)), ("QUEUE", queue), ("WATCH", watch)):
            self._is(not what, f"{name} is left at the end", ("the end",))
        runs = self.shared.records(state)
        for run in runs:
            said = (run.state, run.reason)
            self._is(said in self._endings(run is runs[-1]), f"{run.name} has ended {said}", ("the end",))
        self._is(any(run.state is RunState.SUCCEEDED for run in runs), "no run has succeeded", ("the end",))

    def _endings(self, newest: bool) -> set[tuple[RunState, str | None]]:
        ends: set[tuple[RunState, str | None]] = {(RunState.SUCCEEDED, None)}
        if self.job.queue_limit is not None:
            ends.add((RunState.SKIPPED, "overlap_full"))
        if self.job.overlap.rule.skips:
            ends.add((RunState.SKIPPED, "overlap"))
        if self.job.overlap.rule.only_newest and not newest:
            ends.add((RunState.SKIPPED, "replaced"))
        if self.job.overlap.rule.preempts and not newest:
            ends.add((RunState.CANCELLED, "replaced"))
        return ends

    def _in_order(self, state: State, worker: Worker, local: str, still: int, step: tuple[object, ...]) -> None:
        """Runs that waited when this worker received its message (`seen`), and wait still, had to start first, unless
        there is a place for each of them. `still` runs have been active since then.
        """
        run = self.shared.record(state, local)
        assert run is not None
        # A run that waits for its key has the lock of its job, and others may wait for that meanwhile.
        owner = run.job_id if self.job.concurrency is None else key_queue(run.key or "")
        mine, free = position_in(owner, run), max(worker.most - still - 1, 0)
        for entry in self.shared.stored(state, QUEUED):
            other = entry.value
            if (entry.owner, entry.rest) not in worker.seen or other.wait_queue != owner or other.name == run.name:
                continue
            before, newest = position_in(owner, other) < mine, self.job.overlap.rule.only_newest and not other.key
            free -= before is not newest
            self._is(free >= 0, f"{local} starts before {other.name}", step)

    @staticmethod
    def _is(kept: bool, promise: str, step: tuple[object, ...] = ()) -> None:
        if not kept:
            raise BrokenError(promise, step)
