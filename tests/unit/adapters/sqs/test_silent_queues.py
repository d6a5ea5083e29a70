"""An SQS that does not answer: whoever waits for the API is not kept waiting for each batch and each lane anew."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from duecourse.adapters.sqs.depths import FRESH_SECONDS, SqsDepths
from duecourse.adapters.sqs.lanes import TRIES, SqsLanes
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.identity import RunIdentity
from duecourse.messages import RunMessage
from duecourse.ports import Depth, Outgoing
from duecourse.testing.clock import Numbered, SettableClock
from tests.support.jobs import NOON

URLS = {lane: f"https://queue/{lane}" for lane in Lane}


@dataclass
class Silent:
    """An SQS client whose requests time out, as long as it is `silent`."""

    silent: bool = True
    asked: list[str] = field(default_factory=list)

    def _answer(self, url: str, answer: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(url)
        if self.silent:
            raise ReadTimeoutError(endpoint_url=url)
        return answer

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        return self._answer(QueueUrl, {"Successful": [{"Id": entry["Id"]} for entry in Entries]})

    def get_queue_attributes(self, *, QueueUrl: str, AttributeNames: list[str]) -> dict[str, Any]:  # noqa: N803
        return self._answer(QueueUrl, {"Attributes": dict.fromkeys(AttributeNames, "1")})


def outgoing(count: int) -> list[Outgoing]:
    return [
        Outgoing(
            RunMessage(
                RunIdentity(
                    tenant="default", job_id="job", occurrence=int(NOON) + number, due=int(NOON) + number, generation=1
                ),
                lane=Lane.HIGH if number % 2 else Lane.LOW,
                not_before=NOON,
                nonce="n",
            ),
            0,
        )
        for number in range(count)
    ]


@pytest.mark.parametrize(("short_timeouts", "tried"), [(True, 1), (False, 10)])
def test_a_sender_in_a_hurry_tries_one_batch_and_no_other(short_timeouts: bool, tried: int) -> None:
    sqs = Silent()
    lanes = SqsLanes(sqs, URLS, SettableClock(NOON), Numbered(), short_timeouts=short_timeouts)
    assert lanes.send(outgoing(100)) == [False] * 100
    assert len(sqs.asked) == tried * TRIES


def test_in_a_hurry_everything_is_sent_as_long_as_it_is_accepted() -> None:
    sqs = Silent(silent=False)
    assert SqsLanes(sqs, URLS, SettableClock(NOON), Numbered(), short_timeouts=True).send(outgoing(100)) == [True] * 100


def test_lanes_are_not_counted_for_a_while_after_one_of_them_did_not_answer() -> None:
    sqs, clock = Silent(), SettableClock(NOON)
    depths = SqsDepths(sqs, URLS, clock)
    assert [depths.depth(lane) for lane in Lane] == [None] * len(Lane)
    assert len(sqs.asked) == 1
    sqs.silent = False
    clock.advance(FRESH_SECONDS)
    assert [depths.depth(lane) for lane in Lane] == [Depth(1, 1, 1)] * len(Lane)
