"""The archive: what reaches it, where it lies, how it is asked, and what becomes of a batch that fails."""

import json
from fnmatch import fnmatchcase
from typing import Any

import pytest

from duecourse.domain.ids import RunName
from duecourse.domain.maintenance import archive
from duecourse.domain.maintenance.archive import row_of
from duecourse.domain.runs.states import Discard, GateWait, RunState
from duecourse.stores.keys import ends_key
from infra.settings.stores_config import ArchiveConfig
from infra.stages import STAGES
from infra.stores import archive_table
from tests.infra.conftest import Stack
from tests.support.jobs import job
from tests.support.policies import as_list, written
from tests.support.runs import run

DAY = 24 * 3600
INTEGERS = {"int", "bigint"}


def bucket(stack: Stack) -> dict[str, Any]:
    return stack.resource(stack.output("ArchiveBucket"))


def mapping(stack: Stack) -> dict[str, Any]:
    function = {"Ref": stack.output("ArchiveFunction")}
    mappings = stack.resources("AWS::Lambda::EventSourceMapping").values()
    (found,) = [each for each in mappings if each["FunctionName"] == function]
    return found


def table(stack: Stack) -> dict[str, Any]:
    (found,) = stack.resources("AWS::Glue::Table").values()
    described: dict[str, Any] = found["TableInput"]
    return described


def test_archive_archiver_is_invoked_only_for_expired_runs(stack: Stack) -> None:
    (only,) = mapping(stack)["FilterCriteria"]["Filters"]
    assert json.loads(only["Pattern"]) == {
        "eventName": ["REMOVE"],
        "userIdentity": {"type": ["Service"], "principalId": [archive.EXPIRY]},
        "dynamodb": {"Keys": {"SK": {"S": [{"prefix": "RUN#"}]}}},
    }


def test_archive_step_outcomes_of_workflow_runs_do_not_reach_the_archiver(stack: Stack) -> None:
    (only,) = mapping(stack)["FilterCriteria"]["Filters"]
    (run_keys,) = json.loads(only["Pattern"])["dynamodb"]["Keys"]["SK"]["S"]
    ends = ends_key("default", RunName("nightly", 0), 0)["SK"]["S"]
    assert not ends.startswith(run_keys["prefix"])


def test_archive_runs_table_stream_is_read_from_its_beginning(stack: Stack) -> None:
    runs = stack.output("RunsTable")
    assert mapping(stack)["EventSourceArn"] == {"Fn::GetAtt": [runs, "StreamArn"]}
    assert mapping(stack)["StartingPosition"] == "TRIM_HORIZON"
    stream = stack.resource(runs)["Properties"]["StreamSpecification"]
    assert stream["StreamViewType"] == "NEW_AND_OLD_IMAGES"


