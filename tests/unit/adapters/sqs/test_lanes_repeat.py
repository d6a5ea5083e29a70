"""Messages that may have been stored although their sender never heard so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ReadTimeoutError

from duecourse.adapters.sqs.lanes import FIRST_WAIT_SECONDS, SqsLanes
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.identity import RunIdentity
from duecourse.messages import RunMessage, read_run_message
from duecourse.ports import Outgoing
from duecourse.testing.clock import Numbered, SettableClock
from tests.support.jobs import NOON

URLS = {Lane.NORMAL: "https://queue/normal"}


@dataclass
class LostAnswers:
    """An SQS client that stores what it is sent; the first answers, as many as `lost`, never arrive."""

    lost: int
    stored: list[dict[str, Any]] = field(default_factory=list)
    refused: str | None = None
    """The number of an entry that the first batch could not take."""

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        taken = [entry for entry in Entries if entry["Id"] != self.refused]
        self.stored += taken
        failed = [{"Id": self.refused, "Code": "InternalError", "SenderFault": False}] if self.refused else []
        self.refused = None
        if self.lost:
            self.lost -= 1
            raise ReadTimeoutError(endpoint_url=QueueUrl)
        return {"Successful": [{"Id": entry["Id"]} for entry in taken], "Failed": failed}

    def messages(self) -> list[RunMessage]:
        return [read_run_message(entry["MessageBody"]) for entry in self.stored]


def outgoing(count: int) -> list[Outgoing]:
    return [
        Outgoing(
            RunMessage(
                RunIdentity("default", f"job-{number}", int(NOON), int(NOON), 1), Lane.NORMAL, NOON, f"first-{number}"
            ),
            30,
        )
        for number in range(count)
    ]


def test_what_is_sent_again_is_another_message_since_the_same_nonce_twice_would_be_a_redrive() -> None:
    sqs, clock = LostAnswers(lost=2), SettableClock(NOON)
    assert SqsLanes(sqs, URLS, clock, Numbered()).send(outgoing(1)) == [True]
    stored = sqs.messages()
    assert len({message.nonce for message in stored}) == len(stored) == 3
    assert {message.again(nonce="") for message in stored} == {outgoing(1)[0].message.again(nonce="")}
    assert [entry["DelaySeconds"] for entry in sqs.stored] == [30] * 3
    assert FIRST_WAIT_SECONDS <= sum(clock.slept) <= 3 * FIRST_WAIT_SECONDS


def test_a_message_that_is_sent_later_waits_that_much_less() -> None:
    clock = SettableClock(NOON)

    @dataclass
    class Slow(LostAnswers):
        """Its lost answers are waited for."""

        def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
            if self.lost:
                clock.advance(5)
            return super().send_message_batch(QueueUrl=QueueUrl, Entries=Entries)

    sqs = Slow(lost=2)
    assert SqsLanes(sqs, URLS, clock, Numbered()).send(outgoing(1)) == [True]
    assert [entry["DelaySeconds"] for entry in sqs.stored] == [30, 25, 20]


def test_only_the_entry_that_was_refused_is_sent_again() -> None:
    sqs = LostAnswers(lost=0, refused="1")
    assert SqsLanes(sqs, URLS, SettableClock(NOON), Numbered()).send(outgoing(3)) == [True] * 3
    assert [message.job_id for message in sqs.messages()] == ["job-0", "job-2", "job-1"]
