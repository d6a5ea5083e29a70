"""The alarms that page: jobs do not fire; runs are late, lost or dying; the API fails."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from aws_cdk import aws_sqs as sqs

from duecourse.limits import MAX_DELAY_SECONDS, ROUND_SECONDS
from infra.observability.alarms import AlarmSpec, Severity, WatchedMetric
from infra.observability.metrics import FIVE_MINUTES, failures, of_api, of_function, of_queue, ours
from infra.parts import Monitored
from infra.settings.config import StageConfig

MINUTE = 60

page = partial(AlarmSpec, severity=Severity.PAGE)


def pages(config: StageConfig, watched: Monitored) -> Iterator[AlarmSpec]:
    """Yield the alarms in the order of a run's path."""
    yield from _firing(config, watched)
    yield from _starting(config, watched)
    yield from _ending(config)
    # The gateway's 5xx responses include errors and throttles of the API's function.
    users = {
        f"claims_{name.lower()}": of_function(each.function, name, seconds=MINUTE)
        for each in [watched.functions.get("Claims")]
        if each is not None
        for name in ("Errors", "Throttles")
    }
    yield page(
        name="api-failing",
        means="the API responds with 500 or 503, or the user pool issues no tokens, in three of five "
        "minutes. Jobs continue to fire.",
        first="read the error in the logs of the functions Api, Callbacks and Console: throttling, a permission, a "
        "key, or the last deployment.",
        find="filter action = 'request_failed' | stats count() by status, tenant, exception",
        watches={"api": WatchedMetric(of_api(watched.api_id, "5xx", seconds=MINUTE), 0)}
        | {label: WatchedMetric(metric, 0) for label, metric in users.items()},
        periods=3,
        of=5,
    )


def _firing(config: StageConfig, watched: Monitored) -> Iterator[AlarmSpec]:
    limits = config.alarms
    # CloudWatch looks back a little more than three periods for usable data. The alarm therefore goes off three to five
    # minutes after the last tick (Amazon CloudWatch User Guide, "Configuring how CloudWatch alarms treat missing
    # data"). This is within the lookahead, during which no run is late.
    yield page(
        name="ticks-missing",
        means="there was no tick for three minutes. After five minutes, runs are late.",
        first=(
            "check whether the rule that starts the function Tick is enabled, and check the function's errors "
            "and throttles."
        ),
        find="duecourse doctor (due index: the number of overdue entries)",
        watches={"ticks": WatchedMetric(ours(config, "tick", "TicksSent", seconds=MINUTE), 1)},
        periods=3,
        silence=True,
    )
    yield page(
        name="jobs-not-firing",
        means="rounds of dispatch fail, claims fail or are rejected, or a lane accepts no messages, in three of "
        "five minutes. Due occurrences wait in the index.",
        first=(
            "read the error in the log of the function Dispatch: throttling, a permission, a key, or the last "
            "deployment."
        ),
        find="filter action in ['round_failed', 'round_stopped', 'claims_refused', 'claim_deferred', 'send_refused'] | "
        "stats count() by action, tenant, job_id, reason, error",
        watches={"failures": WatchedMetric(failures(config, "dispatch", seconds=MINUTE), 0)},
        periods=3,
        of=5,
    )
    yield page(
        name="rounds-not-starting",
        means=f"a shard's tick has waited for more than {limits.shard_queue_seconds} s: rounds of dispatch do "
        f"not start, or do not end within {ROUND_SECONDS} s. After five minutes ticks are dropped.",
        first="check the errors and throttles of the function Dispatch, and whether its event source is enabled.",
        find="filter action = 'dispatched' | stats count() by shard, complete",
        watches={
            "age": WatchedMetric(
                of_queue(watched.parts.shard_queue.queue, "ApproximateAgeOfOldestMessage"), limits.shard_queue_seconds
            )
        },
        periods=2,
    )
    yield page(
        name="watermark-behind",
        means=f"a shard has entries in the due index from more than {limits.watermark_seconds // 60} minutes ago: "
        "occurrences of that time were not claimed.",
        first="find the shard by its first_bucket, then the cause of the missing claims. After an outage the "
        "alarm clears without action.",
        find="filter action = 'dispatched' | stats sortsFirst(first_bucket) as oldest by shard | sort oldest",
        watches={
            "age": WatchedMetric(
                ours(config, "dispatch", "WatermarkAge", statistic="Maximum", seconds=MINUTE), limits.watermark_seconds
            )
        },
        periods=3,
    )


