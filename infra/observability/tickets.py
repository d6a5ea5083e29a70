"""The alarms for the next working day: single jobs that fail or do not fire, and maintenance."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from infra.observability.alarms import AlarmSpec, Severity, WatchedMetric
from infra.observability.metrics import FIVE_MINUTES, failures, of_queue
from infra.parts import Monitored
from infra.settings.config import StageConfig

ticket = partial(AlarmSpec, severity=Severity.TICKET)


def tickets(config: StageConfig, watched: Monitored) -> Iterator[AlarmSpec]:
    """Yield the alarms, that on single jobs first."""
    counted = WatchedMetric(failures(config, "jobs"), 0)
    # The emulator has no metrics from logs. `duecourse local` reports the depth of its dead-letter queue instead.
    depth = of_queue(watched.parts.dead_letters.queue, "ApproximateNumberOfMessagesVisible", seconds=FIVE_MINUTES)
    yield ticket(
        name="jobs-need-attention",
        means="a run has died; a job no longer fires because its cursor is quarantined (it cannot be read, planned or "
        "claimed) or because the job was paused after dead runs in a row; or such a job could not be paused.",
        first="read the error of the job or of its run, then correct the job or its target. Redrive dead runs within "
        "14 days. To restart a job, edit its schedule or resume it.",
        find="filter action in ['cursor_quarantined', 'cursor_found_quarantined', 'job_paused', 'job_not_paused'] or "
        "state = 'DEAD' | stats count() by action, tenant, job_id, error, reason",
        watches={"failures": counted if config.alarms.metric_math else WatchedMetric(depth, 0)},
    )
    yield ticket(
        name="maintenance-failing",
        means="dead letters could not be processed; index repair, the audit or the clean-up failed or has not "
        "succeeded for two hours; the archive function has stopped reading its stream or has given up on a batch; "
        "outcomes or results of runs were rejected; or the tick could not run these checks.",
        first="read the error in the log of the function. Common causes: throttling, a missing permission, a disabled "
        "rule or event source, a defect. The next invocation tries again.",
        find="filter action in ['dead_letter_failed', 'dead_letter_unreadable', 'repair_failed', 'audit_failed', "
        "'audit_waits', 'clean_up_failed', 'archive_failed', 'event_refused', 'result_lost', 'maintenance_silent', "
        "'archive_stopped', 'letters_waiting', 'watch_failed'] | stats count() by action, tenant, job_id, error",
        watches={"failures": WatchedMetric(failures(config, "maintenance"), 0)},
    )
