"""Measure how late a tenant's runs start while other tenants have slow targets, on the local stack, without and with
seats.

    python -m benchmarks.slow [--tenants 4] [--calls 10] [--call-seconds 55] [--runs 40] [--json]

Deploys stage local with a JWT authorizer and an issuer on loopback, as benchmarks/flood.py does. Tenant `quiet` has one
job that fires every two seconds, and a workflow of two jobs, one after another, that is due every four seconds. Each of
--tenants hostile tenants has --calls jobs, due one second after another, and a workflow of --calls jobs; each call
takes --call-seconds. A tenant has four seats, as many as the quiet tenant needs. The lane's queue for jobs with seats
has two workers more than the hostile tenants can occupy; the bulk queue has the four workers of stage local.

The measurement is made twice: with enough seats for every job, which has the same effect as no seats, and with four
seats. Every figure comes from the records of the quiet tenant's runs. The lateness of a job in its workflow is the time
from its due second, or from the end of the previous job, to its start. The status is 1 unless both p99 stay within 5 s
with seats.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from benchmarks.about import about
from benchmarks.arguments import positive
from benchmarks.lanes_load import whole_second
from duecourse.cli.local.demo.receiver import OK_PATH, CallLog, Receiver
from tests.support.deployed import deploy
from tests.support.emulators import client, ministack
from tests.support.issuer import AUDIENCE, issuing

BAR_SECONDS = 5.0
EVERY_SEAT = 100
EVERY = 2
"""The seconds between two runs of the quiet tenant's job."""

SCOPES = "jobs:read jobs:write"
NAMES = ("before", "seats")
"""Each measurement has separate tenants, whose seats are all free."""

QUEUE = "ExecuteNormalFunctionQueue"
"""The beginning of the logical name of the event source whose queue is for jobs with seats."""

SEATS = 4
"""The quiet tenant's job, its workflow, and the workflow's two jobs."""

SPARE_WORKERS = 2

AHEAD = timedelta(seconds=20)
"""How long before its first run the quiet tenant's job is created: the API and the workers have cold starts."""

HEAD_START = timedelta(seconds=15)
"""How long the quiet tenant's job fires before the hostile jobs."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The numbers of jobs of each hostile tenant and of its workflow, the duration of their calls (`seconds`), and the
    number of `runs` of the quiet tenant.
    """

    tenants: int
    calls: int
    seconds: int
    runs: int


@dataclass(frozen=True, slots=True)
class Stage:
    """The deployed stage from the tenants' point of view."""

    endpoint: str
    api: str
    function: str
    receiver: str
    tokens: dict[str, str]

    def have_seats(self, seats: int) -> None:
        """Give each tenant this number of seats in the `normal` lane."""
        functions = client("lambda", self.endpoint)
        variables = functions.get_function_configuration(FunctionName=self.function)["Environment"]["Variables"]
        variables |= {"DUECOURSE_SEAT_NORMAL": str(seats)}
        functions.update_function_configuration(FunctionName=self.function, Environment={"Variables": variables})

    def create(self, tenant: str, job_id: str, schedule: str, seconds: int, **more: Any) -> None:
        """Create a job whose call takes this many seconds."""
        self._ask("POST", "/v1/jobs", tenant, json={"id": job_id, "schedule": schedule, **more, **self._job(seconds)})

    def put(self, tenant: str, workflow: str, jobs: dict[str, tuple[str, ...]], seconds: int, **more: Any) -> None:
        """Create a workflow of jobs whose calls take this many seconds. `jobs` has the upstream jobs of each job by
        name.
        """
        steps = {
            name: {"job_id": name, "job": self._job(seconds), "after": list(before)} for name, before in jobs.items()
        }
        self._ask("PUT", f"/v1/workflows/{workflow}", tenant, json={"jobs": steps, **more})

    def _job(self, seconds: int) -> dict[str, Any]:
        target = {"type": "http", "url": f"{self.receiver}{OK_PATH}?seconds={seconds}"}
        return {"target": target, "timeout_seconds": 80}

    def runs(self, tenant: str, job_id: str) -> list[dict[str, Any]]:
        """Return the runs of a tenant's job."""
        where: dict[str, Any] = {"limit": 100}
        found: list[dict[str, Any]] = []
        while True:
            page = self._ask("GET", f"/v1/jobs/{job_id}/runs", tenant, params=where)
            found += page["items"]
            if page.get("next_cursor") is None:
                return found
            where["cursor"] = page["next_cursor"]

    def _ask(self, method: str, path: str, tenant: str, **request: Any) -> dict[str, Any]:
        with httpx.Client(trust_env=False, timeout=60) as http:
            headers = {"Authorization": f"Bearer {self.tokens[tenant]}"}
            answer = http.request(method, f"{self.api}{path}", headers=headers, **request)
            if answer.is_error:
                raise SystemExit(f"{method} {path}: {answer.status_code} {answer.text}")
            document: dict[str, Any] = answer.json()
            return document


