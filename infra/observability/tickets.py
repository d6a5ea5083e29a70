"""The alarms for the next working day: single jobs that do not fire, maintenance, the archive."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sqs as sqs

from infra.observability.alarms import AlarmSpec, Severity, WatchedMetric
from infra.observability.metrics import (
    FIVE_MINUTES,
    failures,
    of_event_source,
    of_function,
    of_queue,
    of_table,
    ours,
)
from infra.parts import Monitored
from infra.settings.config import StageConfig

MINUTE, HOUR = 60, 3600

MAINTENANCE = ("Reconcile", "Repair", "Audit")
"""The functions that a rule starts every fifteen minutes, except for Reconcile, which starts at least every hour."""

SILENT_ARCHIVE_HOURS = 3
"""The hours after the hour of a write. Data that is written at the end of an hour is read in the next one."""

ticket = partial(AlarmSpec, severity=Severity.TICKET)


def tickets(config: StageConfig, watched: Monitored) -> Iterator[AlarmSpec]:
    """Yield the alarms, those on single jobs and runs first."""
    yield from _jobs(config, watched)
    yield from _load(config)
    yield from _maintenance(config, watched)
    yield from _archive(config, watched)


def _jobs(config: StageConfig, watched: Monitored) -> Iterator[AlarmSpec]:
    """Yield the alarms that need an action of a job's owner."""
    yield ticket(
        name="dead-letters-waiting",
        means="the dead-letter queue is not empty: runs have no attempts left. Messages are kept for 14 days.",
        first="correct the targets of the jobs, then redrive the runs or let them expire.",
        find="duecourse dead-letters list",
        # The reconciler hides the messages for some seconds every few minutes. A period of five minutes still counts
        # them.
        watches={
            "dead_letters": WatchedMetric(
                of_queue(watched.parts.dead_letters.queue, "ApproximateNumberOfMessagesVisible", seconds=FIVE_MINUTES),
                0,
            )
        },
    )
    yield ticket(
        name="jobs-stopped",
        means="a job no longer fires, because its cursor is quarantined (it cannot be read, planned or claimed) "
        "or because "
        "the job was paused after dead runs in a row; or a job with dead runs in a row could not be paused and "
        "continues.",
        first="read the job's error, then correct the job or its target. An edit of the schedule or a resume starts "
        "it again.",
        find="filter action in ['cursor_quarantined', 'cursor_found_quarantined', 'job_paused', 'job_not_paused'] | "
        "stats count() by action, tenant, job_id, error, reason",
        watches={"failures": WatchedMetric(failures(config, "stopped_jobs"), 0)},
    )
    letters = watched.letters.get("Events")
    yield ticket(
        name="outcomes-not-delivered",
        means="the event bus rejected or could not deliver outcomes of runs, or the bucket rejected "
        "a large result. The runs themselves are not affected.",
        first="read the error in the log: a quota, a policy or a key. Events in the bus's dead-letter "
        "queue can be sent again.",
        find="filter action in ['event_refused', 'result_lost'] | stats count() by action, tenant, job_id, error",
        watches={"failures": WatchedMetric(failures(config, "outcomes"), 0)}
        | ({} if letters is None or not config.alarms.metric_math else {"events": WatchedMetric(_waiting(letters), 0)}),
    )


def _load(config: StageConfig) -> Iterator[AlarmSpec]:
    minutes, size = config.alarms.throttled_minutes, config.catch_up_alarm_size
    yield ticket(
        name="capacity-short",
        means=f"for {minutes} minutes in a row claims were throttled, or rounds of dispatch ended before their work "
        "was done. Runs are late; no run is lost.",
        first="compare the consumption of the tables with their warm throughput, and the number of shards with "
        "the due occurrences (see docs/sizing.md).",
        find="filter action = 'dispatched' | stats sum(counts.CursorsRead), sum(counts.StatementsThrottled) by shard",
        watches={"failures": WatchedMetric(failures(config, "capacity", seconds=MINUTE), 0)},
        periods=minutes,
    )
    yield ticket(
        name="catch-up-large",
        means=f"more than {size} missed occurrences were caught up within five minutes: dispatch "
        "was interrupted, and the lanes are filling.",
        first="find the cause (tick, shard queue, throttling), then monitor the age of the lanes.",
        find="filter action = 'caught_up' | stats sum(missed) as occurrences by tenant, job_id | sort occurrences desc",
        watches={"missed": WatchedMetric(ours(config, "dispatch", "Missed"), size)},
    )


