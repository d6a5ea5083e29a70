"""Schedules of EventBridge, from files and accounts.

- What becomes of schedules of EventBridge Scheduler.
- Schedules that are read from the account itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from click.testing import CliRunner, Result

from duecourse.cli.imports.entry import Entry, Names, NotReadableError, Runner
from duecourse.cli.imports.eventbridge import of_schedules, read_schedules
from duecourse.cli.main import main
from tests.unit.cli.served import served

NOW = 1_795_000_000.0
LAMBDA = "arn:aws:lambda:eu-central-1:123456789012:function:duecourse-target-mail"
SCHEDULE: dict[str, Any] = {
    "Name": "nightly",
    "GroupName": "default",
    "ScheduleExpression": "cron(0 2 * * ? *)",
    "ScheduleExpressionTimezone": "Europe/Berlin",
    "State": "ENABLED",
    "FlexibleTimeWindow": {"Mode": "OFF"},
    "Target": {
        "Arn": LAMBDA,
        "RoleArn": "arn:aws:iam::123456789012:role/service/scheduler",
        "Input": '{"at": "<aws.scheduler.scheduled-time>", "raw": "{{x}}"}',
        "RetryPolicy": {"MaximumRetryAttempts": 2, "MaximumEventAgeInSeconds": 3600},
    },
}


def entry(schedule: Any, runner: Runner | None = None) -> Entry:
    text = json.dumps(schedule)
    (found,) = read_schedules(text, file="s.json", runner=runner or Runner(), names=Names(), now=NOW)
    return found


def job(target: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    found = entry(SCHEDULE | {"Target": SCHEDULE["Target"] | (target or {})} | changes)
    assert found.job is not None, found.notes
    return found.job


def test_a_schedule_is_a_job_with_its_target() -> None:
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
            {"Arn": "arn:aws:sqs:eu-central-1:1:mail.fifo", "SqsParameters": {"MessageGroupId": "g"}},
            {"type": "sqs", "queue": "mail.fifo", "group": "g"},
        ),
        ({"Arn": "arn:aws:sns:eu-central-1:1:news"}, {"type": "sns", "topic": "news"}),
        ({"Arn": "arn:aws:states:eu-central-1:1:stateMachine:flow"}, {"type": "stepfunctions", "machine": "flow"}),
        ({"Arn": f"{LAMBDA}:live"}, {"type": "lambda", "function": "duecourse-target-mail", "mode": "async"}),
        (
            {
                "Arn": "arn:aws:events:eu-central-1:1:event-bus/bus",
                "EventBridgeParameters": {"Source": "shop", "DetailType": "Due"},
            },
            {"type": "eventbridge", "bus": "bus", "source": "shop", "detail_type": "Due"},
        ),
        (
            {
                "Arn": "arn:aws:ecs:eu-central-1:1:cluster/main",
                "Input": '{"containerOverrides": [{"name": "app"}]}',
                "EcsParameters": {
                    "TaskDefinitionArn": "arn:aws:ecs:eu-central-1:1:task-definition/report:7",
                    "NetworkConfiguration": {"awsvpcConfiguration": {"Subnets": ["subnet-1"]}},
                },
            },
            {
                "type": "ecs",
                "cluster": "main",
                "task_definition": "report:7",
                "container": "app",
                "subnets": ["subnet-1"],
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
def test_targets_are_carried_over(target: dict[str, Any], called: dict[str, Any]) -> None:
    assert job(target)["target"] == called


def test_bounds_windows_and_rates_are_carried_over() -> None:
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


def test_what_is_otherwise_is_said() -> None:
    target = SCHEDULE["Target"] | {"DeadLetterConfig": {"Arn": "arn"}, "RetryPolicy": {}}
    found = entry(SCHEDULE | {"Target": target, "ActionAfterCompletion": "DELETE", "KmsKeyArn": "arn"})

    assert found.job is not None
    assert found.job["retry"] == {"max_attempts": 100, "max_age_seconds": 86400}
    said = " ".join(found.notes)
    for word in (
        "payload of Duecourse's event",
        "185 retries",
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
        ({"ScheduleExpression": "cron(bad)"}, "schedule "),
        ({"Target": {"Arn": "arn:aws:kinesis:eu-central-1:1:stream/s"}}, "kinesis is not supported"),
        ({"Target": {"Arn": "arn:aws:ecs:eu-central-1:1:cluster/main"}}, "Fargate"),
    ],
)
def test_what_cannot_be_carried_over_says_why(changes: dict[str, Any], why: str) -> None:
    found = entry(SCHEDULE | changes)
    assert found.job is None
    assert why in found.notes[0]


def test_another_target_can_be_called_by_a_worker() -> None:
    found = entry(SCHEDULE | {"Target": {"Arn": "arn:aws:kinesis:eu:1:stream/s", "Input": "text"}}, Runner(queue="q"))
    assert found.job is not None
    assert found.job["target"] == {"type": "sqs", "queue": "q"}
    assert found.job["payload"] == "text"


def test_lists_lines_and_summaries_are_read() -> None:
    line = json.dumps(SCHEDULE)
    for text in (f"[{line}, {line}]", f'{{"Schedules": [{line}, {line}]}}', f"{line}\n{line}\n"):
        found = read_schedules(text, file="s.json", runner=Runner(), names=Names(), now=NOW)
        assert [each.job and each.job["id"] for each in found] == ["nightly", "nightly-2"]
    summary = {name: each for name, each in SCHEDULE.items() if name != "ScheduleExpression"}
    assert "get-schedule" in entry({"Schedules": [summary]}).notes[0]
    with pytest.raises(NotReadableError, match=r"s\.json"):
        read_schedules("no", file="s.json", runner=Runner(), names=Names(), now=NOW)


def test_what_botocore_answers_is_read() -> None:
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
        found = {"Schedules": [{"Name": name, "GroupName": "default"}]}
        return found | ({"NextToken": following} if following else {})
    assert query == {"groupName": "default"}
    return SCHEDULE | {"Name": path.removeprefix("/schedules/"), "StartDate": 1_900_000_000}


def imported(endpoint: str, *options: str) -> Result:
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "eu-central-1"}
    keys["AWS_MAX_ATTEMPTS"] = "1"
    return CliRunner(env={"AWS_ENDPOINT_URL": endpoint, **keys}).invoke(main, ["import", "eventbridge", *options])


def test_every_schedule_of_the_account_is_read() -> None:
    with served(account) as endpoint:
        result = imported(endpoint, "--group", "billing")

    assert result.exit_code == 0, result.output
    assert "job nightly: cron(0 2 * * ? *)" in result.stderr
    assert "job weekly: " in result.stderr
    assert "start: '2030-03-17T17:46:40Z'" in result.stdout


def test_an_account_that_does_not_answer_is_one_line() -> None:
    result = imported("http://127.0.0.1:1")

    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
