"""Observes the dead-letter queue and the topics of the local stack. No message is removed."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from duecourse.cli.local.deployment import Outputs
from duecourse.cli.local.emulator import aws

DEPTH_METRIC = "ApproximateNumberOfMessagesVisible"
NOBODYS = "no job"


class LocalDeadLetters:
    """Reads the dead-letter queue. The messages remain visible to other readers."""

    def __init__(self, endpoint: str, queue_url: str) -> None:
        self._sqs = aws.client(endpoint, "sqs")
        self._queue_url = queue_url

    def depth(self) -> int:
        """Return the number of messages in the queue."""
        answer = self._sqs.get_queue_attributes(
            QueueUrl=self._queue_url, AttributeNames=["ApproximateNumberOfMessages"]
        )
        return int(answer["Attributes"]["ApproximateNumberOfMessages"])

    def waiting_jobs(self) -> frozenset[str]:
        """Return the jobs of at most ten messages in the queue. The messages remain in the queue."""
        answer = self._sqs.receive_message(QueueUrl=self._queue_url, MaxNumberOfMessages=10, VisibilityTimeout=0)
        return frozenset(job_of(message["Body"]) for message in answer.get("Messages", ()))


def job_of(body: str) -> str:
    """Return the job of a message in the dead-letter queue. The message can be from any sender."""
    try:
        return str(json.loads(body)["job_id"])
    except (ValueError, KeyError, TypeError):
        return NOBODYS


class QueueDepthMetric:
    """Copies the depth of the dead-letter queue to CloudWatch. AWS does this itself, but MiniStack does not.

    The alarm on the queue needs this metric.
    """

    def __init__(self, endpoint: str, queue_url: str) -> None:
        self._cloudwatch = aws.client(endpoint, "cloudwatch")
        self._queue = queue_url.rsplit("/", 1)[-1]

    def put(self, depth: int) -> None:
        """Report the depth as the metric of AWS."""
        self._cloudwatch.put_metric_data(
            Namespace="AWS/SQS",
            MetricData=[
                {
                    "MetricName": DEPTH_METRIC,
                    "Dimensions": [{"Name": "QueueName", "Value": self._queue}],
                    "Value": depth,
                    "Unit": "Count",
                }
            ],
        )


@dataclass(frozen=True, slots=True)
class Topics:
    """The SNS topics for dead runs, and for the alarms of each severity."""

    deaths: str
    alarms: tuple[str, ...]

    @classmethod
    def of(cls, outputs: Outputs) -> Topics:
        """Return the topics of a deployed stack."""
        return cls(outputs.deaths_topic_arn, (outputs.pages_topic_arn, outputs.tickets_topic_arn))

    def deliver_to(self, endpoint: str, url: str) -> None:
        """Subscribe the receiver to all topics, and remove the receivers of earlier starts."""
        sns = aws.client(endpoint, "sns")
        for topic in (self.deaths, *self.alarms):
            for found in sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]:
                if found["Protocol"] == "http" and found["Endpoint"] != url:
                    sns.unsubscribe(SubscriptionArn=found["SubscriptionArn"])
            sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=url, ReturnSubscriptionArn=True)


def dead_run_ids(notices: Sequence[Mapping[str, Any]], topic: str) -> tuple[str, ...]:
    """Return the runs in the notices of this topic."""
    found = []
    for notice in notices:
        if notice.get("TopicArn") == topic:
            message = json.loads(notice["Message"])
            found.append(str(message.get("run_id", "")))
    return tuple(found)


def alarm_names(notices: Sequence[Mapping[str, Any]], topics: Collection[str]) -> tuple[str, ...]:
    """Return the alarms in the notices of these topics."""
    return tuple(
        str(json.loads(notice["Message"]).get("AlarmName", ""))
        for notice in notices
        if notice.get("TopicArn") in topics
    )
