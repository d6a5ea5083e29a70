"""duecourse doctor: what it examines.

- One look at everything: what cannot be looked at is unknown and hides nothing else.
- What the doctor reads from CloudWatch: alarms by their names, sums of the last hour.
- The rights that docs/operations.md names for the doctor are those that it needs.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import botocore.session
from botocore import xform_name
from botocore.exceptions import ClientError, EndpointConnectionError

from duecourse.checks.check import Check, CheckStatus
from duecourse.cli.doctor import metrics, queues
from duecourse.cli.doctor.examine import examine
from duecourse.cli.doctor.facts import Function, Quotas, Skew, Table
from duecourse.cli.doctor.stage import Stage
from duecourse.cli.doctor.tables import bucket_of, watermarks
from tests.support.source import PACKAGE

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


def test_doctor_reports_a_denied_check_as_unknown_with_the_reason_and_continues() -> None:
    outputs = dict.fromkeys(("JobsTable", "RunsTable", "TickFunction", *QUEUES), "x")
    found = {each.check.name: each.check for each in examine(stage(outputs, {"sqs": Sqs()}))}
    assert found["tick"].verdict is CheckStatus.UNKNOWN
    assert found["tick"].says == "could not be checked: get_item: not you"
    assert found["clock"].verdict is CheckStatus.OK
    assert {found[f"lane {lane}"].verdict for lane in ("high", "normal", "low", "long")} == {CheckStatus.OK}
    assert found["dead letters"].verdict is CheckStatus.OK


def test_doctor_reports_an_output_missing_in_an_older_stage_as_unknown() -> None:
    found = {each.check.name: each.check for each in examine(stage({}, {}))}
    assert found["dead letters"].says == "could not be checked: DeadLetterQueueUrl is missing"


def test_doctor_reports_an_unreachable_service_as_unknown() -> None:
    class Unreachable:
        def __getattr__(self, operation: str) -> Any:
            raise EndpointConnectionError(endpoint_url="https://dynamodb")

    found = {each.check.name: each.check for each in examine(stage({"JobsTable": "x"}, {"dynamodb": Unreachable()}))}
    assert "Could not connect" in found["cursors"].says


def test_doctor_skips_checks_that_the_emulator_does_not_support() -> None:
    of_local = {each.check.name for each in examine(stage({}, {}))}
    of_prod = {each.check.name for each in examine(stage({}, {}, "prod"))}
    assert of_prod - of_local == {"functions", "tables", "quotas", "subscribers", "secrets"}


def test_doctor_checks_audit_and_index_repair_if_the_stage_has_them() -> None:
    outputs = {"AuditFunction": "x", "RepairFunction": "x"}
    assert {"audit", "repair"} <= {each.check.name for each in examine(stage(outputs, {}))}


def test_doctor_checks_the_rules_of_audit_repair_and_reconciler_separately() -> None:
    class Functions:
        def get_function_configuration(self, *, FunctionName: str) -> dict[str, str]:  # noqa: N803
            return {"FunctionArn": FunctionName}

    class Events:
        def list_rule_names_by_target(self, *, TargetArn: str) -> dict[str, list[str]]:  # noqa: N803
            return {"RuleNames": [] if TargetArn == "audit" else [TargetArn]}

        def describe_rule(self, *, Name: str) -> dict[str, str]:  # noqa: N803
            return {"State": "DISABLED" if Name == "repair" else "ENABLED"}

    outputs = {"ReconcileFunction": "reconcile", "RepairFunction": "repair", "AuditFunction": "audit"}
    clients = {"lambda": Functions(), "events": Events()}
    found = {each.check.name: each.check for each in examine(stage(outputs, clients))}
    assert found["rules"].verdict is CheckStatus.WARNING
    assert "Repair DISABLED, Audit has no rule;" in found["rules"].says
    del outputs["RepairFunction"], outputs["AuditFunction"]
    found = {each.check.name: each.check for each in examine(stage(outputs, clients))}
    assert found["rules"].verdict is CheckStatus.OK


class Sources(Refusing):
    """Each queue and the stream have an event source; `states` has the others, by what they read."""

    provisioned = ""
    """The queue that has provisioned pollers."""

    def __init__(self, **states: str | None) -> None:
        self.states = states

    def list_event_source_mappings(self, *, EventSourceArn: str) -> dict[str, Any]:  # noqa: N803
        state = self.states.get(EventSourceArn, "Enabled")
        found: list[dict[str, Any]] = [{"State": state, "LastProcessingResult": "No records processed"}]
        if EventSourceArn == self.provisioned:
            found[0]["ProvisionedPollerConfig"] = {"MinimumPollers": 200, "MaximumPollers": 200}
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


def event_sources(provisioned: str = "", **states: str | None) -> Check:
    bulk = (f"Lane{lane}BulkUrl" for lane in ("High", "Normal", "Low", "Long"))
    outputs = {name: name for name in (*QUEUES, *bulk, "RunsTable", "ArchiveFunction")}
    functions = Sources(**states)
    functions.provisioned = provisioned
    clients = {"sqs": Arns(), "lambda": functions, "dynamodb": Streaming()}
    return {each.check.name: each.check for each in examine(stage(outputs, clients))}["event sources"]


def test_doctor_checks_every_event_source_of_the_stack() -> None:
    assert event_sources().verdict is CheckStatus.OK
    assert (
        event_sources().says
        == "the event sources of shards, lane high, lane normal, lane low, lane long, lane high bulk, "
        "lane normal bulk, lane low bulk, lane long bulk, archive are enabled"
    )
    off = event_sources(LaneLowUrl="Disabled")
    assert (off.verdict, off.runbook) == (CheckStatus.BAD, "docs/runbooks.md#queuesunread")
    assert "lane low is Disabled" in off.says


def test_doctor_shows_provisioned_pollers_since_those_of_a_removed_setting_stay() -> None:
    said = event_sources("LaneNormalBulkUrl").says
    assert said.endswith("archive are enabled; provisioned pollers, which are billed by the hour: lane normal bulk 200")


def test_doctor_reports_a_stream_without_event_source_as_that_of_a_restored_table() -> None:
    off = event_sources(RunsTable=None)
    assert (off.verdict, off.runbook) == (CheckStatus.BAD, "docs/runbooks.md#archivestopped")
    assert "archive has no event source" in off.says


def test_doctor_reports_records_that_could_not_be_archived() -> None:
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


def test_doctor_findings_are_json_documents_with_their_facts() -> None:
    outputs = dict.fromkeys(QUEUES, "x")
    documents = [each.document() for each in examine(stage(outputs, {"sqs": Sqs()}))]
    read = {each["name"]: each for each in json.loads(json.dumps(documents))}
    assert read["dead letters"]["facts"]["visible"] == 0
    assert read["tick"]["facts"] is None


def test_doctor_reads_unprocessed_keys_of_a_batch_one_by_one() -> None:
    class Busy:
        def batch_get_item(self, *, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803
            return {"Responses": {}, "UnprocessedKeys": RequestItems}

        def get_item(self, *, Key: dict[str, Any], **_: object) -> dict[str, Any]:  # noqa: N803
            return {"Item": {**Key, "shards": {"N": "2"}, "bucket": {"S": bucket_of(1.8e9 - 3600)}}}

    looked = stage({"JobsTable": "x"}, {"dynamodb": Busy()})
    assert watermarks(looked).behind == {0: 0, 1: 0}


NOW = 1.8e9
OUTPUTS = {"TickFunction": "tick-1", "ApiFunction": "api-1", "JobsTable": "jobs-1", "RunsTable": "runs-1"}
LINK = "https://example.com/docs/runbooks.md#jobs-not-firing"
ALARMS = [
    {
        "AlarmName": "Duecourse/prod/ticks-missing",
        "AlarmDescription": "No tick. First step: look. Runbook: docs/runbooks.md#ticks-missing",
        "StateValue": "ALARM",
    },
    {"AlarmName": "Duecourse/prod/targets-failing", "StateValue": "OK"},
    {"AlarmName": "Duecourse/prod-acme/ticks-missing", "StateValue": "ALARM"},
    {
        "AlarmName": "Duecourse/prod/jobs-not-firing",
        "AlarmDescription": f"Jobs do not fire. Runbook: {LINK}",
        "StateValue": "ALARM",
    },
]


class CloudWatch:
    """Has these values, each by namespace, metric and dimensions; a page for each, as AWS may do."""

    def __init__(self, values: Mapping[tuple[str, ...], list[float]]) -> None:
        self.values = values
        self.since: list[float] = []

    def get_paginator(self, operation: str) -> Any:
        pages = {"describe_alarms": self.alarms, "get_metric_data": self.data}[operation]
        return type("Paginator", (), {"paginate": staticmethod(pages)})

    def alarms(self, *, AlarmNamePrefix: str) -> Iterator[dict[str, Any]]:  # noqa: N803
        for each in ALARMS:
            yield {"MetricAlarms": [each] if each["AlarmName"].startswith(AlarmNamePrefix) else []}

    def data(
        self,
        *,
        MetricDataQueries: list[dict[str, Any]],  # noqa: N803
        StartTime: datetime,  # noqa: N803
        EndTime: datetime,  # noqa: N803
    ) -> Iterator[dict[str, Any]]:
        self.since.append(EndTime.timestamp() - StartTime.timestamp())
        for query in MetricDataQueries:
            asked = query["MetricStat"]["Metric"]
            dimensions = tuple(each["Value"] for each in asked["Dimensions"])
            values = self.values.get((asked["Namespace"], asked["MetricName"], *dimensions), [])
            instants = [StartTime + timedelta(minutes=number) for number in range(len(values))]
            yield {"MetricDataResults": [{"Id": query["Id"], "Timestamps": instants, "Values": values}]}


class Lambda:
    def get_account_settings(self) -> dict[str, Any]:
        return {"AccountLimit": {"ConcurrentExecutions": 1_000, "UnreservedConcurrentExecutions": 932}}


def metrics_stage(values: Mapping[tuple[str, ...], list[float]]) -> Stage:
    clients = {"cloudwatch": CloudWatch(values), "lambda": Lambda()}
    return Stage("prod", OUTPUTS, 1e6, NOW, Skew(0.0), clients.__getitem__)


def test_doctor_finds_alarms_by_the_stage_name_with_their_runbook_links() -> None:
    found = metrics.alarms(metrics_stage({}))
    assert found.all == 3
    assert [(each.name, each.runbook) for each in found.ringing] == [
        ("ticks-missing", "docs/runbooks.md#ticks-missing"),
        ("jobs-not-firing", LINK),
    ]


def test_doctor_excludes_alarms_of_a_stage_whose_name_has_the_same_prefix() -> None:
    assert [each.name for each in metrics.alarms(metrics_stage({})).ringing].count("ticks-missing") == 1


def test_doctor_sums_function_metrics_over_the_last_hour_and_counts_missing_data_as_zero() -> None:
    values = {("AWS/Lambda", "Invocations", "tick-1"): [30.0, 30.0], ("AWS/Lambda", "Errors", "tick-1"): [1.0]}
    assert metrics.functions(metrics_stage(values)) == [Function("Tick", 60, 1, 0), Function("Api", 0, 0, 0)]


def test_doctor_adds_throttled_requests_of_a_table_and_its_indexes() -> None:
    values = {
        ("AWS/DynamoDB", "WriteThrottleEvents", "jobs-1"): [2.0],
        ("AWS/DynamoDB", "WriteThrottleEvents", "jobs-1", "due"): [3.0, 4.0],
    }
    assert metrics.tables(metrics_stage(values)) == [Table("Jobs", 9), Table("Runs", 0)]


def test_doctor_age_of_a_queue_is_the_largest_of_the_last_minutes() -> None:
    asked = metrics_stage({("AWS/SQS", "ApproximateAgeOfOldestMessage", "high"): [5.0, 80.0, 7.0]})
    urls = ["https://sqs/1/high", "https://sqs/1/low"]
    assert metrics.oldest(asked, urls) == {urls[0]: 80.0, urls[1]: None}


def test_doctor_reports_quotas_with_their_peak_usage() -> None:
    values = {("AWS/Lambda", "ConcurrentExecutions"): [10.0, 700.0]}
    assert queues.quotas(metrics_stage(values)) == Quotas(1_000, 932, 700)


ROOT = Path(__file__).resolve().parents[4]
SERVICES = ("cloudformation", "cloudwatch", "dynamodb", "events", "lambda", "secretsmanager", "sns", "sqs", "ssm")


def named() -> set[str]:
    """Actions of the policy in the section about them."""
    section = (ROOT / "docs" / "operations.md").read_text().split("### Permissions for duecourse doctor")[1]
    found = re.search(r"```json\n(.*?)```", section, re.DOTALL)
    (statement,) = json.loads(found.group(1))["Statement"]
    return set(statement["Action"])


def used() -> set[str]:
    """Operations that the code calls or pages through, of the services that it asks."""
    sources = (PACKAGE / "duecourse" / "cli" / "doctor").glob("*.py")
    code = "\n".join(source.read_text() for source in sources)
    called = set(re.findall(r"\.\s*(\w+)\(", code)) | set(re.findall(r'get_paginator\("(\w+)"\)', code))
    assert set(re.findall(r'clients\("(\w+)"\)', code)) <= set(SERVICES)
    session = botocore.session.get_session()
    names = {(service, name) for service in SERVICES for name in session.get_service_model(service).operation_names}
    return {f"{service}:{name}" for service, name in names if xform_name(name) in called}


def test_doctor_policy_in_the_docs_grants_exactly_the_required_permissions() -> None:
    assert used() == named()
