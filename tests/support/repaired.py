"""The real index repair on a state of a search: it reads the one job, whose schedule is over, and does what it does."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from duecourse.domain.jobs.job import Job, JobState
from duecourse.domain.maintenance.index import Entry
from duecourse.ports import IndexPage, Timer
from duecourse.stores.runs import RunStore
from duecourse.stores.waits import WaitQueues
from duecourse.usecases.maintenance.index_repair import IndexCheck
from duecourse.usecases.report import Report
from tests.support.jobs import cursor, moved
from tests.support.wait_queue_model import Shared, State


@dataclass
class _Ports:
    """The ports of the check except both tables. Its timers are in the lane at its end, one per purpose."""

    time: int
    timers: dict[tuple[str, str], Timer] = field(default_factory=dict)

    def progress(self) -> dict[int, str | None]:
        return {0: None}

    def get_cursor(self, *_: str) -> None:
        return None

    def get_both(self, *_: str) -> tuple[None, None]:
        return None, None

    def put(self, timer: Timer) -> None:
        self.timers[timer.message.job_id, timer.key] = timer

    def now(self) -> float:
        return float(self.time)


def repaired(job: Job, shared: Shared, state: State) -> State:
    """The state after index repair, a day later."""
    later = state._replace(time=state.time + 3600)
    ports: Any = _Ports(later.time)
    ended, report = moved(cursor(job, after=later.time - 61), None), Report()
    entry = Entry(("job", "cursor"), job.tenant, job.id, None, None, ended, state=JobState.ACTIVE)
    ids = {run.job_id for run in shared.records(state)} | {job.id}
    entries = [replace(entry, job_id=each, keyed=job.concurrency is not None) for each in sorted(ids)]
    tables = shared.tables(state.items)
    stores = {"runs": RunStore(tables), "wait_queues": WaitQueues(tables)}
    parts: Any = SimpleNamespace(jobs=ports, timers=ports, tick_mark=ports, clock=ports, **stores)
    IndexCheck(parts, ports)(IndexPage(entries, None), report)
    assert not report.counts["RepairsFailed"], report.events
    for timer in ports.timers.values():
        later = shared.posted(later, timer.message)
    return state if later.lane == state.lane else later
