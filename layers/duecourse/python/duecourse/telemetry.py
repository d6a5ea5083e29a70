"""Converts reports to log lines and metrics: one structured line per decision, and EMF metrics of low cardinality."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from logging import ERROR, INFO, LogRecord, makeLogRecord
from types import MappingProxyType
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from duecourse.stores.run_item import ignored
from duecourse.usecases.report import Report

EVEN_WHEN_ZERO = frozenset({"AttemptsFailed", "RunsDead"})
"""Counts that are also emitted as 0, because a rate needs its numerator.

CloudWatch bills a metric for each hour in which a value was emitted (Amazon CloudWatch pricing), so no other zeros are
emitted. An alarm on a sum treats a missing count as 0.
"""

LOGGED_ONLY = frozenset({"SlotsRead", "CursorsRead", "ClaimsWon", "TicksSent"})
"""Counts of a round or tick that are in its log line but are not metrics. For a round, the metric `Enqueued` increases
with them.
"""

ENDS = frozenset({"RunsSucceeded", "RunsDead", "RunsSkipped", "RunsCancelled"})
"""The counts of final states. Only these are also emitted by target."""

SYMPTOMS: Mapping[str, frozenset[str]] = {
    "dispatch": frozenset({"ShardsOverdue", "RoundsWaiting", "ShardsBehind", "FencesMissing"}),
    "lanes": frozenset({"QueuesUnread"}),
    "workers": frozenset({"MessagesFailed", "RescueReadsFailed"}),
    "completeness": frozenset(
        {
            *("OccurrencesLost", "OccurrencesDoubled", "EntriesBelowWatermark", "CursorsOutsideIndex"),
            *("StepsLost", "DeadLettersRecorded", "RunsStuck"),
        }
    ),
    "jobs": frozenset(
        {
            *("RunsDead", "CursorsQuarantined", "CursorsFoundQuarantined", "JobsPaused", "PausesFailed"),
            *("TargetsFailing", "LargeCatchUps", "SuccessorsRefused"),
        }
    ),
    "maintenance": frozenset(
        {
            *("ReconciliationsFailed", "DeadLettersUnreadable", "RepairsFailed", "CleanUpsFailed", "AuditsFailed"),
            *("AuditsWaiting", "ArchivesFailed", "EventsRefused", "ResultsLost", "MaintenanceSilent"),
            *("ArchiveStopped", "LettersWaiting", "WatchesFailed", "QuotaBelowSetting"),
            *("ExecutionsUnread", "ExecutionsNotStopped", "PrescalesFailed"),
        }
    ),
    "release": frozenset({"RoundsFailed", "CursorsQuarantined", "MessagesFailed", "MessagesUnreadable"}),
}
"""The counts of failures by symptom. Their sum is the `Failures` metric, whose only dimension in addition to the
service is the symptom: one alarm watches all functions, and the metric costs nothing while there are no failures.
"""

_TAKEN = frozenset(vars(makeLogRecord({}))) | {"message", "asctime"}
"""Attributes of a log record: `logging` raises an exception for facts with these names."""


_UNPRINTABLE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that JSON allows but that could control the reader's terminal or cannot be encoded."""


_TOKENS = {"dck": "[0-9]*_[A-Za-z0-9_-]+", "dc1.": r"[A-Za-z0-9_-]+\.[0-9]+", "eyJ": "[A-Za-z0-9_-]+"}
_SECRETS = {"whsec_": "[A-Za-z0-9+/=_%-]+"}
"""API keys, callback tokens and access tokens (JWT), and signing secrets: what they begin with, and the expression that
follows. The second part of a token is secret.
"""

_BEGINNINGS = (*_TOKENS, *_SECRETS)
_CREDENTIALS = re.compile(
    f"(?P<kept>{'|'.join(re.escape(begin) + rest for begin, rest in _TOKENS.items())})(?:\\.|%2[Ee])[A-Za-z0-9_.~%-]+"
    f"|(?P<kind>{'|'.join(map(re.escape, _SECRETS))})(?:{'|'.join(_SECRETS.values())})"
)
"""A credential, wherever a caller has pasted it."""

_as_json = json.JSONEncoder(default=str, separators=(",", ":"), ensure_ascii=False).encode


def function_logger(**options: Any) -> Logger:
    """Return the logger of a function: one JSON object per line, without characters that control a terminal and without
    credentials: a path or a field that a caller has filled wrongly can contain one.
    """
    return Logger(json_serializer=_line, **options)


def _line(record: Mapping[str, Any]) -> str:
    said = _as_json(record)
    if not said.isascii() or "\x7f" in said:
        said = _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", said)
    if any(begin in said for begin in _BEGINNINGS):  # the expression takes longer than the rest of the line
        said = _CREDENTIALS.sub(lambda found: f"{found['kept'] or found['kind']}***", said)
    return said


