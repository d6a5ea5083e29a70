"""Runs that wait, are cancelled, die and are redriven, over HTTP on the real stack."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from duecourse.cli.local.emulator import aws
from duecourse.cli.terminal import CliError
from duecourse.client.models import Job, Run
from duecourse.worker import Worker, WorkerRun
from tests.support.deployed import SOON_ONCE
from tests.support.waiting import PATIENCE_SECONDS, awaited

from .conftest import System, at, run_in

WORKED = "duecourse-target-worked"
LATER = "duecourse-target-later"
ENDS = ("SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED")
MANY = 5_000  # numbers that as JSON are no longer kept in the record


@pytest.fixture(scope="module")
def sqs(system: System) -> Any:
    return aws.client(system.stack.endpoint, "sqs")


@pytest.fixture(scope="module")
def posted(system: System, sqs: Any) -> dict[str, Job]:
    """Three jobs, posted together since their instants take real time to come."""
    sqs.create_queue(QueueName=WORKED)
    documents: tuple[dict[str, Any], ...] = (
        {
            "id": "worked-on",
            **SOON_ONCE,
            "target": {"type": "sqs", "queue": WORKED},
            "payload": {"numbers": MANY},
            "completion": "callback",
            "completion_seconds": 600,
            "heartbeat_seconds": 300,
        },
        {"id": "too-soon", **SOON_ONCE, "target": {"type": "sqs", "queue": LATER}, "retry": {"max_attempts": 1}},
        {
            "id": "unwanted",
            "schedule": at(datetime.now(UTC) + timedelta(seconds=110)),
            "target": {"type": "http", "url": system.receiver.url + "/ok"},
        },
    )
    return {job.id: job for job in map(system.client.create_job, documents)}


@pytest.fixture(scope="module")
def ended(system: System, posted: dict[str, Job]) -> Callable[[str], Run]:
    """How the only run of a job ends."""
    return lambda job_id: awaited(f"the end of {job_id}'s run", run_in(system, job_id, *ENDS))


def test_runs_cancelled_in_the_queue_are_never_called(
    system: System, posted: dict[str, Job], ended: Callable[[str], Run]
) -> None:
    (queued,) = system.client.list_runs("unwanted").items
    assert queued.state == "QUEUED"
    assert system.client.cancel_run(queued.id).run.id == queued.id
    run = ended("unwanted")
    assert (run.state, run.attempts, run.document["started_at"]) == ("CANCELLED", 0, None)
    assert system.log.of_run(run.id) == ()


def test_runs_are_completed_by_external_workers_and_large_results_are_fetched_by_link(
    system: System, sqs: Any, posted: dict[str, Job], ended: Callable[[str], Run]
) -> None:
    worker = Worker(WORKED, client=system.client, sqs=sqs)
    worked: list[WorkerRun] = []

    @worker.task
    def count(run: WorkerRun) -> object:
        worked.append(run)
        run.heartbeat()
        return {"numbers": list(range(run.payload["numbers"]))}

    assert awaited("the wait for the worker", run_in(system, "worked-on", "WAITING", *ENDS)).state == "WAITING"
    assert awaited("the message", lambda: worker.run_once() or None) == 1
    run = ended("worked-on")
    assert (run.state, run.attempts) == ("SUCCEEDED", 1)
    assert [each.run_id for each in worked] == [run.id]
    document = system.client.get_run(run.id).document
    assert document["result"] is None
    answer = httpx.get(document["result_url"], timeout=PATIENCE_SECONDS, trust_env=False)
    assert answer.json() == {"numbers": list(range(MANY))}
    assert len(answer.content) == document["result_bytes"]


def test_runs_that_died_are_listed_and_redriven_once_the_cause_is_fixed(
    system: System, sqs: Any, posted: dict[str, Job], ended: Callable[[str], Run]
) -> None:
    dead = ended("too-soon")
    assert (dead.state, dead.attempts) == ("DEAD", 1)
    assert dead.code is not None
    assert "NonExistentQueue" in dead.code
    assert [run.id for run in system.client.list_dead_runs(job_id="too-soon").items] == [dead.id]
    assert dead.id in {run.id for run in system.client.list_dead_runs().items}
    queue_url = sqs.create_queue(QueueName=LATER)["QueueUrl"]
    assert system.client.redrive_run(dead.id).run.state == "DEAD"
    run = awaited("the redriven run's end", run_in(system, "too-soon", "SUCCEEDED", "CANCELLED"))
    assert (run.id, run.state, run.attempts) == (dead.id, "SUCCEEDED", 2)
    assert system.client.list_dead_runs(job_id="too-soon").items == ()
    (message,) = sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=10)["Messages"]
    assert dead.id in message["Body"]


def test_local_logs_of_an_unknown_function_list_the_functions(system: System) -> None:
    with pytest.raises(CliError, match=r"no function is named nope; the functions are .*ExecuteNormal"):
        list(aws.logged(system.stack.endpoint, "nope", 1))
