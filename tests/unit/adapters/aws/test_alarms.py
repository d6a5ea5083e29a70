"""The stage's alarms as CloudWatch lists them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from duecourse.adapters.aws.cloudwatch import ALARMS_FRESH_SECONDS, CloudWatchAlarms
from duecourse.checks.facts import Alarm, Alarms
from duecourse.ports import CloudWatchUnavailableError
from duecourse.testing.clock import SettableClock

RINGING = {
    "AlarmName": "Duecourse/prod/ticks-missing",
    "AlarmDescription": "No tick. Runbook: docs/runbooks.md#ticks-missing",
    "StateValue": "ALARM",
    "StateUpdatedTimestamp": datetime(2026, 11, 21, 10, 0, tzinfo=UTC),
    "StateTransitionedTimestamp": datetime(2026, 11, 21, 9, 55, tzinfo=UTC),
}
SILENT = {"AlarmName": "Duecourse/prod/runs-dying", "StateValue": "INSUFFICIENT_DATA"}


class CloudWatch:
    """Answers with a page for each alarm, or refuses."""

    def __init__(self, *alarms: dict[str, Any], refuses: bool = False) -> None:
        self.pages, self.refuses, self.asked = alarms, refuses, 0

    def describe_alarms(self, AlarmNamePrefix: str, MaxRecords: int, NextToken: str = "0") -> dict[str, Any]:  # noqa: N803
        assert (AlarmNamePrefix, MaxRecords) == ("Duecourse/prod/", 100)
        self.asked += 1
        if self.refuses:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "not authorized"}}, "DescribeAlarms")
        number = int(NextToken)
        more = {"NextToken": str(number + 1)} if number + 1 < len(self.pages) else {}
        return {"MetricAlarms": [self.pages[number]], **more}


def test_every_page_is_read_and_an_alarm_says_since_when_it_rings() -> None:
    alarms = CloudWatchAlarms(CloudWatch(RINGING, SILENT), "prod", SettableClock(0.0)).alarms()
    told = "No tick. Runbook: docs/runbooks.md#ticks-missing"
    ringing = Alarm("ticks-missing", told, "docs/runbooks.md#ticks-missing", "2026-11-21T09:55:00Z")
    assert alarms == Alarms([ringing], 2, 1)


def test_a_refusal_says_why() -> None:
    with pytest.raises(CloudWatchUnavailableError, match="not authorized"):
        CloudWatchAlarms(CloudWatch(refuses=True), "prod", SettableClock(0.0)).alarms()


@pytest.mark.parametrize("refuses", [False, True])
def test_cloudwatch_is_asked_again_after_some_seconds_only(refuses: bool) -> None:
    clock, cloudwatch = SettableClock(0.0), CloudWatch(RINGING, refuses=refuses)
    alarms = CloudWatchAlarms(cloudwatch, "prod", clock)
    for at in (0.0, ALARMS_FRESH_SECONDS - 1.0, ALARMS_FRESH_SECONDS):
        clock.set(at)
        try:
            alarms.alarms()
        except CloudWatchUnavailableError:
            assert refuses
    assert cloudwatch.asked == 2
