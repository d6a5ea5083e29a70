"""The roles suffice: the main paths, run on an emulator that enforces them."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.deployed import Template, deploy
from tests.support.emulators import client, ministack

pytestmark = [pytest.mark.long, pytest.mark.emulator]

PATIENCE_SECONDS = 60.0
POLL_SECONDS = 0.5
HEALTH = "/_ministack/health"


def with_the_emulators_own_actions(template: Template) -> None:
    """For batches, the emulator asks for actions that IAM does not have; AWS asks for those of the single requests."""
    for resource in template["Resources"].values():
        if resource["Type"] != "AWS::IAM::Policy":
            continue
        statements = resource["Properties"]["PolicyDocument"]["Statement"]
        for statement in list(statements):
            if "sqs:SendMessage" in statement["Action"]:
                statements.append({**statement, "Action": "sqs:SendMessageBatch"})
            if "dynamodb:PartiQLUpdate" in statement["Action"]:
                statements.append({**statement, "Action": "dynamodb:BatchExecuteStatement", "Resource": "*"})


def awaited(what: str, look: Callable[[], bool]) -> None:
    """Real time passes here: the functions run by the system's own clock."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not look():
        assert time.monotonic() < end, f"{what} was not seen within {PATIENCE_SECONDS:.0f} s"
        time.sleep(POLL_SECONDS)


def refusals(endpoint: str) -> list[str]:
    """What any function logged about something it may not do."""
    logs = client("logs", endpoint)
    lines = [
        event["message"]
        for group in logs.describe_log_groups()["logGroups"]
        for stream in logs.describe_log_streams(logGroupName=group["logGroupName"])["logStreams"]
        for event in logs.get_log_events(logGroupName=group["logGroupName"], logStreamName=stream["logStreamName"])[
            "events"
        ]
    ]
    assert lines, "the functions wrote no logs"
    return [line for line in lines if "AccessDenied" in line or "not authorized" in line]


def job(job_id: str, schedule: str, target: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": job_id, "schedule": schedule, "target": target, **more}


def test_every_function_gets_through_its_work_with_the_rights_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTH", "true")
    (tmp_path / "ministack").mkdir()
    with ministack(tmp_path / "ministack") as endpoint:
        outputs = deploy(endpoint, tmp_path / "cdk.out", with_the_emulators_own_actions)
        base = f"{endpoint}/_aws/execute-api/{outputs['ApiId']}/$default/v1"
        with httpx.Client(base_url=base, trust_env=False, timeout=30) as api:
            works = {"type": "http", "url": endpoint + HEALTH, "method": "GET"}
            fails = {"type": "lambda", "function": "duecourse-target-that-nobody-made"}
            soon = datetime.now(UTC) + timedelta(seconds=20)
            posted = [
                job("recurring", "rate(5 seconds)", works),
                job("once", f"at({soon:%Y-%m-%dT%H:%M:%S})", works),
                job("failing", "rate(1 hour)", fails, retry={"max_attempts": 1}),
                job("dying", f"at({soon:%Y-%m-%dT%H:%M:%S})", fails, retry={"max_attempts": 1}),
            ]
            for body in posted:
                assert api.post("/jobs", json=body).status_code == 201

            def states(job_id: str) -> set[str]:
                return {run["state"] for run in api.get(f"/jobs/{job_id}/runs").json()["items"]}

            def state(job_id: str) -> str:
                return str(api.get(f"/jobs/{job_id}").json()["state"])

            awaited("a success", lambda: "SUCCEEDED" in states("recurring"))
            awaited("a death", lambda: "DEAD" in states("dying"))
            client("lambda", endpoint).invoke(FunctionName=outputs["TickFunction"], Payload=b"{}")
            awaited("the end of the job", lambda: state("once") == "COMPLETED")
            assert len(api.get("/jobs").json()["items"]) == len(posted)
            assert api.delete("/jobs/recurring").status_code == 204
            assert refusals(endpoint) == []
