"""Measure the wait queue on the local stack: the time until the next run starts, and the cost of a waiting run.

    python -m benchmarks.wait_queue [--runs 20] [--seconds 2] [--wait 60] [--json]

Starts the local stack in a temporary folder, as `duecourse demo` does. A job with `overlap: queue` is run on demand
once, and --runs times more while that run is active; each call takes --seconds. A hand-over is the time from the end of
one call, measured by the target, to the arrival of the next one: the response, the record, the release, the message of
the call, its delivery and the next worker's own work, all on this machine's processors.

Then another run of a job lasts longer than --wait seconds, while a second run waits in the wait queue. Every message
that the workers receive in that time is counted from their logs: the watch of the wait queue, and its call of the first
run, every half minute. The status is 1 unless every hand-over took less than a second and no other message arrived.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from statistics import quantiles
from typing import Any

from benchmarks.arguments import positive
from benchmarks.on_stack import report
from duecourse.cli.local.demo.console import Screen
from duecourse.cli.local.demo.demo import passing_place
from duecourse.cli.local.demo.receiver import OK_PATH, CallLog, Receiver
from duecourse.cli.local.emulator import aws
from duecourse.cli.local.emulator.environment import free_port
from duecourse.cli.local.project import find_project
from duecourse.cli.local.stack import Stack, local_stack
from duecourse.cli.terminal import CliError
from duecourse.client import Client
from duecourse.client.bodies import HttpTarget

PATIENCE_SECONDS = 300.0
BUDGET_SECONDS = 1.0
WATCH_SECONDS = 30
SETTLED_SECONDS = 5
"""The time after which the second run is in the wait queue."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The number of runs in the wait queue, the duration of each call, and the wait of a single run (seconds)."""

    runs: int
    seconds: float
    wait: int


