"""Where the lateness of runs came from that wait for a rate more than once, or also for another run."""

from typing import Any

import pytest

from duecourse.testing import Scheduler


def limited(scheduler: Scheduler, job_id: str, schedule: str, **more: Any) -> None:
    job = {"id": job_id, "schedule": schedule, "target": {"type": "http", "url": "https://example.com/hook"}}
    scheduler.client.create_job(job | {"rate": {"per_minute": 1, "burst": 1, "key": "mail"}} | more)


def delays_in(scheduler: Scheduler, job_id: str, until: str) -> dict[str, float]:
    """The delays of the newest run of a job."""
    scheduler.advance_to(until)
    run = scheduler.client.get_run(scheduler.client.list_runs(job_id).items[0].id)
    assert run.delays is not None
    document: dict[str, float] = run.delays.document
    assert sum(document.values()) == pytest.approx(run.lateness_seconds)
    return document


def test_delays_of_a_run_whose_second_attempt_waits_too_are_those_of_its_first_wait() -> None:
    with Scheduler("2026-03-01T00:00:00Z") as scheduler:
        limited(scheduler, "first", "0 12 * * *")
        limited(scheduler, "late", "0 12 * * *", retry={"max_attempts": 3, "min_seconds": 1, "max_seconds": 1})
        scheduler.answer("late", status=503)
        found = delays_in(scheduler, "late", "2026-03-01T12:10:00Z")
    assert found == {"dispatch": 0, "queue": 0, "waiting": 60, "start": 0}


def test_delays_of_a_run_that_waited_for_another_and_then_for_a_rate_are_both_waits() -> None:
    with Scheduler("2026-03-01T00:00:00Z") as scheduler:
        limited(scheduler, "other", "28-30 12 * * *")
        limited(
            scheduler,
            "late",
            "0,5 12 * * *",
            overlap="queue",
            completion="callback",
            completion_seconds=1800,
            retry={"max_attempts": 1},
        )
        found = delays_in(scheduler, "late", "2026-03-01T13:30:00Z")
    assert (found["queue"], found["waiting"] > 1500) == (0, True)
