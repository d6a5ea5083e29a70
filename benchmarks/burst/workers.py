"""The execution of a burst: pollers, executions, starts and ends of runs, by tenths of a second.

This is a fluid model: messages are numerous and alike, so the number that start in each tenth of a second is
sufficient. Each limit is a rate; the lowest rate for which messages wait limits that moment.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nlargest
from operator import itemgetter

from benchmarks.burst.jobs import BURST
from benchmarks.burst.ledger import COLD
from benchmarks.burst.limits import (
    ACCOUNT_CONCURRENCY,
    DOUBLING_SECONDS,
    EXECUTIONS_PER_POLLER,
    FIRST_POLLERS,
    FUNCTION_SCALING,
    IN_FLIGHT,
    MAX_POLLED,
    PARTITION_WRITES,
    POLLER_GROWTH,
    POLLS_PER_POLLER,
    PROVISIONED_GROWTH,
    VCPU_MEMORY,
)
from benchmarks.burst.settings import Assumptions, Setting
from benchmarks.burst.store import TENTH
from benchmarks.cost.counts import Run

STEP = 1 / TENTH
SCALING_SECONDS = 10

LANE = "maximum concurrency of the lane"
POLLERS = "number of provisioned pollers"
RUNS_WRITES = "write throughput of the runs table"
ENDED_WRITES = "write throughput of the index ended"
ENDED_PARTITIONS = "partitions of the index ended"
RUNS_READS = "read throughput of the runs table"
JOBS_READS = "read throughput of the jobs table"
ENQUEUE = "when the jobs were enqueued"

JOB_READS = 1.0
"""The read units of the job before a run starts. Its other reads are of the runs table."""


@dataclass(slots=True)
class Started:
    """When the runs of a burst started: seconds after its first due second."""

    last: float
    last_finished: float
    limited_by: str
    waited: Mapping[str, float]
    """The seconds in which messages waited, by reason."""
    lateness: Mapping[str, float]
    """The time from the due second to the start: p50, p99 and max."""
    most_concurrent: int
    curve: list[tuple[float, float]] = field(default_factory=list)


@dataclass(slots=True)
class Workers:
    """The pollers and executions of a lane over time. `batch_seconds`: how long an execution holds its messages."""

    setting: Setting
    given: Assumptions
    environments: float = 0.0
    _store: float = 0.0
    _coming: deque[tuple[float, float]] = field(default_factory=deque)
    _ordered: float = 0.0

    def __post_init__(self) -> None:
        """Each function may get new environments at once."""
        self._store = self._scaling

    @property
    def _scaling(self) -> float:
        """The new environments that the functions get in SCALING_SECONDS."""
        return FUNCTION_SCALING.value * self.setting.functions

    @property
    def batch_seconds(self) -> float:
        """The messages of a batch run concurrently; their computations share the function's part of a vCPU."""
        share = min(self.setting.worker_memory / VCPU_MEMORY.value, 1)
        computing = self.setting.batch * self.given.execute_cpu / share
        return self.given.invoke + self.given.call + 2 * self.given.write + computing

    @property
    def run(self) -> Run:
        """The requests of a run."""
        return self.given.locked_run if self.setting.overlap_skip else self.given.run

    def polled(self, elapsed: float) -> tuple[float, str]:
        """Return the executions that the pollers keep busy `elapsed` seconds after the first message, and the name of
        the limit.
        """
        setting = self.setting
        if setting.pollers is None:
            grown = FIRST_POLLERS.value + POLLER_GROWTH.value * elapsed / 60
            limits = [(grown, POLLER_GROWTH.name), (MAX_POLLED.value, MAX_POLLED.name)]
            if setting.lane_concurrency is not None:
                limits.append((setting.lane_concurrency, LANE))
        else:
            least, most = (pollers * EXECUTIONS_PER_POLLER.value for pollers in setting.pollers)
            limits = [(least + PROVISIONED_GROWTH.value * elapsed / 60, PROVISIONED_GROWTH.name), (most, POLLERS)]
        limits.append((IN_FLIGHT.value / setting.batch, IN_FLIGHT.name))
        limits = [(each * setting.functions, name) for each, name in limits]
        limits.append((setting.account_concurrency - setting.dispatchers, ACCOUNT_CONCURRENCY.name))
        return min(limits)

    def rates(self, elapsed: float) -> Iterator[tuple[float, str]]:
        """Yield the starts a second that each limit currently allows."""
        setting = self.setting
        polled, name = self.polled(elapsed)
        self._grow(elapsed, polled)
        per_execution = setting.batch / self.batch_seconds
        yield self.environments * per_execution, name if self._ordered >= polled - 1 else FUNCTION_SCALING.name
        if setting.pollers is not None:
            pollers = polled / EXECUTIONS_PER_POLLER.value
            yield pollers * POLLS_PER_POLLER.value * setting.batch, POLLS_PER_POLLER.name
        doubled = 2.0 ** int(elapsed // DOUBLING_SECONDS.value)
        writes = min(setting.runs_writes * doubled, setting.table_quota)
        yield writes / self.run.wru_per_run, RUNS_WRITES
        if reads := max(self.run.rru_per_run - JOB_READS, 0.0):
            yield min(setting.runs_reads * doubled, max(setting.table_quota, setting.runs_reads)) / reads, RUNS_READS
        if setting.list_successes:  # a write for each run; the runs are those of one tenant
            units = self.run.list_wru_per_run
            yield min(setting.ended_writes * doubled, setting.table_quota) / units, ENDED_WRITES
            yield setting.run_index_partitions * PARTITION_WRITES.value / units, ENDED_PARTITIONS
        yield min(setting.jobs_reads * doubled, max(setting.table_quota, setting.jobs_reads)), JOBS_READS

    def _grow(self, elapsed: float, wanted: float) -> None:
        """Request environments as fast as a function may get new ones. They are ready after their cold start."""
        self._store = min(self._store + self._scaling / SCALING_SECONDS * STEP, self._scaling)
        new = max(min(wanted - self._ordered, self._store), 0.0)
        self._store -= new
        self._ordered += new
        if new:
            self._coming.append((elapsed + self.given.cold_start, new))
        while self._coming and self._coming[0][0] <= elapsed:
            self.environments += self._coming.popleft()[1]


def start(visible: Counter[int], due: Mapping[int, float], setting: Setting, given: Assumptions) -> Started:
    """Start all messages: `visible` by tenth of a second (UTC), `due` is the number of jobs by second after the first.
    Messages start in the order in which they are due. A repeated message counts as a separate one, which overestimates
    it: it is one failed write without a call.
    """
    workers = Workers(setting, given)
    tenth = min(visible)
    first, left, backlog = tenth, float(visible.total()), 0.0
    scale = sum(due.values()) / left
    waited: defaultdict[str, float] = defaultdict(float)
    done, busy, spans = 0.0, 0.0, []
    curve: list[tuple[float, float]] = []
    while left > 0.5:
        backlog += visible.get(tenth, 0)
        elapsed = (tenth - first) * STEP
        rate, name = min(workers.rates(elapsed))
        now = min(rate * STEP, backlog)
        backlog -= now
        left -= now
        busy = max(busy, now / STEP * workers.batch_seconds / setting.batch)
        if backlog > 0.5:
            waited[COLD if not workers.environments else name] += STEP
        elif left > 0.5:
            waited[ENQUEUE] += STEP
        if now:
            spans.append((tenth * STEP - BURST, now * scale))
            done += now * scale
            if not curve or tenth % TENTH == 0 or left <= 0.5:
                curve.append((tenth * STEP - BURST, done))
        tenth += 1
    last = spans[-1][0]
    return Started(
        last=last,
        last_finished=last + workers.batch_seconds,
        limited_by=max(waited, key=waited.__getitem__, default=ENQUEUE),
        waited={name: round(seconds, 1) for name, seconds in nlargest(4, waited.items(), key=itemgetter(1))},
        lateness=lateness(spans, due),
        most_concurrent=round(busy),
        curve=curve,
    )


def lateness(spans: list[tuple[float, float]], due: Mapping[int, float]) -> dict[str, float]:
    """Return p50, p99 and max of the time from the due second to the start: the n-th start belongs to the
    n-th due job.
    """
    dues = deque(sorted(due.items()))
    late: list[tuple[float, float]] = []
    second, open_ = dues.popleft()
    for at, started in spans:
        rest = started
        while rest > 0:
            taken = min(rest, open_) if dues else rest
            late.append((max(at - second, 0.0), taken))
            rest -= taken
            open_ -= taken
            if open_ <= 1e-6 and dues:
                second, open_ = dues.popleft()
    late.sort()
    total, seen, result = sum(weight for _, weight in late), 0.0, {"max": round(late[-1][0], 1)}
    for seconds, weight in late:
        seen += weight
        for name, part in (("p50", 0.5), ("p99", 0.99)):
            if name not in result and seen >= part * total:
                result[name] = round(seconds, 1)
    return {name: result[name] for name in ("p50", "p99", "max")}
