"""The dashboard on a stage's jobs: fired, failed, late and dead runs, by lane and by target type."""

from __future__ import annotations

from collections.abc import Iterator

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from duecourse.domain.targets.kinds import TARGETS
from infra.observability.charts import Row, chart, heading, numbers
from infra.observability.metrics import FIVE_MINUTES, by_target, counted, of_queue, ours
from infra.parts import Monitored
from infra.settings.config import StageConfig

_POSTED = [word for word, kind in TARGETS.items() if kind.postable]

ENDS = {"RunsSucceeded": "succeeded", "RunsDead": "dead", "RunsSkipped": "skipped", "RunsCancelled": "cancelled"}


def business_rows(config: StageConfig, watched: Monitored) -> Iterator[Row]:
    """Yield the rows of the dashboard, from totals to details."""
    yield heading(
        f"# Duecourse {config.stage}: jobs and runs\n"
        "Every number is per five minutes unless its title says otherwise. A run that failed and is retried is "
        "not dead. A dead run has no attempts left, or its error is not retryable."
    )
    every, enqueued = counted(config, "execute", ENDS), counted(config, "dispatch", {"Enqueued": "enqueued"})
    yield [numbers("Run outcomes in the displayed period", [*enqueued, *every])]
    yield [
        chart("Firing: occurrences enqueued, up to 15 minutes before they are due", enqueued, unit="occurrences"),
        chart("Run outcomes", every, unit="runs"),
    ]
    yield from _failing(config)
    yield from _by_lane(config, watched)
    yield from _by_target(config)


def _failing(config: StageConfig) -> Iterator[Row]:
    attempts = counted(config, "execute", {"AttemptsStarted": "started", "AttemptsFailed": "failed"})
    yield heading("## Failures\nA run can have several attempts. The rate starts with the first failure.")
    yield [
        chart("Attempts", attempts, unit="attempts", width=8),
        chart("Failed attempts", [_failure_rate(config)], unit="%", width=8),
        chart(
            "Dead runs and jobs paused by them",
            counted(config, "execute", {"RunsDead": "runs dead", "JobsPaused": "jobs paused"}),
            unit="",
            width=8,
        ),
    ]
    yield [
        chart(
            "Missed occurrences and their outcomes",
            [
                ours(config, "dispatch", "Missed").with_(label="missed"),
                ours(config, "execute", "CaughtUp").with_(label="caught up"),
                ours(config, "dispatch", "Skipped").with_(label="skipped"),
            ],
            unit="occurrences",
        ),
        chart(
            "Audit: occurrences that have no record, or more than one",
            counted(
                config,
                "audit",
                {
                    "OccurrencesLost": "lost",
                    "OccurrencesDoubled": "duplicated",
                    "StepsLost": "lost in a workflow run",
                },
            ),
            unit="occurrences",
        ),
    ]


def _failure_rate(config: StageConfig) -> cloudwatch.MathExpression:
    """Return the percentage of started attempts that failed."""
    return cloudwatch.MathExpression(
        expression="IF(failed >= 1, 100 * failed / started, 0)",
        using_metrics={
            "failed": ours(config, "execute", "AttemptsFailed"),
            "started": ours(config, "execute", "AttemptsStarted"),
        },
        period=Duration.seconds(FIVE_MINUTES),
        label="failed attempts (%)",
    )


def _by_lane(config: StageConfig, watched: Monitored) -> Iterator[Row]:
    yield heading(
        "## By lane\nLateness is the time from the due time of a run to its start. p50 is the median, p99 the 99th "
        "percentile; the line is the threshold of the alarm. Waiting messages are due and not received by a worker yet."
    )
    for name, queue in watched.parts.lanes.queues.items():
        late = [ours(config, "execute", "Lateness", lane=name, statistic=which) for which in ("p50", "p99")]
        yield [
            chart(
                f"{name}: lateness",
                [metric.with_(label=metric.statistic) for metric in late],
                unit="ms",
                line=config.alarms.lateness_seconds[name] * 1000,
            ),
            chart(
                f"{name}: messages waiting for a worker",
                [of_queue(queue, "ApproximateNumberOfMessagesVisible").with_(label="waiting")],
                unit="messages",
            ),
        ]


def _by_target(config: StageConfig) -> Iterator[Row]:
    yield heading(
        "## By target type\nIf many runs of only one type die, this target or the connection to it has a problem."
    )
    yield [
        chart(title, [by_target(config, metric, target).with_(label=target) for target in _POSTED], unit="runs")
        for title, metric in (("Returned", "RunsSucceeded"), ("Dead", "RunsDead"))
    ]
