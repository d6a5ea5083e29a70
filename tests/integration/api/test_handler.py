"""The function as Lambda runs it: a fresh process, its environment, an event in and an answer out."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.api import BODY, HTTP_TARGET
from tests.support.api_events import api_event, json_event
from tests.support.emulators import client
from tests.support.tables import Tables
from tests.support.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[3]

INVOKE = """
import json, sys
from functions.api.handler import handler

class Context:
    function_name = "duecourse-api"
    memory_limit_in_mb = 512
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:duecourse-api"
    aws_request_id = "52fdfc07"

for line in sys.stdin:
    print("ANSWER " + json.dumps(handler(json.loads(line), Context())), flush=True)
"""

SETTINGS = {
    "STAGE": "local",
    "SHARDS": "2",
    "RUN_INDEX_PARTITIONS": "8",
    "LIST_SUCCESSES": "true",
    "LOOKAHEAD_SECONDS": "300",
    "HORIZON_SECONDS": "840",
    "RUN_RETENTION_DAYS": "90",
    "DEFAULT_PRECISION": "second",
    "PRIVATE_TARGETS": "allow",
    "ALLOWED_TARGETS": '{"functions": ["duecourse-target-*"]}',
    "RESULTS_BUCKET": "results",
    "RESULT_BUCKETS": "{}",
    "OIDC": "none",
    "AUTH": "none",
    "REGION": "us-east-1",
    "TENANT_CLAIM": "tenant",
    "JOB_QUOTA": "1000",
    "REQUESTS_PER_SECOND": "50",
    "BURST": "100",
    "SMALLEST_INTERVAL_SECONDS": "1",
    "BACKFILL_LIMIT": "1000",
    "DELAYED_RUNS_PER_HOUR": "1000",
    "OPERATOR_TENANT": "*",
}


def invoke(environ: dict[str, str], *events: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Run the handler in a process that knows nothing but these variables."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", INVOKE],
        input="".join(json.dumps(event) + "\n" for event in events),
        env={"PATH": os.environ["PATH"], "AWS_REGION": "us-east-1", **environ},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def prefixed(values: dict[str, str]) -> dict[str, str]:
    return {f"DUECOURSE_{name}": value for name, value in values.items()}


def test_api_handler_job_is_created_read_and_deleted_and_its_first_runs_are_queued(
    ministack: str, served_tables: Tables
) -> None:
    sqs, tables = client("sqs", ministack), served_tables
    urls = {lane: sqs.create_queue(QueueName=f"{tables.jobs}-{lane}")["QueueUrl"] for lane in ("NORMAL", "HIGH")}
    queues = {
        f"{of}_URL_{lane}": urls.get(lane, urls["HIGH"])
        for of in ("QUEUE", "BULK")
        for lane in ("HIGH", "NORMAL", "LOW", "LONG")
    }
    seats = {f"SEAT_{lane}": "30" for lane in ("HIGH", "NORMAL", "LOW", "LONG")}
    environ = {
        "AWS_ENDPOINT_URL": ministack,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "POWERTOOLS_SERVICE_NAME": "duecourse",
        **prefixed(SETTINGS | queues | seats | {"JOBS_TABLE": tables.jobs, "RUNS_TABLE": tables.runs}),
    }
    body = BODY | {"id": "steady", "target": HTTP_TARGET | {"url": "http://127.0.0.1:9/hook"}}

    done = invoke(
        environ,
        json_event("POST", "/v1/jobs", body),
        api_event("GET", "/v1/jobs/steady"),
        api_event("GET", "/v1/jobs/steady/runs"),
        api_event("GET", "/v1/jobs", query={"limit": "5"}),
        api_event("DELETE", "/v1/jobs/steady"),
        api_event("GET", "/v1/jobs/steady"),
        api_event("GET", "/v1/jobs/steady/explain", query={"at": "2026-11-21T12:00:00Z"}),
        api_event("GET", "/v1/stats"),
        api_event("GET", "/v1/health"),
    )

    assert done.returncode == 0, done.stderr
    answers = [json.loads(line.removeprefix("ANSWER ")) for line in done.stdout.splitlines() if line[:1] == "A"]
    assert [answer["statusCode"] for answer in answers] == [201, 200, 200, 200, 204, 404, 200, 200, 200]
    assert {run["state"] for run in json.loads(answers[2]["body"])["items"]} == {"QUEUED"}
    depth = sqs.get_queue_attributes(QueueUrl=urls["NORMAL"], AttributeNames=["All"])["Attributes"]
    waiting = int(depth["ApproximateNumberOfMessagesDelayed"]) + int(depth["ApproximateNumberOfMessages"])
    assert waiting in (11, 12, 13)
    figures = json.loads(answers[7]["body"])
    assert (figures["jobs"]["count"], figures["requests"]["burst"]) == (0, 100)
    assert set(figures["lanes"]) == {"high", "normal", "low", "long"}
    assert None not in figures["lanes"].values()
    lines = [json.loads(line) for line in done.stdout.splitlines() if line[:1] == "{"]
    assert [line["action"] for line in lines] == [
        "job_created", "job_read", "runs_listed", "jobs_listed", "job_deleted", "request_refused",
        "job_explained", "stats_read", "health_asked",
    ]  # fmt: skip
    assert lines[0]["cold_start"] is True


def test_api_handler_missing_settings_are_all_named_at_the_first_invocation() -> None:
    done = invoke(prefixed(SETTINGS | {"SHARDS": "none"}), api_event("GET", "/v1/health"))
    assert done.returncode != 0
    for name in ("DUECOURSE_JOBS_TABLE is missing", "DUECOURSE_QUEUE_URL_LONG is missing", "DUECOURSE_SHARDS='none'"):
        assert name in done.stderr


def test_api_handler_module_loads_without_an_environment_and_creates_no_client() -> None:
    done = invoke({"AWS_REGION": ""})
    assert (done.returncode, done.stdout) == (0, "")
