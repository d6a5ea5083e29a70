"""Measure a concurrency key on the local stack: its hand-overs, and its active runs while workers are killed.

    python -m benchmarks.limits [--runs 10000] [--limit 50] [--seconds 6] [--json]

Starts the local stack in a temporary folder, as `duecourse demo` does, and lets its functions use DynamoDB Local: a
query of MiniStack reads the whole partition, unlike DynamoDB, and a queue of thousands of runs is one partition.
DynamoDB Local is not connected to the functions that read streams, so nothing is archived.

Runs of 40 jobs with one concurrency key are backfilled. The limit of the key is 0 until all of them wait. Calls are
asynchronous (`completion: callback`): a run is active from the arrival of its call until this program reports its end,
--seconds later on average (half to one and a half times as much). So more runs can be active than the stack has
workers. When half of the runs have ended, every worker process is killed. Messages that they held come back when
their visibility ends (150 s).

A hand-over is the time from the report of an end to the arrival of the next call: the request, the record, the release
of the place, the message, its delivery and the next worker's own work, on this machine's processors. Meanwhile a job
without a key runs every second. The status is 1 unless at most --limit runs were active at any time, each run was
called and ended, 99 of 100 hand-overs took less than a second, and so did 99 of 100 starts of the other job.
"""

from __future__ import annotations

import argparse
import heapq
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import inf
from pathlib import Path
from random import Random
from typing import Any, Self

from benchmarks.arguments import positive
from benchmarks.hops.workers import workers
from benchmarks.on_stack import report
from benchmarks.wait_queue import figures
from duecourse.adapters.dynamodb.tables import DynamoTables
from duecourse.adapters.system import SystemClock
from duecourse.api.identity import DEFAULT_TENANT
from duecourse.cli.local.demo.console import Screen
from duecourse.cli.local.demo.demo import passing_place
from duecourse.cli.local.emulator import aws
from duecourse.cli.local.emulator.environment import LOOPBACK, free_port
from duecourse.cli.local.project import find_project
from duecourse.cli.local.stack import Stack, local_stack
from duecourse.cli.terminal import CliError
from duecourse.client import ApiError, Client
from duecourse.client.reading import instant
from duecourse.domain.ids import key_queue
from duecourse.stores.table import Table
from duecourse.stores.waits import WaitQueues
from tests.support.emulators import dynamodb_local

KEY = "crm"
JOBS = 40
BEGIN = datetime(2020, 1, 1, tzinfo=UTC)
REPORTERS = 4
"""The number of threads that report ends."""

ENTRY_SECONDS = 5.0
"""The time (seconds) between two counts of the waiting runs."""

SHOWN = 500
"""The number of ends between two lines of progress."""

BUDGET_SECONDS = 1.0
HIDDEN_SECONDS = 200.0
"""How long (seconds) to wait for the messages of killed workers, whose visibility ends after 150 s."""

PATIENCE_SECONDS = 600.0
"""The maximum time (seconds) without progress."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The number of runs, the limit of the key, and how long each run is active (seconds)."""

    runs: int
    limit: int
    seconds: float


@dataclass(order=True, frozen=True, slots=True)
class Active:
    """A call whose end is reported at `until` (monotonic seconds)."""

    until: float
    run_id: str
    token: str


