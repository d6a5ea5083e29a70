"""Slow targets of one tenant: how late another tenant's runs start on the local stack, without seats and with them.

    python -m benchmarks.slow [--calls 10] [--call-seconds 55] [--runs 40] [--json]

Deploys stage local with a JWT authorizer and an issuer on loopback, as benchmarks/flood.py does. Tenant `quiet` has
one job that fires every two seconds. Tenant `hostile` has --calls jobs, due one second after the other, each of whose
calls takes --call-seconds; lane `normal` has four workers for each of its queues here. That is measured twice: with so
many seats that every job has one, which is as it was before there were seats, and with stage local's own number. Every
figure comes from the records of the quiet tenant's runs. The status is 1 unless its p99 stays within 5 s with seats.
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
from infra.stages import stage_named
from tests.support.deployed import deploy
from tests.support.emulators import client, ministack
from tests.support.issuer import AUDIENCE, issuing

BAR_SECONDS = 5.0
EVERY_SEAT = 100
EVERY = 2
"""Seconds between two runs of the quiet tenant's job."""

SCOPES = "jobs:read jobs:write"
WHO, NAMES = ("quiet", "hostile"), ("before", "seats")
"""Each measurement has tenants of its own, whose seats are all free."""

AHEAD = timedelta(seconds=20)
"""How long before its first run the quiet tenant's job is created: the API and the workers start cold."""

HEAD_START = timedelta(seconds=15)
"""How long the quiet tenant's job fires before the hostile ones."""


@dataclass(frozen=True, slots=True)
class Plan:
    """So many calls of `seconds` by the hostile tenant, so many `runs` of the quiet one."""

    calls: int
    seconds: int
    runs: int


@dataclass(frozen=True, slots=True)
class Stage:
    """The deployed stage, as both tenants see it."""

    endpoint: str
    api: str
    function: str
    receiver: str
    tokens: dict[str, str]

    def have_seats(self, seats: int) -> None:
        """Give each tenant so many in lane `normal`."""
        functions = client("lambda", self.endpoint)
        variables = functions.get_function_configuration(FunctionName=self.function)["Environment"]["Variables"]
        variables |= {"DUECOURSE_SEAT_NORMAL": str(seats)}
        functions.update_function_configuration(FunctionName=self.function, Environment={"Variables": variables})

    def create(self, tenant: str, job_id: str, schedule: str, seconds: int, **more: Any) -> None:
        """One job whose call takes so long."""
        target = {"type": "http", "url": f"{self.receiver}{OK_PATH}?seconds={seconds}"}
        body = {"id": job_id, "schedule": schedule, "target": target, "timeout_seconds": 80, **more}
        self._ask("POST", "/v1/jobs", tenant, json=body)

    def runs(self, tenant: str, job_id: str) -> list[dict[str, Any]]:
        """The runs of a tenant's job."""
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
def deployed() -> Iterator[Stage]:
    """The local stage with tokens for both tenants, and a receiver for their calls."""
    with TemporaryDirectory(prefix="duecourse-slow-") as name, Receiver(CallLog()) as receiver:
        folder = Path(name)
        (folder / "ministack").mkdir()
        print("deploying ...", file=sys.stderr)
        with issuing() as issuer, ministack(folder / "ministack") as endpoint:
            outputs = deploy(endpoint, issuer=issuer.url, audience=AUDIENCE)
            yield Stage(
                endpoint=endpoint,
                api=f"{endpoint}/_aws/execute-api/{outputs['ApiId']}/$default",
                function=outputs["ApiFunction"],
                receiver=receiver.url,
                tokens={f"{who}-{name}": issuer.token(f"{who}-{name}", SCOPES) for who in WHO for name in NAMES},
            )


def measure(stage: Stage, plan: Plan, name: str) -> dict[str, Any]:
    """Let both tenants' jobs fire; how late the quiet one's runs started, without the first ones, which start cold."""
    print(f"{name}: {plan.calls} calls of {plan.seconds} s", file=sys.stderr)
    first = whole_second(AHEAD)
    begin = first + HEAD_START
    stage.create(f"quiet-{name}", "quiet", f"rate({EVERY} seconds)", 0, start=_instant(first))
    for number in range(plan.calls):
        at = f"at({begin + timedelta(seconds=number):%Y-%m-%dT%H:%M:%S})"
        stage.create(f"hostile-{name}", f"slow-{number}", at, plan.seconds)
    over = begin + timedelta(seconds=EVERY * plan.runs)
    ends = max(over, begin + timedelta(seconds=2 * plan.seconds)) + timedelta(
        seconds=20
    )  # those that waited, and a rest
    while datetime.now(UTC) < ends:
        time.sleep(1)
    measured = [run for run in stage.runs(f"quiet-{name}", "quiet") if _instant(begin) <= run["due"] < _instant(over)]
    late = sorted(run["lateness_seconds"] for run in measured if run.get("lateness_seconds") is not None)
    ended = Counter(f"{run['state']} {run.get('reason') or ''}".strip() for run in measured)
    if not late:
        raise SystemExit(f"{name}: none of {len(measured)} runs has started: {dict(ended)}")
    return {"runs": len(measured), "started": len(late), **_figures(late), "ended": dict(ended)}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=positive, default=10, help="slow calls of the hostile tenant")
    parser.add_argument("--call-seconds", type=positive, default=55, help="how long each of them takes")
    parser.add_argument("--runs", type=positive, default=40, help="runs of the quiet tenant that are measured")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    given = parser.parse_args()
    plan = Plan(given.calls, given.call_seconds, given.runs)
    own = stage_named("local").lanes["normal"].seats
    with deployed() as stage:
        stage.have_seats(EVERY_SEAT)
        before = measure(stage, plan, NAMES[0])
        stage.have_seats(own)
        now = measure(stage, plan, NAMES[1])
    figures = {
        "calls": plan.calls,
        "call_seconds": plan.seconds,
        "seats": own,
        "quiet_without_seats_seconds": before,
        "quiet_with_seats_seconds": now,
    }
    kept = {
        "quiet_p99_within_5_s_with_seats": now["p99"] <= BAR_SECONDS,
        "quiet_runs_started_with_seats": now["started"] >= 0.9 * plan.runs,
    }
    document = {**about("slow", ["ministack"]), **figures, "budgets": kept}
    table = "\n".join(f"{name:32} {value}" for name, value in {**figures, **kept}.items())
    print(json.dumps(document, indent=2) if given.json else table)
    return 0 if all(kept.values()) else 1


def _instant(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _figures(late: list[float]) -> dict[str, float]:
    return {
        "p50": round(late[len(late) // 2], 3),
        "p99": round(late[int(len(late) * 0.99)], 3),
        "max": round(late[-1], 3),
    }


if __name__ == "__main__":
    sys.exit(main())
