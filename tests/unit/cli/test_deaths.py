"""What the topics tell."""

from __future__ import annotations

import json

from duecourse_cli.local.deaths import alarm_names, dead_run_ids

NOTICES = (
    {"TopicArn": "deaths", "Message": json.dumps({"job_id": "a", "run_id": "a.1"})},
    {"TopicArn": "alarms", "Message": json.dumps({"AlarmName": "dead letters", "NewStateValue": "ALARM"})},
)


def test_each_topics_notices_are_told_apart() -> None:
    assert dead_run_ids(NOTICES, "deaths") == ("a.1",)
    assert alarm_names(NOTICES, "alarms") == ("dead letters",)
