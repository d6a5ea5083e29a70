"""What the topics tell."""

from __future__ import annotations

import json

import pytest

from duecourse.cli.local.demo.dead_letters import alarm_names, dead_run_ids, job_of

NOTICES = (
    {"TopicArn": "deaths", "Message": json.dumps({"job_id": "a", "run_id": "a.1"})},
    {"TopicArn": "alarms", "Message": json.dumps({"AlarmName": "dead letters", "NewStateValue": "ALARM"})},
)


def test_each_topics_notices_are_told_apart() -> None:
    assert dead_run_ids(NOTICES, "deaths") == ("a.1",)
    assert alarm_names(NOTICES, "alarms") == ("dead letters",)


def test_a_dead_letter_names_its_job() -> None:
    assert job_of('{"job_id": "a"}') == "a"


@pytest.mark.parametrize("body", ["", "{}", "[]", "3", "hello"])
def test_what_somebody_else_sent_to_the_dead_letters_is_of_no_job(body: str) -> None:
    assert job_of(body) == "no job"
