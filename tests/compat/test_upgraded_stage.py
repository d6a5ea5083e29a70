"""A stage that the previous release deployed is upgraded while messages and records of every kind are in flight.

The previous release's own template and functions are deployed on MiniStack (tests/support/release_stage.py) and have
jobs in every state that outlives a deployment. The present release's template then replaces them, as `make deploy`
does, and everything comes to its right end, exactly once.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import pytest

from duecourse.client import ApiUnreachableError, Client
from tests.support.deployed import SOON_ONCE, invoke, send
from tests.support.emulators import client, ministack
from tests.support.http_target import HttpTargetServer, Seen, answering, http_target
from tests.support.release_code import releases
from tests.support.release_stage import deploy_release
from tests.support.template import template
from tests.support.waiting import PATIENCE_SECONDS, awaited

PREVIOUS = releases()[-1]
HOURLY = {"schedule": "rate(1 hour)"}
WITH_TOKEN = {"headers": {"X-Token": "{{callback_token}}"}}
JOBS = ("waiting", "retrying", "dead", "queued", "delayed")
CALLBACK = {"completion": "callback", "completion_seconds": 600}


@dataclass
class Stage:
    """The deployed stage, and the target that its jobs call: `/broken` answers 500 until it is repaired."""

    endpoint: str
    outputs: dict[str, str]
    url: str
    api: Client
    target: HttpTargetServer

    def repair_target(self) -> None:
        self.target.behaviour = answering(200)

    def create(self, job_id: str, path: str = "/works", target: dict[str, Any] | None = None, **fields: Any) -> None:
        called = {"type": "http", "url": self.target.url(path), **(target or {})}
        self.api.create_job({"id": job_id, "target": called, **fields})

    def run_now(self, job_id: str) -> None:
        asked = httpx.post(f"{self.url}/v1/jobs/{job_id}/run", json={}, timeout=PATIENCE_SECONDS, trust_env=False)
        assert asked.status_code == 202, asked.text

    def states(self, job_id: str) -> list[str]:
        """The states of a job's runs as their records have them, in alphabetical order."""
        return sorted(item["state"]["S"] for item in self.records(job_id) if item["SK"]["S"].startswith("RUN#"))

    def records(self, job_id: str) -> list[dict[str, Any]]:
        """What the runs table has of a job."""
        dynamodb, key = client("dynamodb", self.endpoint), {":key": {"S": f"JOB#default#{job_id}"}}
        found = dynamodb.query(
            TableName=self.outputs["RunsTable"], KeyConditionExpression="PK = :key", ExpressionAttributeValues=key
        )
        items: list[dict[str, Any]] = found["Items"]
        return items

    def in_wait_queue(self, job_id: str) -> bool:
        """Whether a run of the job waits for another one, as the previous release notes it."""
        return any(item["SK"]["S"].startswith("QUEUE#") for item in self.records(job_id))

    def await_states(self, job_id: str, *states: str) -> None:
        awaited(f"{job_id}: {states}", lambda: self.states(job_id) == sorted(states))

    def calls(self, job_id: str) -> list[Seen]:
        """The calls of a job's target, in order."""
        return [seen for seen in self.target.seen if seen.headers["X-Duecourse-Job-Id"] == job_id]

    def complete(self, job_id: str) -> None:
        """Report the end of the run that was called last, with the token that it was called with."""
        called = self.calls(job_id)[-1].headers
        self.api.complete_run(called["X-Duecourse-Run-Id"], called["X-Token"], result={"rows": 3})

    def cursor(self, job_id: str) -> dict[str, Any]:
        key = {"PK": {"S": f"JOB#default#{job_id}"}, "SK": {"S": "CURSOR"}}
        table = self.outputs["JobsTable"]
        item: dict[str, Any] = client("dynamodb", self.endpoint).get_item(TableName=table, Key=key)["Item"]
        return item

    def spoil_cursor(self, job_id: str) -> None:
        """Give a job a cursor that no release can read."""
        spoilt = self.cursor(job_id) | {"rules": {"S": '{"expression": "61 * * * *"}'}}
        client("dynamodb", self.endpoint).put_item(TableName=self.outputs["JobsTable"], Item=spoilt)

    def dispatch(self) -> None:
        """Let every shard have a round now."""
        records = [{"body": json.dumps({"shard": shard})} for shard in range(4)]
        invoke(self.endpoint, self.outputs["DispatchFunction"], {"Records": records})

    def let_workers_read(self, *, enabled: bool) -> None:
        """Turn the workers' event sources on or off: what is in the lanes stays there meanwhile."""
        lambdas = client("lambda", self.endpoint)
        for name, function in self.outputs.items():
            if name.startswith("Execute"):
                for mapping in lambdas.list_event_source_mappings(FunctionName=function)["EventSourceMappings"]:
                    lambdas.update_event_source_mapping(UUID=mapping["UUID"], Enabled=enabled)

    def upgrade(self) -> None:
        """Deploy the present release over the one that is there."""
        self.outputs = send(self.endpoint, template("local"), "update")
        awaited("the API", self.answers)

    def answers(self) -> bool:
        try:
            return self.api.get_health().status == "ok"
        except ApiUnreachableError:
            return False


