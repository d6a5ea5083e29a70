"""Converts reports to log lines and metrics: one structured line per decision, and EMF metrics of low cardinality."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from logging import makeLogRecord
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from duecourse.usecases.report import Report

EVEN_WHEN_ZERO = frozenset({"TicksSent", "AttemptsFailed", "RunsDead"})
"""Counts that are also emitted as 0: a rate needs its numerator, and an alarm needs every tick.

CloudWatch bills a metric for each hour in which a value was emitted (Amazon CloudWatch pricing), so no other zeros are
emitted. An alarm on a sum treats a missing count as 0.
"""

ROUTINE = frozenset({"SlotsRead"})
"""Counts of every dispatch round, with or without work. A report with only these emits nothing."""

SYMPTOMS: Mapping[str, frozenset[str]] = {
    "dispatch": frozenset({"RoundsFailed", "SendsRefused", "ClaimsFailed", "ClaimsRefused", "ClaimsDeferred"}),
    "capacity": frozenset({"RoundsUnfinished", "StatementsThrottled"}),
    "workers": frozenset({"MessagesFailed", "RescueReadsFailed"}),
    "completeness": frozenset(
        {
            *("OccurrencesLost", "OccurrencesDoubled", "EntriesBelowWatermark", "CursorsOutsideIndex"),
            *("StepsLost", "DeadLettersRecorded"),
        }
    ),
    "stopped_jobs": frozenset({"CursorsQuarantined", "CursorsFoundQuarantined", "JobsPaused", "PausesFailed"}),
    "outcomes": frozenset({"EventsRefused", "ResultsLost"}),
    "maintenance": frozenset(
        {
            *("ReconciliationsFailed", "DeadLettersUnreadable", "RepairsFailed", "CleanUpsFailed", "AuditsFailed"),
            *("AuditsWaiting", "ArchivesFailed"),
        }
    ),
    "release": frozenset({"RoundsFailed", "CursorsQuarantined", "MessagesFailed", "MessagesUnreadable"}),
}
"""The counts of failures by symptom. Their sum is the metric `Failures`, whose only dimension in addition to the
service is the symptom: one alarm watches all functions, and the metric costs nothing while there are no failures.
"""

_TAKEN = frozenset(vars(makeLogRecord({}))) | {"message", "asctime"}
"""Attributes of a log record: `logging` raises an exception for facts with these names."""


_UNPRINTABLE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that JSON allows but that could control the reader's terminal or cannot be encoded."""


def function_logger(**options: Any) -> Logger:
    """Return the logger of a function: one JSON object per line, without characters that control a terminal."""
    return Logger(json_serializer=_line, **options)


def _line(record: Mapping[str, Any]) -> str:
    said = json.dumps(record, default=str, separators=(",", ":"), ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", said)


def loggable(facts: Mapping[str, object]) -> dict[str, Any]:
    """Return the facts of a log line under names that `logging` accepts."""
    return {f"{name}_" if name in _TAKEN else name: value for name, value in facts.items()}


def publish(report: Report, logger: Logger, metrics: Metrics, **dimensions: str) -> None:
    """Log the events of a report and emit its counts, durations (milliseconds) and ages (seconds).

    `dimensions` (a function, a lane) are added to every metric. Values of high cardinality belong in the log line. With
    a lane, every metric is also emitted over all lanes. Counts by target are also emitted by target, and failures by
    symptom (SYMPTOMS).
    """
    for event in report.events:
        log = logger.error if event.alarming else logger.info
        log(event.action, extra={"action": event.action, **loggable(event.facts)})
    whole = {name: value for name, value in dimensions.items() if name != "lane"}
    counts = {metric: count for metric, count in report.counts.items() if count or metric in EVEN_WHEN_ZERO}
    if counts.keys() - ROUTINE or report.seconds or report.ages:
        for name, value in dimensions.items():
            metrics.add_dimension(name=name, value=value)
        if "lane" in dimensions:  # an alarm watches one metric and cannot sum lanes
            metrics.add_dimensions(service=str(metrics.service), **whole)
        for metric, count in counts.items():
            metrics.add_metric(name=metric, unit=MetricUnit.Count, value=count)
        for metric, measured in report.seconds.items():
            for seconds in measured:
                metrics.add_metric(name=metric, unit=MetricUnit.Milliseconds, value=round(seconds * 1000, 3))
        for metric, seconds in report.ages.items():
            metrics.add_metric(name=metric, unit=MetricUnit.Seconds, value=round(seconds, 3))
        metrics.flush_metrics()
    for target, counted in report.by_target.items():
        for name, value in (whole | {"target": target}).items():
            metrics.add_dimension(name=name, value=value)
        for metric, count in counted.items():
            metrics.add_metric(name=metric, unit=MetricUnit.Count, value=count)
        metrics.flush_metrics()
    for symptom, count in failures(report.counts).items():
        metrics.add_dimension(name="symptom", value=symptom)
        metrics.add_metric(name="Failures", unit=MetricUnit.Count, value=count)
        metrics.flush_metrics()


def failures(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the sums of failures by symptom, without zeros."""
    found = {symptom: sum(counts.get(name, 0) for name in names) for symptom, names in SYMPTOMS.items()}
    return {symptom: count for symptom, count in found.items() if count}
