"""Who may do what: each role exactly what the code behind its function asks for, as the source says."""

import json
from unittest.mock import ANY

import pytest

from infra.bundling import SERVICES
from infra.stages import STAGES
from infra.stores.tables import ACTIVE_INDEX, ENDED_INDEX, STATE_INDEX, TENANT_INDEX
from tests.infra.conftest import Stack
from tests.infra.role_rights import (
    CARRIES_OPERATIONS,
    CLAIMS,
    CONNECTOR,
    FUNCTIONS,
    NOT_GRANTED,
    TARGET,
    TRACES,
    WITHOUT_RESOURCES,
    asked_for,
    expected,
    granted,
    kind_of,
    role_of,
    table,
)
from tests.support.needed_calls import needed
from tests.support.policies import as_list, key_uses, written
from tests.support.template import ROOT, source_of, template

SCAN = "dynamodb:Scan"
OWNER = "s3:ResourceAccount"

JOB_INDEXES = frozenset({TENANT_INDEX, STATE_INDEX})


def test_permissions_each_function_has_exactly_what_its_code_requires(stack: Stack) -> None:
    for name in stack.functions():
        assert granted(stack, name) == expected(stack, name), name


def test_permissions_callbacks_reach_only_their_own_queue_which_one_lane_reads(stack: Stack) -> None:
    queue = stack.output("LaneCallbacksUrl")
    senders = {name for name in stack.functions() if "sqs:SendMessage" in granted(stack, name).get("callbacks", ())}
    sends = [each for each in granted(stack, "Callbacks").items() if "sqs:SendMessage" in each[1]]
    assert (senders, sends) == ({"Callbacks"}, [("callbacks", {"sqs:SendMessage"})])
    mappings = stack.resources("AWS::Lambda::EventSourceMapping").values()
    (mapping,) = [each for each in mappings if queue in written(each["EventSourceArn"])]
    assert stack.consumer(mapping) == stack.output("ExecuteNormalFunction")
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 10}
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    lane, own = (stack.resources("AWS::SQS::Queue")[each] for each in (stack.output("LaneNormalUrl"), queue))
    assert own == lane


def test_permissions_runs_of_all_tenants_are_read_only_by_the_api_of_a_stage_with_operators() -> None:
    stack = Stack("prod", template("prod", operator_tenant="platform"))
    for name in stack.functions():
        scans = [each for each in stack.statements(role_of(stack.functions()[name])) if SCAN in as_list(each["Action"])]
        if name == "Api":
            (one,) = scans
            assert written(one["Resource"]).endswith("/index/active")
            assert granted(stack, name)["runs"] == granted(Stack("prod", template("prod")), name)["runs"] | {SCAN}
        else:
            assert all("/index/" not in written(each) for scan in scans for each in as_list(scan["Resource"]))
    settings = {stack.environment(f"{name}Function")["DUECOURSE_OPERATOR_TENANT"] for name in ("Api", "Repair")}
    assert settings == {"platform"}


def test_permissions_only_workers_write_results_to_allowed_buckets_and_only_below_the_prefixes() -> None:
    key = "arn:aws:kms:eu-west-1:123456789012:key/abc"
    buckets = {"reports": {"prefixes": {"acme": "daily/", "*": "others/{tenant}/"}, "key": key}}
    buckets |= {"theirs": {"prefixes": {"globex": ""}, "account": "123456789012"}}
    stack = Stack("dev", template("dev", result_buckets=json.dumps(buckets)))
    for name, function in stack.functions().items():
        statements = {str(each["Resource"]): each for each in stack.statements(role_of(function))}
        ours = [each for resource, each in statements.items() if ":s3:::" in resource or key in resource]
        if not name.startswith("Execute"):
            assert ours == [], name
            continue
        found = [([*map(written, as_list(each["Resource"]))], each["Action"], each["Condition"]) for each in ours]
        arn = "arn:{Partition}:s3:::".__add__
        by = "StringEquals"
        assert found == [
            (
                [arn("reports/daily/*"), arn("reports/others/*")],
                "s3:PutObject",
                {by: {OWNER: {"Ref": "AWS::AccountId"}}},
            ),
            ([key], "kms:GenerateDataKey", {by: {"kms:ViaService": ANY}}),
            ([arn("theirs/*")], "s3:PutObject", {by: {OWNER: "123456789012"}}),
        ]


