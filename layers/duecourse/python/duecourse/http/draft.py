"""From the body of a job to a draft of it."""

from __future__ import annotations

from duecourse.domain.exclusions import canonical_exclusion
from duecourse.domain.job import (
    COMPLETION_SECONDS,
    Completion,
    Delivery,
    EventKind,
    Lane,
    MissedMode,
    MissedPolicy,
    Overlap,
    Precision,
)
from duecourse.domain.retry import Backoff, RetryPolicy
from duecourse.domain.schedule import ScheduleSpec
from duecourse.domain.target_document import target_of
from duecourse.http.job_body import JobBody, QueueBody, RetryBody
from duecourse.http.models import Rules
from duecourse.usecases.jobs import Draft


def draft_of(body: JobBody, tenant: str, rules: Rules) -> Draft:
    """The draft of a body that was found to be good."""
    return Draft(
        tenant=tenant,
        id=body.id,
        name=body.name,
        schedule=ScheduleSpec(
            body.schedule, body.timezone, body.dst_gap, body.dst_fold, body.anchor, body.start, body.end
        ),
        exclude=tuple(canonical_exclusion(entry) for entry in body.exclude),
        jitter_seconds=body.jitter_seconds,
        max_runs=body.max_runs,
        target=target_of(body.target.model_dump()),
        payload=body.payload,
        priority=Lane(body.priority),
        timeout_seconds=body.timeout_seconds,
        estimated_seconds=body.estimated_seconds,
        start_deadline_seconds=body.start_deadline_seconds,
        completion=Completion(body.completion),
        completion_seconds=COMPLETION_SECONDS if body.completion_seconds is None else body.completion_seconds,
        heartbeat_seconds=body.heartbeat_seconds,
        retry=_retry(body.retry),
        pause_on_failure=body.pause_on_failure,
        missed=MissedPolicy(MissedMode(body.missed.policy), body.missed.grace_seconds, body.missed.max_missed),
        overlap=Overlap.QUEUE if isinstance(body.overlap, QueueBody) else Overlap(body.overlap),
        queue_limit=body.overlap.queue if isinstance(body.overlap, QueueBody) else None,
        precision=rules.default_precision if body.precision is None else Precision(body.precision),
        delivery=Delivery(body.delivery),
        idempotency_key=body.idempotency_key,
        events=tuple(EventKind(kind) for kind in body.events),
        tags=tuple(body.tags),
    )


def _retry(body: RetryBody) -> RetryPolicy:
    return RetryPolicy(
        max_attempts=body.max_attempts,
        backoff=Backoff(body.backoff),
        min_seconds=body.min_seconds,
        max_seconds=body.max_seconds,
        on=None if body.on is None else tuple(body.on),
        never=tuple(body.never),
        max_age_seconds=body.max_age_seconds,
    )
