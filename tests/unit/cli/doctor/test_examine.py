"""One look at everything: what cannot be looked at is unknown and hides nothing else."""

from __future__ import annotations

import json
from typing import Any

from botocore.exceptions import ClientError, EndpointConnectionError

from duecourse.checks.check import Check, CheckStatus
from duecourse.cli.doctor.examine import examine
from duecourse.cli.doctor.facts import Skew
from duecourse.cli.doctor.stage import Stage
from duecourse.cli.doctor.tables import bucket_of, watermarks

QUEUES = ("LaneHighUrl", "LaneNormalUrl", "LaneLowUrl", "LaneLongUrl", "ShardQueueUrl", "DeadLetterQueueUrl")


class Refusing:
    """A client that may do nothing."""

    def __getattr__(self, operation: str) -> Any:
        def refuse(*_: object, **__: object) -> None:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "not you"}}, operation)

        return refuse


class Sqs:
    """Queues with nothing in them."""

    def get_queue_attributes(self, *, QueueUrl: str, AttributeNames: list[str]) -> dict[str, Any]:  # noqa: N803
        return {"Attributes": dict.fromkeys(AttributeNames, "0")}


def stage(outputs: dict[str, str], clients: dict[str, Any], name: str = "local") -> Stage:
    return Stage(name, outputs, 1e6, 1.8e9, Skew(0.0), lambda service: clients.get(service, Refusing()))


def test_what_is_refused_is_unknown_with_the_reason_and_the_rest_is_looked_at() -> None:
    outputs = dict.fromkeys(("JobsTable", "RunsTable", "TickFunction", *QUEUES), "x")
    found = {each.check.name: each.check for each in examine(stage(outputs, {"sqs": Sqs()}))}
    assert found["tick"].verdict is CheckStatus.UNKNOWN
    assert found["tick"].says == "could not be looked at: get_item: not you"
    assert found["clock"].verdict is CheckStatus.OK
    assert {found[f"lane {lane}"].verdict for lane in ("high", "normal", "low", "long")} == {CheckStatus.OK}
    assert found["dead letters"].verdict is CheckStatus.OK


def test_an_output_that_an_older_stage_does_not_have_is_unknown() -> None:
    found = {each.check.name: each.check for each in examine(stage({}, {}))}
    assert found["dead letters"].says == "could not be looked at: DeadLetterQueueUrl is missing"


def test_a_service_that_does_not_answer_is_unknown() -> None:
    class Unreachable:
        def __getattr__(self, operation: str) -> Any:
            raise EndpointConnectionError(endpoint_url="https://dynamodb")

    found = {each.check.name: each.check for each in examine(stage({"JobsTable": "x"}, {"dynamodb": Unreachable()}))}
    assert "Could not connect" in found["cursors"].says


def test_the_emulator_is_not_asked_for_what_it_does_not_keep() -> None:
    of_local = {each.check.name for each in examine(stage({}, {}))}
    of_prod = {each.check.name for each in examine(stage({}, {}, "prod"))}
    assert of_prod - of_local == {"functions", "tables", "quotas"}


def test_audit_and_index_repair_are_looked_at_where_the_stage_has_them() -> None:
    outputs = {"AuditFunction": "x", "PatrolFunction": "x"}
    assert {"audit", "patrol"} <= {each.check.name for each in examine(stage(outputs, {}))}


def test_the_rules_of_those_who_look_for_what_went_wrong_are_looked_at_one_by_one() -> None:
    class Functions:
        def get_function_configuration(self, *, FunctionName: str) -> dict[str, str]:  # noqa: N803
            return {"FunctionArn": FunctionName}

    class Events:
        def list_rule_names_by_target(self, *, TargetArn: str) -> dict[str, list[str]]:  # noqa: N803
            return {"RuleNames": [] if TargetArn == "audit" else [TargetArn]}

        def describe_rule(self, *, Name: str) -> dict[str, str]:  # noqa: N803
            return {"State": "DISABLED" if Name == "patrol" else "ENABLED"}

    outputs = {"SweepFunction": "sweep", "PatrolFunction": "patrol", "AuditFunction": "audit"}
    clients = {"lambda": Functions(), "events": Events()}
    found = {each.check.name: each.check for each in examine(stage(outputs, clients))}
    assert found["rules"].verdict is CheckStatus.BAD
    assert "Patrol DISABLED, Audit has none;" in found["rules"].says
    del outputs["PatrolFunction"], outputs["AuditFunction"]
    found = {each.check.name: each.check for each in examine(stage(outputs, clients))}
    assert found["rules"].verdict is CheckStatus.OK