@dataclass(slots=True)
class Log:
    """The calls and the ends, at their times (seconds since the epoch). The receiver's threads write them."""

    seconds: float
    random: Random = field(default_factory=lambda: Random(32))
    calls: list[tuple[float, str]] = field(default_factory=list)
    ends: list[tuple[float, str]] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    due: list[Active] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def call(self, run_id: str, token: str, scheduled_at: str) -> None:
        """Add a call that has arrived. A call without a token belongs to the other job."""
        now = time.time()
        with self.changed:
            if not token:
                at = instant(scheduled_at)
                self.late.append(0.0 if at is None else now - at.timestamp())
                return
            self.calls.append((now, run_id))
            until = time.monotonic() + self.seconds * self.random.uniform(0.5, 1.5)
            heapq.heappush(self.due, Active(until, run_id, token))
            self.changed.notify()

    def next_end(self, stopped: Callable[[], bool]) -> Active | None:
        """Wait for the next end and return it. None: the measurement has stopped."""
        with self.changed:
            while not stopped():
                wait = self.due[0].until - time.monotonic() if self.due else 0.2
                if self.due and wait <= 0:
                    active = heapq.heappop(self.due)
                    self.ends.append((time.time(), active.run_id))
                    return active
                self.changed.wait(min(wait, 0.2))
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Target

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class defines the name
        """Print nothing."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        names = ("X-Duecourse-Run-Id", "X-Duecourse-Token", "X-Duecourse-Scheduled-At")
        self.server.log.call(*(self.headers.get(name, "") for name in names))
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()


class _Target(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, log: Log) -> None:
        self.log = log
        super().__init__((LOOPBACK, 0), _Handler)

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


@dataclass(slots=True)
class Measurement:
    """A measurement on a running stack."""

    plan: Plan
    screen: Screen
    stack: Stack
    client: Client
    log: Log
    target: str
    queues: WaitQueues
    stopped: bool = False
    killed_at: float = inf

    def run(self) -> dict[str, Any]:
        """Measure, and return the figures."""
        names = [f"{KEY}-{number}" for number in range(JOBS)]
        self._create(names)
        waiting = self._enter(names)
        self._warm_up()
        self.client.create_job(
            {
                "id": "other",
                "schedule": "* * * * * *",
                "overlap": "allow",
                "target": {"type": "http", "url": self.target},
            }
        )
        with ThreadPoolExecutor(REPORTERS) as reporters:
            for _ in range(REPORTERS):
                reporters.submit(self._report)
            try:
                killed, seconds = self._hand_over()
            finally:
                self.stopped = True
        repeated = len(self.log.calls) - len({run_id for _, run_id in self.log.calls})
        found = hand_overs(self.log.calls, self.log.ends, self.plan.limit)
        return {
            "runs": self.plan.runs,
            "limit": self.plan.limit,
            "active_seconds": self.plan.seconds,
            "waiting_at_once": waiting,
            "active_at_most": most_active(self.log.calls, self.log.ends),
            "called": len({run_id for _, run_id in self.log.calls}),
            "called_again": repeated,
            "succeeded": self._succeeded(names),
            "workers_killed": killed,
            "seconds": round(seconds, 1),
            "hand_over_seconds": figures([taken for _, taken in found]),
            "hand_over_before_the_kill_seconds": figures([taken for at, taken in found if at < self.killed_at]),
            "hand_over_after_the_kill_seconds": figures([taken for at, taken in found if at >= self.killed_at]),
            "other_job_seconds": figures(self.log.late),
        }

    def _create(self, names: Sequence[str]) -> None:
        self.client.put_limit(KEY, concurrency=0)
        for name in names:
            self.client.create_job(
                {
                    "id": name,
                    "schedule": "* * 1-7 1 *",  # the first week of January
                    "overlap": "allow",
                    "completion": "callback",
                    "completion_seconds": 3600,
                    "concurrency": {"key": KEY, "limit": self.plan.limit},
                    "target": {"type": "http", "url": self.target},
                }
            )

    def _enter(self, names: Sequence[str]) -> int:
        """Request the runs, wait until all of them are in the wait queue, and return how many are."""
        self.screen.step("runs", f"{self.plan.runs:,} runs are requested, {len(names)} per second")
        for number, name in enumerate(names):
            count = (self.plan.runs + number) // len(names)
            self.client.backfill_job(name, BEGIN, BEGIN + timedelta(minutes=count), pace_seconds=1, dry_run=False)
        moved_at, waiting = time.monotonic(), 0
        while waiting < self.plan.runs:
            self.stack.ministack.require_running()
            if time.monotonic() - moved_at > PATIENCE_SECONDS:
                raise CliError(f"{waiting} of {self.plan.runs} runs have entered the wait queue")
            time.sleep(ENTRY_SECONDS)
            found = self.queues.length(DEFAULT_TENANT, key_queue(KEY), limit=self.plan.runs)
            if found > waiting:
                moved_at, waiting = time.monotonic(), found
        return waiting

    def _warm_up(self) -> None:
        """Start as many environments of the function that receives the ends as there are reporters."""
        with ThreadPoolExecutor(REPORTERS) as reporters:
            answers = [
                reporters.submit(self.client.complete_run, f"{KEY}.unknown", "unknown") for _ in range(REPORTERS)
            ]
        if not all(isinstance(answer.exception(), ApiError) for answer in answers):
            raise CliError("an unknown run was completed")

    def _succeeded(self, names: Sequence[str]) -> int:
        """Return how many runs have succeeded. The message of an end may still be hidden, if a killed worker had it."""
        begin = time.monotonic()
        while True:
            pages = [self.client.list_runs(name, state="SUCCEEDED", limit=100) for name in names]
            found = sum(1 for page in pages for _ in page)
            if found == self.plan.runs or time.monotonic() - begin > HIDDEN_SECONDS:
                return found
            time.sleep(1)

    def _last(self, ended: int) -> str:
        """Return the figures of the last hand-overs as text."""
        found = hand_overs(list(self.log.calls), list(self.log.ends), self.plan.limit)[-ended:]
        return " ".join(f"{name} {value:g} s" for name, value in figures([taken for _, taken in found]).items())

    def _report(self) -> None:
        while (active := self.log.next_end(lambda: self.stopped)) is not None:
            self.client.complete_run(active.run_id, active.token)

    def _hand_over(self) -> tuple[int, float]:
        """Set the limit, kill the workers half-way, and wait for the last end. Return how many were killed, and the
        seconds that it took.
        """
        self.screen.step("limit", f"{self.plan.limit} of them may be active")
        begin = moved_at = time.monotonic()
        killed, ended = 0, 0
        self.client.put_limit(KEY, concurrency=self.plan.limit)
        while ended < self.plan.runs:
            self.stack.ministack.require_running()
            if len(self.log.ends) > ended:
                if len(self.log.ends) // SHOWN > ended // SHOWN:
                    self.screen.step("runs", f"{len(self.log.ends):,} have ended; hand-over {self._last(SHOWN)}")
                ended, moved_at = len(self.log.ends), time.monotonic()
            if time.monotonic() - moved_at > PATIENCE_SECONDS:
                raise CliError(f"{ended} of {self.plan.runs} runs have ended")
            if not killed and ended > self.plan.runs // 2:
                self.killed_at = time.time()
                for worker in workers(self.stack.endpoint):
                    os.kill(worker, signal.SIGKILL)
                    killed += 1
                self.screen.step("workers", f"{killed} worker processes are killed")
            time.sleep(0.2)
        return killed, time.monotonic() - begin


def most_active(calls: Iterable[tuple[float, str]], ends: Iterable[tuple[float, str]]) -> int:
    """Return the maximum number of runs that were active at once. A run that is called again counts once."""
    found, active = 0, set[str]()
    for _, ended, run_id in sorted([(at, True, run) for at, run in ends] + [(at, False, run) for at, run in calls]):
        if ended:
            active.discard(run_id)
        else:
            active.add(run_id)
        found = max(found, len(active))
    return found


def hand_overs(
    calls: Sequence[tuple[float, str]], ends: Sequence[tuple[float, str]], limit: int
) -> list[tuple[float, float]]:
    """Return each end's time, and the time from it to the start that follows it (seconds): the start that finds a place
    free because of it, if all places were taken.
    """
    starts, freed = sorted(at for at, _ in calls)[limit:], sorted(at for at, _ in ends)
    return [(end, start - end) for start, end in zip(starts, freed, strict=False)]


def use_database(stack: Stack, database: str) -> str:
    """Create the stack's tables in another database, and let its functions use them. Return the name of the table of
    runs.
    """
    old, new = (aws.client(endpoint, "dynamodb") for endpoint in (stack.endpoint, database))
    names: list[str] = old.list_tables()["TableNames"]
    for name in names:
        table = old.describe_table(TableName=name)["Table"]
        indexes = [
            {part: index[part] for part in ("IndexName", "KeySchema", "Projection")}
            for index in table.get("GlobalSecondaryIndexes", ())
        ]
        new.create_table(
            TableName=name,
            **{part: table[part] for part in ("AttributeDefinitions", "KeySchema")},
            **({"GlobalSecondaryIndexes": indexes} if indexes else {}),
            BillingMode="PAY_PER_REQUEST",
        )
    functions = aws.client(stack.endpoint, "lambda")
    for page in functions.get_paginator("list_functions").paginate():
        for function in page["Functions"]:
            variables = function.get("Environment", {}).get("Variables", {}) | {"AWS_ENDPOINT_URL_DYNAMODB": database}
            functions.update_function_configuration(
                FunctionName=function["FunctionName"], Environment={"Variables": variables}
            )
    (runs,) = (name for name in names if "Runs" in name)
    return runs


def measure(plan: Plan, screen: Screen) -> dict[str, Any]:
    """Start everything, measure, stop it. Raises CliError, ApiError, ApiUnreachableError."""
    project, port, log = find_project(Path(__file__).parent), free_port(), Log(plan.seconds)
    with (
        passing_place(project, port, "limits") as place,
        _Target(log) as target,
        local_stack(project, place, port, screen.step) as stack,
        dynamodb_local(place.temporary) as database,
        Client(stack.api, timeout=60.0, trust_env=False) as client,
    ):
        screen.step("database", f"the functions use DynamoDB Local, {database}")
        names = {Table.RUNS: use_database(stack, database)}
        queues = WaitQueues(DynamoTables(aws.client(database, "dynamodb"), names, SystemClock()))
        url = f"http://{LOOPBACK}:{target.server_port}/"
        found = Measurement(plan, screen, stack, client, log, url, queues).run()
        place.log.unlink(missing_ok=True)
        return found


def budgets(found: Mapping[str, Any]) -> dict[str, bool]:
    """Return whether each budget is met."""
    return {
        "active_within_the_limit": found["active_at_most"] <= found["limit"],
        "each_run_called_and_succeeded": found["runs"] == found["called"] == found["succeeded"],
        "hand_over_p99_below_a_second": found["hand_over_seconds"]["p99"] < BUDGET_SECONDS,
        "other_job_p99_below_a_second": found["other_job_seconds"]["p99"] < BUDGET_SECONDS,
    }


def main(arguments: list[str]) -> int:
    """Measure, and print the result. Return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limits", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--runs", type=positive, default=10_000, help="the runs that wait (10,000)")
    parser.add_argument("--limit", type=positive, default=50, help="the limit of the key (50)")
    parser.add_argument("--seconds", type=float, default=6.0, help="how long each run is active (6)")
    given = parser.parse_args(arguments)
    plan = Plan(given.runs, given.limit, given.seconds)
    return report("limits", lambda screen: measure(plan, screen), budgets)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