@dataclass(slots=True)
class Measurement:
    """A measurement on a running stack."""

    plan: Plan
    screen: Screen
    stack: Stack
    client: Client
    log: CallLog
    receiver: str

    def run(self) -> dict[str, Any]:
        """Measure, and return the figures."""
        self._warm_up()
        gaps = self._hand_over()
        return {"hand_over_seconds": figures(gaps), "waiting": self._wait()}

    def _warm_up(self) -> None:
        self.screen.step("workers", "one call each, one after the other")
        self._post("warm", 0)
        self._start("warm", 3)
        self._wait_for(lambda: len(self._arrivals("warm")) == 3)

    def _hand_over(self) -> list[float]:
        self._post("queued", self.plan.seconds)
        self._start("queued", self.plan.runs + 1)
        self.screen.step("wait_queue", f"{self.plan.runs} runs wait behind one, each for {self.plan.seconds:g} s")
        self._wait_for(lambda: len(self._arrivals("queued")) == self.plan.runs + 1)
        time.sleep(self.plan.seconds + 1)
        return gaps(self._arrivals("queued"), self.plan.seconds)

    def _wait(self) -> dict[str, Any]:
        self._post("hold", self.plan.wait + 3 * SETTLED_SECONDS)
        self._start("hold", 2)
        self._wait_for(lambda: len(self._arrivals("hold")) == 1)
        time.sleep(SETTLED_SECONDS)
        self.screen.step("wait", f"one run waits for {self.plan.wait} s")
        begin = datetime.now(UTC)
        time.sleep(self.plan.wait)
        end = datetime.now(UTC)
        self._wait_for(lambda: len(self._arrivals("hold")) == 2)
        found = received(log_events(self.stack.endpoint), begin, end)
        most = 2 * (self.plan.wait // WATCH_SECONDS + 1)  # a watch and its call, at both ends of the time too
        return {"seconds": self.plan.wait, "messages_received": found, "most_of_the_watch": most}

    def _post(self, job_id: str, seconds: float) -> None:
        target: HttpTarget = {"type": "http", "url": f"{self.receiver}{OK_PATH}?seconds={seconds:g}"}
        timeout = math.ceil(seconds) + 5
        self.client.create_job(
            {"id": job_id, "schedule": "0 0 1 1 *", "overlap": "queue", "target": target, "timeout_seconds": timeout}
        )

    def _start(self, job_id: str, times: int) -> None:
        for _ in range(times):
            self.client.run_job(job_id)

    def _arrivals(self, job_id: str) -> list[datetime]:
        return sorted(call.arrived_at for call in self.log.calls if call.job_id == job_id)

    def _wait_for(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not done():
            self.stack.ministack.require_running()
            if time.monotonic() > deadline:
                raise CliError(f"not all runs were called within {PATIENCE_SECONDS:.0f} s")
            time.sleep(0.2)


def log_events(endpoint: str) -> list[tuple[datetime, str]]:
    """Return all log lines of the workers with their times."""
    logs = aws.client(endpoint, "logs")
    found = []
    for page in aws.client(endpoint, "lambda").get_paginator("list_functions").paginate():
        for function in page["Functions"]:
            if "Execute" in function["FunctionName"]:
                group = function.get("LoggingConfig", {}).get("LogGroup") or f"/aws/lambda/{function['FunctionName']}"
                for events in logs.get_paginator("filter_log_events").paginate(logGroupName=group):
                    found += [
                        (datetime.fromtimestamp(event["timestamp"] / 1000, UTC), event["message"])
                        for event in events["events"]
                    ]
    return found


def received(events: Iterable[tuple[datetime, str]], begin: datetime, end: datetime) -> int:
    """Return the number of messages that the workers received from `begin` to `end`, from their metrics."""
    total = 0
    for at, message in events:
        if begin <= at <= end and message.startswith('{"_aws"'):
            value = json.loads(message).get("MessagesReceived", 0)
            total += int(sum(value) if isinstance(value, list) else value)
    return total


def gaps(arrivals: list[datetime], seconds: float) -> list[float]:
    """Return the times from the end of each call to the arrival of the next call (seconds)."""
    taken = timedelta(seconds=seconds)
    return [(later - earlier - taken).total_seconds() for earlier, later in pairwise(arrivals)]


def figures(found: list[float]) -> dict[str, float]:
    """Return the times rounded to milliseconds."""
    cuts = quantiles(found, n=100, method="inclusive")
    return {"p50": round(cuts[49], 3), "p99": round(cuts[98], 3), "max": round(max(found), 3)}


def measure(plan: Plan, screen: Screen) -> dict[str, Any]:
    """Start everything, measure, stop it. Raises CliError, ApiError, ApiUnreachableError."""
    project, port, log = find_project(Path(__file__).parent), free_port(), CallLog()
    with (
        passing_place(project, port, "wait_queue") as place,
        Receiver(log) as receiver,
        local_stack(project, place, port, screen.step) as stack,
        Client(stack.api, trust_env=False) as client,
    ):
        found = Measurement(plan, screen, stack, client, log, receiver.url).run()
        place.log.unlink(missing_ok=True)
        return found


def budgets(found: Mapping[str, Any]) -> dict[str, bool]:
    """Return whether each budget is met."""
    waiting = found["waiting"]
    return {
        "every_hand_over_within_a_second": found["hand_over_seconds"]["max"] < BUDGET_SECONDS,
        "no_message_but_those_of_the_watch": waiting["messages_received"] <= waiting["most_of_the_watch"],
    }


def main(arguments: list[str]) -> int:
    """Measure, and print the result. Return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.wait_queue", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--runs", type=positive, default=20, help="runs that wait in the wait queue (20)")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long each call takes (2)")
    parser.add_argument("--wait", type=positive, default=60, help="how long one run is watched that waits (60)")
    given = parser.parse_args(arguments)
    plan = Plan(given.runs, given.seconds, given.wait)
    return report("wait_queue", lambda screen: measure(plan, screen), budgets)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
