"""The real worker as a function from what it has been answered to what it asks next.

A worker is run up to the first question to a port that nobody has answered yet, and cut off there. Run again with one
answer more, it asks the next one. So the state of a worker is the list of its answers: a search can keep it, compare it
and go on from it in several ways, and no threads are needed.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

from duecourse.domain.ids import RunName
from duecourse.domain.jobs.job import Job
from duecourse.domain.targets.targets import Outcome
from duecourse.messages import RunMessage
from duecourse.ports import Call, Outgoing
from duecourse.usecases.worker.attempt import LaneWorker
from duecourse.usecases.worker.work_item import Disposition, ReceivedMessage, WorkerRules
from duecourse.wiring import Wiring
from tests.support.workflows import NoWorkflows

LEASE_SECONDS = 120
"""How long an invocation lives."""

MAX_RECEIVES = 5


@dataclass(frozen=True, slots=True)
class Beginning:
    """A delivery: `message_id` and `copy` name it, `receives` is how often it was delivered, `at` when."""

    message: RunMessage
    message_id: int
    copy: int
    receives: int
    at: float


@dataclass(frozen=True, slots=True)
class Asked:
    """What a worker asks of a port, or (`done`) what becomes of its message: the fate, and until when it is hidden."""

    what: str
    with_: tuple[Any, ...] = ()


class LostAnswerError(Exception):
    """What the SDK raises when no answer came."""


class _CutOff(BaseException):
    """Nobody has answered this yet."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked


