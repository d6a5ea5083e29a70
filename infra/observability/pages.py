"""The alarms that page: jobs do not fire; runs are late, lost or failing; the API fails.

Each is derived from few metrics, because CloudWatch bills every metric of an alarm. Failures that the functions count
themselves, or that the tick detects for them (usecases/dispatch/watch.py), arrive as the `Failures` metric of a
symptom. It does not exist while a stage is healthy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from duecourse.limits import LANES
from infra.observability.alarms import AlarmSpec, Severity, WatchedMetric
from infra.observability.metrics import FIVE_MINUTES, failures, of_api, of_function, ours
from infra.parts import Monitored
from infra.settings.config import StageConfig

MINUTE = 60

MIN_FAILURES = 2
"""The minimum number of failures for a page: of workers in five minutes, or of the API in one minute."""

FAILURE_SHARE = 0.05
"""The minimum share of failed batches or requests for a page, in addition to MIN_FAILURES."""

page = partial(AlarmSpec, severity=Severity.PAGE)


def pages(config: StageConfig, watched: Monitored) -> Iterator[AlarmSpec]:
    """Yield the alarms in the order of a run's path."""
    yield from _firing(config, watched)
    yield from _working(config, watched)
    yield from _running(config)
    yield _api(watched)


def _firing(config: StageConfig, watched: Monitored) -> Iterator[AlarmSpec]:
    # CloudWatch looks back a little more than three periods for usable data. The alarm therefore goes off three to five
    # minutes after the last tick (Amazon CloudWatch User Guide, "Configuring how CloudWatch alarms treat missing
    # data"). This is within the lookahead, during which no run is late.
    tick = watched.functions["Tick"].function
    started, failed = (of_function(tick, name, seconds=MINUTE) for name in ("Invocations", "Errors"))
    yield page(
        name="ticks-missing",
        means="no tick has succeeded for three minutes. After five minutes, runs are late.",
        first=(
            "check whether the rule that starts the Tick function is enabled, and check the function's errors, "
            "throttles and KMS key."
        ),
        find="duecourse doctor (tick, due index: the number of overdue entries)",
        watches={"ticks": WatchedMetric(started, 1)},
        expression=_math("SUM([started, -1 * failed])", MINUTE, "successful ticks", started=started, failed=failed),
        periods=3,
        silence=True,
    )
    yield page(
        name="jobs-not-firing",
        means="in two of the last three minutes, dispatch rounds did not start, or due occurrences were not claimed. "
        "Due occurrences stay in the index and run once this is fixed.",
        first=(
            "read the errors in the log of the Dispatch function. Common causes: throttling, a missing permission, a "
            "disabled KMS key or event source, the last deployment."
        ),
        find="filter action in ['round_failed', 'round_stopped', 'claims_refused', 'claim_deferred', 'send_refused'] | "
        "stats count() by action, tenant, job_id, reason, error",
        watches={"failures": WatchedMetric(failures(config, "dispatch", seconds=MINUTE), 0)},
        periods=2,
        of=3,
    )


def _working(config: StageConfig, watched: Monitored) -> Iterator[AlarmSpec]:
    yield page(
        name="lanes-not-draining",
        means="a queue has due messages, and no worker receives them.",
        first="check whether the event source of the queue is enabled, then the role and the KMS key that it uses.",
        find="duecourse doctor (lanes, event sources), then GET /v1/jobs/{id}/runs?state=QUEUED",
        watches={"failures": WatchedMetric(failures(config, "lanes", seconds=MINUTE), 0)},
        periods=2,  # each queue is looked at every other minute
        of=5,
    )
    workers = {lane: watched.functions[f"Execute{lane.capitalize()}"].function for lane in LANES}
    throttles = {lane: of_function(worker, "Throttles", seconds=MINUTE) for lane, worker in workers.items()}
    yield page(
        name="workers-throttled",
        means="in three of the last five minutes, Lambda throttled workers: their reserved concurrency is too small "
        f"(0 stops them), or all {config.account_concurrency} concurrent executions of the account are in use. Runs "
        "are delayed; after an hour, their messages become dead letters.",
        first="check the reserved concurrency of the lane's function, then the account's quota and the functions that "
        "use it, including those of other applications.",
        find="duecourse doctor (quotas, functions)",
        watches={lane: WatchedMetric(each, 0) for lane, each in throttles.items()},
        expression=_math(f"SUM([{', '.join(throttles)}])", MINUTE, "throttled invocations", **throttles),
        periods=3,
        of=5,
    )
    counted = failures(config, "workers")
    errors = {lane: of_function(worker, "Errors") for lane, worker in workers.items()}
    batches = ours(config, "execute", "MessagesReceived", statistic="SampleCount")
    yield page(
        name="workers-failing",
        means="workers crash, time out or fail because of Duecourse or AWS, not because of a target: at least "
        f"{MIN_FAILURES} times and in more than {FAILURE_SHARE:.0%} of batches in five minutes. Their messages are "
        "delivered again.",
        first="read the end of the log of the lane's function. Common causes: the last deployment, too little memory, "
        "a missing permission, throttling.",
        find="filter @message like /Task timed out|Runtime exited/ or action in ['message_failed', "
        "'rescue_read_failed'] | stats count() by @log, tenant, job_id, error",
        watches={"failures": WatchedMetric(counted, MIN_FAILURES - 1)},
        expression=_ratio(
            f"SUM([{', '.join(('failures', *errors))}])",
            f"SUM([{', '.join(('batches', *errors))}])",
            FIVE_MINUTES,
            {"failures": counted, "batches": batches, **errors},
        ),
    )


