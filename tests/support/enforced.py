"""The deployed stack on an emulator that enforces the roles' policies."""

import json
from typing import Any

import httpx

from infra.stages import STAGES
from tests.support.deployed import Template, invoke
from tests.support.emulators import client
from tests.support.waiting import awaited


def with_the_emulators_own_actions(template: Template) -> None:
    """Add the actions that the emulator requires. For batches, it requires actions that IAM does not have; AWS requires
    those of the single requests. For streams it requires all of them, and for one event source the list.
    """
    for resource in template["Resources"].values():
        if resource["Type"] != "AWS::IAM::Policy":
            continue
        statements = resource["Properties"]["PolicyDocument"]["Statement"]
        for statement in list(statements):
            if "sqs:SendMessage" in statement["Action"]:
                statements.append({**statement, "Action": "sqs:SendMessageBatch"})
            if "sqs:ChangeMessageVisibility" in statement["Action"]:
                statements.append({**statement, "Action": "sqs:ChangeMessageVisibilityBatch"})
            if "dynamodb:PartiQLUpdate" in statement["Action"]:  # and PartiQLDelete
                statements.append({**statement, "Action": "dynamodb:BatchExecuteStatement", "Resource": "*"})
            if "dynamodb:GetShardIterator" in statement["Action"]:  # the emulator does not see which stream is asked
                statements.append({**statement, "Resource": "*"})
            if "lambda:GetEventSourceMapping" in statement["Action"]:  # which the tick needs once in 15 minutes
                statements.append({**statement, "Action": "lambda:ListEventSourceMappings", "Resource": "*"})


def refusals(endpoint: str) -> list[str]:
    """Return all log messages of functions about missing permissions."""
    lines = logged(endpoint)
    assert lines, "the functions wrote no logs"
    return [line for line in lines if "AccessDenied" in line or "not authorized" in line]


def logged(endpoint: str) -> list[str]:
    """Return all log messages of the functions."""
    logs = client("logs", endpoint)
    return [
        event["message"]
        for group in logs.describe_log_groups()["logGroups"]
        for stream in logs.describe_log_streams(logGroupName=group["logGroupName"])["logStreams"]
        for event in logs.get_log_events(logGroupName=group["logGroupName"], logStreamName=stream["logStreamName"])[
            "events"
        ]
    ]


class Deployed:
    """The stack from the point of view of clients and operators."""

    def __init__(self, endpoint: str, outputs: dict[str, str], api: httpx.Client) -> None:
        self.endpoint = endpoint
        self.outputs = outputs
        self.api = api

    def runs(self, job_id: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.api.get(f"/jobs/{job_id}/runs").json()["items"]
        return items

    def run_in(self, job_id: str, state: str) -> dict[str, Any]:
        """Return the first run of the job that is in the state."""
        return awaited(
            f"a run of {job_id} that is {state}",
            lambda: next((run for run in self.runs(job_id) if run["state"] == state), None),
        )

    def job_in(self, job_id: str, state: str) -> None:
        awaited(f"{job_id} {state}", lambda: self.api.get(f"/jobs/{job_id}").json()["state"] == state)

    def invoke(self, function: str, event: dict[str, Any] | None = None) -> None:
        invoke(self.endpoint, self.outputs[function], event)

    def dispatch(self) -> None:
        """Run a round of every shard now, whether or not this minute has had its tick."""
        records = [{"body": json.dumps({"shard": shard})} for shard in range(STAGES["local"].shards)]
        self.invoke("DispatchFunction", {"Records": records})

    def generation(self, job_id: str) -> int:
        """Return the generation that a dispatcher would write into the job's messages."""
        key = {"PK": {"S": f"JOB#default#{job_id}"}, "SK": {"S": "JOB"}}
        answer = client("dynamodb", self.endpoint).get_item(TableName=self.outputs["JobsTable"], Key=key)
        return int(answer["Item"]["generation"]["N"])

    def timers(self) -> set[str]:
        """Return the jobs with timers in the due index."""
        pages = client("dynamodb", self.endpoint).get_paginator("scan").paginate(TableName=self.outputs["JobsTable"])
        items = [item for page in pages for item in page["Items"]]
        return {item["PK"]["S"].rpartition("#")[2] for item in items if item["SK"]["S"].startswith("WAKE#")}