def broken(handler: BaseHTTPRequestHandler) -> None:
    answering(500 if handler.path == "/broken" else 200)(handler)


@pytest.fixture
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The stage as the previous release deploys it."""
    with http_target(broken) as target, ministack(tmp_path_factory.mktemp("upgraded")) as endpoint:
        outputs = deploy_release(endpoint, PREVIOUS)
        url = f"{endpoint}/_aws/execute-api/{outputs['ApiId']}"
        with Client(url, timeout=PATIENCE_SECONDS, trust_env=False) as api:
            yield Stage(endpoint, outputs, url, api, target)


def test_upgraded_stage_work_in_flight_from_previous_release_ends_correctly_exactly_once(stage: Stage) -> None:
    retry = {"backoff": "fixed", "min_seconds": 5, "max_seconds": 5}
    stage.create("waiting", target=WITH_TOKEN, **SOON_ONCE, **CALLBACK)
    stage.create("retrying", "/broken", **SOON_ONCE, retry={**retry, "max_attempts": 50})
    stage.create("dead", "/broken", **SOON_ONCE, retry={**retry, "max_attempts": 1})
    stage.create("queued", target=WITH_TOKEN, **HOURLY, **CALLBACK, overlap="queue")
    stage.create("quarantined", schedule="rate(5 minutes)")
    for _ in range(2):
        stage.run_now("queued")
    stage.spoil_cursor("quarantined")
    stage.dispatch()
    assert "slot" not in stage.cursor("quarantined")
    stage.await_states("queued", "QUEUED", "WAITING")
    awaited("a run in the wait queue", lambda: stage.in_wait_queue("queued"))
    stage.await_states("waiting", "WAITING")
    stage.await_states("dead", "DEAD")
    awaited("the dead letter", lambda: stage.api.list_dead_runs().items)

    stage.let_workers_read(enabled=False)
    stage.await_states("retrying", "RETRYING")
    soon = datetime.now(UTC) + timedelta(seconds=15)
    stage.create("delayed", schedule=f"at({soon:%Y-%m-%dT%H:%M:%S})")

    stage.upgrade()
    stage.repair_target()
    stage.let_workers_read(enabled=True)

    stage.await_states("delayed", "SUCCEEDED")
    stage.await_states("retrying", "SUCCEEDED")
    stage.complete("waiting")
    stage.await_states("waiting", "SUCCEEDED")
    stage.complete("queued")
    stage.await_states("queued", "SUCCEEDED", "WAITING")
    stage.complete("queued")
    stage.await_states("queued", "SUCCEEDED", "SUCCEEDED")
    (dead,) = stage.api.list_dead_runs().items
    stage.api.redrive_run(dead.id)
    stage.await_states("dead", "SUCCEEDED")

    stage.dispatch()
    assert "cannot be read" in stage.cursor("quarantined")["error"]["S"]
    assert "slot" not in stage.cursor("quarantined")
    stage.api.delete_job("quarantined")
    stage.create("quarantined", **HOURLY)
    assert "slot" in stage.cursor("quarantined")

    attempts = Counter(
        (seen.headers["X-Duecourse-Run-Id"], seen.headers["X-Duecourse-Attempt"]) for seen in stage.target.seen
    )
    assert set(attempts.values()) == {1}
    assert sum(len(stage.states(job_id)) for job_id in JOBS) == len({run for run, _ in attempts}) == 6