def _running(config: StageConfig) -> Iterator[AlarmSpec]:
    limits = config.alarms.lateness_seconds
    # The 95th percentile is above the limit if more than 5% of the runs are late. A metric without data has no value,
    # so an idle lane does not count.
    lateness = partial(ours, config, "execute", "Lateness", statistic="p95", seconds=MINUTE)
    late = {lane: WatchedMetric(lateness(lane=lane), 1000 * limit) for lane, limit in limits.items()}
    # One failure fewer than the smallest number that pages.
    most = (config.alarms.failed_attempts - 1) * (1 - config.alarms.failed_share)
    failed = {lane: WatchedMetric(ours(config, "execute", "FailuresBeyond", lane=lane), most) for lane in limits}
    yield page(
        name="runs-late",
        means="in two of the last five minutes, more than 5% of the runs of a lane started late ("
        + ", ".join(f"{lane} {seconds} s" for lane, seconds in limits.items())
        + ").",
        first="find the bottleneck: workers at their maximum concurrency, a burst, a tenant, or slow rounds.",
        find="filter action = 'run_settled' and lateness_seconds > 5 | "
        "stats count(), max(lateness_seconds) by tenant, job_id",
        watches=late,
        expression=_highest(late, MINUTE, "milliseconds beyond the limit"),
        periods=2,
        of=5,
    )
    yield page(
        name="targets-failing",
        means=f"in five minutes, many attempts of a lane failed: {config.alarms.failed_attempts} or more if all "
        f"failed, and more than {config.alarms.failed_share:.0%} of many attempts.",
        first=(
            "check the common causes: the network, an allow-list, a role, secrets. Pause the jobs while their targets "
            "are unavailable; then redrive the runs."
        ),
        find="filter action = 'run_settled' and state in ['DEAD', 'RETRYING'] | stats count() by tenant, job_id, error",
        watches=failed,
        expression=_highest(failed, FIVE_MINUTES, "failures beyond the limit"),
    )
    yield page(
        name="runs-lost-or-duplicated",
        means="occurrences have no record or more than one, jobs were outside the due index, a run is stuck after the "
        "end of its lease, or a worker stopped without a record of its run. The maintenance functions repair these "
        "errors where possible.",
        first="find the jobs and occurrences in the log, run missing occurrences with a backfill, then find the cause.",
        find="filter action in ['occurrence_lost', 'occurrence_doubled', 'entry_below_watermark', "
        "'cursor_outside_index', 'run_stuck', 'run_settled'] | stats count() by action, tenant, job_id",
        watches={"failures": WatchedMetric(failures(config, "completeness"), 0)},
    )


def _api(watched: Monitored) -> AlarmSpec:
    # Cognito, not the gateway, invokes the function that adds the claims of a token.
    claims = watched.functions.get("Claims")
    users = {} if claims is None else {"claims": of_function(claims.function, "Errors", seconds=MINUTE)}
    errors, requests = (of_api(watched.api_id, name, seconds=MINUTE) for name in ("5xx", "Count"))
    return page(
        name="api-failing",
        means=f"in three of the last five minutes, more than {FAILURE_SHARE:.0%} of API requests (and at least "
        f"{MIN_FAILURES}) failed with 500 or 503, or the user pool could not issue tokens. Jobs continue to fire.",
        first="read the error in the logs of the Api, Callbacks and Console functions. Common causes: throttling, a "
        "missing permission, a disabled KMS key, the last deployment.",
        find="filter action = 'request_failed' | stats count() by status, tenant, exception",
        watches={"errors": WatchedMetric(errors, MIN_FAILURES - 1)},
        expression=_ratio("errors", "requests", MINUTE, {"errors": errors, "requests": requests}, or_any=users),
        periods=3,
        of=5,
    )


def _highest(watches: Mapping[str, WatchedMetric], seconds: int, label: str) -> cloudwatch.MathExpression:
    """Return an expression that is above 0 if one of the metrics is above its value."""
    beyond = ", ".join(f"{name} - {watch.above:g}" for name, watch in watches.items())
    return _math(f"MAX([{beyond}])", seconds, label, **{name: watch.metric for name, watch in watches.items()})


def _ratio(
    failed: str,
    whole: str,
    seconds: int,
    metrics: Mapping[str, cloudwatch.IMetric],
    or_any: Mapping[str, cloudwatch.IMetric] | None = None,
) -> cloudwatch.MathExpression:
    """Return an expression that is above 0 if enough of the whole has failed, or if one of `or_any` is above 0.

    SUM and MAX leave out metrics without data. FILL is not used: the guide does not say whether it completes a metric
    that never had data (Amazon CloudWatch User Guide, "Using math expressions with CloudWatch metrics").
    """
    expression = f"IF({failed} >= {MIN_FAILURES}, {failed} - {FAILURE_SHARE} * {whole}, 0)"
    if or_any:
        expression = f"MAX([{', '.join([expression, *or_any])}])"
    return _math(expression, seconds, "failed beyond 5%", **(dict(metrics) | dict(or_any or {})))


def _math(expression: str, seconds: int, label: str, **metrics: cloudwatch.IMetric) -> cloudwatch.MathExpression:
    return cloudwatch.MathExpression(
        expression=expression, using_metrics=metrics, period=Duration.seconds(seconds), label=label
    )
