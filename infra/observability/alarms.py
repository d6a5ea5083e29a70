"""The specification of alarms, and the alarms that are built from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.queues.notices import NoticeTopics
from infra.settings.config import StageConfig


class Severity(StrEnum):
    """`page` pages the person on call. `ticket` can wait until morning."""

    PAGE = "page"
    TICKET = "ticket"


@dataclass(frozen=True, slots=True)
class WatchedMetric:
    """A metric and the value above which it is in alarm."""

    metric: cloudwatch.Metric
    above: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmSpec:
    """One alarm: the metrics that it watches, its meaning, the first step, and a query for the affected jobs."""

    name: str
    """Part of the alarm's name, and the default of `section`."""
    severity: Severity
    means: str
    first: str
    find: str
    """A query (CloudWatch Logs Insights) or a command that lists the affected jobs or other resources."""
    watches: Mapping[str, WatchedMetric] = field(default_factory=dict)
    """The alarm goes off if this metric is above its value. If there are several metrics, each has a separate alarm
    with the metric's label in its name.
    """
    expression: cloudwatch.IMetric | None = None
    """An expression that is watched instead if the stage has metric math; the alarm goes off above 0."""
    periods: int = 1
    of: int | None = None
    """The alarm goes off if `periods` of the last `of` periods are in alarm. The default of `of` is `periods`."""
    section: str | None = None
    notifies: bool = True
    """Whether the topic of the severity is notified. Otherwise only CodeDeploy evaluates the alarm."""
    silence: bool = False
    """The alarm goes off below 1, and if there is no data."""


def alarm_name(config: StageConfig, name: str) -> str:
    """Return the name in CloudWatch: `Duecourse/prod/ticks-missing`. Names of stages cannot contain a slash."""
    return f"{config.metrics_namespace}/{name}"


def make_alarms(
    scope: Construct, config: StageConfig, spec: AlarmSpec, notices: NoticeTopics
) -> Iterator[cloudwatch.Alarm]:
    """Yield the alarm, or several alarms if one would need metric math that the stage does not have."""
    if spec.expression is not None and config.alarms.metric_math:
        yield _alarm(scope, config, spec, spec.name, spec.expression, 0, notices)
        return
    for label, watch in spec.watches.items():
        name = spec.name if len(spec.watches) == 1 else f"{spec.name}-{label}"
        yield _alarm(scope, config, spec, name, watch.metric, watch.above, notices)


def _alarm(
    scope: Construct,
    config: StageConfig,
    spec: AlarmSpec,
    name: str,
    metric: cloudwatch.IMetric,
    above: float,
    notices: NoticeTopics,
) -> cloudwatch.Alarm:
    comparison = cloudwatch.ComparisonOperator
    missing = cloudwatch.TreatMissingData
    alarm = cloudwatch.Alarm(
        scope,
        "".join(part.capitalize() for part in name.replace("_", "-").split("-")),
        alarm_name=alarm_name(config, name),
        alarm_description=described(config, spec),
        metric=metric,
        threshold=1 if spec.silence else above,
        comparison_operator=comparison.LESS_THAN_THRESHOLD if spec.silence else comparison.GREATER_THAN_THRESHOLD,
        evaluation_periods=spec.of or spec.periods,
        datapoints_to_alarm=spec.periods,
        treat_missing_data=missing.BREACHING if spec.silence else missing.NOT_BREACHING,
    )
    if spec.notifies:
        action = notices.action(spec.severity)
        alarm.add_alarm_action(action)
        alarm.add_ok_action(action)
    return alarm


def described(config: StageConfig, spec: AlarmSpec) -> str:
    """Return the text for the person on call: severity, stage, meaning, first step, query and runbook."""
    return (
        f"[{spec.severity}] Stage {config.stage}: {spec.means} First step: {spec.first} Find: {spec.find} "
        f"Runbook: {config.runbooks}#{spec.section or spec.name}"
    )
