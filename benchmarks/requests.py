"""What one request may cost at most: CPU, memory and tokens of the worst body that is known for each route.

    python -m benchmarks.requests [--json] [--table]

The API runs in this process over tables in this process; the CPU time of the tables is not counted. A case is measured
twice for its CPU time, of which the least counts, and once more for its memory (tracemalloc). Tokens are those
that the request takes from its tenant's bucket. Budgets: 250 ms and 100 MB per token. `--table` prints the table of
docs/security.md. The status is 1 if a budget is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from time import process_time
from typing import Any

from benchmarks.about import about
from duecourse.domain.jobs.bucket import Bucket, BucketChange
from duecourse.ports import BucketConflict
from duecourse.testing.clock import SettableClock
from tests.support import in_process
from tests.support.api import HTTP_TARGET, ApiClient, Context, api_settings
from tests.support.api_events import api_event, json_event
from tests.support.jobs import NOON
from tests.support.limits import MemoryLimits
from tests.support.tables import Tables, create_tables

MAX_MS = 250
MAX_MB = 100
"""Per token."""

RUNS = 2
LARGE = {"rows": [[]] * 60_000}
"""A large payload, of 180 KB: many small values take longest to read and most memory."""

NEVER = "dc1.default.2.never-given-out"
JOB: dict[str, Any] = {"schedule": None, "target": HTTP_TARGET}


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
class Case:
    """A request, made anew for each measurement."""

    route: str
    worst: str
    event: Callable[[], dict[str, Any]]


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


def put(jobs: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A workflow that is only looked at."""
    event = json_event("PUT", "/v1/workflows/big", {"schedule": None, "jobs": jobs} | more)
    return event | {"queryStringParameters": {"dry_run": "true"}}


def names(count: int) -> list[str]:
    """Similar names of the greatest length."""
    return [f"{'a' * 30}{number:04}{'a' * 30}" for number in range(count)]


