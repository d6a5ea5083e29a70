"""The API over tables in this process, and the measurement of a request."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from time import process_time
from typing import Any

from benchmarks.requests.cases import AT, FAT, FAT_NAMES, JOB, LARGE, Case, Event, compact
from benchmarks.requests.cost import Cost
from benchmarks.requests.of_calendars import USERS, calendars, user
from benchmarks.requests.of_jobs import busy, halved, hard, many, moved, seldom, wide
from benchmarks.requests.of_keys import store_keys
from benchmarks.requests.of_limits import KEY, hold, limits, places
from benchmarks.requests.of_runs import DELAY, DELAYED, LETTERS, store_shadow, store_workers
from benchmarks.requests.of_workflows import DEFINED, GRAPH, NAMES, step
from duecourse.api.query import job_page_token
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.counts import RunCount, hour_of
from duecourse.domain.runs.logs import MAX_PORTION_BYTES, LogSource, PortionName
from duecourse.domain.runs.states import Attempt, AttemptOutcome, Attempts, Run, RunState
from duecourse.domain.tenants.rate import Bucket, BucketChange
from duecourse.domain.workflows.graph import StepOutcome
from duecourse.ports import BucketConflict
from duecourse.testing.clock import SettableClock
from duecourse.usecases.runs.logs import PORTIONS_OF_A_PAGE
from duecourse.usecases.workflows.manage import ref_of
from tests.support import in_process
from tests.support.api import ApiClient, Context, api_settings
from tests.support.api_events import jwt_caller
from tests.support.jobs import NOON, cursor, job
from tests.support.limits import MemoryLimits
from tests.support.runs import run, waiting_run
from tests.support.tables import create_tables
from tests.support.varied import varied

RUNS = 2

RESULT = {"text": "r" * 2000}
"""A result of the maximum size in a record."""

RATE, BURST = 1_000, 100_000
WAIT_SECONDS = BURST / RATE + 61
"""The time between two requests, after which the bucket is full again and has no debt."""


@dataclass
class Charged(MemoryLimits):
    """A bucket that is full at each request. `tokens` is the number of tokens that were taken."""

    tokens: float = 0

    def change_bucket(self, tenant: str, change: BucketChange) -> Bucket | BucketConflict:
        """Count the tokens that were taken."""
        before, written = self.buckets.get(tenant), super().change_bucket(tenant, change)
        if isinstance(written, Bucket) and "#" not in tenant:  # an API key has a separate bucket
            now = change.low
            self.tokens += (written.full_at - max(before.full_at if before else now, now)) / 1e9 * RATE
        return written


@dataclass
class Desk:
    """The API over tables in this process."""

    counters: Charged = field(default_factory=Charged)
    numbers: Iterator[int] = field(default_factory=count)
    holders: list[str] = field(default_factory=list)
    """The runs that have places of a concurrency key, in their 20th attempt."""
    rank: int = 2 * 20

    def __post_init__(self) -> None:
        tables = create_tables(in_process.dynamodb())
        self.clock = SettableClock(NOON)
        self.client = ApiClient(
            tables.job_store(self.clock),
            tables.run_store(),
            self.clock,
            counters=self.counters,
            inputs=tables.inputs(),
            timers=tables.timers(),
            delayed_runs=tables.delayed_runs(),
            workflows=tables.workflows(self.clock),
            wait_queues=tables.wait_queues(),
            reports=tables.tenant_reports(),
            in_progress=tables.runs_in_progress(),
            run_counts=tables.run_counts(),
            settings=api_settings(
                requests_per_second=RATE,
                burst=BURST,
                backfill_limit=10_000,
                job_quota=100_000,
                auth="jwt",
                operator_tenant="default",
            ),
        )

    def answer(self, event: Event) -> dict[str, Any]:
        """Return the API's response in Lambda's format."""
        event["requestContext"].setdefault("authorizer", jwt_caller("default", "jobs:read", "jobs:write", "ops"))
        return self.client.application(event, Context())  # type: ignore[arg-type]

    def send(self, path: str, body: Any, method: str = "POST") -> None:
        """Make a request that is not measured. Raises AssertionError if it is rejected."""
        self.prepared(compact(method, path, body))

    def prepared(self, event: Event) -> None:
        """Make this request like `send`."""
        answer = self.answer(event)
        if answer["statusCode"] >= 300 or '"problem":' in answer["body"]:
            raise AssertionError(answer["body"][:2000])
        self.clock.advance(0.001)
        self.client.log.truncate(0)

    def another(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return a different payload of the same size."""
        return payload | {"number": next(self.numbers)}

    @staticmethod
    def cursor_after(job_id: str) -> str:
        """Return the cursor with which a list continues after a job."""
        return job_page_token(job_id)

    def job(self, job_id: str) -> Job:
        """Return an existing job."""
        found = self.client.jobs.get("default", job_id)
        if found is None:
            raise AssertionError(job_id)
        return found

    def prepare(self) -> None:
        """Store the jobs and runs that the requests refer to."""
        for number in range(24):
            self.send("/v1/jobs", JOB | {"id": f"large-{number:03}", "payload": LARGE})
        self.send("/v1/jobs", JOB | {"id": "often", "schedule": "* * * * *"})
        self.send("/v1/jobs", JOB | {"id": "waiting", "completion": "callback", "heartbeat_seconds": 60})
        self.send("/v1/jobs", JOB | {"id": "silent", "expect_every": 3600, "payload": LARGE})
        for job_id in ("dying", "changed"):
            self.send("/v1/jobs", JOB | {"id": job_id})
        for number in range(PORTIONS_OF_A_PAGE + 1):
            portion = PortionName(1, LogSource.WORK, 1, number + 1)
            self.client.logs.write_portion(f"logs/default/dying/{AT}/{portion}", b"l" * MAX_PORTION_BYTES)
        for made in (busy, seldom, step):
            for number in range(0, 1000, 100):
                self.send("/v1/jobs/batch", {"jobs": [made(each) for each in range(number, number + 100)]})
        self.send("/v1/jobs/batch", {"jobs": [hard(number) for number in range(100)]})
        self.send("/v1/jobs", halved())
        for number in range(400):
            self.send("/v1/jobs", wide(number))
        for name in FAT_NAMES:
            self.send("/v1/jobs", FAT | {"id": name})
        for number in range(110):
            change = {"description": f"{number:03}" * 160, "owner": f"{number:03}" * 42}
            self.send("/v1/jobs/changed", change, "PATCH")
        lagging = job("* * * * * *", id="lagging", at=NOON - 20 * DAY_SECONDS)
        if not self.client.jobs.create(lagging, cursor(lagging, NOON)):
            raise AssertionError(lagging.id)
        self.send("/v1/workflows/big", {"schedule": None, "jobs": GRAPH}, "PUT")
        self.send("/v1/workflows/defined", {"schedule": None, "jobs": DEFINED}, "PUT")
        for path, body in calendars():
            self.send(path, body, "PUT")
        for number in range(USERS):
            self.send("/v1/jobs", user(number))
        for ten in (many, moved):
            self.send("/v1/jobs/batch", {"jobs": [ten(number) for number in range(100)]})
        store_keys(self)
        store_workers(self)
        store_shadow(self)
        for number in range(100):
            bodies = [{"delay_seconds": DELAY + number + 100 * each} for each in range(DELAYED // 100)]
            self.send(f"/v1/jobs/wide-{number:03}/run/batch", {"runs": bodies})
        for hour in range(-32 * 24, 48):
            self.client.run_counts.add("default", hour_of(NOON) + hour * 3600, dict.fromkeys(RunCount, 10**9))
        self._runs()

    def _runs(self) -> None:
        large, waiting = self.job("large-000"), self.job("waiting")
        self._write(waiting_run(waiting), run(large, RunState.SUCCEEDED))
        dying = self.job("dying")
        self._write(*(long(run(dying, RunState.SUCCEEDED, after=-second)) for second in range(1, 600)))
        self._write(long(run(dying, RunState.DEAD)))
        jobs = [self.job(f"wide-{number:03}") for number in range(400)]
        for number in range(LETTERS):
            whose, after = jobs[number % 400], number // 400
            self._write(
                long(run(whose, RunState.DEAD, after=after)), long(run(whose, RunState.RETRYING, after=10 + after))
            )
        for path in limits():
            self.send(path, {"concurrency": 100}, "PUT")
        for place, name in places():
            active = run(self.job(name), RunState.RUNNING, after=-3600, key=KEY, lease_until=NOON + 10**7)
            self._write(long(active))
            self.holders.append(str(active.name))
            hold(self, place, self.holders[-1], self.rank)
        big = self.job("big")
        ref = str(ref_of(big))
        ended = run(big, RunState.DEAD, error="failed: m0999 (http.500)")
        waits = run(big, RunState.WAITING, after=3600)
        self._write(*(replace(each, identity=replace(each.identity, workflow=ref)) for each in (ended, waits)))
        for number, name in enumerate(NAMES):
            for whole in (ended, waits):
                if whole is waits and number == 999:
                    continue
                self.client.workflows.record_end(
                    "default", whole.name, number, StepOutcome.SUCCEEDED, expires_at=int(NOON) + 10**9
                )
                made = run(self.job(name), RunState.SUCCEEDED, after=whole.occurrence - int(NOON), result=RESULT)
                if whole is waits or number < 20:
                    self._write(replace(long(made), identity=replace(made.identity, workflow=ref)))
        last = run(self.job(NAMES[-1]), RunState.SUCCEEDED)
        self._write(replace(last, identity=replace(last.identity, workflow=ref)))

    def _write(self, *runs: Run) -> None:
        for each in runs:
            if self.client.runs.write(each, None) is not None:
                raise AssertionError(each.name)

    def cost(self, case: Case) -> Cost:
        """Measure one case."""
        milliseconds, status, tokens = [], 0, 0
        for _ in range(RUNS):
            event = self._next(case)
            spent, began = in_process.seconds(), process_time()
            status = self.answer(event)["statusCode"]
            milliseconds.append((process_time() - began - (in_process.seconds() - spent)) * 1000)
            limits = self.client.application._api.limits  # noqa: SLF001
            lease = limits._leases.get("default")  # noqa: SLF001
            unused = 0 if lease is None or lease.asked < self.clock.now() else lease.tokens
            tokens = max(round(self.counters.tokens) - unused, 0)
            self.client.log.truncate(0)
        event = self._next(case)
        tracemalloc.start()
        self.answer(event)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        return Cost(case.route, case.worst, status, tokens, round(min(milliseconds), 1), round(peak, 1))

    def _next(self, case: Case) -> Event:
        """Return the request, on a full bucket."""
        event = case.event(self)
        self.clock.advance(WAIT_SECONDS)
        self.counters.tokens = 0
        gc.collect()
        gc.freeze()  # the content of the tables in this process is not part of a function's memory
        return event


def long(made: Run) -> Run:
    """Return the run after 20 attempts with errors of the maximum length."""
    earlier = tuple(
        Attempt(
            number,
            made.occurrence + number,
            made.occurrence + number + 1.5,
            AttemptOutcome.FAILED,
            "e" * 200,
            "http.500",
        )
        for number in range(1, 20)
    )
    begun = Attempts(20, made.occurrence + 30.0, made.occurrence + 0.25, earlier=earlier)
    return varied(made, attempts_allowed=20, error="e" * 2000, code="http.500", attempts=begun)
