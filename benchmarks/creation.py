"""Count the write units of one `POST /v1/jobs` on tables in this process.

    python -m benchmarks.creation [--json]

Each case first creates two hundred jobs of the tenant, and then counts twenty creations by the API. A figure is the
mean of the twenty, and includes the writes of the tenant's token bucket and job count. The figures are counted, so they
are the same on any machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from benchmarks.about import about
from benchmarks.wire.metered import Metered
from duecourse.domain.jobs.job import Lane
from duecourse.testing.clock import SettableClock
from tests.support import in_process
from tests.support.api import BODY, ApiClient, api_settings
from tests.support.api_events import json_event
from tests.support.jobs import NOON
from tests.support.tables import create_tables

BEFORE, COUNTED, BATCH = 200, 20, 100
SEATS, QUOTA = 30, 10_000
HEADER = "idempotency-key"

DAILY = BODY | {"schedule": "30 2 * * *"}
ONE_OFF = BODY | {"schedule": "at(2026-12-24T18:00:00)"}
TAGS = [f"tag-{number}" for number in range(3)]

CASES: Mapping[str, tuple[dict[str, Any], bool, bool]] = {
    "daily, without a seat": (DAILY, False, False),
    "daily, with a seat": (DAILY, True, False),
    "one-off, without a seat": (ONE_OFF, False, False),
    "daily, with a seat and an Idempotency-Key": (DAILY, True, True),
    "daily, with a seat, an Idempotency-Key, three tags and a payload of 5 KB": (
        DAILY | {"tags": TAGS, "payload": "x" * 5_000},
        True,
        True,
    ),
}
"""By case: the body, whether seats are free, and whether each request has an Idempotency-Key."""


def measure(body: dict[str, Any], *, seated: bool, keyed: bool) -> dict[str, float]:
    """Return the write units of one creation, in total and by kind of item."""
    api, client = _api(seats=SEATS if seated else 1)
    unseated = DAILY | {"schedule": "* 2 * * *", "timeout_seconds": 60, "overlap": "allow"}
    for number in range(BEFORE):  # the tenant's counters are stocked
        _create(api, unseated | {"id": f"earlier-{number:04d}"})
    client.clear()
    for number in range(COUNTED):
        _create(api, body | {"id": f"job-{number:04d}"}, {HEADER: f"key-{number}"} if keyed else {})
    return _figures(client, COUNTED)


def _create(api: ApiClient, body: dict[str, Any], headers: Mapping[str, str] = MappingProxyType({})) -> None:
    answer = api.send(json_event("POST", "/v1/jobs", body, headers=headers))
    if answer.status != 201:
        raise AssertionError(f"{answer.status}: {answer.text}")


def measure_batch(body: dict[str, Any]) -> dict[str, float]:
    """Return the write units per job of a batch of a hundred jobs without seats, and the requests of the batch."""
    api, client = _api(seats=1)
    for batch in range(BEFORE // BATCH + 1):
        client.clear()
        _batch(api, body, batch)
    return {**_figures(client, BATCH), "requests": client.requests.total()}


def _batch(api: ApiClient, body: dict[str, Any], batch: int) -> None:
    jobs = [body | {"id": f"batch-{batch}-{number:03d}"} for number in range(BATCH)]
    answer = api.post({"jobs": jobs}, "/v1/jobs/batch")
    if answer.status not in (200, 201):
        raise AssertionError(f"{answer.status}: {answer.text}")


def _api(seats: int) -> tuple[ApiClient, Metered]:
    tables = create_tables(in_process.dynamodb())
    client = Metered(tables.client)
    metered = replace(tables, client=client)
    clock = SettableClock(NOON)
    stores: dict[str, Any] = {
        "counters": metered.limits(),
        "timers": metered.timers(),
        "clock": clock,
        "settings": api_settings(seats=dict.fromkeys(Lane, seats), job_quota=QUOTA),
    }
    return ApiClient(metered.job_store(clock), metered.run_store(), **stores), client


def _figures(client: Metered, jobs: int) -> dict[str, float]:
    kinds: Counter[str] = client.units
    return {
        "write_units": round(kinds.total() / jobs, 1),
        **{name.lower().replace(" ", "_"): round(units / jobs, 2) for name, units in sorted(kinds.items())},
    }


def main(arguments: list[str]) -> int:
    """Measure, and print the result. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.creation", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    cases = {name: measure(body, seated=seated, keyed=keyed) for name, (body, seated, keyed) in CASES.items()}
    cases["daily, in a batch of 100, without a seat"] = measure_batch(DAILY)
    if given.json:
        print(json.dumps({**about("creation", ["ministack"]), "cases": cases, "budgets": {}}, indent=2))
    else:
        for name, case in cases.items():
            print(f"{name:76}{case['write_units']:6g} write units")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
