"""Notifications over SNS, and their subjects."""

from __future__ import annotations

from typing import Any

import orjson

from duecourse.domain.instants import to_iso
from duecourse.ports import FailureNotification

SUBJECT_CHARACTERS = 99
"""Maximum length of a subject: "no line breaks or control characters, and less than 100 characters long" (Amazon SNS
API Reference, Publish).
"""


def subject(text: str) -> str:
    """Return the text on one line, cut to the length that SNS accepts."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= SUBJECT_CHARACTERS else f"{line[: SUBJECT_CHARACTERS - 3]}..."


class SnsNotifier:
    """Publishes dead runs to the notification topic. Tenant, job and owner are also message attributes, which
    subscriptions can filter by.

    A notification may arrive more than once: its response was lost, its sender stopped, or SNS delivered it twice. All
    notifications of one dead run have the same `deduplication_id`, `<tenant>/<run id>/<attempt>`. A redriven run that
    dies again has another.
    """

    def __init__(self, client: Any, topic_arn: str) -> None:
        self._client = client
        self._topic_arn = topic_arn

    def death(self, death: FailureNotification) -> None:
        run = death.run
        notice = {
            "tenant": run.tenant,
            "job_id": run.job_id,
            "run_id": str(run.name),
            "occurrence": to_iso(run.occurrence),
            "attempts": run.attempt,
            "error": run.error,
            "died_at": to_iso(death.died_at),
            "owner": death.owner or None,
            "runbook_url": death.runbook_url,
        }
        attributes = {
            "tenant": run.tenant,
            "job_id": run.job_id,
            "deduplication_id": f"{run.tenant}/{run.name}/{run.attempt}",
        } | ({"owner": death.owner} if death.owner else {})
        self._client.publish(
            TopicArn=self._topic_arn,
            Subject=_subject(str(run.name)),
            Message=orjson.dumps(notice).decode(),
            MessageAttributes={
                name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()
            },
        )


def _subject(run_id: str) -> str:
    """Return the subject of a notification. A long run id is cut; the message has all of it."""
    room = SUBJECT_CHARACTERS - len("Duecourse: run  is dead")
    shown = run_id if len(run_id) <= room else f"{run_id[: room - 3]}..."
    return f"Duecourse: run {shown} is dead"
