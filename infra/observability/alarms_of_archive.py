"""Alarms of the archive: what expires must have been written before the stream forgets it, a day later."""

from __future__ import annotations

from collections.abc import Iterator

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.config import StageConfig
from infra.observability.alarms import AlarmSpec
from infra.observability.metrics import of_event_source, of_function, of_table, ours
from infra.python_function import PythonFunction
from infra.runs_table import RunsTable

HOUR = 3600
SILENT_HOURS = 3
"""From the hour of a write on: what is written at the end of an hour is read in the next one."""


def alarms_of_archive(
    config: StageConfig, function: PythonFunction, source: str, runs: RunsTable
) -> Iterator[AlarmSpec]:
    """It fails, it does not read, it does not keep up."""
    yield AlarmSpec(
        name="ArchivesFailed",
        means="Expired runs could not be written to the archive. The stream tries again, then keeps the batch's place "
        "in a queue of its own.",
        first="read the error in the log of the archive function (action archive_failed): policy, key, or S3's health. "
        "What is in its queue must be read back within 24 hours.",
        metric=ours(config, "archive", "ArchivesFailed"),
        above=0,
    )
    if config.alarms.metric_math:
        yield AlarmSpec(
            name="ArchiveSilent",
            means=f"The table of runs was written to, and for {SILENT_HOURS} hours from then on nothing of its stream "
            "was read: nothing that expires is archived, and the stream forgets it after 24 hours.",
            first="see whether the archive's event source is there, enabled and able to read (`duecourse doctor`).",
            metric=_unread(source, runs),
            above=0,
            periods=SILENT_HOURS,
        )
    late = config.archive.give_up_after_hours * HOUR // 2
    yield AlarmSpec(
        name="ArchiveBehind",
        means=f"The archive reads what expired more than {late / HOUR:g} hours ago: it does not keep up. Twice as old, "
        "a batch is given up, and its place goes to the queue of failures.",
        first="see whether the archive function fails, is throttled or takes long, or its event source was off.",
        metric=of_function(function.function, "IteratorAge", statistic="Maximum"),
        above=late * 1000,
    )


def _unread(source: str, runs: RunsTable) -> cloudwatch.MathExpression:
    """1 from an hour on in which something was written and nothing read of the stream, 0 from one on in which something
    was read. What expires is no measure: with a record go locks and requests, which the archive is not invoked for.

    An hour with neither is 0 / 0, which is no number, and repeats what was before it: a stage of nightly jobs writes in
    one hour of a day. So it makes no difference whether polls that find nothing count 0 or nothing at all, which a
    source that is off does as well. CloudWatch repeats within the hours that an alarm looks at: after the last write
    the alarm goes off once, and back to OK by itself.
    """
    return cloudwatch.MathExpression(
        expression="FILL(IF(FILL(polled, 0) > 0, 0, FILL(written, 0)) / (FILL(polled, 0) + FILL(written, 0)), REPEAT)",
        using_metrics={
            "polled": of_event_source(source, "PolledEventCount", seconds=HOUR),
            "written": of_table(runs.name, "ConsumedWriteCapacityUnits", seconds=HOUR),
        },
        period=Duration.hours(1),
        label="written and not read",
    )
