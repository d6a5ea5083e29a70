"""Simulate the starts of a quiet tenant while others keep workers busy with slow calls, without and with seats.

    python -m benchmarks.seats [--minutes 30] [--seed 1] [--json]

Simulates lane `normal` of stage prod with its default settings, message by message (benchmarks/seats/model.py). Every
job fires once a minute. The quiet tenant has as many jobs as seats, with calls of half a second. Hostile tenants have
up to their quota of jobs, with calls of 55 s or of 89 s (the maximum in this lane), all due in the same second or
spread over the minute.

The status is 1 unless the quiet tenant's p99 stays within 5 s with the maximum number of hostile tenants for which
there are seats. Cases without this guarantee are measured too: one more hostile tenant, and the jobs of a tenant with
more jobs than seats. The steps of workflows are also measured: all tenants have workflows of five steps, one after
another. `python -m benchmarks.slow` measures jobs on the local stack.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.about import about
from benchmarks.arguments import positive
from benchmarks.seats.model import Lane, Tenant, lateness
from infra.stages import stage_named

BAR_SECONDS = 5.0
QUIET_SECONDS = 0.5
CALLS = (55.0, 89.0)
CHAIN = 6
"""A workflow's own job and its five steps."""

JOBS = (30, 100, 300, 1_000)


def cases(minutes: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield each combination: the quiet tenant's lateness without and with seats."""
    prod = stage_named("prod")
    config = prod.lanes["normal"]
    before = Lane(config.most_concurrent, config.batch_size, None)
    now = Lane(config.most_concurrent, config.batch_size, config.seats)
    room = (config.most_concurrent - 1) // config.seats
    combinations = [(1, jobs, seconds, spread) for jobs in JOBS for seconds in CALLS for spread in (False, True)]
    combinations += [(1, prod.limits.job_quota, CALLS[-1], spread) for spread in (False, True)]
    combinations += [(hostile, 300, CALLS[-1], spread) for hostile in (2, room, room + 1) for spread in (False, True)]
    for hostile, jobs, seconds, spread in combinations:
        others = [Tenant(f"hostile {number}", jobs, seconds, spread) for number in range(hostile)]
        quiet = Tenant("quiet", config.seats, QUIET_SECONDS)
        yield {
            "hostile_tenants": hostile,
            "jobs_each": jobs,
            "call_seconds": seconds,
            "due": "over the minute" if spread else "in one second",
            "quiet_before_seconds": _figures(lateness(before, [quiet, *others], "quiet", minutes=minutes, seed=seed)),
            "quiet_with_seats_seconds": _figures(lateness(now, [quiet, *others], "quiet", minutes=minutes, seed=seed)),
            "within_the_seats": hostile <= room,
        }


def steps(minutes: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the lateness of a quiet tenant's steps: in the bulk queue (as in earlier releases), and with seats. The
    hostile tenants have workflows too.
    """
    config = stage_named("prod").lanes["normal"]
    before = Lane(config.most_concurrent, config.batch_size, 0)
    now = Lane(config.most_concurrent, config.batch_size, config.seats)
    room = (config.most_concurrent - 1) // config.seats
    for hostile, spread in ((each, spread) for each in (1, room) for spread in (False, True)):
        others = [Tenant(f"hostile {number}", 300, CALLS[-1], spread, CHAIN) for number in range(hostile)]
        tenants = [Tenant("quiet", config.seats, QUIET_SECONDS, chain=CHAIN), *others]
        yield {
            "hostile_tenants": hostile,
            "jobs_each": 300,
            "call_seconds": CALLS[-1],
            "due": "over the minute" if spread else "in one second",
            "quiet_before_seconds": _figures(lateness(before, tenants, "quiet", minutes=minutes, seed=seed)),
            "quiet_with_seats_seconds": _figures(lateness(now, tenants, "quiet", minutes=minutes, seed=seed)),
            "within_the_seats": True,
        }


def bulk(minutes: int, seed: int) -> dict[str, Any]:
    """Return the lateness of runs without a seat, which seats do not change: of a tenant with many jobs, together with
    a hostile tenant.
    """
    config = stage_named("prod").lanes["normal"]
    lane = Lane(config.most_concurrent, config.batch_size, 0)
    tenants = [Tenant("large", 270, QUIET_SECONDS), Tenant("hostile", 270, CALLS[-1])]
    return _figures(lateness(lane, tenants, "large", minutes=minutes, seed=seed))


def main() -> int:
    """Simulate, and print the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=positive, default=30, help="how long the jobs fire, each time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    given = parser.parse_args()
    found = list(cases(given.minutes, given.seed))
    of_steps = list(steps(given.minutes, given.seed))
    kept = {"quiet_p99_within_5_s_with_seats": _within(found), "quiet_steps_p99_within_5_s": _within(of_steps)}
    document = {
        **about("seats", ["boto3"]),
        "minutes": given.minutes,
        "seed": given.seed,
        "cases": found,
        "steps": of_steps,
        "runs_without_a_seat_beside_a_hostile_tenant_seconds": bulk(given.minutes, given.seed),
        "budgets": kept,
    }
    print(json.dumps(document, indent=2) if given.json else _table(document))
    return 0 if all(kept.values()) else 1


def _within(found: list[dict[str, Any]]) -> bool:
    late: list[float] = [case["quiet_with_seats_seconds"]["p99"] for case in found if case["within_the_seats"]]
    return max(late) <= BAR_SECONDS


def _figures(late: list[float]) -> dict[str, float]:
    def at(part: float) -> float:
        return round(late[min(int(len(late) * part), len(late) - 1)], 2)

    return {"runs": len(late), "p50": at(0.5), "p99": at(0.99), "max": at(1.0)}


def _table(document: dict[str, Any]) -> str:
    heads = ("hostile", "jobs", "call", "due", "before: p50", "p99", "seats: p50", "p99")
    lines = ["{:>8} {:>6} {:>5}  {:16} {:>11} {:>6} {:>11} {:>6}".format(*heads)]
    for case in [*document["cases"], *document["steps"]]:
        before, now = case["quiet_before_seconds"], case["quiet_with_seats_seconds"]
        lines.append(
            f"{case['hostile_tenants']:8} {case['jobs_each']:6} {case['call_seconds']:5.0f}  {case['due']:16} "
            f"{before['p50']:11} {before['p99']:6} {now['p50']:11} {now['p99']:6}"
            + ("" if case["within_the_seats"] else "  (more than the seats leave room for)")
            + ("  (steps of workflows)" if case in document["steps"] else "")
        )
    lines.append(f"without a seat: {document['runs_without_a_seat_beside_a_hostile_tenant_seconds']}")
    return "\n".join(
        [*lines, *(f"{name}: {'kept' if kept else 'MISSED'}" for name, kept in document["budgets"].items())]
    )


if __name__ == "__main__":
    sys.exit(main())
