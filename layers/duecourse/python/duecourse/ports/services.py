"""AWS services: the errors of requests, notifications, and the state of the stage according to CloudWatch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from duecourse.checks.facts import Alarms, StageFigures
from duecourse.domain.jobs.job import DeadlineEvent
from duecourse.domain.runs.states import Run

THROTTLED = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "KMS.ThrottlingException",
        "KmsThrottled",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
"""Error codes of throttling: those in AWS's SDKs ("Retry behavior", AWS SDKs and Tools Reference Guide), the code that
DynamoDB returns for a single statement, and the code that SQS returns for a KMS key.
"""

TRANSIENT = frozenset({"RequestTimeout", "RequestTimeoutException"})
"""Codes of other errors after which the same request is sent again."""

_CONFLICT = "TransactionConflictException"


class AwsError(Exception):
    """A request to a service did not succeed."""


class NoAnswerError(AwsError):
    """No complete response was received. It is unknown whether the request took effect."""


class ServiceError(AwsError):
    """The service rejected a request, or failed. `answer` is the document in its response, and `retry_after` the header
    Retry-After of an invocation.
    """

    def __init__(
        self,
        code: str,
        message: str = "",
        *,
        status: int = 400,
        answer: Mapping[str, Any] | None = None,
        retry_after: str | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.answer: Mapping[str, Any] = answer or {}
        self.retry_after = retry_after

    @property
    def temporary(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self.status >= 500 or self.code in THROTTLED or self.code in TRANSIENT or self.code == _CONFLICT


@dataclass(frozen=True, slots=True)
class FailureNotification:
    """The notice of a dead run, with its job's owner (empty: no owner) and runbook."""

    run: Run
    died_at: float
    owner: str = ""
    runbook_url: str | None = None


@dataclass(frozen=True, slots=True)
class DeadlineNotification:
    """The notice of a run that missed a deadline, which was `at` (UTC seconds). `run` is its record, or QUEUED."""

    run: Run
    deadline: DeadlineEvent
    at: int
    owner: str = ""
    runbook_url: str | None = None


class Notifier(Protocol):
    """Sends notices to people."""

    def deadline(self, missed: DeadlineNotification) -> None:
        """Publish the notice. Raises if it was not accepted."""

    def death(self, death: FailureNotification) -> None:
        """Publish the notice. Raises if it was not accepted."""


@dataclass(frozen=True, slots=True)
class OutboundEvent:
    """An outcome of a run. `detail_type` is one of the types in domain.runs.notices. `detail` is small and can be
    encoded as JSON.
    """

    detail_type: str
    detail: dict[str, Any]
    at: float


class Bus(Protocol):
    """Sends events to programs."""

    def publish(self, events: Sequence[OutboundEvent]) -> int:
        """Publish the events. Return how many were not accepted. Never raises for an error of the bus."""


class CloudWatchUnavailableError(RuntimeError):
    """CloudWatch cannot be read. The message has the reason."""


class StageAlarms(Protocol):
    """The alarms of the stage."""

    def alarms(self) -> Alarms:
        """Return the active alarms, at most a few seconds old. Raises CloudWatchUnavailableError."""


class StageMetrics(Protocol):
    """The stage's metrics in CloudWatch."""

    def figures(self, api_id: str = "") -> StageFigures:
        """Return the figures of the last 24 hours, at most a minute old. The request figures concern the API with this
        id. Raises CloudWatchUnavailableError.
        """
