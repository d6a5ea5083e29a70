"""A received message in a worker, and its disposition."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from duecourse.domain.jobs.policies import Lane
from duecourse.domain.runs.decision import AttemptContext
from duecourse.messages import RunMessage
from duecourse.usecases.report import Report


class Disposition(Enum):
    """ACK: the message is deleted. RETAIN: it stays in its queue."""

    ACK = "ack"
    RETAIN = "retain"


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """One delivery of a message. `receive_count` counts from 1; `request_id` names the invocation."""

    message_id: str
    receipt: str
    receive_count: int
    request_id: str
    body: str


@dataclass(frozen=True, slots=True)
class WorkItem:
    """A parsed received message. `context` has the deadline and the token of this delivery; `report` collects what is
    done.
    """

    message: RunMessage
    received: ReceivedMessage
    context: AttemptContext
    report: Report


@dataclass(frozen=True, slots=True)
class WorkerRules:
    """`max_receive_count` is the redrive policy's: a message received more often goes to the dead-letter queue."""

    lane: Lane
    max_receive_count: int
    run_retention_days: int

    def near_limit(self, item: WorkItem) -> bool:
        """Whether another failed delivery could end in the dead-letter queue though the run is not dead."""
        return item.received.receive_count >= self.max_receive_count - 1