@dataclass
class Replay:
    """All ports of a worker. Those in which workers meet ask; the others answer at once, always the same."""

    job: Job
    names: Any
    """Numbers for what is drawn (`of`)."""
    changed: Callable[[LaneWorker], LaneWorker] = lambda worker: worker
    """What is wrong with the worker, where a search is to find it."""
    changes: bool = False
    """Whether the job changes meanwhile: then it is asked for too."""
    _beginning: Beginning | None = None
    _answers: Sequence[tuple[Any, float]] = ()
    _position: int = 0
    _drawn: int = 0
    _now: float = 0.0
    _hidden_for: int | None = None
    _worker: Any = field(default=None)
    _jobs: dict[str, Job] = field(default_factory=dict)

    def __post_init__(self) -> None:
        wiring, this = Wiring[Any](SimpleNamespace(result_buckets={}, run_retention_days=90)), cast(Any, self)
        wiring.jobs = wiring.runs = wiring.timers = wiring.wait_queues = wiring.inputs = wiring.lanes = this
        wiring.notices = wiring.bus = wiring.results = wiring.clock = wiring.randomness = this
        wiring.workflows = NoWorkflows()
        self._worker = self.changed(wiring.worker(WorkerRules(self.job.lane, MAX_RECEIVES, 90), this, this))

    def asks(self, beginning: Beginning, answers: Sequence[tuple[Any, float]]) -> Asked:
        """What the worker of this delivery asks after these answers, each with the time at which it came."""
        self._beginning, self._answers, self._now = beginning, answers, beginning.at
        self._position = self._drawn = 0
        self._hidden_for = None
        name = f"m{beginning.message_id}"
        received = ReceivedMessage(
            name,
            f"{name}/{beginning.receives}",
            beginning.receives,
            f"r{self.names.of(beginning)}",
            beginning.message.to_json(),
        )
        try:
            disposition, _ = self._worker.handle(received, beginning.at + LEASE_SECONDS)
        except _CutOff as cut:
            return cut.asked
        return Asked("done", (disposition is Disposition.ACK, self._hidden_for))

    def _ask(self, what: str, *with_: Any) -> Any:
        if self._position == len(self._answers):
            raise _CutOff(Asked(what, with_))
        answer, self._now = self._answers[self._position]
        self._position += 1
        if isinstance(answer, Exception):
            raise answer
        return answer

    # RunStore and JobStore: which of them is meant shows in the number of arguments.

    def get(self, tenant: str, job_id: str, local: str | None = None) -> Any:
        return self._job(job_id) if local is None else self._ask("get", f"{job_id}.{local}")

    def get_many(self, tenant: str, names: Collection[RunName]) -> dict[RunName, Any]:
        """Other workers may write between the reads of two records of a batch."""
        found = {name: self._ask("get", str(name)) for name in names}
        return {name: run for name, run in found.items() if run is not None}

    def snapshot(self, tenant: str, job_id: str) -> Any:
        return self._ask("job", job_id) if self.changes else self._job(job_id)

    def _job(self, job_id: str) -> Job:
        return self._jobs.setdefault(job_id, replace(self.job, id=job_id))

    @property
    def key_limits(self) -> Any:
        return SimpleNamespace(get=lambda *_: None)

    def get_cursor(self, *_: str) -> None:
        return None

    def write(self, run: Any, previous: Any) -> Any:
        return self._ask("write", run, previous)

    def lock(self, tenant: str, job_id: str, lock: Any, previous: Any, *, place: int = 0) -> Any:
        return self._ask("lock", job_id, lock, previous, place)

    def locked(self, tenant: str, job_id: str) -> Any:
        return self._ask("locked", job_id)

    def locks(self, tenant: str, job_id: str) -> Any:
        return dict(self._ask("locks", job_id))

    # Wait queues.

    def enter(self, message: RunMessage, *, expires_at: int) -> Any:
        return self._ask("enter", message)

    def leave(self, tenant: str, job_id: str, place: Any, *, through: int | None = None) -> Any:
        return self._ask("leave", job_id, place, through)

    def waiting(self, tenant: str, job_id: str, *, limit: int, newest: bool = False) -> Any:
        return list(self._ask("waiting", job_id, limit, newest))

    def length(self, tenant: str, job_id: str, *, limit: int) -> Any:
        return self._ask("length", job_id, limit)

    def spent(self, tenant: str, key: str, *, strongly: bool = False) -> Any:
        return self._ask("spent", key)

    def spend(self, tenant: str, key: str, move: Any, *, expires_at: int) -> Any:
        return self._ask("spend", key, move)

    def breaker(self, tenant: str, key: str, *, strongly: bool = False) -> Any:
        return self._ask("breaker", key)

    def count_failure(self, tenant: str, key: str, *, expires_at: int) -> Any:
        return self._ask("count_failure", key)

    def set_breaker(self, tenant: str, key: str, state: Any, previous: Any, *, expires_at: int) -> Any:
        return self._ask("set_breaker", key, state, previous)

    def watch(self, tenant: str, job_id: str) -> Any:
        return self._ask("watch", job_id)

    def set_watch(self, tenant: str, job_id: str, watch: Any, previous: Any, *, expires_at: int) -> Any:
        return self._ask("set_watch", job_id, watch, previous)

    def remove_calls(self, tenant: str, job_id: str, calls: Collection[str]) -> Any:
        return self._ask("remove_calls", job_id, tuple(calls))

    # Lanes, Received, Caller.

    def send(self, outgoing: Sequence[Outgoing]) -> list[bool]:
        return [self._ask("send", one.message, one.delay_seconds) for one in outgoing]

    def postpone(self, receipt: str, seconds: int) -> None:
        self._hidden_for = seconds

    def call(self, call: Call) -> Outcome:
        self._ask("call", str(call.run.name), call.run.attempt)
        outcome: Outcome = self._ask("end of call", str(call.run.name))
        return outcome

    # Clock, Randomness, Bus.

    def now(self) -> float:
        return self._now

    def sleep_until(self, instant: float) -> None:
        assert instant <= self._now, "the intervals of a search are longer than a worker waits"

    def draw(self) -> float:
        return 0.5

    def nonce(self) -> str:
        self._drawn += 1
        return f"n{self.names.of((self._beginning, self._drawn))}"

    def publish(self, events: Sequence[object]) -> int:
        return 0
