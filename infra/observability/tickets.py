"""The alarms that can wait until morning: single jobs that fail or do not fire, and maintenance."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from duecourse.checks.metrics import FAILED, IN_TIME, REQUESTS, STARTS
from duecourse.checks.objectives import LATENESS_SECONDS, TARGETS
from duecourse.limits import REFUSED_CALLBACKS
from infra.observability.alarms import AlarmSpec, Severity, WatchedMetric
from infra.observability.metrics import FIVE_MINUTES, failures, of_api, of_queue, ours
from infra.parts import Monitored
from infra.settings.config import StageConfig

HOUR = 3600

BURN = 6
"""The alarm's threshold: within one hour, the error budget may be used this many times faster than the objectives
allow. Such an hour uses a quarter of a day's budget.
"""

FEWEST = 10
"""The minimum number of late runs or failed requests in an hour for the alarm."""

FEWEST_REFUSED = 50
"""The minimum number of refused requests in five minutes for a ticket."""

REFUSED_SHARE = 0.5
"""The share of refused requests that must be exceeded. For callbacks, see `REFUSED_CALLBACKS`."""

ticket = partial(AlarmSpec, severity=Severity.TICKET)


def tickets(config: StageConfig, watched: Monitored) -> Iterator[AlarmSpec]:
    """Yield the alarms; the alarm on single jobs comes first."""
    counted = WatchedMetric(failures(config, "jobs"), 0)
    # The emulator has no metrics from logs. `duecourse local` reports the depth of its dead-letter queue instead.
    depth = of_queue(watched.parts.dead_letters.queue, "ApproximateNumberOfMessagesVisible", seconds=FIVE_MINUTES)
    yield ticket(
        name="jobs-need-attention",
        means="a run has died; a job no longer fires because its cursor is quarantined (it cannot be read, planned or "
        "claimed) or because the job was paused after dead runs in a row; such a job could not be paused; or a run "
        "that should follow another one was not started.",
        first="read the error of the job or of its run, then correct the job or its target. Redrive dead runs within "
        "14 days. To restart a job, edit its schedule or resume it.",
        find="filter action in ['cursor_quarantined', 'cursor_found_quarantined', 'job_paused', 'job_not_paused', "
        "'successor_refused'] or state = 'DEAD' | stats count() by action, tenant, job_id, error, reason",
        watches={"failures": counted if config.alarms.metric_math else WatchedMetric(depth, 0)},
    )
    yield _budget(config, watched)
    yield from _refusals(config, watched)
    yield ticket(
        name="maintenance-failing",
        means="dead letters could not be processed; index repair, the audit or the clean-up failed or has not "
        "succeeded for two hours; the archive function does not read its stream or gave up on a batch; outcomes or "
        "results of runs were rejected; executions could not be read or stopped; the account's concurrency is less "
        "than the setting; capacity for a peak could not be changed; or these checks failed.",
        first="read the error in the log of the function. Common causes: throttling, a missing permission, a disabled "
        "rule or event source, a defect. The next invocation tries again.",
        find="filter level = 'ERROR' | stats count() by action, tenant, job_id, error",
        watches={"failures": WatchedMetric(failures(config, "maintenance"), 0)},
    )


def _refusals(config: StageConfig, watched: Monitored) -> Iterator[AlarmSpec]:
    refused, requests = (of_api(watched.api_id, name, seconds=FIVE_MINUTES) for name in ("4xx", "Count"))
    yield ticket(
        name="api-refusing",
        means=f"in two of the last three periods of five minutes, more than {REFUSED_SHARE:.0%} of at least "
        f"{FEWEST_REFUSED} API requests were refused (4xx). Jobs continue to fire.",
        first="list the refusals by status and problem. 401: the issuer's keys, its audience, expired tokens. 429: a "
        "tenant's limits, or the gateway's.",
        find="filter action = 'request_refused' | stats count() by status, problem, tenant",
        # Without requests, nothing has a value.
        expression=cloudwatch.MathExpression(
            expression=f"IF(refused >= {FEWEST_REFUSED}, refused - {REFUSED_SHARE} * requests, 0)",
            using_metrics={"refused": refused, "requests": requests},
            period=Duration.seconds(FIVE_MINUTES),
            label="refused beyond the share",
        ),
        periods=2,
        of=3,
    )
    beyond = ours(config, "callbacks", "RefusalsBeyond")
    yield ticket(
        name="callbacks-refused",
        means=f"in two of the last three periods of five minutes, more than {REFUSED_CALLBACKS:.0%} of at least "
        f"{FEWEST_REFUSED} heartbeats and results of programs were refused. Their attempts miss their deadlines and "
        "are repeated.",
        first="list the refusals by status and problem: 401: programs use the token of an earlier attempt, or a key "
        "that the stage no longer has.",
        find="filter action = 'request_refused' | stats count() by status, problem, run_id",
        watches={"refusals": WatchedMetric(beyond, (FEWEST_REFUSED - 1) * (1 - REFUSED_CALLBACKS))},
        periods=2,
        of=3,
    )


def _budget(config: StageConfig, watched: Monitored) -> AlarmSpec:
    """Return the alarm on a slow loss that stays below the thresholds of runs-late and api-failing."""
    late = "starts * (1 - in_time / 100)"
    shares = {"late": BURN * (1 - TARGETS["lateness"]), "failed": BURN * (1 - TARGETS["availability"])}
    beyond = (
        f"IF({late} >= {FEWEST}, {late} - {shares['late']:.3f} * starts, 0)",
        f"IF(failed >= {FEWEST}, failed - {shares['failed']:.3f} * requests, 0)",
    )
    return ticket(
        name="error-budget-burning",
        means=f"in two of the last six hours, more than {shares['late']:.1%} of runs started more than "
        f"{LATENESS_SECONDS} s late, or more than {shares['failed']:.1%} of API requests failed: at even traffic, "
        "half of the error budget of a day is used.",
        first="find the jobs or requests with the most failures, and their common cause.",
        find=f"filter action = 'run_settled' and lateness_seconds > {LATENESS_SECONDS} "
        "or action = 'request_failed' and level = 'ERROR' | "
        "stats count() by action, tenant, job_id, status",
        # MAX leaves out a metric without data: runs or requests may be missing for an hour.
        expression=cloudwatch.MathExpression(
            expression=f"MAX([{', '.join(beyond)}])",
            using_metrics={
                "in_time": ours(config, "execute", "Lateness", statistic=IN_TIME, seconds=HOUR),
                "starts": ours(config, "execute", "Lateness", statistic=STARTS, seconds=HOUR),
                "failed": of_api(watched.api_id, FAILED, seconds=HOUR),
                "requests": of_api(watched.api_id, REQUESTS, seconds=HOUR),
            },
            period=Duration.seconds(HOUR),
            label="late or failed beyond the error budget",
        ),
        periods=2,
        of=6,
    )