class Sources(Refusing):
    """Each queue and the stream have an event source; `states` has the others, by what they read."""

    def __init__(self, **states: str | None) -> None:
        self.states = states

    def list_event_source_mappings(self, *, EventSourceArn: str) -> dict[str, Any]:  # noqa: N803
        state = self.states.get(EventSourceArn, "Enabled")
        found = [{"State": state, "LastProcessingResult": "No records processed"}]
        return {"EventSourceMappings": found if state else []}


class Arns(Sqs):
    """Queues whose ARN is their address."""

    def get_queue_attributes(self, *, QueueUrl: str, AttributeNames: list[str]) -> dict[str, Any]:  # noqa: N803
        return {
            "Attributes": super().get_queue_attributes(QueueUrl=QueueUrl, AttributeNames=AttributeNames)["Attributes"]
            | {"QueueArn": QueueUrl}
        }


class Streaming(Refusing):
    """A table whose stream is called as it is."""

    def describe_table(self, *, TableName: str) -> dict[str, Any]:  # noqa: N803
        return {"Table": {"LatestStreamArn": TableName}}


def event_sources(**states: str | None) -> Check:
    outputs = {name: name for name in (*QUEUES, "RunsTable", "ArchiveFunction")}
    clients = {"sqs": Arns(), "lambda": Sources(**states), "dynamodb": Streaming()}
    return {each.check.name: each.check for each in examine(stage(outputs, clients))}["event sources"]


def test_every_event_source_of_the_stack_is_looked_at() -> None:
    assert event_sources().verdict is CheckStatus.OK
    assert event_sources().says == "those of shards, lane high, lane normal, lane low, lane long, archive are enabled"
    off = event_sources(LaneLowUrl="Disabled")
    assert (off.verdict, off.runbook) == (CheckStatus.BAD, "docs/runbooks.md#workersidle")
    assert "lane low is Disabled" in off.says


def test_a_stream_that_nobody_reads_is_told_as_that_of_a_restored_table() -> None:
    off = event_sources(RunsTable=None)
    assert (off.verdict, off.runbook) == (CheckStatus.BAD, "docs/runbooks.md#archive-silent")
    assert "archive has none" in off.says


def test_what_could_not_be_archived_is_told() -> None:
    class Waiting:
        def get_queue_attributes(self, *, QueueUrl: str, AttributeNames: list[str]) -> dict[str, Any]:  # noqa: N803
            return {"Attributes": dict.fromkeys(AttributeNames, "1" if QueueUrl == "failures" else "0")}

    outputs = {**dict.fromkeys(QUEUES, "x"), "ArchiveFailuresQueueUrl": "failures"}
    found = {each.check.name: each.check for each in examine(stage(outputs, {"sqs": Waiting()}))}
    assert (found["archive"].verdict, found["archive"].runbook) == (
        CheckStatus.BAD,
        "docs/runbooks.md#archiveletterswaiting",
    )
    assert found["dead letters"].verdict is CheckStatus.OK


def test_a_finding_is_a_json_document_with_its_facts() -> None:
    outputs = dict.fromkeys(QUEUES, "x")
    documents = [each.document() for each in examine(stage(outputs, {"sqs": Sqs()}))]
    read = {each["name"]: each for each in json.loads(json.dumps(documents))}
    assert read["dead letters"]["facts"]["visible"] == 0
    assert read["tick"]["facts"] is None


def test_what_a_busy_table_puts_off_of_a_batch_is_read_one_by_one() -> None:
    class Busy:
        def batch_get_item(self, *, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803
            return {"Responses": {}, "UnprocessedKeys": RequestItems}

        def get_item(self, *, Key: dict[str, Any], **_: object) -> dict[str, Any]:  # noqa: N803
            return {"Item": {**Key, "shards": {"N": "2"}, "bucket": {"S": bucket_of(1.8e9 - 3600)}}}

    looked = stage({"JobsTable": "x"}, {"dynamodb": Busy()})
    assert watermarks(looked).behind == {0: 0, 1: 0}
