"""Tables, buckets and queues.

- What every queue, topic, bucket, table and log group has, whichever construct makes it.
- The stores.
- The bucket of results and the event bus.
- The queues and who reads them.
"""

import json
import re
from typing import Any

import pytest

from duecourse.limits import ROUND_MARGIN_SECONDS, ROUND_SECONDS
from duecourse.stores.table import INDEXES, Index, Table
from infra.application import build
from infra.stages import STAGES
from tests.infra.conftest import LANE_OUTPUTS, Stack
from tests.support.policies import as_list
from tests.support.template import ROOT, table_definitions, template

PLAIN_HTTP = {"Bool": {"aws:SecureTransport": "false"}}
GUARDED = {
    "AWS::SQS::Queue": ("AWS::SQS::QueuePolicy", "Queues", "sqs:*"),
    "AWS::SNS::Topic": ("AWS::SNS::TopicPolicy", "Topics", "sns:Publish"),
    "AWS::S3::Bucket": ("AWS::S3::BucketPolicy", "Bucket", "s3:*"),
}
"""Per kind of store its policy, what that calls the store, and what a caller without TLS is refused."""

KEPT = ("AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::Logs::LogGroup", "AWS::Cognito::UserPool", "AWS::KMS::Key")


def kinds(stack: Stack, *wanted: str) -> dict[str, dict[str, Any]]:
    """All resources of some types with their attributes."""
    return {name: each for name, each in stack.template["Resources"].items() if each["Type"] in wanted}


@pytest.mark.parametrize("kind", sorted(GUARDED))
def test_stores_aws_stages_require_tls(kind: str, aws_stack: Stack) -> None:
    policy_kind, named, action = GUARDED[kind]
    refusing = set()
    for policy in aws_stack.resources(policy_kind).values():
        for statement in policy["PolicyDocument"]["Statement"]:
            everybody = statement["Principal"] in ("*", {"AWS": "*"})
            if statement["Effect"] == "Deny" and everybody and statement.get("Condition") == PLAIN_HTTP:
                assert action in as_list(statement["Action"])
                refusing |= {each["Ref"] for each in as_list(policy[named])}
    assert refusing == set(aws_stack.resources(kind))


def test_stores_buckets_block_public_access(stack: Stack) -> None:
    for name, bucket in stack.resources("AWS::S3::Bucket").items():
        assert len(bucket["PublicAccessBlockConfiguration"]) == 4, name
        assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}, name
        assert bucket["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}, name


def test_stores_bucket_accesses_are_logged_in_aws_under_separate_prefixes(aws_stack: Stack) -> None:
    buckets = aws_stack.resources("AWS::S3::Bucket")
    logged = {name: each["LoggingConfiguration"] for name, each in buckets.items() if "LoggingConfiguration" in each}
    (into,) = {each["DestinationBucketName"]["Ref"] for each in logged.values()}
    assert set(logged) == set(buckets) - {into}
    assert len({each["LogFilePrefix"] for each in logged.values()}) == len(logged)
    (expiry,) = [rule for rule in buckets[into]["LifecycleConfiguration"]["Rules"] if "ExpirationInDays" in rule]
    assert expiry["ExpirationInDays"] == STAGES[aws_stack.stage].log_retention_days


def test_stores_every_table_supports_point_in_time_recovery(stack: Stack) -> None:
    for name, table in stack.resources("AWS::DynamoDB::Table").items():
        assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}, name


def test_stores_data_outlives_its_stack_in_prod_and_is_deleted_with_it_elsewhere(stack: Stack) -> None:
    """But for what a deployment makes that fails: nothing is in it yet, and it would be in the way of the next try."""
    kept = ("RetainExceptOnCreate", "Retain") if STAGES[stack.stage].retain_data else ("Delete", "Delete")
    for name, store in kinds(stack, *KEPT).items():
        assert (name, store["DeletionPolicy"], store["UpdateReplacePolicy"]) == (name, *kept)


