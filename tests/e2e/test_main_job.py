"""A job posted over HTTP fires on its second, on the real stack; one that always fails dies and says so."""

from datetime import UTC, datetime, timedelta

import pytest

from duecourse.cli.local.demo.dead_letters import LocalDeadLetters, dead_run_ids
from duecourse.cli.local.demo.receiver import FAIL_PATH, OK_PATH
from duecourse.client import ApiError
from duecourse.client.models import Job, Run
from tests.support.deployed import SOON_ONCE
from tests.support.waiting import awaited

from .conftest import System, at, run_in


@pytest.fixture(scope="module")
def posted(system: System) -> dict[str, Job]:
    """Three jobs, posted together since their instants take real time to come."""
    soon = at(datetime.now(UTC) + timedelta(seconds=15))  # so long the request may take
    works = {"type": "http", "url": system.receiver.url + OK_PATH}
    fails = {"type": "http", "url": system.receiver.url + FAIL_PATH}
    retry = {"max_attempts": 2, "backoff": "fixed", "min_seconds": 1, "max_seconds": 1}
    documents = (
        {"id": "once", "schedule": soon, "target": works, "payload": {"hello": "world"}},
        {"id": "ticking", "schedule": "rate(10 seconds)", "target": works, "overlap": "allow"},
        {"id": "doomed", **SOON_ONCE, "target": fails, "retry": retry},
    )
    return {job.id: job for job in map(system.client.create_job, documents)}


def test_job_lifecycle_one_off_runs_on_its_second_exactly_once(system: System, posted: dict[str, Job]) -> None:
    instant = posted["once"].next_occurrence
    assert instant is not None
    run = awaited("the end of the run", run_in(system, "once", "SUCCEEDED", "DEAD", "SKIPPED"))
    assert (run.state, run.attempts, run.occurrence) == ("SUCCEEDED", 1, instant)
    assert run.lateness_seconds is not None
    assert run.lateness_seconds >= 0
    (call,) = system.log.of_run(run.id)
    assert call.arrived_at >= instant


def test_job_lifecycle_always_failing_run_dies_is_announced_and_enters_the_dead_letter_queue(
    system: System, posted: dict[str, Job]
) -> None:
    dead = awaited("the death", run_in(system, "doomed", "DEAD"))
    letters = LocalDeadLetters(system.stack.endpoint, system.stack.outputs.dead_letter_queue_url)
    topic = system.stack.outputs.deaths_topic_arn
    awaited("the notice", lambda: dead.id in dead_run_ids(system.log.notices, topic) or None)
    awaited("the dead letter", lambda: letters.depth() or None)
    assert (dead.occurrence, dead.attempts) == (posted["doomed"].next_occurrence, 2)
    assert [(call.attempt, call.status) for call in system.log.of_run(dead.id)] == [(1, 500), (2, 500)]
    assert letters.waiting_jobs() == {"doomed"}
    assert letters.waiting_jobs() == {"doomed"}, "reading it has taken it away"


def test_job_lifecycle_ten_second_job_runs_once_at_each_instant(system: System, posted: dict[str, Job]) -> None:
    first = posted["ticking"].next_occurrence
    assert first is not None
    instants = [first + n * timedelta(seconds=10) for n in range(2)]

    def both() -> list[Run] | None:
        runs = {run.occurrence: run for run in system.client.list_runs("ticking", limit=100).items}
        found = [runs[instant] for instant in instants if instant in runs and runs[instant].is_final]
        return found if len(found) == len(instants) else None

    runs = awaited("two runs", both)
    system.client.delete_job("ticking")
    assert [run.state for run in runs] == ["SUCCEEDED", "SUCCEEDED"]
    for run in runs:
        (call,) = system.log.of_run(run.id)
        assert call.arrived_at >= run.occurrence


def test_job_lifecycle_restarted_stack_continues_where_it_stopped(system: System) -> None:
    instant = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=15)
    system.client.create_job(
        {"id": "kept", "schedule": at(instant), "target": {"type": "http", "url": system.receiver.url + OK_PATH}}
    )
    system.stack.ministack.stop()
    system.stack.ministack.start()
    system.stack.ministack.wait_until_ready()
    run = awaited("the end of the run", run_in(system, "kept", "SUCCEEDED", "DEAD", "SKIPPED"))
    assert run.state == "SUCCEEDED"
    (call,) = system.log.of_run(run.id)
    assert call.arrived_at >= instant


def test_job_lifecycle_invalid_job_is_refused_with_the_field(system: System) -> None:
    with pytest.raises(ApiError) as caught:
        system.client.create_job(
            {"id": "wrong", "schedule": "61 * * * *", "target": {"type": "http", "url": "http://x"}}
        )
    assert caught.value.status == 422
    assert "schedule" in str(caught.value)