@contextmanager
def deployed(tenants: int) -> Iterator[Stage]:
    """Yield the local stage with tokens for all tenants, and a receiver for their calls."""

    def widen(made: dict[str, Any]) -> None:
        (source,) = (each for name, each in made["Resources"].items() if name.startswith(QUEUE))
        source["Properties"]["ScalingConfig"] = {"MaximumConcurrency": SEATS * tenants + SPARE_WORKERS}

    who = [f"quiet-{name}" for name in NAMES] + [f"hostile-{n}-{name}" for n in range(tenants) for name in NAMES]
    with TemporaryDirectory(prefix="duecourse-slow-") as name, Receiver(CallLog()) as receiver:
        folder = Path(name)
        (folder / "ministack").mkdir()
        print("deploying ...", file=sys.stderr)
        with issuing() as issuer, ministack(folder / "ministack") as endpoint:
            outputs = deploy(endpoint, widen, issuer=issuer.url, audience=AUDIENCE)
            yield Stage(
                endpoint=endpoint,
                api=f"{endpoint}/_aws/execute-api/{outputs['ApiId']}/$default",
                function=outputs["ApiFunction"],
                receiver=receiver.url,
                tokens={each: issuer.token(each, SCOPES) for each in who},
            )


def measure(stage: Stage, plan: Plan, name: str) -> dict[str, Any]:
    """Let the jobs of all tenants fire. Return the lateness of the quiet tenant's runs without the first ones, which
    have cold starts.
    """
    print(f"{name}: {plan.tenants} x 2 x {plan.calls} calls of {plan.seconds} s", file=sys.stderr)
    quiet = f"quiet-{name}"
    first = whole_second(AHEAD + timedelta(seconds=plan.tenants * plan.calls // 5))
    begin = first + HEAD_START
    stage.create(quiet, "quiet", f"rate({EVERY} seconds)", 0, start=_instant(first))
    chain = {"one": (), "two": ("one",)}
    stage.put(quiet, "chain", chain, 0, schedule=f"rate({2 * EVERY} seconds)", start=_instant(first))
    for tenant in (f"hostile-{number}-{name}" for number in range(plan.tenants)):
        slow: dict[str, tuple[str, ...]] = {f"slow-step-{number}": () for number in range(plan.calls)}
        stage.put(tenant, "wide", slow, plan.seconds, schedule=_at(begin))
        for number in range(plan.calls):
            stage.create(tenant, f"slow-{number}", _at(begin + timedelta(seconds=number)), plan.seconds)
    if datetime.now(UTC) > begin:
        raise SystemExit(f"{name}: the jobs were not created in time; use fewer calls or tenants")
    over = begin + timedelta(seconds=EVERY * plan.runs)
    # The runs that waited, and a margin.
    ends = max(over, begin + timedelta(seconds=2 * plan.seconds)) + timedelta(seconds=20)
    while datetime.now(UTC) < ends:
        time.sleep(1)

    def measured(job_id: str) -> list[dict[str, Any]]:
        return [run for run in stage.runs(quiet, job_id) if _instant(begin) <= run["due"] < _instant(over)]

    runs, ones, twos = measured("quiet"), measured("one"), measured("two")
    ended = {run["occurrence"]: run["finished_at"] for run in ones}
    own = [run["lateness_seconds"] for run in runs if run.get("lateness_seconds") is not None]
    late_steps = [
        (_read(run["started_at"]) - _read(ended[run["occurrence"]] if run["job_id"] == "two" else run["due"]))
        for run in ones + twos
        if run["started_at"] is not None
    ]
    states = Counter(f"{run['state']} {run.get('reason') or ''}".strip() for run in runs + ones + twos)
    if not own or not late_steps:
        raise SystemExit(f"{name}: none of {len(runs)} runs has started: {dict(states)}")
    return {
        "runs": len(runs),
        "started": len(own),
        **_figures(own),
        "steps": {"runs": len(ones) + len(twos), "started": len(late_steps), **_figures(late_steps)},
        "ended": dict(states),
    }


def main() -> int:
    """Measure, and print the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenants", type=positive, default=4, help="hostile tenants")
    parser.add_argument("--calls", type=positive, default=10, help="slow jobs of each, and as many in a workflow")
    parser.add_argument("--call-seconds", type=positive, default=55, help="how long each of them takes")
    parser.add_argument("--runs", type=positive, default=40, help="runs of the quiet tenant that are measured")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    given = parser.parse_args()
    plan = Plan(given.tenants, given.calls, given.call_seconds, given.runs)
    with deployed(plan.tenants) as stage:
        stage.have_seats(EVERY_SEAT)
        before = measure(stage, plan, NAMES[0])
        stage.have_seats(SEATS)
        now = measure(stage, plan, NAMES[1])
    figures = {
        "tenants": plan.tenants,
        "calls": plan.calls,
        "call_seconds": plan.seconds,
        "seats": SEATS,
        "quiet_without_seats_seconds": before,
        "quiet_with_seats_seconds": now,
    }
    kept = {
        "quiet_p99_within_5_s_with_seats": now["p99"] <= BAR_SECONDS,
        "quiet_steps_p99_within_5_s_with_seats": now["steps"]["p99"] <= BAR_SECONDS,
        "quiet_runs_started_with_seats": now["started"] >= 0.9 * plan.runs,
        "quiet_steps_started_with_seats": now["steps"]["started"] >= 0.9 * plan.runs,
    }
    document = {**about("slow", ["ministack"]), **figures, "budgets": kept}
    table = "\n".join(f"{name:32} {value}" for name, value in {**figures, **kept}.items())
    print(json.dumps(document, indent=2) if given.json else table)
    return 0 if all(kept.values()) else 1


def _instant(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _at(at: datetime) -> str:
    return f"at({at:%Y-%m-%dT%H:%M:%S})"


def _read(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()


def _figures(given: list[float]) -> dict[str, float]:
    late = sorted(given)
    return {
        "p50": round(late[len(late) // 2], 3),
        "p99": round(late[int(len(late) * 0.99)], 3),
        "max": round(late[-1], 3),
    }


if __name__ == "__main__":
    sys.exit(main())
