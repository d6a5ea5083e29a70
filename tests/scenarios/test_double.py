"""The scheduler of duecourse.testing calls what a stage over real tables calls, at the same instants."""

from datetime import UTC, datetime
from typing import Any

from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.limits import WORKER_SECONDS
from duecourse.ports import Call
from duecourse.testing import Scheduler
from tests.support.api import HTTP_TARGET, ApiClient
from tests.support.jobs import NOON
from tests.support.tables import Tables
from tests.support.world import World

HOURS = 3
FAILING = {"retried", "patient", "low"}
WAITING = {"completion": "callback", "completion_seconds": 1500}

JOBS: dict[str, dict[str, Any]] = {
    "often": {"schedule": "*/17 * * * *"},
    "fast": {"schedule": "rate(45 seconds)", "end": "2026-11-21T12:10:00Z"},
    "several": {
        "schedule": ["*/25 * * * *", "rate(40 minutes)", "at(2026-11-21T13:15:00)"],
        "timezone": "Asia/Kolkata",
    },
    "spread": {"schedule": "0 * * * *", "jitter_seconds": 1200},
    "thrice": {"schedule": "*/20 * * * *", "max_runs": 3},
    "but": {"schedule": "0 * * * *", "exclude": ["2026-11-21T14:00:00Z"]},
    "retried": {"schedule": "0 13,15 * * *", "retry": {"max_attempts": 5}},
    "patient": {"schedule": "5 12 * * *", "retry": {"min_seconds": 3600, "max_seconds": 3600}},
    "lost": {"schedule": "0 13 * * *", **WAITING},
    "queued": {"schedule": "*/10 12 * * *", "overlap": "queue", "retry": {"max_attempts": 1}, **WAITING},
    "over": {"schedule": "*/10 12 * * *", "overlap": "skip", "retry": {"max_attempts": 1}, **WAITING},
    "shares": {"schedule": "0,1,2 12 * * *", "overlap": "allow", "concurrency": {"key": "crm", "limit": 1}, **WAITING},
    "high": {"schedule": "*/30 * * * *", "priority": "high"},
    "long": {"schedule": "*/40 * * * *", "timeout_seconds": 600},
    "low": {"schedule": "0 14 * * *", "priority": "low"},
}
"""What the API is posted, by id. Targets of FAILING answer 500, the others 200."""

Made = list[tuple[str, int, float]]
"""Run, attempt and instant (UTC seconds) of each call."""


def by_job(made: Made) -> dict[str, Made]:
    return {job_id: sorted(call for call in made if call[0].startswith(f"{job_id}.")) for job_id in JOBS}


def in_memory() -> Made:
    with Scheduler(now=datetime.fromtimestamp(NOON, UTC)) as scheduler:
        for job_id, job in JOBS.items():
            scheduler.client.create_job(job | {"id": job_id, "target": HTTP_TARGET})
            scheduler.answer(job_id, status=500 if job_id in FAILING else 200)
        fired = scheduler.advance(hours=HOURS)
    return [(call.run_id, call.attempt, call.at.timestamp()) for call in fired]


def over_tables(tables: Tables) -> Made:
    def answer(call: Call) -> Outcome:
        return Failed("no", code="http.500") if call.job.id in FAILING else Returned()

    world = World(tables)
    world.caller.answer = answer
    world.lease_seconds = WORKER_SECONDS["long"]
    api = ApiClient.of(world)
    for job_id, job in JOBS.items():
        assert api.post(job | {"id": job_id, "target": HTTP_TARGET}).status == 201
    world.until(NOON + HOURS * 3600)
    return world.caller.calls


def test_testing_scheduler_makes_the_same_calls_at_the_same_instants_as_a_stage(tables: Tables) -> None:
    made = by_job(in_memory())
    assert all(made.values())
    assert made == by_job(over_tables(tables))