def test_stores_failed_creation_leaves_no_resources_behind(stack: Stack) -> None:
    """CloudFormation's plain `Retain` would leave it behind, and a second one beside it with every further try."""
    policies = {name: each.get("DeletionPolicy") for name, each in stack.template["Resources"].items()}
    assert [name for name, policy in policies.items() if policy == "Retain"] == []


def test_stores_creating_deployment_can_be_rolled_back_completely() -> None:
    """What refuses deletion would stop CloudFormation's rollback: a stage is protected once it stands."""
    first = Stack("prod", template("prod", deletion_protection="off"))
    assert not any(table["DeletionProtectionEnabled"] for table in first.resources("AWS::DynamoDB::Table").values())
    assert {pool["DeletionProtection"] for pool in first.resources("AWS::Cognito::UserPool").values()} == {"INACTIVE"}
    differing = {
        each["Type"]
        for name, each in first.template["Resources"].items()
        if each != template("prod")["Resources"][name]
    }
    assert differing == {"AWS::DynamoDB::Table", "AWS::Cognito::UserPool"}


@pytest.mark.parametrize(("setting", "protected"), [({}, True), ({"deletion_protection": "off"}, False)])
def test_stores_stack_that_retains_data_refuses_deletion_except_while_it_is_created(
    setting: dict[str, str], *, protected: bool
) -> None:
    ours = json.loads((ROOT / "cdk.json").read_text())["context"] | {"aws:cdk:bundling-stacks": []}
    app = build(context=ours | {"stage": "prod"} | setting)
    stack: Any = app.node.find_child("Duecourse-prod")
    assert stack.termination_protection is protected


def test_stores_data_is_protected_from_accidental_deletion_in_prod(stack: Stack) -> None:
    retained = STAGES[stack.stage].retain_data
    for table in stack.resources("AWS::DynamoDB::Table").values():
        assert table["DeletionProtectionEnabled"] == retained
    for pool in stack.resources("AWS::Cognito::UserPool").values():
        assert pool["DeletionProtection"] == ("ACTIVE" if retained else "INACTIVE")


def test_stores_every_log_has_a_retention_time(stack: Stack) -> None:
    for name, group in stack.resources("AWS::Logs::LogGroup").items():
        assert group["RetentionInDays"] == STAGES[stack.stage].log_retention_days, name


def test_stores_every_function_writes_to_a_log_of_the_stack(stack: Stack) -> None:
    groups = set(stack.resources("AWS::Logs::LogGroup"))
    for name, function in stack.resources("AWS::Lambda::Function").items():
        assert function["LoggingConfig"]["LogGroup"]["Ref"] in groups, name


def test_stores_every_api_request_is_logged_in_aws(aws_stack: Stack) -> None:
    for stage in aws_stack.resources("AWS::ApiGatewayV2::Stage").values():
        settings = stage["AccessLogSettings"]
        assert settings["DestinationArn"]["Fn::GetAtt"][0] in aws_stack.resources("AWS::Logs::LogGroup")


def test_stores_access_logs_contain_no_header_and_no_query(aws_stack: Stack) -> None:
    for stage in aws_stack.resources("AWS::ApiGatewayV2::Stage").values():
        line = stage["AccessLogSettings"]["Format"]
        assert "header" not in line.lower()
        assert "querystring" not in line.lower()
        assert "authorizer" not in line.lower()


TABLES = ("JobsTable", "RunsTable")


def keys(schema: list[dict[str, str]]) -> tuple[str, str]:
    by_kind = {each["KeyType"]: each["AttributeName"] for each in schema}
    return by_kind["HASH"], by_kind["RANGE"]


def test_stores_cost_nothing_when_idle(stack: Stack) -> None:
    for output in TABLES:
        assert stack.resource(stack.output(output))["Properties"]["BillingMode"] == "PAY_PER_REQUEST"


def test_stores_old_items_expire(stack: Stack) -> None:
    for output in TABLES:
        table = stack.resource(stack.output(output))["Properties"]
        assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}


