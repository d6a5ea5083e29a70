"""The real worker as a function from what it has been answered to what it asks next.

A worker is run up to the first question to a port that nobody has answered yet, and cut off there. Run again with one
answer more, it asks the next one. So the state of a worker is the list of its answers: a search can keep it, compare it
and go on from it in several ways, and no threads are needed.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

from duecourse.domain.jobs.job import Job
from duecourse.domain.targets.targets import Outcome
from duecourse.messages import RunMessage
from duecourse.ports import Call, InlineExecutor, Outgoing
from duecourse.stores.table import Item, Query, Returned, Table, Write
from duecourse.usecases.worker.attempt import LaneWorker
from duecourse.usecases.worker.work_item import Disposition, ReceivedMessage, WorkerRules
from duecourse.wiring import Wiring

LEASE_SECONDS = 120
"""How long an invocation lives."""

MAX_RECEIVES = 5

STAGE: Mapping[str, Any] = {
    "result_buckets": {},
    "run_retention_days": 90,
    "caller_waits": False,
    "short_timeouts": False,
    "run_index_partitions": 8,
    "list_successes": True,
    "fence": None,
}
"""The settings that a worker reads."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """A delivery: `message_id` and `copy` name it, `receives` is how often it was delivered, `at` when."""

    message: RunMessage
    message_id: int
    copy: int
    receives: int
    at: float


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What a worker asks for: the name and the arguments of a request to both tables (`stores.table.Tables`) or of a
    question to another port, or (`done`) what becomes of its message: the fate, and until when it is hidden. Equal
    questions are the same object.
    """

    what: str
    with_: tuple[Any, ...] = ()


class _CutOff(BaseException):
    """Nobody has answered this yet."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked


@dataclass
class _AskedTables:
    """Both tables: each request is a question. Whether a read is consistent makes no difference."""

    ask: Callable[..., Any]

    def get(self, table: Table, key: Item, *, consistent: bool = True) -> Any:
        return self.ask("get", table, key)

    def get_many(self, table: Table, keys: Iterable[Item], *, consistent: bool = False) -> list[Item]:
        """Other workers may write between the reads of two items of a batch."""
        return [item for key in keys if (item := self.get(table, key)) is not None]

    def get_from_both(self, keys: Mapping[Table, Iterable[Item]], *, consistent: Collection[Table]) -> list[Item]:
        """As with `get_many`. No search has a stored limit, which is all that a worker reads from the jobs table."""
        return self.get_many(Table.RUNS, keys[Table.RUNS])

    def query(self, query: Query) -> Any:
        return self.ask("query", query)

    def count(self, query: Query) -> Any:
        return self.ask("count", query)

    def write(self, write: Write, returned: Returned = Returned.NOTHING) -> Any:
        return self.ask("write", write, returned)


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
    _asked: dict[str, Asked] = field(default_factory=dict)

    def __post_init__(self) -> None:
        wiring, this = (
            Wiring[Any](SimpleNamespace(**STAGE)),
            cast(Any, self),
        )
        wiring.tables, wiring.executor = cast(Any, _AskedTables(self._ask)), InlineExecutor()
        wiring.jobs = wiring.timers = wiring.lanes = wiring.notices = wiring.bus = wiring.results = this
        wiring.clock = wiring.randomness = this
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
        return self._named("done", (disposition is Disposition.ACK, self._hidden_for))

    def _named(self, what: str, with_: tuple[Any, ...]) -> Asked:
        return self._asked.setdefault(repr((what, with_)), Asked(what, with_))

    def _ask(self, what: str, *with_: Any) -> Any:
        if self._position == len(self._answers):
            raise _CutOff(self._named(what, with_))
        answer, self._now = self._answers[self._position]
        self._position += 1
        if isinstance(answer, Exception):
            raise answer
        return answer

    # JobStore.

    def get(self, tenant: str, job_id: str) -> Job:
        return self._jobs.setdefault(job_id, replace(self.job, id=job_id))

    def snapshot(self, tenant: str, job_id: str) -> Any:
        return self._ask("job", job_id) if self.changes else self.get(tenant, job_id)

    @property
    def key_limits(self) -> Any:
        return SimpleNamespace(get=lambda *_: None)

    def get_cursor(self, *_: str) -> None:
        return None

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