def _starting(config: StageConfig, watched: Monitored) -> Iterator[AlarmSpec]:
    limits = config.alarms
    yield page(
        name="runs-late",
        means="the p99 lateness of a lane is above its limit ("
        + ", ".join(f"{lane} {seconds} s" for lane, seconds in limits.lateness_seconds.items())
        + ").",
        first="find the bottleneck: workers at their maximum concurrency, a burst, or slow rounds of dispatch.",
        find="filter action = 'run_settled' and lateness_seconds > 5 | "
        "stats count(), max(lateness_seconds) by tenant, job_id",
        watches={
            lane: WatchedMetric(ours(config, "execute", "Lateness", lane=lane, statistic="p99"), seconds * 1000)
            for lane, seconds in limits.lateness_seconds.items()
        },
        periods=2,
    )
    yield page(
        name="lanes-not-draining",
        means="messages of a lane are due, and workers do not receive or complete them. In high and "
        "normal, messages were waiting during ten minutes; in the other queues, a message is older than the "
        "maximum delay of 15 minutes plus the limit of the lane.",
        first=(
            "check whether the event source of the queue is enabled, then check the errors and throttles of "
            "its workers."
        ),
        find="duecourse doctor (lanes, event sources), then GET /v1/jobs/{id}/runs?state=QUEUED",
        watches=dict(_lanes(config, watched)),
        periods=2,
    )
    yield page(
        name="workers-failing",
        means="workers fail because of an error of Duecourse or AWS, not of a target, in two of three periods of "
        "five minutes. "
        "Their messages are delivered again.",
        first="read the error in the log of the lane's function: throttling, a permission, or a defect.",
        find="filter action in ['message_failed', 'rescue_read_failed'] | stats count() by tenant, job_id, error",
        watches={"failures": WatchedMetric(failures(config, "workers"), 0)},
        periods=2,
        of=3,
    )


def _lanes(config: StageConfig, watched: Monitored) -> Iterator[tuple[str, WatchedMetric]]:
    """Yield metrics that show whether the messages of each queue are processed. A message is in its queue from up to 15
    minutes before its due time until its worker has finished. SQS excludes messages that were received three times or
    more from the age.
    """
    # The emulator's alarms ignore dimensions, so the depth would be that of the dead letters.
    urgent = {"high", "normal"} if config.alarms.metric_math else set()
    for lane, queue in watched.parts.lanes.queues.items():
        label = f"{lane}_queue"
        if lane in urgent:
            waiting = of_queue(queue, "ApproximateNumberOfMessagesVisible", statistic="Minimum", seconds=FIVE_MINUTES)
            yield label, WatchedMetric(waiting, 0)
        else:
            yield label, _old(config, lane, queue)
    for lane, queue in watched.parts.lanes.bulk.items():
        yield f"{lane}_bulk", _old(config, lane, queue)


def _old(config: StageConfig, lane: str, queue: sqs.IQueue) -> WatchedMetric:
    age = of_queue(queue, "ApproximateAgeOfOldestMessage", seconds=FIVE_MINUTES)
    return WatchedMetric(age, MAX_DELAY_SECONDS + config.alarms.patience_seconds[lane])


def _ending(config: StageConfig) -> Iterator[AlarmSpec]:
    yield page(
        name="runs-lost-or-doubled",
        means="occurrences have no record or more than one, jobs were outside the due index, or a worker stopped "
        "without a record of its run. The maintenance functions have repaired these errors if possible.",
        first="find the jobs and occurrences in the log, run missing occurrences with a backfill, then find the cause.",
        find="filter action in ['occurrence_lost', 'occurrence_doubled', 'entry_below_watermark', "
        "'cursor_outside_index', 'run_settled'] | stats count() by action, tenant, job_id",
        watches={"failures": WatchedMetric(failures(config, "completeness"), 0)},
    )
    yield page(
        name="runs-dying",
        means=f"more than {config.alarms.deaths} runs died within five minutes.",
        first=(
            "check whether they call the same target, and pause its jobs while it is unavailable; then redrive "
            "the runs."
        ),
        find="filter action = 'run_settled' and state = 'DEAD' | stats count() by tenant, job_id, error",
        watches={"deaths": WatchedMetric(ours(config, "execute", "RunsDead"), config.alarms.deaths)},
    )
