"""Alarms about the API: what it could not answer, and what it could not hand over."""

from __future__ import annotations

from collections.abc import Iterator

from infra.config import StageConfig
from infra.observability.alarms import AlarmSpec
from infra.observability.metrics import ours

MINUTE = 60


def alarms_of_api(config: StageConfig) -> Iterator[AlarmSpec]:
    """It answers every error itself, so that none is one of its function's (ApiErrors)."""
    yield AlarmSpec(
        name="InternalErrors",
        means="The API answers requests with 500 or 503, in three of five minutes: by a fault of ours, or of a service "
        "that it needs. Jobs go on firing.",
        first="read the error in its log (action request_failed): throttling, a right, a key, or the last deployment.",
        metric=ours(config, "api", "InternalErrors", seconds=MINUTE),
        above=0,
        periods=3,
        of=5,
    )
    yield AlarmSpec(
        name="ApiSendsRefused",
        means="A lane does not take what the API sends, in three of five minutes: run-now and redrives are refused; "
        "what comes due by a schedule is sent by the dispatcher.",
        first="read the reason in the API's log (send_error, batch_not_accepted), then the queue's policy, key and "
        "SQS's health.",
        metric=ours(config, "api", "SendsRefused", seconds=MINUTE),
        above=0,
        periods=3,
        of=5,
        section="SendsRefused",
    )
