"""The jobs of the benchmark of lanes, which are posted to the API, and the records of their runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeVar, cast

from benchmarks.lanes_report import Start
from duecourse.cli.local.demo.receiver import OK_PATH
from duecourse.client import Client
from duecourse.client.bodies import JobRequest

SIDE_BY_SIDE = 4
"""The number of concurrent requests to the API. More requests would only wait in the emulator."""

LONG_TIMEOUT_SECONDS = 120
"""A timeout that assigns a job to the `long` lane, which is for attempts of more than 90 s."""

Priority = Literal["high", "normal", "low"]

T = TypeVar("T")
R = TypeVar("R")
Say = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class LaneJob:
    """A job that is due once."""

    lane: str
    number: int
    due: datetime
    seconds: float = 0.0
    """The duration of its call."""

    @property
    def id(self) -> str:
        """The id, which contains the lane."""
        return f"{self.lane}-{self.number:05d}"

    def document(self, receiver: str) -> JobRequest:
        """Return the body of the request that creates the job."""
        long = self.lane == "long"
        return {
            "id": self.id,
            "schedule": f"at({self.due:%Y-%m-%dT%H:%M:%S})",
            "target": {"type": "http", "url": f"{receiver}{OK_PATH}?seconds={self.seconds:g}"},
            "priority": "normal" if long else cast(Priority, self.lane),
            "timeout_seconds": LONG_TIMEOUT_SECONDS if long else 30,
        }


@dataclass(slots=True)
class Load:
    """Posts jobs concurrently, and reads their runs."""

    client: Client
    receiver: str
    jobs: list[LaneJob] = field(default_factory=list)
    slowest_seconds: float = 0.0
    """The longest response time of a request that creates a job."""

    def post(self, jobs: Sequence[LaneJob], say: Say = lambda _: None) -> float:
        """Post all jobs. Return the duration in seconds. Raises ApiError, ApiUnreachableError."""
        begin = time.monotonic()
        _side_by_side(self._post, jobs, say)
        self.jobs += jobs
        return time.monotonic() - begin

    def forget(self) -> None:
        """Forget the jobs posted so far. They served only to measure the rate or to warm up the stack."""
        self.jobs.clear()
        self.slowest_seconds = 0.0

    def starts(self, say: Say = lambda _: None) -> list[Start]:
        """Return the runs of all posted jobs from their records. Raises ApiError, ApiUnreachableError."""
        return [start for found in _side_by_side(self._starts, self.jobs, say) for start in found]

    def _post(self, job: LaneJob) -> None:
        begin = time.monotonic()
        self.client.create_job(job.document(self.receiver))
        self.slowest_seconds = max(self.slowest_seconds, time.monotonic() - begin)

    def _starts(self, job: LaneJob) -> list[Start]:
        return [Start.of(job.lane, run) for run in self.client.list_runs(job.id).items]


def _side_by_side(work: Callable[[T], R], items: Iterable[T], say: Say) -> list[R]:
    """Process the items in a few threads, and return the results in order. The first error ends the processing."""
    done: list[R] = []
    with ThreadPoolExecutor(SIDE_BY_SIDE, "api") as threads:
        try:
            for result in threads.map(work, items):
                done.append(result)
                say(len(done))
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise
    return done


def whole_second(after: timedelta) -> datetime:
    """Return the whole second that is `after` from now."""
    return (datetime.now(UTC) + after).replace(microsecond=0)
