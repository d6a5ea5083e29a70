"""Schedules of EventBridge, from files and accounts.

- What becomes of schedules of EventBridge Scheduler.
- Schedules that are read from the account itself.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from click.testing import CliRunner, Result

from duecourse.cli.imports.aws_schedules import Place
from duecourse.cli.imports.entry import Entry, Names, NotReadableError, Runner
from duecourse.cli.imports.eventbridge import of_schedules, read_schedules
from duecourse.cli.main import main
from tests.unit.cli.served import served

NOW = 1_795_000_000.0
HERE = "eu-central-1:123456789012"
LAMBDA = f"arn:aws:lambda:{HERE}:function:duecourse-target-mail"
SCHEDULE: dict[str, Any] = {
    "Arn": f"arn:aws:scheduler:{HERE}:schedule/default/nightly",
    "Name": "nightly",
    "GroupName": "default",
    "ScheduleExpression": "cron(0 2 * * ? *)",
    "ScheduleExpressionTimezone": "Europe/Berlin",
    "State": "ENABLED",
    "FlexibleTimeWindow": {"Mode": "OFF"},
    "Target": {
        "Arn": LAMBDA,
        "RoleArn": "arn:aws:iam::123456789012:role/scheduler",
        "Input": '{"at": "<aws.scheduler.scheduled-time>", "raw": "{{x}}"}',
        "RetryPolicy": {"MaximumRetryAttempts": 2, "MaximumEventAgeInSeconds": 3600},
    },
}


TASK: dict[str, Any] = {
    "Arn": f"arn:aws:ecs:{HERE}:cluster/main",
    "Input": '{"containerOverrides": [{"name": "app"}]}',
    "EcsParameters": {
        "TaskDefinitionArn": f"arn:aws:ecs:{HERE}:task-definition/report:7",
        "LaunchType": "FARGATE",
        "NetworkConfiguration": {"awsvpcConfiguration": {"Subnets": ["subnet-0123456789abcdef0"]}},
    },
}


def entry(schedule: Any, runner: Runner | None = None, stage: Place | None = None) -> Entry:
    text, runner, stage = json.dumps(schedule), runner or Runner(), stage or Place()
    (found,) = read_schedules(text, file="s.json", runner=runner, names=Names(), now=NOW, stage=stage)
    return found


def job(target: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    found = entry(SCHEDULE | {"Target": SCHEDULE["Target"] | (target or {})} | changes)
    assert found.job is not None, found.notes
    return found.job


def test_import_eventbridge_converts_a_schedule_to_a_job_with_its_target() -> None:
    assert job() == {
        "id": "nightly",
        "name": "nightly",
        "schedule": "cron(0 2 * * ? *)",
        "timezone": "Europe/Berlin",
        "dst_gap": "skip",
        "dst_fold": "first",
        "target": {"type": "lambda", "function": "duecourse-target-mail", "mode": "async"},
        "payload": {"at": "{{due_at}}", "raw": "\\{{x\\}}"},
        "overlap": "allow",
        "retry": {"max_attempts": 3, "max_age_seconds": 3600},
    }


@pytest.mark.parametrize(
    ("target", "called"),
    [
        (
            {"Arn": f"arn:aws:sqs:{HERE}:mail.fifo", "SqsParameters": {"MessageGroupId": "g"}},
            {"type": "sqs", "queue": "mail.fifo", "group": "g"},
        ),
        ({"Arn": f"arn:aws:sns:{HERE}:news"}, {"type": "sns", "topic": "news"}),
        ({"Arn": f"arn:aws:states:{HERE}:stateMachine:flow"}, {"type": "stepfunctions", "machine": "flow"}),
        ({"Arn": f"{LAMBDA}:$LATEST"}, {"type": "lambda", "function": "duecourse-target-mail", "mode": "async"}),
        (
            {"Arn": f"{LAMBDA}:live"},
            {"type": "lambda", "function": "duecourse-target-mail", "mode": "async", "qualifier": "live"},
        ),
        (
            {
                "Arn": f"arn:aws:events:{HERE}:event-bus/shop.bus",
                "EventBridgeParameters": {"Source": "shop", "DetailType": "Due"},
            },
            {"type": "eventbridge", "bus": "shop.bus", "source": "shop", "detail_type": "Due"},
        ),
        (
            TASK,
            {
                "type": "ecs",
                "cluster": "main",
                "task_definition": "report:7",
                "container": "app",
                "subnets": ["subnet-0123456789abcdef0"],
                "security_groups": [],
                "public_ip": False,
            },
        ),
        (
            {"Arn": "arn:aws:scheduler:::aws-sdk:ecs:updateService", "Input": '{"service": "web"}'},
            {
                "type": "aws",
                "service": "ecs",
                "action": "UpdateService",
                "role": "scheduler",
                "parameters": {"service": "web"},
            },
        ),
    ],
)
def test_import_eventbridge_converts_targets(target: dict[str, Any], called: dict[str, Any]) -> None:
    assert job(target)["target"] == called


CALL = {"Arn": "arn:aws:scheduler:::aws-sdk:ecs:updateService", "Input": "{}"}


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ({"Arn": f"arn:aws:states:{HERE}:stateMachine:flow:live"}, "without alias, version or path"),
        ({"Arn": f"arn:aws:states:{HERE}:activity:flow"}, "a job calls a resource by its name"),
        ({"Arn": LAMBDA.replace("123456789012", "210987654321")}, "is not in the stage's account and region"),
        ({"Arn": LAMBDA.replace("eu-central-1", "us-east-1")}, "(account 123456789012, region eu-central-1)"),
        ({"Arn": f"arn:aws:sqs:us-east-1:{HERE[-12:]}:mail"}, "is not in the stage's account and region"),
        (CALL | {"RoleArn": "arn:aws:iam::210987654321:role/scheduler"}, "is not in the stage's account and region"),
        (CALL | {"RoleArn": "arn:aws:iam::123456789012:role/service/scheduler"}, "version or path"),
        (TASK | {"EcsParameters": TASK["EcsParameters"] | {"TaskCount": 2}}, "must be one task"),
        (TASK | {"EcsParameters": TASK["EcsParameters"] | {"LaunchType": None}}, "with LaunchType FARGATE"),
        (
            TASK
            | {
                "EcsParameters": TASK["EcsParameters"]
                | {"TaskDefinitionArn": "arn:aws:ecs:us-east-1:123456789012:task-definition/report:7"}
            },
            "is not in the stage's account and region",
        ),
        (TASK | {"Input": '{"containerOverrides": [{"name": "app", "command": ["x"]}]}'}, "must not override anything"),
    ],
)
def test_import_eventbridge_skips_a_target_that_a_job_would_call_differently_or_sends_it_as_a_message(
    target: dict[str, Any], why: str
) -> None:
    schedule = SCHEDULE | {"Target": SCHEDULE["Target"] | target}
    found = entry(schedule)
    assert found.job is None
    assert why in found.notes[0]
    assert "use --queue or --target-url" in found.notes[0]
    sent = entry(schedule, Runner(queue="duecourse-target-calls"))
    assert sent.job is not None
    assert sent.job["target"] == {"type": "sqs", "queue": "duecourse-target-calls"}
    assert sent.notes[0].startswith(f"{target['Arn']} must be called by the consumer of duecourse-target-calls: ")


def test_import_eventbridge_options_specify_a_stage_in_another_account_or_region() -> None:
    there = Place("210987654321", "us-east-1")
    assert "is not in the stage's account and region" in entry(SCHEDULE, stage=there).notes[0]
    target = {"Arn": LAMBDA.replace("eu-central-1:123456789012", "us-east-1:210987654321")}
    assert entry(SCHEDULE | {"Target": target}, stage=there).job is not None
    call = CALL | {"RoleArn": "arn:aws:iam::210987654321:role/scheduler"}
    assert "schedule/default/nightly is not in the stage's" in entry(SCHEDULE | {"Target": call}, stage=there).notes[0]
    nowhere = {name: value for name, value in SCHEDULE.items() if name != "Arn"}
    assert "set --account and --region" in entry(nowhere).notes[0]
    assert entry(nowhere, stage=Place("123456789012", "eu-central-1")).job is not None


def test_import_eventbridge_aws_call_requires_the_role_and_the_region_of_its_schedule() -> None:
    nowhere = {name: value for name, value in SCHEDULE.items() if name != "Arn"}
    call = CALL | {"RoleArn": "arn:aws:iam::123456789012:role/scheduler"}
    here = Place("123456789012", "eu-central-1")
    assert entry(SCHEDULE | {"Target": call}).job is not None
    assert "its role is missing" in entry(nowhere | {"Target": call}, stage=here).notes[0]
    assert "its role is missing" in entry(SCHEDULE | {"Target": CALL}).notes[0]


def test_import_eventbridge_rejects_schedules_of_a_second_account() -> None:
    other = json.loads(json.dumps(SCHEDULE).replace("123456789012", "210987654321"))
    found = of_schedules([SCHEDULE, other], file="schedule", runner=Runner(), names=Names(), now=NOW)
    assert found[0].job is not None
    assert found[1].job is None


def test_import_eventbridge_reports_additional_ecs_settings_and_resolves_schedule_placeholders() -> None:
    found = entry(SCHEDULE | {"Target": TASK | {"EcsParameters": TASK["EcsParameters"] | {"Group": "g", "Tags": []}}})
    assert found.job is not None
    assert "EcsParameters.Group is not carried over" in found.notes
    assert not any("Tags" in note for note in found.notes)
    assert job({"Input": '["<aws.scheduler.schedule-arn>"]'})["payload"] == [SCHEDULE["Arn"]]


def test_import_eventbridge_one_time_schedule_has_no_window() -> None:
    assert "end" not in job(ScheduleExpression="at(2027-03-01T09:00:00)", EndDate="2027-01-01T00:00:00Z")


def test_import_eventbridge_converts_bounds_windows_and_rates() -> None:
    found = job(
        ScheduleExpression="rate(5 minutes)",
        StartDate="2026-12-01T00:00:00+01:00",
        EndDate="2027-12-01T00:00:00Z",
        FlexibleTimeWindow={"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15},
        CreationDate="2026-01-01T00:00:00Z",
    )
    assert (found["start"], found["end"]) == ("2026-11-30T23:00:00Z", "2027-12-01T00:00:00Z")
    assert found["jitter_seconds"] == 900
    assert "anchor" not in found
    assert job(ScheduleExpression="rate(5 minutes)", CreationDate="2026-01-01T00:00:00.5Z")["anchor"] == (
        "2026-01-01T00:00:00Z"
    )


def test_import_eventbridge_reports_differences() -> None:
    target = SCHEDULE["Target"] | {"DeadLetterConfig": {"Arn": "arn"}, "RetryPolicy": {}}
    found = entry(SCHEDULE | {"Target": target, "ActionAfterCompletion": "DELETE", "KmsKeyArn": "arn"})
    assert found.job is not None
    assert found.job["retry"] == {"max_attempts": 100, "max_age_seconds": 86400}
    said = " ".join(found.notes)
    for word in (
        "payload of Duecourse's event",
        "retry.max_attempts is 100 instead of 186",
        "DeadLetterConfig",
        "ActionAfterCompletion",
        "KmsKeyArn",
    ):
        assert word in said


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"State": "DISABLED"}, "is disabled"),
        ({"ScheduleExpression": "at(2020-01-01T00:00:00)"}, "no occurrence in the future"),
        ({"ScheduleExpression": "at(2027-03-28T02:30:00)"}, "does not exist in Europe/Berlin"),
        ({"EndDate": "2020-01-01T00:00:00Z"}, "no occurrence in the future"),
        ({"ScheduleExpression": "cron(bad)"}, "schedule "),
        ({"Target": {"Arn": "arn:aws:kinesis:eu-central-1:1:stream/s"}}, "kinesis is not supported"),
        ({"Target": {"Arn": f"arn:aws:ecs:{HERE}:cluster/main"}}, "FARGATE"),
    ],
)
def test_import_eventbridge_gives_the_reason_for_schedules_it_cannot_convert(changes: dict[str, Any], why: str) -> None:
    found = entry(SCHEDULE | changes)
    assert found.job is None
    assert why in found.notes[0]


def test_import_eventbridge_other_targets_can_be_called_by_a_worker() -> None:
    found = entry(SCHEDULE | {"Target": {"Arn": "arn:aws:kinesis:eu:1:stream/s", "Input": "text"}}, Runner(queue="q"))
    assert found.job is not None
    assert found.job["target"] == {"type": "sqs", "queue": "q"}
    assert found.job["payload"] == "text"


def test_import_eventbridge_reads_lists_and_json_lines_and_rejects_summaries() -> None:
    line = json.dumps(SCHEDULE)
    for text in (f"[{line}, {line}]", f'{{"Schedules": [{line}, {line}]}}', f"{line}\n{line}\n"):
        found = read_schedules(text, file="s.json", runner=Runner(), names=Names(), now=NOW)
        assert found[0].job is not None
        assert len({each.job and each.job["id"] for each in found}) == 2
    summary = {name: each for name, each in SCHEDULE.items() if name != "ScheduleExpression"}
    assert "get-schedule" in entry({"Schedules": [summary]}).notes[0]
    with pytest.raises(NotReadableError, match=r"s\.json"):
        read_schedules("no", file="s.json", runner=Runner(), names=Names(), now=NOW)


def test_import_eventbridge_reads_responses_of_botocore() -> None:
    answered = SCHEDULE | {"StartDate": datetime(2026, 12, 1, tzinfo=UTC)}
    (found,) = of_schedules([answered], file="schedule", runner=Runner(), names=Names(), now=NOW)
    assert found.job is not None
    assert found.job["start"] == "2026-12-01T00:00:00Z"


PAGES = {None: ("nightly", "more"), "more": ("weekly", None)}


def account(path: str, query: Mapping[str, str]) -> object:
    """EventBridge Scheduler with two schedules, each on a page of its own."""
    if path == "/schedules":
        name, following = PAGES[query.get("NextToken")]
        assert query.get("ScheduleGroup", "billing") == "billing"
        return {"Schedules": [{"Name": name, "GroupName": "default"}]} | ({"NextToken": following} if following else {})
    assert query == {"groupName": "default"}
    return SCHEDULE | {"Name": path.removeprefix("/schedules/"), "StartDate": 1_900_000_000}


def imported(endpoint: str, *options: str) -> Result:
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "eu-central-1"}
    keys["AWS_MAX_ATTEMPTS"] = "1"
    return CliRunner(env={"AWS_ENDPOINT_URL": endpoint, **keys}).invoke(main, ["import", "eventbridge", *options])


def test_import_eventbridge_reads_every_schedule_of_the_account() -> None:
    with served(account) as endpoint:
        result = imported(endpoint, "--group", "billing")
    assert result.exit_code == 0, result.output
    assert "2 jobs, 0 not imported" in result.stderr
    assert "job nightly: cron(0 2 * * ? *)" in result.stderr
    assert "job weekly: " in result.stderr
    assert "start: '2030-03-17T17:46:40Z'" in result.stdout


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_import_eventbridge_exits_with_3_if_an_entry_was_skipped(options: tuple[str, ...]) -> None:
    with served(account) as endpoint:
        result = imported(endpoint, "--account", "210987654321", *options)
    assert result.exit_code == 3, result.output
    assert "is not in the stage's account and region" in result.output


def test_import_eventbridge_reports_an_unreachable_account_on_one_line() -> None:
    result = imported("http://127.0.0.1:1", "--account", "123456789012", "--region", "eu-central-1")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("expression", "means"),
    [
        ("rate(1 minutes)", "rate(1 minute)"),
        ("rate(5 minute)", "rate(5 minutes)"),
        ("rate(1 hours)", "rate(1 hour)"),
        ("rate( 7 day )", "rate(7 days)"),
        ("rate(01 days)", "rate(1 day)"),
        ("rate(5 minutes)", "rate(5 minutes)"),
    ],
)
def test_import_eventbridge_accepts_each_form_of_a_rate(expression: str, means: str) -> None:
    found = entry(SCHEDULE | {"ScheduleExpression": expression})
    assert found.job is not None, found.notes
    assert found.job["schedule"] == means
    assert any("set anchor" in note for note in found.notes)


@pytest.mark.parametrize(
    ("changes", "field", "value", "note"),
    [
        (
            {"FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 61}},
            "jitter_seconds",
            3600,
            "jitter_seconds is 3600 instead of 3660",
        ),
        (
            {"Target": {"Arn": LAMBDA, "RetryPolicy": {"MaximumRetryAttempts": 100}}},
            "retry",
            {"max_attempts": 100, "max_age_seconds": 86400},
            "retry.max_attempts is 100 instead of 101",
        ),
        (
            {"Target": {"Arn": LAMBDA, "RetryPolicy": {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 9**9}}},
            "retry",
            {"max_attempts": 1, "max_age_seconds": 2_592_000},
            "retry.max_age_seconds is 2592000 instead of 387420489",
        ),
        (
            {"Target": {"Arn": LAMBDA, "RetryPolicy": {"MaximumRetryAttempts": "2", "MaximumEventAgeInSeconds": 90.5}}},
            "retry",
            {"max_attempts": 3, "max_age_seconds": 91},
            "retry.max_age_seconds is 91 instead of 90.5",
        ),
    ],
)
def test_import_eventbridge_limits_values_with_a_note(
    changes: dict[str, Any], field: str, value: Any, note: str
) -> None:
    found = entry(SCHEDULE | changes)
    assert found.job is not None, found.notes
    assert found.job[field] == value
    assert any(each.startswith(note) for each in found.notes)


def test_import_eventbridge_reads_null_as_a_default_and_numbers_as_dates() -> None:
    policy = {"MaximumRetryAttempts": None, "MaximumEventAgeInSeconds": None}
    found = job({"RetryPolicy": policy, "DeadLetterConfig": None}, StartDate=1_900_000_000, EndDate=1_900_000_000.5 * 2)
    assert found["retry"] == {"max_attempts": 100, "max_age_seconds": 86400}
    assert found["start"] == "2030-03-17T17:46:40Z"


@pytest.mark.parametrize(
    "odd",
    [
        {"StartDate": "soon"},
        {"StartDate": 1e300},
        {"Target": "arn"},
        {"Target": {"Arn": LAMBDA, "RetryPolicy": [1]}},
        {"Target": {"Arn": LAMBDA, "RetryPolicy": {"MaximumRetryAttempts": "many"}}},
        {"FlexibleTimeWindow": "OFF"},
        {"ScheduleExpression": 5},
        {"Target": {"Arn": LAMBDA, "Input": '{"x": ' + "[" * 50 + "]" * 50 + "}"}},
        {"Target": {"Arn": LAMBDA, "Input": "x" * 250_000}},
        {"Target": {"Arn": LAMBDA, "Input": "18446744073709551616"}},
        {"Target": {"Arn": f"arn:aws:sqs:{HERE}:mail", "SqsParameters": {"MessageGroupId": "g"}}},
        {"Target": {"Arn": f"arn:aws:events:{HERE}:event-bus/b"}},
    ],
)
def test_import_eventbridge_odd_entry_does_not_end_the_import(odd: dict[str, Any]) -> None:
    text = json.dumps([SCHEDULE | odd, SCHEDULE])
    found, good = read_schedules(text, file="s.json", runner=Runner(), names=Names(), now=NOW)
    assert good.job is not None
    assert found.job is None
    assert found.notes


@pytest.mark.parametrize(
    ("target", "completion"),
    [
        ({"Arn": f"arn:aws:states:{HERE}:stateMachine:flow"}, {"completion": "end", "completion_seconds": 2_592_000}),
        ({"Arn": LAMBDA}, {}),
    ],
)
def test_import_eventbridge_follows_the_work_of_a_target_until_its_end(
    target: dict[str, Any], completion: dict[str, Any]
) -> None:
    fields = job(target)
    assert {name: fields[name] for name in ("completion", "completion_seconds") if name in fields} == completion
