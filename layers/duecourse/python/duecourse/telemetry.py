"""How reports become log lines and metrics: one structured line a decision, EMF metrics of low cardinality."""

from __future__ import annotations

from collections.abc import Mapping
from logging import makeLogRecord
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from duecourse.usecases.report import Report

_TAKEN = frozenset(vars(makeLogRecord({}))) | {"message", "asctime"}
"""What a log record calls its own: `logging` raises for a fact of such a name."""


def loggable(facts: Mapping[str, object]) -> dict[str, Any]:
    """The facts of a log line, under names that `logging` lets through."""
    return {f"{name}_" if name in _TAKEN else name: value for name, value in facts.items()}


def publish(report: Report, logger: Logger, metrics: Metrics, **dimensions: str) -> None:
    """Log the events of a report and emit its counts and durations.

    `dimensions` (a stage, a lane) are added to every metric; anything of high cardinality belongs into the log line.
    """
    for event in report.events:
        log = logger.error if event.alarming else logger.info
        log(event.action, extra={"action": event.action, **loggable(event.facts)})
    if not any(report.counts.values()) and not report.seconds:
        return
    for name, value in dimensions.items():
        metrics.add_dimension(name=name, value=value)
    if "lane" in dimensions:  # once more over all lanes: an alarm watches one metric, and knows no sums
        whole = {name: value for name, value in dimensions.items() if name != "lane"}
        metrics.add_dimensions(service=str(metrics.service), **whole)
    for metric, count in report.counts.items():
        metrics.add_metric(name=metric, unit=MetricUnit.Count, value=count)
    for metric, measured in report.seconds.items():
        for seconds in measured:
            metrics.add_metric(name=metric, unit=MetricUnit.Milliseconds, value=round(seconds * 1000, 3))
    metrics.flush_metrics()
