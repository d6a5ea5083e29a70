"""Reads the alarms of CloudWatch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from duecourse.checks.check import RUNBOOKS
from duecourse.checks.facts import Alarm, Alarms

SECTION = re.compile(r"\S*runbooks\.md#[\w-]+$")


def alarms_of(found: Iterable[Mapping[str, Any]], prefix: str) -> Alarms:
    """Return the alarms of a DescribeAlarms response, without the prefix of their names."""
    states = [(each["StateValue"], each) for each in found]
    ringing = [_alarm(each, prefix) for state, each in states if state == "ALARM"]
    return Alarms(ringing, len(states), sum(state == "INSUFFICIENT_DATA" for state, _ in states))


def _alarm(found: Mapping[str, Any], prefix: str) -> Alarm:
    described = str(found.get("AlarmDescription") or "it has no description")
    section = SECTION.search(described)
    since: datetime | None = found.get("StateTransitionedTimestamp") or found.get("StateUpdatedTimestamp")
    return Alarm(
        found["AlarmName"].removeprefix(prefix),
        described,
        RUNBOOKS if section is None else section.group(),
        None if since is None else since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
