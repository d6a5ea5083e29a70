"""The real index repair on a state of a search: it reads the one job, whose schedule is over, and does what it does."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from duecourse.domain.jobs.job import Job, JobState
from duecourse.domain.maintenance.index import Entry
from duecourse.ports import IndexPage, Timer, Watch
from duecourse.usecases.maintenance.index_repair import IndexCheck
from duecourse.usecases.report import Report
from tests.support.jobs import cursor, moved
from tests.support.replayed import Asked
from tests.support.wait_queue_model import Kept, Shared, State


@dataclass
class _Ports:
    """All ports of the check; a timer that it sets is in the lane at once."""

    job: Job
    shared: Shared
    state: State

    def progress(self) -> Any:
        return SimpleNamespace(watermarks={0: None})

    def get_cursor(self, *_: str) -> None:
        return None

    def get_both(self, *_: str) -> tuple[None, None]:
        return None, None

    def waiting(self, tenant: str, job_id: str, *, limit: int) -> Any:
        return self.shared.answer(self.state, Asked("waiting", (limit, False)))[0]

    def watch(self, *_: str) -> Watch | None:
        found: Watch | None = self.shared.answer(self.state, Asked("watch"))[0]
        return found

    def put(self, timer: Timer) -> None:
        self.state = self.shared.posted(self.state, timer.message)

    def now(self) -> float:
        return float(self.state.time)


def repaired(job: Job, kept: Kept, shared: Shared, state: State) -> State:
    """The state after index repair, a day later."""
    ports: Any = _Ports(job, shared, state._replace(time=state.time + 3600))
    ended, report = moved(cursor(job, after=ports.state.time - 61), None), Report()
    entry = Entry(("job", "cursor"), job.tenant, job.id, None, None, ended, state=JobState.ACTIVE)
    IndexCheck(ports, ports, ports, ports, ports, ports, ports)(IndexPage([entry], None), report)
    assert not report.counts["RepairsFailed"], report.events
    after: State = ports.state
    return state if after.lane == state.lane else after