def test_permissions_logs_are_listed_only_by_the_api_and_only_below_their_prefix(stack: Stack) -> None:
    for name, function in stack.functions().items():
        listing = [each for each in stack.statements(role_of(function)) if "s3:ListBucket" in as_list(each["Action"])]
        conditions = [each["Condition"] for each in listing]
        assert conditions == ([{"StringLike": {"s3:prefix": "logs/*"}}] if name == "Api" else []), name


def test_permissions_callbacks_write_logs_and_read_none(stack: Stack) -> None:
    assert granted(stack, "Callbacks")["run logs"] == {"s3:PutObject"}
    assert granted(stack, "Api")["run logs"] == {"s3:GetObject", "s3:ListBucket"}


def test_permissions_only_workers_sign_tokens_and_only_the_api_reads_the_public_keys() -> None:
    stack = Stack("dev", template("dev", oidc_keys=json.dumps(["2027", "2026"])))
    keys = [{"Fn::GetAtt": [key, "Arn"]} for key in stack.resources("AWS::KMS::Key")]
    assert len(keys) == 2
    for name, key in stack.resources("AWS::KMS::Key").items():
        assert (key["KeySpec"], key["KeyUsage"], key["PendingWindowInDays"]) == ("RSA_2048", "SIGN_VERIFY", 7)
        assert stack.template["Resources"][name]["DeletionPolicy"] == "Delete"
    first = next(name for name in stack.resources("AWS::KMS::Key") if "2027" in name)
    for name, function in stack.functions().items():
        allowed = {
            each["Action"]: each for each in stack.statements(role_of(function)) if "kms:" in str(each["Action"])
        }
        wanted = {"kms:Sign"} if name.startswith("Execute") else {"kms:GetPublicKey"} if name == "Api" else set()
        assert allowed.keys() == wanted, name
        assert all(sorted(map(str, each["Resource"])) == sorted(map(str, keys)) for each in allowed.values())
        if wanted:
            address, space, signing, *_ = json.loads(stack.environment(f"{name}Function")["DUECOURSE_OIDC"])[
                "Fn::Join"
            ][1]
            assert (address["Fn::GetAtt"][1], space, signing) == ("ApiEndpoint", " ", {"Ref": first})


def test_permissions_every_function_is_known_to_these_tests(stack: Stack) -> None:
    config = STAGES[stack.stage]
    some = ({CLAIMS} if config.auth.kind == "cognito" else set()) | ({CONNECTOR} if config.connectors else set())
    assert {kind_of(name) for name in stack.functions()} == set(FUNCTIONS) - {CLAIMS, CONNECTOR} | some


def test_permissions_withheld_actions_are_still_requested_by_the_code(prod: Stack) -> None:
    for (kind, store, action), reason in NOT_GRANTED.items():
        names = [name for name in prod.functions() if kind_of(name) == kind]
        assert all(action in asked_for(prod, name)[store] for name in names), reason


def test_permissions_indexes_are_granted_only_to_functions_that_query_them(stack: Stack) -> None:
    for name, function in stack.functions().items():
        resources = [
            each for statement in stack.statements(role_of(function)) for each in as_list(statement["Resource"])
        ]
        opened = {text.rpartition("/")[2] for text in map(written, resources) if "/index/" in text}
        asked = {call.method for call in needed(source_of(kind_of(name))) if call.method.startswith("index:")}
        # A role without queries of jobs has none of their indexes.
        withheld = JOB_INDEXES if (kind_of(name), "jobs", "dynamodb:Query") in NOT_GRANTED else frozenset()
        if kind_of(name) == "Execute" and name != CARRIES_OPERATIONS:
            withheld |= {ENDED_INDEX, ACTIVE_INDEX}
        assert opened == {each.removeprefix("index:") for each in asked} - withheld, name


