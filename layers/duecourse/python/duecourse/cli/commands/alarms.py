"""`duecourse alarms`: tests whether an alarm of a stage reaches a person."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from duecourse.cli.terminal import CliError, Command, Group
from duecourse.limits import METRICS_NAMESPACE

if TYPE_CHECKING:
    from duecourse.cli.doctor.stage import Stage

TESTED = "targets-failing"
"""The alarm that a test sets. It is evaluated again within a minute, and then returns to OK."""

HISTORY_SECONDS, TRY_SECONDS = 60, 2


@click.group(cls=Group, example="duecourse alarms test --stage prod")
def alarms() -> None:
    """Test the alarms of a stage. Requires AWS credentials and a region."""


@alarms.command(cls=Command, example="duecourse alarms test --stage prod")
@click.option("--stage", required=True, metavar="STAGE", help="The stage to test.", envvar="DUECOURSE_STAGE")
def test(stage: str) -> None:
    """Send a test notification to everyone who is paged by alarms.

    Sets the alarm targets-failing to ALARM. CloudWatch runs its actions and sets it back to OK within minutes;
    subscribers are notified of both. Fails if no subscription is confirmed, or if an action failed.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    from duecourse.checks.check import CheckStatus
    from duecourse.cli.doctor.stage import clients_for, find_stage
    from duecourse.cli.doctor.topics import judge, subscribers

    found = find_stage(stage, clients_for(stage))
    try:
        check = judge(subscribers(found))
        if check.verdict is not CheckStatus.OK:
            raise CliError(f"{check.says}; {check.do}")
        told = send_test(found)
    except (BotoCoreError, ClientError, TimeoutError) as problem:
        raise CliError(f"the test was not sent: {problem}") from problem
    click.echo(told)
    if "Failed" in told:
        raise CliError("an action failed: the policy of its topic or key does not allow CloudWatch to publish")
    click.echo(f"sent to {check.says}; check whether it has arrived")


def send_test(
    stage: Stage, *, now: Callable[[], float] = time.time, sleep: Callable[[float], None] = time.sleep
) -> str:
    """Set an alarm to ALARM and return what its actions did, one line each. Raises ClientError, and TimeoutError if
    CloudWatch records no action within a minute.
    """
    cloudwatch, name = stage.clients("cloudwatch"), f"{METRICS_NAMESPACE.format(stage=stage.name)}/{TESTED}"
    began = now()
    cloudwatch.set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason="A test by duecourse alarms test.")
    while now() - began < HISTORY_SECONDS:
        sleep(TRY_SECONDS)
        items = cloudwatch.describe_alarm_history(
            AlarmName=name, HistoryItemType="Action", StartDate=datetime.fromtimestamp(began - 5, UTC)
        )["AlarmHistoryItems"]
        if items:
            return "\n".join(item["HistorySummary"] for item in items)
    raise TimeoutError(f"CloudWatch did not record an action for the alarm {name} within {HISTORY_SECONDS} s")
