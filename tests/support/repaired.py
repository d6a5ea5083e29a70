"""The real index repair on a state of a search: it reads the one job, whose schedule is over, and does what it does."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from duecourse.domain.jobs.job import Job, JobState
from duecourse.domain.maintenance.index import Entry
from duecourse.domain.runs.states import Run
from duecourse.ports import IndexPage, Timer, Watch
from duecourse.usecases.maintenance.index_repair import IndexCheck
from duecourse.usecases.report import Report
from tests.support.jobs import cursor, moved
from tests.support.replayed import Asked
from tests.support.wait_queue_model import Shared, State


@dataclass
class _Ports:
    """All ports of the check; the timers that it sets are in the lane at its end, one per purpose."""

    job: Job
    shared: Shared
    state: State
    timers: dict[tuple[str, str], Timer] = field(default_factory=dict)

    def progress(self) -> Any:
        return SimpleNamespace(watermarks={0: None})

    def get_cursor(self, *_: str) -> None:
        return None

    def get_both(self, *_: str) -> tuple[None, None]:
        return None, None

    def waiting(self, tenant: str, job_id: str, *, limit: int) -> Any:
        return self.shared.answer(self.state, Asked("waiting", (job_id, limit, False)))[0]

    def watch(self, tenant: str, job_id: str) -> Watch | None:
        found: Watch | None = self.shared.answer(self.state, Asked("watch", (job_id,)))[0]
        return found

    def by_state(self, tenant: str, states: Any, *, limit: int, job_id: str) -> list[Run]:
        runs = [self.shared.kept.values[number] for _, number in self.state.records]
        return [run for run in runs if run.state in states and run.job_id == job_id]

    def put(self, timer: Timer) -> None:
        self.timers[timer.message.job_id, timer.key] = timer

    def now(self) -> float:
        return float(self.state.time)


def repaired(job: Job, shared: Shared, state: State) -> State:
    """The state after index repair, a day later."""
    ports: Any = _Ports(job, shared, state._replace(time=state.time + 3600))
    ended, report = moved(cursor(job, after=ports.state.time - 61), None), Report()
    entry = Entry(("job", "cursor"), job.tenant, job.id, None, None, ended, state=JobState.ACTIVE)
    ids = {shared.kept.values[number].job_id for _, number in state.records} | {job.id}
    entries = [replace(entry, job_id=each, keyed=job.concurrency is not None) for each in sorted(ids)]
    IndexCheck(ports, ports, ports, ports, ports, ports, ports)(IndexPage(entries, None), report)
    for timer in ports.timers.values():
        ports.state = shared.posted(ports.state, timer.message)
    assert not report.counts["RepairsFailed"], report.events
    after: State = ports.state
    return state if after.lane == state.lane else after