@pytest.mark.parametrize("action", ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"])
def test_archive_archiver_may_read_any_stream_of_the_runs_table_and_no_other_table(stack: Stack, action: str) -> None:
    """A table that was restored under its name has a stream with another label, and no deployment changes the role."""
    (role,) = stack.function("ArchiveFunction")["Role"]["Fn::GetAtt"][:1]
    allowed = [
        written(resource)
        for statement in stack.statements(role)
        if f"dynamodb:{action}" in as_list(statement["Action"])
        for resource in as_list(statement["Resource"])
    ]

    def may(table: str) -> bool:
        stream = f"{{{stack.output(table)}.Arn}}/stream/2026-11-21T12:00:00.000"
        return any(fnmatchcase(stream, pattern) for pattern in allowed)

    assert may("RunsTable")
    assert not may("JobsTable")


def test_archive_failing_batch_is_retried_for_hours_and_then_its_position_is_queued(stack: Stack) -> None:
    made = mapping(stack)
    assert (made["MaximumRetryAttempts"], made["MaximumRecordAgeInSeconds"]) == (-1, 6 * 3600)
    assert made["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert made["BisectBatchOnFunctionError"] is True
    queue = stack.output("ArchiveFailuresQueueUrl")
    assert made["DestinationConfig"] == {"OnFailure": {"Destination": {"Fn::GetAtt": [queue, "Arn"]}}}
    assert stack.resource(queue)["Properties"]["MessageRetentionPeriod"] == 14 * DAY


def test_archive_runs_are_batched_for_minutes_into_one_object(stack: Stack) -> None:
    made = mapping(stack)
    assert (made["BatchSize"], made["MaximumBatchingWindowInSeconds"]) == (1000, 300)


def test_archive_history_is_private_versioned_and_moves_to_glacier_but_never_expires(stack: Stack) -> None:
    properties = bucket(stack)["Properties"]
    assert set(properties["PublicAccessBlockConfiguration"].values()) == {True}
    assert properties["VersioningConfiguration"] == {"Status": "Enabled"}
    rules = properties["LifecycleConfiguration"]["Rules"]
    (transition,) = [rule for rule in rules if "Transitions" in rule]
    assert transition["Prefix"] == "runs/"
    assert transition["Transitions"] == [{"StorageClass": "GLACIER_IR", "TransitionInDays": 90}]
    assert [rule["NoncurrentVersionExpiration"] for rule in rules if "NoncurrentVersionExpiration" in rule] == [
        {"NoncurrentDays": 30}
    ]
    assert not [rule for rule in rules if "ExpirationInDays" in rule]


def test_archive_history_refuses_plain_http_in_aws(aws_stack: Stack) -> None:
    ours = {"Ref": aws_stack.output("ArchiveBucket")}
    (policy,) = [each for each in aws_stack.resources("AWS::S3::BucketPolicy").values() if each["Bucket"] == ours]
    denied = [each for each in policy["PolicyDocument"]["Statement"] if each["Effect"] == "Deny"]
    assert [each["Condition"] for each in denied] == [{"Bool": {"aws:SecureTransport": "false"}}]


def test_archive_history_is_retained_where_data_is_retained(stack: Stack) -> None:
    kept = ("RetainExceptOnCreate", "Retain") if STAGES[stack.stage].retain_data else ("Delete", "Delete")
    assert (bucket(stack)["DeletionPolicy"], bucket(stack)["UpdateReplacePolicy"]) == kept


def test_archive_table_columns_have_the_names_and_types_of_the_row_fields(stack: Stack) -> None:
    common = {"heartbeat_at": 1.0, "progress": 0.5, "note": "half", "requested_by": "alice", "correlation_id": "4f1d"}
    common |= {"sent_at": 3.0, "received_at": 4.0, "first_started_at": 9.0, "worker": "host-7"}
    common["execution"] = "states - arn:aws:states:eu-west-1:123456789012:execution:flow:nightly-1"
    located = {"result_location": "s3://reports/daily/r", "result_error": "AccessDenied"}
    rows = [
        row_of(
            run(
                job(),
                RunState.DEAD,
                error="503",
                code="http.503",
                cancel_requested="cancelled",
                discard=Discard(1.0, "ann", "sent again"),
                **common,
            )
        ),
        row_of(
            run(job(), RunState.SUCCEEDED, result={"status": 200}, result_bytes=12, result_key="r", **located, **common)
        ),
        row_of(run(job(), RunState.QUEUED, waiting_since=1.0, key="crm", wait=GateWait("rate", "crm"), **common)),
        row_of(run(job(), RunState.QUEUED, waiting_since=1.0, wait=GateWait("breaker", "crm"), **common)),
        row_of(run(job(), RunState.RETRYING, finished_at=1.0, **common)),
        row_of(run(job(), RunState.WAITING, waiting_until=1.0, heartbeat_until=1.0, **common)),
    ]
    columns = {each["Name"]: each["Type"] for each in table(stack)["StorageDescriptor"]["Columns"]}
    given = {name: value for row in rows for name, value in row.items() if value is not None}
    assert all(list(columns) == list(row) for row in rows)
    assert columns.keys() - given.keys() <= {"workflow"}
    for name, value in given.items():
        if isinstance(value, int):
            assert columns[name] in INTEGERS, name
        elif isinstance(value, float):
            assert columns[name] == "double", name
        elif name == "delays":
            assert columns[name] == f"struct<{','.join(f'{each}:double' for each in value)}>", name
        elif name in ("discarded", "execution"):
            assert columns[name] == f"struct<{','.join(f'{each}:string' for each in value)}>", name
        else:
            assert columns[name] == "string", name


def test_archive_table_partitions_match_the_folders_of_the_archiver(stack: Stack) -> None:
    described = table(stack)
    assert described["PartitionKeys"] == [{"Name": "day", "Type": "string"}]
    parameters = described["Parameters"]
    assert parameters["projection.enabled"] == "true"
    assert parameters["projection.day.type"] == "date"
    assert parameters["projection.day.format"] == "yyyy-MM-dd"
    assert parameters["projection.day.range"] == f"{archive.FIRST_DAY},NOW"
    place = described["StorageDescriptor"]["Location"]["Fn::Join"][1]
    assert place == ["s3://", {"Ref": stack.output("ArchiveBucket")}, f"/{archive.RUNS}/"]


def test_archive_template_and_archiver_agree_on_the_first_day() -> None:
    assert archive.FIRST_DAY == archive_table.FIRST_DAY
    assert f"{archive.RUNS}/" == archive_table.PREFIX


def test_archive_rows_are_read_by_the_json_serde(stack: Stack) -> None:
    storage = table(stack)["StorageDescriptor"]
    assert storage["SerdeInfo"]["SerializationLibrary"] == "org.openx.data.jsonserde.JsonSerDe"
    assert storage["Compressed"] is True


def test_archive_each_stage_has_its_own_database(stack: Stack) -> None:
    (database,) = stack.resources("AWS::Glue::Database").values()
    name = database["DatabaseInput"]["Name"]
    assert name == f"duecourse_{stack.stage}" == stack.template["Outputs"]["ArchiveDatabase"]["Value"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"glacier_after_days": 0}, "glacier_after_days"),
        ({"retention_days": 90}, "retention_days"),
        ({"batch_size": 1001}, "batch_size"),
        ({"window_seconds": 301}, "window_seconds"),
        ({"give_up_after_hours": 24}, "give_up_after_hours"),
    ],
)
def test_archive_invalid_settings_are_named(changes: dict[str, Any], field: str) -> None:
    assert [name for name, _ in ArchiveConfig(**changes).problems()] == [field]


def test_archive_history_may_expire_and_may_skip_glacier() -> None:
    assert not list(ArchiveConfig(glacier_after_days=None, retention_days=365).problems())