def test_stores_expired_runs_can_be_archived(stack: Stack) -> None:
    runs = stack.resource(stack.output("RunsTable"))["Properties"]
    assert runs["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}


@pytest.mark.parametrize("table", Table)
def test_stores_tables_and_indexes_have_the_keys_and_attributes_that_the_stores_use(table: Table) -> None:
    definition = table_definitions()[table.value]
    kinds = {each["AttributeName"]: each["AttributeType"] for each in definition["AttributeDefinitions"]}
    assert keys(definition["KeySchema"]) == ("PK", "SK")
    found = set()
    for each in definition["GlobalSecondaryIndexes"]:
        partition, sort = keys(each["KeySchema"])
        (projection,) = each["Projection"].values()
        assert projection in ("ALL", "KEYS_ONLY")
        found.add(Index(table, each["IndexName"], partition, sort, kinds[sort] == "N", projection == "KEYS_ONLY"))
    assert found == {index for index in INDEXES if index.table is table}
    numbers = {index.sort for index in INDEXES if index.number}
    assert {name for name, kind in kinds.items() if kind != "S"} == {name for name in kinds if name in numbers}


def test_stores_tables_are_the_same_in_every_stage() -> None:
    assert table_definitions("local") == table_definitions("dev") == table_definitions("prod")


def bucket(stack: Stack) -> dict[str, Any]:
    return stack.resource(stack.output("ResultsBucket"))


def test_stores_results_and_logs_outlive_their_records_by_a_month(stack: Stack) -> None:
    rules = bucket(stack)["Properties"]["LifecycleConfiguration"]["Rules"]
    expiry = {rule["Prefix"]: rule["ExpirationInDays"] for rule in rules if "ExpirationInDays" in rule}
    kept = int(stack.environment("ExecuteLongFunction")["DUECOURSE_RUN_RETENTION_DAYS"])
    assert expiry == {"results/": kept + 30, "logs/": kept + 30}
    (broken,) = [rule for rule in rules if "AbortIncompleteMultipartUpload" in rule]
    assert broken["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}


def test_stores_deployment_and_deletion_need_no_custom_resource_functions(stack: Stack) -> None:
    assert not [each for each in stack.template["Resources"].values() if each["Type"].startswith("Custom::")]


def test_stores_events_have_their_own_bus(stack: Stack) -> None:
    ((name, bus),) = stack.resources("AWS::Events::EventBus").items()
    assert name == stack.output("BusName")
    assert bus["Name"].startswith("Duecourse")


DAY = 24 * 3600


def test_stores_lanes_redrive_to_the_dead_letter_queue_after_more_than_an_hour_of_throttling(stack: Stack) -> None:
    dead_letters = {"Fn::GetAtt": [stack.output("DeadLetterQueueUrl"), "Arn"]}
    for output in LANE_OUTPUTS:
        queue = stack.resource(stack.output(output))["Properties"]
        most = 5 if stack.stage == "local" else 30  # 75 minutes of throttled deliveries
        assert queue["RedrivePolicy"] == {"deadLetterTargetArn": dead_letters, "maxReceiveCount": most}


def test_stores_workers_know_the_receive_limit_of_their_lane(stack: Stack) -> None:
    for name in ("High", "Normal", "Low", "Long"):
        queue = stack.resource(stack.output(f"Lane{name}Url"))["Properties"]
        known = stack.environment(f"Execute{name}Function")["DUECOURSE_MAX_RECEIVE_COUNT"]
        assert known == str(queue["RedrivePolicy"]["maxReceiveCount"])


def test_stores_lanes_and_dead_letter_queue_retain_messages_for_fourteen_days(stack: Stack) -> None:
    for output in (*LANE_OUTPUTS, "DeadLetterQueueUrl"):
        assert stack.resource(stack.output(output))["Properties"]["MessageRetentionPeriod"] == 14 * DAY


def test_stores_lane_visibility_timeout_is_the_function_timeout_plus_thirty_seconds(stack: Stack) -> None:
    consumers = stack.consumers()
    for output in LANE_OUTPUTS:
        queue = stack.output(output)
        function = stack.resource(stack.consumer(consumers[queue]))["Properties"]
        assert stack.resource(queue)["Properties"]["VisibilityTimeout"] == function["Timeout"] + 30


def test_stores_short_lanes_time_out_after_two_minutes_and_the_long_lane_after_fifteen(stack: Stack) -> None:
    timeouts = {name: function["Timeout"] for name, function in stack.functions().items() if "Execute" in name}
    assert timeouts == {"ExecuteHigh": 120, "ExecuteNormal": 120, "ExecuteLow": 120, "ExecuteLong": 900}


def test_stores_every_lane_reports_partial_failures_and_has_a_concurrency_limit(stack: Stack) -> None:
    consumers = stack.consumers()
    for output in LANE_OUTPUTS:
        mapping = consumers[stack.output(output)]
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert mapping["ScalingConfig"]["MaximumConcurrency"] >= 2
        assert mapping["BatchSize"] == (1 if "Long" in output else 10)
        assert "MaximumBatchingWindowInSeconds" not in mapping


@pytest.mark.parametrize(("of", "known_as"), [("", "DUECOURSE_QUEUE_URL"), ("Bulk", "DUECOURSE_BULK_URL")])
def test_stores_both_queues_of_a_lane_are_read_by_its_own_function(stack: Stack, of: str, known_as: str) -> None:
    consumers = stack.consumers()
    for name in ("High", "Normal", "Low", "Long"):
        lane = stack.output(f"Lane{name}{of}Url")
        assert stack.consumer(consumers[lane]) == stack.output(f"Execute{name}Function")
        assert stack.function(f"Execute{name}Function")["Environment"]["Variables"][known_as] == {"Ref": lane}


def test_stores_four_tenants_leave_a_worker_of_each_lane_to_a_fifth(prod: Stack) -> None:
    known = prod.environment("ApiFunction")
    for name, lane in STAGES[prod.stage].lanes.items():
        assert 4 * int(known[f"DUECOURSE_SEAT_{name.upper()}"]) < lane.most_concurrent


def test_stores_tenant_seats_are_at_most_a_third_of_the_workers_of_a_lane_and_at_least_one(stack: Stack) -> None:
    known = stack.environment("ApiFunction")
    for name, lane in STAGES[stack.stage].lanes.items():
        seats = int(known[f"DUECOURSE_SEAT_{name.upper()}"])
        assert 1 <= seats <= max(lane.most_concurrent // 3, 1)


def test_stores_shard_queue_is_a_short_lived_lock_per_shard(stack: Stack) -> None:
    queue = stack.resource(stack.output("ShardQueueUrl"))["Properties"]
    assert queue["FifoQueue"]
    assert not queue["ContentBasedDeduplication"]
    assert queue["MessageRetentionPeriod"] == 300
    assert "RedrivePolicy" not in queue


def test_stores_dispatch_round_ends_before_its_shard_is_reassigned(stack: Stack) -> None:
    queue = stack.output("ShardQueueUrl")
    mapping = stack.consumers()[queue]
    assert stack.consumer(mapping) == stack.output("DispatchFunction")
    assert mapping["BatchSize"] == 1
    assert stack.function("DispatchFunction")["Timeout"] < stack.resource(queue)["Properties"]["VisibilityTimeout"]


def test_stores_dispatch_round_lasts_the_function_timeout_minus_the_handler_margin(stack: Stack) -> None:
    assert stack.function("DispatchFunction")["Timeout"] - ROUND_MARGIN_SECONDS == ROUND_SECONDS


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("layers/duecourse/python/duecourse/cli/doctor/surroundings.py", r"A round takes up to (\d+) s"),
        ("docs/sizing.md", r"A\sround runs for up to (\d+) s of each minute"),
    ],
)
def test_stores_documented_dispatch_round_length_is_correct(file: str, told: str) -> None:
    assert re.findall(told, (ROOT / file).read_text()) == [str(ROUND_SECONDS)]
