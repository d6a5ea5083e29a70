"""Measure one tenant's response times on the local stack, without and during a flood by another tenant.

    python -m benchmarks.flood [--seconds 10] [--callers 6] [--limit 20] [--json]

Deploys stage local with a JWT authorizer and an issuer on loopback (as tests/e2e/test_tokens.py does), with --limit
requests a second for each tenant. Tenant `quiet` requests its jobs five times a second. Then tenant `flood` sends
requests as fast as they are answered, with --callers callers, while `quiet` continues. The result has the latencies of
the quiet tenant in both phases, and the number of admitted requests of the flood. A rejected request still costs an
invocation on this machine's processors, which the quiet tenant shares here but not on AWS. There, API Gateway's
throttle also limits these requests.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any

import httpx

from benchmarks.about import about
from benchmarks.arguments import positive
from tests.support.deployed import Template, deploy
from tests.support.emulators import ministack
from tests.support.issuer import AUDIENCE, issuing

PACE_SECONDS = 0.2
WARM_SECONDS = 15.0


def main() -> int:
    """Measure, and print the result. Return 1 if a request of the quiet tenant failed or the flood exceeded
    its limit.
    """
    given = _arguments()
    with TemporaryDirectory(prefix="duecourse-flood-") as name:
        folder = Path(name)
        (folder / "ministack").mkdir()
        print("deploying ...", file=sys.stderr)
        with issuing() as issuer, ministack(folder / "ministack") as endpoint:
            outputs = deploy(
                endpoint,
                lambda template: _limit(template, given.limit),
                issuer=issuer.url,
                audience=AUDIENCE,
            )
            url = f"{endpoint}/_aws/execute-api/{outputs['ApiId']}/$default/v1/jobs"
            quiet, flood = (issuer.token(tenant, "jobs:read") for tenant in ("quiet", "flood"))
            warm(url, issuer.token("warm", "jobs:read"), given.callers + 2)
            alone, _ = ask(url, quiet, given.seconds)
            stop = Event()
            with ThreadPoolExecutor(given.callers) as threads:
                callers = [threads.submit(pour, url, flood, stop) for _ in range(given.callers)]
                begun = time.monotonic()
                under, answers = ask(url, quiet, given.seconds)
                lasted = time.monotonic() - begun
                stop.set()
                poured = sum((caller.result() for caller in callers), Counter[int]())
    figures = {
        "quiet_alone_seconds": _figures(alone),
        "quiet_under_the_flood_seconds": _figures(under),
        "quiet_answers": dict(answers),
        "flood_answers": dict(poured),
        "flood_let_in_per_second": round(poured[200] / lasted, 1),
        "limit_per_second": given.limit,
    }
    kept = {
        "quiet_requests_all_answered": set(answers) == {200},
        "flood_let_in_within_its_limit": poured[200] <= given.limit * (lasted + 5) + 2 * given.limit,
    }
    document = {**about("flood", ["ministack"]), **figures, "budgets": kept}
    print(json.dumps(document, indent=2) if given.json else _table(figures))
    return 0 if all(kept.values()) else 1


def warm(url: str, token: str, instances: int) -> None:
    """Start the function's instances. Otherwise cold starts, which share this machine's processors, would
    be measured.
    """
    stop = Event()
    with ThreadPoolExecutor(instances) as threads:
        callers = [threads.submit(pour, url, token, stop) for _ in range(instances)]
        ask(url, token, WARM_SECONDS)
        stop.set()
        for caller in callers:
            caller.result()


def ask(url: str, token: str, seconds: float) -> tuple[list[float], Counter[int]]:
    """Send requests at a steady pace. Return the duration of each response, and the counts of their statuses."""
    took: list[float] = []
    answers: Counter[int] = Counter()
    end = time.monotonic() + seconds
    with _client(token) as http:
        while (begun := time.monotonic()) < end:
            answers[http.get(url).status_code] += 1
            took.append(time.monotonic() - begun)
            time.sleep(max(PACE_SECONDS - took[-1], 0))
    return took, answers


def pour(url: str, token: str, stop: Event) -> Counter[int]:
    """Send requests as fast as they are answered."""
    answers: Counter[int] = Counter()
    with _client(token) as http:
        while not stop.is_set():
            answers[http.get(url).status_code] += 1
    return answers


def _client(token: str) -> httpx.Client:
    return httpx.Client(trust_env=False, timeout=30, headers={"Authorization": f"Bearer {token}"})


def _limit(template: Template, limit: int) -> None:
    """Set the limit of the API function, which is lower than that of stage local."""
    for resource in template["Resources"].values():
        variables: dict[str, Any] = (
            resource.get("Properties", {}).get("Environment", {}).get("Variables", {})
            if resource["Type"] == "AWS::Lambda::Function"
            else {}
        )
        if "DUECOURSE_REQUESTS_PER_SECOND" in variables:
            variables |= {"DUECOURSE_REQUESTS_PER_SECOND": str(limit), "DUECOURSE_BURST": str(2 * limit)}


def _figures(took: list[float]) -> dict[str, float]:
    ranked = sorted(took)
    return {
        "requests": len(ranked),
        "p50": round(median(ranked), 4),
        "p95": round(ranked[int(len(ranked) * 0.95)], 4),
        "max": round(ranked[-1], 4),
    }


def _table(figures: dict[str, Any]) -> str:
    return "\n".join(f"{name:32} {value}" for name, value in figures.items())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long to measure, each time")
    parser.add_argument("--callers", type=positive, default=6, help="callers of the flood")
    parser.add_argument("--limit", type=positive, default=20, help="requests a second for each tenant")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
