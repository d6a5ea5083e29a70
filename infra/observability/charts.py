"""The widgets of a dashboard: texts, charts and numbers in rows of 24 columns."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.observability.metrics import FIVE_MINUTES

COLUMNS = 24

Row = Sequence[cloudwatch.IWidget]


def heading(markdown: str, *, height: int = 2) -> Row:
    """Return a text of full width that explains the charts below it."""
    return [cloudwatch.TextWidget(markdown=markdown, width=COLUMNS, height=height)]


def states(title: str, alarms: Sequence[cloudwatch.IAlarm]) -> Row:
    """Return a widget with the states of alarms; those in ALARM come first."""
    return [
        cloudwatch.AlarmStatusWidget(
            title=title,
            alarms=list(alarms),
            sort_by=cloudwatch.AlarmStatusWidgetSortBy.STATE_UPDATED_TIMESTAMP,
            width=COLUMNS,
            height=6,
        )
    ]


def chart(
    title: str, left: Sequence[cloudwatch.IMetric], *, unit: str, width: int = 12, line: float | None = None
) -> cloudwatch.GraphWidget:
    """Return a chart of metrics over time. `line` draws the threshold of an alarm."""
    return cloudwatch.GraphWidget(
        title=title,
        left=list(left),
        left_y_axis=cloudwatch.YAxisProps(label=unit, min=0, show_units=False),
        left_annotations=[] if line is None else [cloudwatch.HorizontalAnnotation(value=line, label="alarm")],
        width=width,
        height=6,
    )


def numbers(title: str, metrics: Sequence[cloudwatch.IMetric], *, width: int = COLUMNS) -> cloudwatch.SingleValueWidget:
    """Return the totals over the displayed period as numbers."""
    return cloudwatch.SingleValueWidget(
        title=title, metrics=list(metrics), width=width, height=3, set_period_to_time_range=True
    )


def weighted(name: str, label: str, parts: Sequence[tuple[cloudwatch.Metric, float]]) -> cloudwatch.MathExpression:
    """Return the weighted sum of metrics. `name` (letters) distinguishes its metrics from other metrics in the same
    chart.
    """
    terms = [f"{factor:.10g} * FILL({name}{number}, 0)" for number, (_, factor) in enumerate(parts)]
    return cloudwatch.MathExpression(
        expression=" + ".join(terms),
        using_metrics={f"{name}{number}": metric for number, (metric, _) in enumerate(parts)},
        label=label,
        period=Duration.seconds(FIVE_MINUTES),
    )