def _maintenance(config: StageConfig, watched: Monitored) -> Iterator[AlarmSpec]:
    yield ticket(
        name="maintenance-failing",
        means="dead letters could not be processed or read; the index repair, the audit or the "
        "clean-up failed; the audit waits because of its backlog; or expired runs could not be archived.",
        first=(
            "read the error in the log of the function: throttling, a permission, or a defect. The next "
            "invocation tries again."
        ),
        find="filter action in ['dead_letter_failed', 'dead_letter_unreadable', 'repair_failed', 'audit_failed', "
        "'audit_waits', 'clean_up_failed', 'archive_failed'] | stats count() by action, tenant, job_id, error",
        watches={"failures": WatchedMetric(failures(config, "maintenance"), 0)},
    )
    yield ticket(
        name="maintenance-silent",
        means="a function that checks for lost runs, errors of the index or dead letters (Audit, "
        "Repair, Reconcile) has not succeeded for two hours. Meanwhile such errors are not found.",
        first="check whether its rule is enabled (`duecourse doctor` lists disabled rules), then the end of its log.",
        find="filter @message like /Task timed out|Runtime exited|ERROR/ | stats count() by @log",
        watches={}
        if config.alarms.metric_math
        else {
            name.lower(): WatchedMetric(of_function(watched.functions[name].function, "Invocations", seconds=HOUR), 1)
            for name in MAINTENANCE
        },
        expression=_succeeding(watched) if config.alarms.metric_math else None,
        periods=2,
        silence=True,
    )


def _succeeding(watched: Monitored) -> cloudwatch.MathExpression:
    """Return the successful invocations in an hour of the function with the fewest. The alarm evaluates two hours,
    because the data of the last hour can be incomplete.
    """
    metrics = {
        f"{name.lower()}_{kind.lower()}": of_function(watched.functions[name].function, kind, seconds=HOUR)
        for name in MAINTENANCE
        for kind in ("Invocations", "Errors")
    }
    each = (f"FILL({name.lower()}_invocations - {name.lower()}_errors, 0)" for name in MAINTENANCE)
    return cloudwatch.MathExpression(
        expression=f"MIN([{', '.join(each)}])",
        using_metrics=metrics,
        period=Duration.hours(1),
        label="invocations without an error",
    )


def _archive(config: StageConfig, watched: Monitored) -> Iterator[AlarmSpec]:
    """Yield the alarms on the archive. Expired records must be written before the stream deletes them a day later."""
    late = config.archive.give_up_after_hours * HOUR // 2
    age = of_function(watched.functions["Archive"].function, "IteratorAge", statistic="Maximum")
    letters = {"letters": WatchedMetric(_waiting(watched.letters["Archive"]), 0)} if config.alarms.metric_math else {}
    yield ticket(
        name="archive-behind",
        means=f"the archive processes records that expired more than {late / HOUR:g} hours ago, or records that "
        "it could "
        "not write are in its dead-letter queue. The stream deletes records 24 hours after they expired.",
        first=(
            "check whether the function Archive fails or is throttled; then send the records of the queue to it again."
        ),
        find="filter action in ['archived', 'archive_failed'] | stats count(), sum(rows) by action, error",
        watches={"age": WatchedMetric(age, late * 1000)} | letters,
    )
    if config.alarms.metric_math:
        yield ticket(
            name="archive-silent",
            means=f"the table of runs was written to, and for {SILENT_ARCHIVE_HOURS} hours after this nothing "
            "of its stream was read. The stream deletes records 24 hours after they expired.",
            first="check whether the event source of the archive exists, is enabled and can read.",
            find="duecourse doctor (event sources)",
            expression=_unread(watched),
            periods=SILENT_ARCHIVE_HOURS,
        )


def _unread(watched: Monitored) -> cloudwatch.MathExpression:
    """Return an expression that is 1 for an hour in which the table was written and its stream was not read, and 0 for
    an hour in which it was read. Expirations cannot be counted instead, because locks and requests expire as well, and
    the archive is not invoked for them.

    An hour without writes and reads is 0 / 0, which is not a number, and repeats the value before it. A stage with
    nightly jobs writes in only one hour of a day. It therefore does not matter whether polls without records count 0 or
    have no data, which is also the case for a disabled source. CloudWatch repeats values only within the hours that an
    alarm evaluates. After the last write, the alarm goes off once and returns to OK by itself.
    """
    return cloudwatch.MathExpression(
        expression="FILL(IF(FILL(polled, 0) > 0, 0, FILL(written, 0)) / (FILL(polled, 0) + FILL(written, 0)), REPEAT)",
        using_metrics={
            "polled": of_event_source(watched.archive_source, "PolledEventCount", seconds=HOUR),
            "written": of_table(watched.parts.runs.name, "ConsumedWriteCapacityUnits", seconds=HOUR),
        },
        period=Duration.hours(1),
        label="written and not read",
    )


def _waiting(queue: sqs.IQueue) -> cloudwatch.Metric:
    """Return the number of messages in a queue of failures. It is not used on the emulator: alarms there ignore
    dimensions, so it would go off for every message in the lanes' dead-letter queue.
    """
    return of_queue(queue, "ApproximateNumberOfMessagesVisible", seconds=FIVE_MINUTES)