@pytest.mark.parametrize("kept", ["prod", "keyed"])
def test_permissions_encryption_key_is_used_only_through_the_stores_of_the_role(
    kept: str, request: pytest.FixtureRequest
) -> None:
    stack: Stack = request.getfixturevalue(kept)
    keys = [{"Fn::GetAtt": [key, "Arn"]} for key in stack.resources("AWS::KMS::Key")]
    assert len(keys) == (kept == "keyed")
    for name, function in stack.functions().items():
        statements = stack.statements(role_of(function))
        uses = [each for each in statements if str(as_list(each["Action"])[0]).startswith("kms:")]
        assert all([each["Resource"]] == keys for each in uses)
        found = {
            (action, written(via).partition(".")[0])
            for each in uses
            for action in as_list(each["Action"])
            for via in as_list(each["Condition"]["StringEquals"]["kms:ViaService"])
        }
        rights = set().union(*granted(stack, name).values())
        assert found == (key_uses(rights) if keys else set()), name


def test_permissions_workers_receive_no_message_before_their_policies_exist(stack: Stack) -> None:
    for name, function in stack.functions().items():
        policies = stack.resources("AWS::IAM::Policy").items()
        own = {policy for policy, each in policies if {"Ref": role_of(function)} in each["Roles"]}
        assert own <= set(stack.resource(stack.output(f"{name}Function"))["DependsOn"])


def test_permissions_tasks_run_only_in_allowed_clusters_and_roles_are_passed_only_to_tasks(stack: Stack) -> None:
    statements = stack.statements(role_of(stack.functions()["ExecuteLong"]))
    conditions = {str(each["Action"]): each["Condition"] for each in statements if "Condition" in each}
    clusters = conditions["ecs:RunTask"]["ArnLike"]["ecs:cluster"]
    assert [written(cluster).split(":", 5)[-1] for cluster in clusters] == [f"cluster/{TARGET}"]
    assert conditions["iam:PassRole"] == {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}


def test_permissions_only_traces_and_metrics_have_wildcard_resources_or_actions(stack: Stack) -> None:
    for policy in stack.resources("AWS::IAM::Policy").values():
        for statement in policy["PolicyDocument"]["Statement"]:
            if not set(as_list(statement["Action"])) <= TRACES | WITHOUT_RESOURCES.keys():
                assert "*" not in as_list(statement["Resource"])
            assert not [action for action in as_list(statement["Action"]) if "*" in action]


def test_permissions_each_function_has_its_own_role_without_managed_policies(stack: Stack) -> None:
    roles = [role_of(function) for function in stack.functions().values()]
    assert len(roles) == len(set(roles))
    ours = {
        name
        for name, role in stack.resources("AWS::IAM::Role").items()
        if "codedeploy" not in str(role["AssumeRolePolicyDocument"])  # see test_deployment
    }
    assert set(roles) == ours
    for role in stack.resources("AWS::IAM::Role").values():
        assert "ManagedPolicyArns" not in role


def test_permissions_layer_knows_every_service_that_a_role_may_use(stack: Stack) -> None:
    used = {
        action.split(":")[0]
        for policy in stack.resources("AWS::IAM::Policy").values()
        for statement in policy["PolicyDocument"]["Statement"]
        for action in as_list(statement["Action"])
    }
    named_by_boto3 = {"stepfunctions" if service == "states" else service for service in used}
    # Logs and traces are written by Lambda itself, roles are passed by ecs:RunTask, keys are used by the stores.
    assert named_by_boto3 - {"logs", "xray", "iam", "kms"} <= SERVICES, (
        "infra/bundling.py leaves this service's description out of the layer"
    )


@pytest.mark.parametrize("name", ["Pages", "Tickets"])
def test_permissions_alarms_of_this_account_may_publish(aws_stack: Stack, name: str) -> None:
    topic = {"Ref": aws_stack.output(f"{name}TopicArn")}
    policies = aws_stack.resources("AWS::SNS::TopicPolicy").values()
    (policy,) = [policy for policy in policies if policy["Topics"] == [topic]]
    (allow,) = [each for each in policy["PolicyDocument"]["Statement"] if each["Effect"] == "Allow"]
    assert allow["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert allow["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


def test_permissions_of_each_function_are_listed_in_the_documentation(prod: Stack) -> None:
    page = (ROOT / "docs" / "security.md").read_text()
    shown = page.partition("<!-- permissions -->\n")[2].partition("\n<!-- /permissions -->")[0]
    assert shown == table(prod), "put the right-hand side between the marks in docs/security.md"