def loggable(facts: Mapping[str, object]) -> dict[str, Any]:
    """Return the facts of a log line under names that `logging` accepts."""
    return {f"{name}_" if name in _TAKEN else name: value for name, value in facts.items()}


_MANY = 3
"""The number of events from which common fields are formatted once."""

_OF_RECORD = ("level", "location", "timestamp")


def log_events(report: Report, logger: Logger) -> None:
    """Log the events of a report. The fields that many events have in common are formatted once, because the logger
    takes twice as long for a line.
    """
    prepared = _PreparedLines(logger) if len(report.events) >= _MANY else None
    for event in report.events:
        level, facts = ERROR if event.alarming else INFO, {"action": event.action, **loggable(event.facts)}
        if prepared is not None and logger.log_level <= level:
            prepared.write(level, event.action, facts)
        elif prepared is None:
            (logger.error if event.alarming else logger.info)(event.action, extra=facts)


class _PreparedLines:
    """Writes lines as a logger does, in the same instant and from `log_events`."""

    def __init__(self, logger: Logger) -> None:
        self._handler: Any = logger.registered_handler
        self._formatter: Any = logger.registered_formatter
        self._common: dict[int, dict[str, Any]] = {}

    def write(self, level: int, action: str, facts: Mapping[str, object]) -> None:
        """Write a line."""
        if level not in self._common:
            line, name = log_events.__code__.co_firstlineno, log_events.__name__
            record = LogRecord("", level, __file__, line, "", (), None, name)
            self._common[level] = json.loads(self._formatter.format(record))
        common = self._common[level]
        fields = {**common, **facts, **{name: common[name] for name in _OF_RECORD}, "message": action}
        text = self._formatter.serialize({name: value for name, value in fields.items() if value is not None})
        with self._handler.lock:
            self._handler.stream.write(text + self._handler.terminator)
            self._handler.flush()


def publish(report: Report, logger: Logger, metrics: Metrics, **dimensions: str) -> None:
    """Log the events of a report and emit its counts, durations (milliseconds) and ages (seconds).

    `dimensions` (a function) are added to every metric. Values of high cardinality belong in the log line. A `lane` is
    added to durations, which are also emitted over all lanes, and to balances; counts are emitted over all lanes only.
    Ends of runs are also emitted by target, and failures by symptom (SYMPTOMS). The attributes of records that this
    process has ignored since the last report are counted too. Each combination of a metric and its dimensions costs a
    metric's price for each hour in which it gets a value.
    """
    log_events(report, logger)
    whole = {name: value for name, value in dimensions.items() if name != "lane"}
    report.counts["AttributesIgnored"] += ignored()
    counts = {
        metric: count
        for metric, count in report.counts.items()
        if (count or metric in EVEN_WHEN_ZERO) and metric not in LOGGED_ONLY
    }
    _emit(metrics, whole, counts, ages=report.ages)
    _emit(metrics, dimensions, {}, report.seconds, over_lanes=whole)
    _emit(metrics, dimensions, report.balances)
    for target, counted in report.by_target.items():
        _emit(metrics, whole | {"target": target}, {name: counted[name] for name in counted if name in ENDS})
    for symptom, count in failures(report.counts).items():
        _emit(metrics, {"symptom": symptom}, {"Failures": count})


def _emit(
    metrics: Metrics,
    dimensions: Mapping[str, str],
    counts: Mapping[str, float],
    durations: Mapping[str, Sequence[float]] = MappingProxyType({}),
    ages: Mapping[str, float] = MappingProxyType({}),
    over_lanes: Mapping[str, str] | None = None,
) -> None:
    """Emit metrics with the dimensions, and also with the dimensions `over_lanes` if they differ. Without values
    nothing is emitted.
    """
    if not (counts or durations or ages):
        return
    for name, value in dimensions.items():
        metrics.add_dimension(name=name, value=value)
    if over_lanes is not None and over_lanes != dimensions:
        metrics.add_dimensions(service=str(metrics.service), **over_lanes)
    for metric, count in counts.items():
        metrics.add_metric(name=metric, unit=MetricUnit.Count, value=count)
    for metric, measured in durations.items():
        for seconds in measured:
            metrics.add_metric(name=metric, unit=MetricUnit.Milliseconds, value=round(seconds * 1000, 3))
    for metric, seconds in ages.items():
        metrics.add_metric(name=metric, unit=MetricUnit.Seconds, value=round(seconds, 3))
    metrics.flush_metrics()


def failures(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the sums of failures by symptom, without zeros."""
    found = {symptom: sum(counts.get(name, 0) for name in names) for symptom, names in SYMPTOMS.items()}
    return {symptom: count for symptom, count in found.items() if count}
