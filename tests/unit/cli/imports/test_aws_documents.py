"""Rules of EventBridge, CloudFormation templates, and Terraform's plans and states."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from click.testing import CliRunner

from duecourse.cli.imports.aws_schedules import NOWHERE, Place
from duecourse.cli.imports.entry import Entry, Names, NotReadableError, Runner
from duecourse.cli.imports.eventbridge import read_schedules
from duecourse.cli.main import main
from tests.support.http_target import Seen, documents, http_target

NOW = 1_795_000_000.0
HERE = "eu-central-1:123456789012"
STAGE = Place("123456789012", "eu-central-1")
LAMBDA = f"arn:aws:lambda:{HERE}:function:duecourse-target-mail"
QUEUE = f"arn:aws:sqs:{HERE}:duecourse-target-mail"
TARGET = {"Id": "mail", "Arn": LAMBDA, "Input": '{"a": 1}'}
RULE: dict[str, Any] = {
    "Name": "nightly",
    "Arn": f"arn:aws:events:{HERE}:rule/nightly",
    "State": "ENABLED",
    "ScheduleExpression": "cron(0 2 * * ? *)",
    "EventBusName": "default",
    "Targets": [TARGET],
}


def entries(document: Any, stage: Place = NOWHERE) -> list[Entry]:
    return read_schedules(json.dumps(document), file="f.json", runner=Runner(), names=Names(), now=NOW, stage=stage)


def outcome(found: Entry) -> tuple[str | None, str]:
    return (None if found.job is None else found.job["id"]), " ".join(found.notes)


def test_import_rules_become_jobs_in_utc() -> None:
    (found,) = entries({"Rules": [RULE]})
    assert found.job == {
        "id": "nightly",
        "name": "nightly",
        "schedule": "cron(0 2 * * ? *)",
        "timezone": "UTC",
        "target": {"type": "lambda", "function": "duecourse-target-mail", "mode": "async"},
        "payload": {"a": 1},
        "overlap": "allow",
        "retry": {"max_attempts": 100, "max_age_seconds": 86400},
    }


def test_import_rules_with_several_targets_become_a_job_for_each_target() -> None:
    found = entries([RULE | {"Targets": [TARGET, {"Id": "queue", "Arn": QUEUE}]}])
    assert [outcome(each)[0] for each in found] == ["nightly-mail", "nightly-queue"]
    assert found[1].job is not None
    assert found[1].job["payload"] == {
        "version": "0",
        "id": "{{run_id}}",
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "123456789012",
        "time": "{{due_at}}",
        "region": "eu-central-1",
        "resources": [RULE["Arn"]],
        "detail": {},
    }


def test_import_rules_accept_targets_beside_the_rules() -> None:
    bare = {name: value for name, value in RULE.items() if name != "Targets"}
    for document in (
        {"Rules": [bare], "Targets": [TARGET]},
        {"Rules": [bare, bare | {"Name": "x"}], "Targets": {"nightly": [TARGET], "x": [TARGET]}},
        RULE,
        [RULE],
    ):
        assert outcome(entries(document)[0])[0] == "nightly"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"Targets": []}, "has no targets"),
        ({"Targets": None}, "list-targets-by-rule"),
        ({"State": "DISABLED"}, "is disabled"),
        ({"Targets": [TARGET | {"InputTransformer": {"InputTemplate": "x"}}]}, "InputTransformer"),
        ({"Targets": [TARGET | {"InputPath": "$.time"}]}, "InputPath"),
        ({"Targets": [{"Id": "bus", "Arn": f"arn:aws:events:{HERE}:event-bus/other"}]}, "source"),
        ({"Targets": [{"Id": "s", "Arn": f"arn:aws:kinesis:{HERE}:stream/s"}]}, "kinesis is not supported"),
    ],
)
def test_import_rules_list_what_cannot_be_imported(changes: dict[str, Any], why: str) -> None:
    (found,) = entries({"Rules": [RULE | changes]})
    assert found.job is None
    assert not found.setting
    assert why in found.notes[0]


def test_import_rules_report_patterns_and_ignore_rules_without_a_schedule() -> None:
    pattern = {"EventPattern": '{"source": ["shop"]}'}
    both, react = entries({"Rules": [RULE | pattern, {"Name": "react", **pattern}]})
    assert outcome(both)[0] == "nightly"
    assert "EventPattern is not carried over" in both.notes
    assert react.setting
    assert "reacts to events" in react.notes[0]
    (lonely,) = entries({"Targets": [TARGET]})
    assert lonely.job is None


TEMPLATE: dict[str, Any] = {
    "Parameters": {"Zone": {"Type": "String", "Default": "UTC"}},
    "Resources": {
        "Mail": {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": "duecourse-target-mail"}},
        "Unnamed": {"Type": "AWS::Lambda::Function", "Properties": {}},
        "Nightly": {
            "Type": "AWS::Scheduler::Schedule",
            "Properties": {
                "ScheduleExpression": "cron(0 2 * * ? *)",
                "ScheduleExpressionTimezone": "Europe/Berlin",
                "FlexibleTimeWindow": {"Mode": "OFF"},
                "KmsKeyArn": {"Fn::GetAtt": ["Key", "Arn"]},
                "Target": {
                    "Arn": {"Fn::GetAtt": ["Mail", "Arn"]},
                    "RoleArn": {"Fn::GetAtt": ["Role", "Arn"]},
                    "DeadLetterConfig": {"Arn": {"Fn::GetAtt": ["Dead", "Arn"]}},
                    "Input": {"Fn::Join": ["", ['{"region": "', {"Ref": "AWS::Region"}, '"}']]},
                },
            },
        },
        "Daily": {
            "Type": "AWS::Events::Rule",
            "Properties": {
                "ScheduleExpression": "rate(1 day)",
                "State": "ENABLED",
                "Targets": [
                    {"Id": "t", "Arn": {"Fn::Sub": "arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:q"}}
                ],
            },
        },
    },
}


def schedule(**changes: Any) -> dict[str, Any]:
    properties = TEMPLATE["Resources"]["Nightly"]["Properties"] | {"Target": {"Arn": LAMBDA}} | changes
    return {"Resources": {"Nightly": {"Type": "AWS::Scheduler::Schedule", "Properties": properties}}}


def test_import_cloudformation_template_has_schedules_and_rules() -> None:
    nightly, daily = entries(TEMPLATE, STAGE)
    assert nightly.job is not None, nightly.notes
    assert daily.job is not None, daily.notes
    assert nightly.place == "f.json Nightly"
    assert nightly.job["id"] == "Nightly"
    assert nightly.job["timezone"] == "Europe/Berlin"
    assert nightly.job["target"]["function"] == "duecourse-target-mail"
    assert nightly.job["payload"] == {"region": "eu-central-1"}
    assert any("DeadLetterConfig" in note for note in nightly.notes)
    assert (daily.job["schedule"], daily.job["target"]) == ("rate(1 day)", {"type": "sqs", "queue": "q"})
    assert daily.job["payload"]["resources"] == [f"arn:aws:events:{HERE}:rule/Daily"]
    for wrapped in ({"TemplateBody": TEMPLATE}, {"TemplateBody": json.dumps(TEMPLATE)}):
        assert [each.job for each in entries(wrapped, STAGE)] == [nightly.job, daily.job]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"ScheduleExpression": {"Fn::Sub": "cron(${Minute} 2 * * ? *)"}}, "ScheduleExpression is "),
        ({"ScheduleExpressionTimezone": {"Ref": "Zone"}}, "ScheduleExpressionTimezone is "),
        ({"State": {"Fn::If": ["IsProd", "ENABLED", "DISABLED"]}}, "State is "),
        ({"Target": {"Arn": {"Fn::GetAtt": ["Unnamed", "Arn"]}}}, "Target.Arn is "),
        ({"Target": {"Arn": {"Fn::ImportValue": "mail"}}}, "Target.Arn is "),
        ({"Target": {"Arn": LAMBDA, "Input": {"Fn::Sub": ["${x}", {"x": {"Ref": "P"}}]}}}, "Target.Input is "),
        ({"Target": {"Arn": LAMBDA, "RetryPolicy": {"MaximumRetryAttempts": {"Ref": "P"}}}}, "Target.RetryPolicy.Max"),
        ({"Target": {"Ref": "Target"}}, "Target is "),
        ({"Target": {"Fn::If": ["A", {}, {}]}}, "Target is "),
        ({"ScheduleExpression": None}, "has no ScheduleExpression"),
        (
            {"Target": {"Arn": "arn:aws:scheduler:::aws-sdk:ecs:updateService", "RoleArn": {"Ref": "R"}}},
            "Target.RoleArn is ",
        ),
    ],
)
def test_import_cloudformation_lists_values_that_it_cannot_resolve(changes: dict[str, Any], why: str) -> None:
    (found,) = entries(schedule(**changes), STAGE)
    assert found.job is None
    assert not found.setting
    assert why in found.notes[0]


def test_import_cloudformation_lists_conditions_loops_and_serverless_events() -> None:
    resources = {
        "Maybe": TEMPLATE["Resources"]["Nightly"] | {"Condition": "IsProd"},
        "Fn::ForEach::Each": ["X", ["a"], {}],
        "Sam": {
            "Type": "AWS::Serverless::Function",
            "Properties": {"Events": {"E": {"Type": "ScheduleV2"}, "Http": {"Type": "Api"}}},
        },
        "Inner": {"Type": "AWS::CloudFormation::Stack"},
        "Rule": {
            "Type": "AWS::Events::Rule",
            "Properties": {"ScheduleExpression": "rate(1 day)", "Targets": {"Ref": "T"}},
        },
    }
    found = {each.place: each for each in entries({"Resources": resources}, STAGE)}
    assert {place: each.setting for place, each in found.items()} == {
        "f.json Maybe": False,
        "f.json Fn::ForEach::Each": False,
        "f.json Sam.E": False,
        "f.json Inner": True,
        "f.json Rule": False,
    }
    assert all(each.job is None for each in found.values())


def test_import_cloudformation_requires_the_account_and_region() -> None:
    (found,) = entries(schedule())
    assert "set --account and --region" in found.notes[0]


def test_import_yaml_template_names_the_remedy() -> None:
    with pytest.raises(NotReadableError, match="convert a template in YAML to JSON"):
        read_schedules("Resources:\n  X: {}\n", file="f", runner=Runner(), names=Names(), now=NOW)


SCHEDULED: dict[str, Any] = {
    "arn": f"arn:aws:scheduler:{HERE}:schedule/default/nightly",
    "name": "nightly",
    "group_name": "default",
    "schedule_expression": "cron(0 2 * * ? *)",
    "schedule_expression_timezone": "Europe/Berlin",
    "state": "ENABLED",
    "start_date": "",
    "end_date": None,
    "flexible_time_window": [{"mode": "FLEXIBLE", "maximum_window_in_minutes": 15}],
    "kms_key_arn": "",
    "target": [
        {
            "arn": f"arn:aws:ecs:{HERE}:cluster/main",
            "role_arn": "arn:aws:iam::123456789012:role/scheduler",
            "input": '{"containerOverrides": [{"name": "app"}]}',
            "dead_letter_config": [],
            "ecs_parameters": [
                {
                    "task_definition_arn": f"arn:aws:ecs:{HERE}:task-definition/report:7",
                    "task_count": 1,
                    "launch_type": "FARGATE",
                    "network_configuration": [
                        {"subnets": ["subnet-0123456789abcdef0"], "security_groups": [], "assign_public_ip": True}
                    ],
                    "enable_execute_command": False,
                }
            ],
            "retry_policy": [{"maximum_event_age_in_seconds": 3600, "maximum_retry_attempts": 0}],
            "sqs_parameters": [],
        }
    ],
}
EVENT_RULE = {
    "name": "daily",
    "schedule_expression": "rate(1 day)",
    "is_enabled": True,
    "event_pattern": None,
    "arn": f"arn:aws:events:{HERE}:rule/daily",
    "event_bus_name": "default",
    "force_destroy": False,
    "tags": {},
}
EVENT_TARGET = {"rule": "daily", "target_id": "q", "arn": f"{QUEUE}.fifo", "sqs_target": [{"message_group_id": "g"}]}
OTHERS = {"event_bus_name": "default", "input": "", "input_path": "", "input_transformer": []}


def resource(kind: str, name: str, values: Mapping[str, Any], module: str = "") -> dict[str, Any]:
    return {"address": f"{module}{kind}.{name}", "mode": "managed", "type": kind, "name": name, "values": values}


def root(*resources: dict[str, Any]) -> dict[str, Any]:
    return {"root_module": {"resources": resources[:1], "child_modules": [{"resources": resources[1:]}]}}


THREE = (
    resource("aws_scheduler_schedule", "nightly", SCHEDULED),
    resource("aws_cloudwatch_event_rule", "daily", EVENT_RULE, "module.m."),
    resource("aws_cloudwatch_event_target", "t", EVENT_TARGET | OTHERS, "module.m."),
)


@pytest.mark.parametrize(
    "document",
    [
        {"format_version": "1.0", "terraform_version": "1.9.0", "values": root(*THREE)},
        {"format_version": "1.2", "terraform_version": "1.9.0", "planned_values": root(*THREE)},
        {
            "version": 4,
            "terraform_version": "1.9.0",
            "resources": [
                {"mode": each["mode"], "type": each["type"], "name": each["name"]}
                | {"instances": [{"attributes": each["values"]}]}
                for each in THREE
            ],
        },
    ],
)
def test_import_terraform_reads_plans_and_states(document: dict[str, Any]) -> None:
    nightly, daily = entries(document)
    assert nightly.job is not None, nightly.notes
    assert daily.job is not None, daily.notes
    assert nightly.place == "f.json aws_scheduler_schedule.nightly"
    assert (nightly.job["id"], nightly.job["timezone"], nightly.job["jitter_seconds"]) == (
        "nightly",
        "Europe/Berlin",
        900,
    )
    assert nightly.job["target"]["subnets"] == ["subnet-0123456789abcdef0"]
    assert nightly.job["target"]["public_ip"] is True
    assert nightly.job["retry"] == {"max_attempts": 1, "max_age_seconds": 3600}
    assert (daily.job["id"], daily.job["schedule"], daily.job["timezone"]) == ("daily", "rate(1 day)", "UTC")
    assert daily.job["target"] == {"type": "sqs", "queue": "duecourse-target-mail.fifo", "group": "g"}
    assert not any("is not carried over" in note for note in (*nightly.notes, *daily.notes))


def test_import_terraform_lists_values_that_are_known_only_after_apply() -> None:
    def plan(unknown: dict[str, Any], **values: Any) -> dict[str, Any]:
        planned = {"planned_values": root(resource("aws_scheduler_schedule", "n", {**SCHEDULED, **values}))}
        change = {"address": "aws_scheduler_schedule.n", "change": {"after_unknown": unknown}}
        return {**planned, "resource_changes": [change]}

    target = {name: value for name, value in SCHEDULED["target"][0].items() if name != "arn"}
    (found,) = entries(plan({"target": [{"arn": True}]}, target=[target]), STAGE)
    assert outcome(found)[0] is None
    assert "Target.Arn is known after apply" in found.notes[0]
    harmless = {"arn": True, "id": True, "name": True, "target": [{"role_arn": True}]}
    (found,) = entries(plan(harmless, arn=None, name=None), STAGE)
    assert outcome(found)[0] == "n"


def test_import_terraform_lists_rules_without_targets_and_targets_without_rules() -> None:
    rule, target = THREE[1], THREE[2]
    (found,) = entries({"values": root(rule)}, STAGE)
    assert "has no targets" in found.notes[0]
    (found,) = entries({"values": root(target)}, STAGE)
    assert "its rule daily is not in the file" in found.notes[0]
    off = resource("aws_cloudwatch_event_rule", "daily", EVENT_RULE | {"is_enabled": False})
    (found,) = entries({"values": root(off, target)}, STAGE)
    assert "is disabled" in found.notes[0]


@pytest.mark.parametrize(
    "document",
    [
        {"Rules": [5, None, "x"]},
        {"Rules": [RULE], "Targets": 5},
        {"Resources": {"A": 5, "B": {"Type": "AWS::Events::Rule"}, "C": {"Type": 5, "Properties": []}}},
        {"Resources": {"A": {"Type": "AWS::Serverless::Function", "Properties": {"Events": [1]}}}},
        {"planned_values": {"root_module": 5}},
        {"planned_values": {"root_module": {"resources": [5, {"values": 5, "type": "aws_scheduler_schedule"}]}}},
        {"values": root(resource("aws_scheduler_schedule", "x", {"target": 5}))},
        {
            "resources": [{"mode": "managed", "type": "aws_scheduler_schedule", "instances": [5]}],
            "terraform_version": 1,
        },
        {"planned_values": {}, "resource_changes": [{"change": 5}]},
        5,
        "x",
        [[[]]],
    ],
)
def test_import_aws_documents_of_another_form_do_not_end_in_a_traceback(document: Any) -> None:
    assert all(each.job is None or each.notes for each in entries(document, STAGE))


def test_import_eventbridge_command_reads_a_template(tmp_path: Any) -> None:
    file = tmp_path / "template.json"
    file.write_text(json.dumps(TEMPLATE))
    options = ["--account", "123456789012", "--region", "eu-central-1"]
    result = CliRunner().invoke(main, ["import", "eventbridge", str(file), *options])
    assert result.exit_code == 0, result.output
    assert "2 jobs, 0 not imported" in result.stderr


def test_import_eventbridge_reads_the_scheduled_rules_of_the_account() -> None:
    rule = {name: value for name, value in RULE.items() if name != "Targets"}

    def answer(asked: Seen) -> tuple[int, object]:
        given = json.loads(asked.body)
        if "Rule" in given:
            more = {"NextToken": "more"} if "NextToken" not in given else {}
            return 200, {"Targets": [TARGET | {"Id": "b" if "NextToken" in given else "a"}], **more}
        return 200, {"Rules": [rule, {"Name": "react", "EventPattern": "{}"}]}

    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "eu-central-1"}
    with http_target(documents(answer)) as server:
        environment = {"AWS_ENDPOINT_URL": server.url(""), **keys}
        result = CliRunner(env=environment).invoke(main, ["import", "eventbridge", "--rules"])
    assert result.exit_code == 0, result.output
    assert "job nightly-a: cron(0 2 * * ? *)" in result.stderr
    assert "job nightly-b: " in result.stderr
    assert "2 jobs, 0 not imported" in result.stderr


@pytest.mark.parametrize("name", ["Rules", "Schedules"])
def test_import_schedules_lists_that_a_response_has_further_pages(name: str) -> None:
    found = entries({name: [], "NextToken": "next"})
    assert [each.job for each in found] == [None]
    assert "incomplete" in found[0].notes[0]


def test_import_terraform_gives_a_target_to_the_rule_of_its_module_if_several_have_the_name() -> None:
    modules = []
    for region in ("eu-west-1", "us-east-1"):
        rule = {"name": "nightly", "schedule_expression": "rate(1 day)"}
        rule["arn"] = f"arn:aws:events:{region}:123456789012:rule/nightly"
        target = {"rule": "nightly", "target_id": "t", "arn": f"arn:aws:lambda:{region}:123456789012:function:f"}
        resources = [
            {"address": f"module.{region}.{kind}.x", "mode": "managed", "type": kind, "values": values}
            for kind, values in (("aws_cloudwatch_event_rule", rule), ("aws_cloudwatch_event_target", target))
        ]
        modules.append({"resources": resources})
    document = {"values": {"root_module": {"child_modules": modules}}}
    found = entries(document, Place("123456789012", "eu-west-1"))
    assert [each.job is not None for each in found] == [True, False]


def test_import_terraform_does_not_choose_between_rules_of_the_same_name() -> None:
    rule = {"name": "nightly", "schedule_expression": "rate(1 day)"}
    resources = [
        {"address": f"aws_cloudwatch_event_rule.{name}", "type": "aws_cloudwatch_event_rule", "values": rule}
        for name in ("a", "b")
    ]
    target = {"rule": "nightly", "target_id": "t", "arn": "arn:aws:lambda:eu-west-1:123456789012:function:f"}
    address = "aws_cloudwatch_event_target.t"
    resources.append({"address": address, "type": "aws_cloudwatch_event_target", "values": target})
    found = entries({"values": {"root_module": {"resources": resources}}}, Place("123456789012", "eu-west-1"))
    assert all(each.job is None for each in found)
    assert any("several rules are named nightly" in note for each in found for note in each.notes)
