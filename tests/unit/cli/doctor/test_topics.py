"""`duecourse alarms test`: the stage's pages reach a subscriber, or the command says why not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from duecourse.cli.commands.alarms import send_test
from duecourse.cli.doctor.facts import Skew, Subscribers
from duecourse.cli.doctor.stage import Stage
from duecourse.cli.doctor.topics import subscribers
from duecourse.testing.clock import SettableClock

OUTPUTS = {"PagesTopicArn": "arn:pages", "TicketsTopicArn": "arn:tickets"}


class Aws:
    """SNS and CloudWatch: subscriptions by topic, and the history that the nth look finds."""

    def __init__(self, subscribed: Mapping[str, list[str]], history: list[list[str]] | None = None) -> None:
        self.subscribed, self.history = subscribed, history or []
        self.set: list[dict[str, Any]] = []

    def get_paginator(self, operation: str) -> Aws:
        assert operation == "list_subscriptions_by_topic"
        return self

    def paginate(self, TopicArn: str) -> list[dict[str, Any]]:  # noqa: N803
        return [{"Subscriptions": [{"SubscriptionArn": arn}]} for arn in self.subscribed.get(TopicArn, [])]

    def set_alarm_state(self, **asked: Any) -> None:
        self.set.append(asked)

    def describe_alarm_history(self, **asked: Any) -> dict[str, Any]:
        assert asked["HistoryItemType"] == "Action"
        found = self.history.pop(0) if self.history else []
        return {"AlarmHistoryItems": [{"HistorySummary": each} for each in found]}


def stage(aws: Aws) -> Stage:
    return Stage("prod", OUTPUTS, 1e6, 1e9, Skew(0.0), lambda _: aws)


def test_doctor_counts_only_subscriptions_to_pages_and_unconfirmed_ones_separately() -> None:
    aws = Aws({"arn:pages": ["arn:pages:1", "PendingConfirmation"], "arn:tickets": ["arn:tickets:2"]})
    assert subscribers(stage(aws)) == Subscribers(confirmed=1, pending=1)
    assert subscribers(stage(Aws({}))) == Subscribers(0, 0)


def test_doctor_alarm_test_sets_an_alarm_and_returns_the_result_of_its_actions() -> None:
    aws, clock = Aws({}, [[], ["Successfully executed action arn:pages"]]), SettableClock(0.0)
    assert send_test(stage(aws), now=clock.now, sleep=clock.advance) == "Successfully executed action arn:pages"
    (asked,) = aws.set
    assert (asked["AlarmName"], asked["StateValue"]) == ("Duecourse/prod/targets-failing", "ALARM")


def test_doctor_alarm_test_fails_after_a_minute_without_recorded_actions() -> None:
    clock = SettableClock(0.0)
    with pytest.raises(
        TimeoutError, match="did not record an action for the alarm Duecourse/prod/targets-failing within 60 s"
    ):
        send_test(stage(Aws({})), now=clock.now, sleep=clock.advance)
    assert clock.now() == 60
