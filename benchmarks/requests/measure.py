"""The API over tables in this process, and what a request takes of it."""

from __future__ import annotations

import gc
import tracemalloc
from dataclasses import dataclass, field
from time import process_time
from typing import Any

from benchmarks.requests.cases import JOB, LARGE, Case
from duecourse.domain.jobs.bucket import Bucket, BucketChange
from duecourse.ports import BucketConflict
from duecourse.testing.clock import SettableClock
from tests.support import in_process
from tests.support.api import ApiClient, Context, api_settings
from tests.support.api_events import json_event
from tests.support.jobs import NOON
from tests.support.limits import MemoryLimits
from tests.support.tables import Tables, create_tables

MAX_MS = 250
MAX_MB = 100
"""Per token."""

RUNS = 2


class Apart:
    """A client whose CPU time is not counted."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        request = getattr(self._client, name)
        if not callable(request):
            return request

        def timed(*arguments: Any, **parameters: Any) -> Any:
            began = process_time()
            try:
                return request(*arguments, **parameters)
            finally:
                self.seconds += process_time() - began

        return timed


@dataclass
class Charged(MemoryLimits):
    """A bucket that is full at each request; `tokens` were taken from it."""

    tokens: float = 0

    def change_bucket(self, tenant: str, change: BucketChange) -> Bucket | BucketConflict:
        """Count what was taken."""
        before, written = self.buckets.get(tenant), super().change_bucket(tenant, change)
        if isinstance(written, Bucket):
            now = change.low
            self.tokens += (written.full_at - max(before.full_at if before else now, now)) / 1e9
        return written


@dataclass(frozen=True, slots=True)
class Cost:
    """What a request took; CPU in milliseconds, memory in MB."""

    route: str
    worst: str
    status: int
    tokens: int
    cpu_ms: float
    memory_mb: float

    @property
    def kept(self) -> bool:
        """Whether it is within the budgets."""
        return self.cpu_ms <= MAX_MS * self.tokens and self.memory_mb <= MAX_MB * self.tokens


@dataclass
class Desk:
    """The API over tables in this process. One token is added per second."""

    apart: Apart
    counters: Charged = field(default_factory=Charged)

    def __post_init__(self) -> None:
        tables = create_tables(in_process.dynamodb())
        self.apart = Apart(tables.client)
        through, clock = Tables(self.apart, tables.jobs, tables.runs), SettableClock(NOON)
        self.clock = clock
        self.client = ApiClient(
            through.job_store(clock),
            through.run_store(),
            clock,
            counters=self.counters,
            inputs=through.inputs(),
            timers=through.timers(),
            workflows=through.workflows(clock),
            settings=api_settings(requests_per_second=1, burst=100_000, backfill_limit=10_000, job_quota=100_000),
        )

    def answer(self, event: dict[str, Any]) -> dict[str, Any]:
        """The API's answer, as Lambda would give it."""
        return self.client.application(event, Context())  # type: ignore[arg-type]

    def prepare(self) -> None:
        """Store what the requests are about."""
        events = [
            *(self._job(f"large-{number:03}", payload=LARGE) for number in range(24)),
            self._job("often", schedule="* * * * *"),
        ]
        for event in events:
            answer = self.answer(event)
            if answer["statusCode"] != 201:
                raise AssertionError(answer["body"])
            self.clock.advance(0.001)

    def _job(self, job_id: str, **more: Any) -> dict[str, Any]:
        return json_event("POST", "/v1/jobs", JOB | {"id": job_id} | more)

    def cost(self, case: Case) -> Cost:
        """Measure one case."""
        milliseconds, status, tokens = [], 0, 0
        for _ in range(RUNS):
            event = case.event()
            self.clock.advance(200_000)
            gc.collect()
            gc.freeze()  # what the tables of this process hold is no part of a function's memory
            self.counters.tokens, self.apart.seconds, began = 0, 0.0, process_time()
            status = self.answer(event)["statusCode"]
            milliseconds.append((process_time() - began - self.apart.seconds) * 1000)
            limits = self.client.application._api.limits  # noqa: SLF001
            lease = limits._leases.get("default")  # noqa: SLF001
            tokens = round(self.counters.tokens) - (0 if lease is None else lease.tokens)
            self.client.log.truncate(0)
        event = case.event()
        self.clock.advance(200_000)
        tracemalloc.start()
        self.answer(event)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        return Cost(case.route, case.worst, status, max(tokens, 1), round(min(milliseconds), 1), round(peak, 1))