def unknown_fields(size: int) -> dict[str, Any]:
    """A job with as many unknown fields as fit."""
    return JOB | {f"schedul{number:05}": 1 for number in range(size // 18)}


def edges(count: int, each: int) -> dict[str, Any]:
    """Members that come after as many others as a workflow may have edges."""
    first = {f"i{number}": {} for number in range(each)}
    return first | {f"j{number}": {"after": list(first)} for number in range(count)}


def callback(action: str, body: Any) -> dict[str, Any]:
    """A callback with a token that opens nothing."""
    run = "/v1/runs/large-000.20261121T120000Z"
    return json_event("POST", f"{run}/{action}", body, headers={"authorization": f"Bearer {NEVER}"})


def cases() -> Iterator[Case]:
    """The worst request that is known for each route, or several."""
    template = "{{payload.a}}" * 14_000
    yield Case(
        "POST /v1/jobs", "13,000 unknown fields", lambda: json_event("POST", "/v1/jobs", unknown_fields(240_000))
    )
    yield Case(
        "PUT /v1/jobs/{job_id}?dry_run",
        "a payload of 190 KB with 14,000 placeholders",
        lambda: (
            json_event("PUT", "/v1/jobs/new", JOB | {"payload": {"text": template}})
            | {"queryStringParameters": {"dry_run": "true"}}
        ),
    )
    yield Case(
        "POST /v1/jobs/batch",
        "100 jobs with 130 unknown fields each",
        lambda: json_event("POST", "/v1/jobs/batch", {"jobs": [unknown_fields(2_300)] * 100}),
    )
    yield Case(
        "PUT /v1/workflows/{workflow_id}?dry_run",
        "1,024 jobs whose `only` rarely meets the schedule",
        lambda: put(
            {f"j{n}": {"only": f"{n % 60} {13 + n % 9} * * *"} for n in range(1024)}, schedule="rate(1441 minutes)"
        ),
    )
    yield Case(
        "PUT /v1/workflows/{workflow_id}?dry_run",
        "1,024 jobs with similar names, each after an unknown one",
        lambda: put({name: {"after": [f"{name[:-2]}b"]} for name in names(1024)}),
    )
    yield Case(
        "PUT /v1/workflows/{workflow_id}?dry_run",
        "24 named jobs with payloads of 180 KB",
        lambda: put({f"large-{number:03}": {} for number in range(24)}),
    )
    yield Case("PUT /v1/workflows/{workflow_id}?dry_run", "9,900 edges", lambda: put(edges(99, 100)))
    yield Case(
        "PUT /v1/workflows/{workflow_id}?dry_run",
        "1,000 defined jobs with unknown fields",
        lambda: put({f"j{number}": {"job": JOB | {f"x{field}": 1 for field in range(12)}} for number in range(1000)}),
    )
    yield Case(
        "GET /v1/jobs",
        "24 jobs with payloads of 180 KB",
        lambda: api_event("GET", "/v1/jobs", query={"limit": "100", "prefix": "large"}, content_type=None),
    )
    yield Case(
        "GET /v1/jobs",
        "the same, none of which has the name",
        lambda: api_event("GET", "/v1/jobs", query={"limit": "100", "name": "nobody"}, content_type=None),
    )
    yield Case(
        "GET /v1/jobs/{job_id}",
        "a payload of 180 KB",
        lambda: api_event("GET", "/v1/jobs/large-000", content_type=None),
    )
    yield Case(
        "POST /v1/jobs/{job_id}/backfill",
        "a dry run of 10,000 occurrences",
        lambda: json_event(
            "POST",
            "/v1/jobs/often/backfill",
            {"from": "2026-11-01T00:00:00Z", "to": "2026-11-07T22:40:00Z", "dry_run": True},
        ),
    )
    yield Case(
        "POST /v1/schedules/preview",
        "100 occurrences on 29 February, a Monday",
        lambda: json_event(
            "POST", "/v1/schedules/preview", {"schedule": "0 0 29 2 1", "timezone": "Europe/Berlin", "count": 100}
        ),
    )
    yield Case(
        "GET /v1/upcoming",
        "25 jobs",
        lambda: api_event("GET", "/v1/upcoming", content_type=None),
    )
    yield Case("POST /v1/jobs", "a payload of 180 KB", lambda: json_event("POST", "/v1/jobs", JOB | {"payload": LARGE}))
    for action in ("heartbeat", "complete", "fail"):
        yield Case(
            f"POST /v1/runs/{{run_id}}/{action}",
            "246 KB with a wrong token",
            lambda action=action: callback(action, {"result": [[]] * 82_000}),
        )


def measure() -> list[Cost]:
    """Every case."""
    desk = Desk(Apart(None))
    desk.prepare()
    found = []
    for case in cases():
        print(f"{case.route}: {case.worst} ...", file=sys.stderr)
        found.append(desk.cost(case))
    return found


def table(costs: list[Cost]) -> str:
    """The table of docs/security.md."""
    rows = ["| route | worst request | tokens | CPU | memory |", "|---|---|---|---|---|"]
    rows += [
        f"| `{each.route}` | {each.worst} | {each.tokens:,} | {each.cpu_ms:,.0f} ms | {each.memory_mb:,.0f} MB |"
        for each in costs
    ]
    return "\n".join(rows)


def main(arguments: list[str]) -> int:
    """Measure and print; 1 if a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.requests", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--table", action="store_true", help="print the table of docs/security.md")
    given = parser.parse_args(arguments)
    costs = measure()
    kept = {f"{each.route}, {each.worst}: {MAX_MS} ms and {MAX_MB} MB per token": each.kept for each in costs}
    if given.json:
        document = about("requests", ["pydantic"]) | {"cases": [asdict(each) for each in costs], "budgets": kept}
        print(json.dumps(document, indent=2))
    elif given.table:
        print(table(costs))
    else:
        for each in costs:
            print(f"{'' if each.kept else 'MISSED '}{each}")
    return 0 if all(kept.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
