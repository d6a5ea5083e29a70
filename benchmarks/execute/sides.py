"""The sides: the worker as its function is invoked, the same without its telemetry, and the textbook worker."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time, time
from typing import Any

import urllib3

from benchmarks.execute.cases import FUNCTION
from benchmarks.execute.environment import ENVIRONMENT, QUEUE
from duecourse.adapters.aws.clients import AwsClients
from duecourse.domain.jobs.job import Job
from duecourse.domain.targets.targets import HttpTarget
from duecourse.messages import RunMessage
from duecourse.settings import ExecuteSettings
from duecourse.usecases.worker.work_item import ReceivedMessage
from duecourse.wiring import Wiring
from tests.support.lambda_events import Context, lane_event

BATCH = 10
"""The messages of an invocation: the event source's default, which the lanes use."""


def batches_of(bodies: Sequence[str]) -> list[dict[str, Any]]:
    """Return the events with which SQS delivers messages with these bodies, each received for the first time."""
    received = [
        {
            "Body": body,
            "MessageId": f"5e0fbc94-0000-4000-8000-{number:012d}",
            "ReceiptHandle": "AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a",
            "Attributes": {"ApproximateReceiveCount": "1"},
        }
        for number, body in enumerate(bodies)
    ]
    return [lane_event(received[begin : begin + BATCH]) for begin in range(0, len(received), BATCH)]


class Ours:
    """functions/execute as Lambda calls it. Its log and metrics are discarded."""

    name = "ours"

    def __init__(self) -> None:
        os.environ.update(ENVIRONMENT)
        self._nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for as long as the process
        with redirect_stdout(self._nowhere):  # the logger keeps the stream that exists when it is created
            self._handler = importlib.import_module("functions.execute.handler").handler

    def events(self, runs: Sequence[RunMessage], _jobs: Sequence[Job]) -> list[dict[str, Any]]:
        """Return the events of the invocations."""
        return batches_of([run.to_json() for run in runs])

    def cpu(self, events: Sequence[dict[str, Any]]) -> float:
        """Return the CPU seconds for all events. Raises AssertionError if a message was left over."""
        with redirect_stdout(self._nowhere):
            begin = process_time()
            answers = [self._handler(event, Context()) for event in events]
            taken = process_time() - begin
        if left := [answer for answer in answers if answer["batchItemFailures"]]:
            raise AssertionError(f"messages were left over: {left[:1]}")
        return taken


class Quietly:
    """The use case alone, without logger, metrics and handler."""

    name = "use_case"

    def __init__(self) -> None:
        self._execute = Wiring(ExecuteSettings.from_env(ENVIRONMENT)).workers["normal"]

    def events(self, runs: Sequence[RunMessage], _jobs: Sequence[Job]) -> list[dict[str, Any]]:
        """Return the events of the handler."""
        return batches_of([run.to_json() for run in runs])

    def cpu(self, events: Sequence[dict[str, Any]]) -> float:
        """Return the CPU seconds for all events. Raises AssertionError if a run did not succeed."""
        begin = process_time()
        batches = [self._execute(_received(event), time() + 120) for event in events]
        taken = process_time() - begin
        wanted = sum(len(event["Records"]) for event in events)
        if sum(batch.report.counts["RunsSucceeded"] for batch in batches) != wanted:
            raise AssertionError(f"not all succeeded: {batches[0].report}")
        return taken

    def one_by_one(self, events: Sequence[dict[str, Any]]) -> None:
        """Process the events in this thread, because a profiler sees only one thread."""
        for event in events:
            for received in _received(event):
                self._execute.handle(received, time() + 120)


def _received(event: dict[str, Any]) -> list[ReceivedMessage]:
    return [
        ReceivedMessage(each["messageId"], each["receiptHandle"], 1, "request", each["body"])
        for each in event["Records"]
    ]


@dataclass(slots=True)
class Textbook:
    """A worker as commonly written: for each message one conditional put, the call, one update and one delete, one
    after another.

    Its costs are kept as low as possible: boto3's clients with this project's settings (no validation of parameters),
    pooled connections to the target, all data in the message (no job is read), no log, no metrics, no time zones.
    """

    dynamodb: Any
    sqs: Any
    functions: Any
    pool: urllib3.PoolManager = field(default_factory=lambda: urllib3.PoolManager(retries=False))
    name = "textbook"

    @classmethod
    def create(cls) -> Textbook:
        """Return the worker with separate clients."""
        clients = AwsClients()
        return cls(clients.get("dynamodb").boto3, clients.get("sqs").boto3, clients.calling("lambda", 30).boto3)

    def events(self, runs: Sequence[RunMessage], jobs: Sequence[Job]) -> list[dict[str, Any]]:
        """Return the events, with messages that contain all data."""
        return batches_of([json.dumps(_whole(run, job)) for run, job in zip(runs, jobs, strict=True)])

    def cpu(self, events: Sequence[dict[str, Any]]) -> float:
        """Return the CPU seconds for all events."""
        begin = process_time()
        for event in events:
            for record in event["Records"]:
                self._run(record)
        return process_time() - begin

    def _run(self, record: dict[str, Any]) -> None:
        run = json.loads(record["body"])
        key = {"PK": {"S": run["job"]}, "SK": {"S": str(run["due"])}}
        self.dynamodb.put_item(
            TableName="executions",
            Item=key
            | {
                "status": {"S": "RUNNING"},
                "started_at": {"N": str(time())},
                "attempt": {"N": "1"},
                "expires_at": {"N": str(int(time()) + 90 * 86_400)},
            },
            ConditionExpression="attribute_not_exists(PK)",
        )
        result = self._call(run)
        self.dynamodb.update_item(
            TableName="executions",
            Key=key,
            UpdateExpression="SET #status = :status, finished_at = :at, #result = :result",
            ConditionExpression="#status = :running",
            ExpressionAttributeNames={"#status": "status", "#result": "result"},
            ExpressionAttributeValues={
                ":status": {"S": "SUCCEEDED"},
                ":at": {"N": str(time())},
                ":result": {"S": json.dumps(result)},
                ":running": {"S": "RUNNING"},
            },
        )
        self.sqs.delete_message(QueueUrl=QUEUE, ReceiptHandle=record["receiptHandle"])

    def _call(self, run: dict[str, Any]) -> Any:
        body = json.dumps(run["payload"]).encode()
        if "url" not in run:
            return json.loads(self.functions.invoke(FunctionName=run["function"], Payload=body)["Payload"].read())
        headers = {"Content-Type": "application/json", "Idempotency-Key": f"{run['job']}.{run['due']}"}
        answer = self.pool.request("POST", run["url"], body=body, headers=headers, timeout=30.0)
        if answer.status >= 300:
            raise AssertionError(f"the target answered {answer.status}")
        return json.loads(answer.data)


def _whole(run: RunMessage, job: Job) -> dict[str, Any]:
    """Return the content of a textbook message for a run."""
    called = {"url": job.target.url} if isinstance(job.target, HttpTarget) else {"function": FUNCTION}
    return {"job": job.id, "due": run.due, "payload": job.payload, **called}
