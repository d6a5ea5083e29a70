"""The real patrol on a state of a search: it meets the one job, whose schedule is over, and does what it does."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from duecourse.domain.job import Job, JobState
from duecourse.domain.patrol import Seen
from duecourse.ports import Patrolled, PatrolPage, Timer, Watch
from duecourse.usecases.patrol import Patrol
from tests.support.jobs import cursor, moved
from tests.support.line_model import Kept, Shared, State
from tests.support.replayed import Asked


@dataclass
class _Ports:
    """All ports of the patrol; what it wakes up is in the lane at once."""

    job: Job
    shared: Shared
    state: State

    def page(self, *_: Any, **__: Any) -> Any:
        at = self.state.time - 1
        ended = moved(cursor(self.job, after=at - 60), None)
        seen = Seen(("job", "cursor"), self.job.tenant, self.job.id, None, None, ended, state=JobState.ACTIVE)
        return PatrolPage([seen], None)

    def patrolled(self) -> None:
        return None

    def save(self, _: Patrolled) -> bool:
        return True

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


def patrolled(job: Job, kept: Kept, shared: Shared, state: State) -> State:
    """The state after a patrol, a day later."""
    ports: Any = _Ports(job, shared, state._replace(time=state.time + 3600))
    made = Patrol(ports, ports, ports, ports, ports, ports, ports, every_seconds=86_400)
    report = made(ports.now() + 600)
    assert not report.counts["PatrolsFailed"], report.events
    after: State = ports.state
    return state if after.lane == state.lane else after
