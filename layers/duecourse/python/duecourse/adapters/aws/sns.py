"""Notifications over SNS."""

from __future__ import annotations

from typing import Any

import orjson

from duecourse.domain.instants import to_iso
from duecourse.domain.targets.messages import SUBJECT_CHARACTERS
from duecourse.ports import DeadlineNotification, FailureNotification


class SnsNotifier:
    """Publishes dead runs and missed deadlines to the notification topic. Tenant, job, owner and cause are also message
    attributes, which subscriptions can filter by.

    A notification may arrive more than once: if its response was lost, if its sender stopped, or if SNS delivered it
    twice. All notifications of one dead run have the same `deduplication_id`, `<tenant>/<run id>/<attempt>`. If a
    redriven run dies again, its id is different. The id of a missed deadline is `<tenant>/<run id>/start`, or
    `finish`.
    """

    def __init__(self, client: Any, topic_arn: str) -> None:
        self._client = client
        self._topic_arn = topic_arn

    def death(self, death: FailureNotification) -> None:
        run = death.run
        facts = {"attempts": run.attempt, "error": run.error, "died_at": to_iso(death.died_at)}
        self._publish(death, "dead", str(run.attempt), facts, "Duecourse: run {} is dead")

    def deadline(self, missed: DeadlineNotification) -> None:
        done = missed.deadline.value
        facts = {"state": missed.run.state.value, "deadline": done, "deadline_at": to_iso(missed.at)}
        self._publish(missed, "deadline", done, facts, f"Duecourse: run {{}} missed its deadline to {done}")

    def _publish(
        self,
        notice: FailureNotification | DeadlineNotification,
        cause: str,
        which: str,
        facts: dict[str, Any],
        subject_line: str,
    ) -> None:
        run = notice.run
        document = {
            "cause": cause,
            "tenant": run.tenant,
            "job_id": run.job_id,
            "run_id": run.run_id,
            "occurrence": to_iso(run.occurrence),
            **facts,
            "owner": notice.owner or None,
            "runbook_url": notice.runbook_url,
        }
        attributes = {
            "cause": cause,
            "tenant": run.tenant,
            "job_id": run.job_id,
            "deduplication_id": f"{run.tenant}/{run.name}/{which}",
        } | ({"owner": notice.owner} if notice.owner else {})
        self._client.publish(
            TopicArn=self._topic_arn,
            Subject=_subject(subject_line, run.run_id),
            Message=orjson.dumps(document).decode(),
            MessageAttributes={
                name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()
            },
        )


def _subject(line: str, run_id: str) -> str:
    """Return the subject of a notification. A long run id is truncated; the message contains all of it."""
    room = SUBJECT_CHARACTERS - len(line.format(""))
    return line.format(run_id if len(run_id) <= room else f"{run_id[: room - 3]}...")
