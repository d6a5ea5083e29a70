"""Alarms about runs: what fails, dies, comes late or is not recorded."""

from __future__ import annotations

from collections.abc import Iterator

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sqs as sqs

from infra.config import MAX_SQS_DELAY_SECONDS, StageConfig
from infra.lanes import Lanes
from infra.observability.alarms import AlarmSpec
from infra.observability.metrics import FIVE_MINUTES, of_queue, ours

IDLE_MINUTES = 5
"""For how long a lane's workers may take nothing: longer than they may all be busy with what they have, which in `long`
is longer than that.
"""


def alarms_of_runs(config: StageConfig, lanes: Lanes, dead_letters: sqs.IQueue) -> Iterator[AlarmSpec]:
    """Deaths and failures first."""
    yield from _ends(config, dead_letters)
    yield from _lanes(config, lanes)
    yield from _counted(config)


def _ends(config: StageConfig, dead_letters: sqs.IQueue) -> Iterator[AlarmSpec]:
    """How runs end."""
    limits = config.alarms
    yield AlarmSpec(
        name="DeadLettersWaiting",
        means="The dead-letter queue is not empty: runs used up their attempts, or their messages were received too "
        "often. They wait there for 14 days.",
        first="list them with `duecourse dead-letters`, mend what they call, then redrive them or let them go.",
        # The sweep hides them for some seconds every few minutes, which must not look as if they were gone.
        metric=of_queue(dead_letters, "ApproximateNumberOfMessagesVisible", seconds=FIVE_MINUTES),
        above=0,
    )
    yield AlarmSpec(
        name="RunsDying",
        means=f"More than {limits.deaths} runs died within five minutes.",
        first="see in the log (action run_settled, state DEAD) or in the notices whether they call the same target, "
        "and pause its jobs while it is down; redrive afterwards.",
        metric=ours(config, "execute", "RunsDead"),
        above=limits.deaths,
    )
    if limits.metric_math:
        yield AlarmSpec(
            name="FailureRate",
            means=f"More than {limits.failure_percent} % of the attempts of ten minutes failed, and at least "
            f"{limits.failure_least} in five: a target, or the way to it, is ill.",
            first="see in the dashboard of the business which type of target it is, then in the log (action "
            "run_settled) which errors.",
            metric=failure_rate(config, limits.failure_least),
            above=limits.failure_percent,
            periods=2,
        )


def failure_rate(config: StageConfig, least: int) -> cloudwatch.MathExpression:
    """Failed attempts in per cent of those that were started; 0 where fewer than `least` failed."""
    return cloudwatch.MathExpression(
        expression=f"IF(failed >= {least}, 100 * failed / started, 0)",
        using_metrics={
            "failed": ours(config, "execute", "AttemptsFailed"),
            "started": ours(config, "execute", "AttemptsStarted"),
        },
        period=Duration.seconds(FIVE_MINUTES),
        label="failed attempts (%)",
    )


def _lanes(config: StageConfig, lanes: Lanes) -> Iterator[AlarmSpec]:
    """How soon runs start, lane by lane, and whether each queue is worked on."""
    limits = config.alarms
    for name in lanes.queues:
        late = limits.lateness_seconds[name]
        yield AlarmSpec(
            name=f"Lateness{name.capitalize()}",
            means=f"One of a hundred runs in lane {name} starts more than {late} s after its time.",
            first="see what waits: workers at the limit of their concurrency, a burst (messages visible), or rounds of "
            "dispatch that take long.",
            metric=ours(config, "execute", "Lateness", lane=name, statistic="p99"),
            above=late * 1000,
            periods=2,
            section="Lateness",
        )
        yield from _queue(config, name, name.capitalize(), f"lane {name}", lanes.queues[name])
        yield from _queue(config, name, f"{name.capitalize()}Bulk", f"lane {name}'s bulk queue", lanes.bulk[name])


def _queue(config: StageConfig, lane: str, label: str, called: str, queue: sqs.IQueue) -> Iterator[AlarmSpec]:
    """Whether a queue's messages are worked on."""
    # Messages are in the queue from up to 15 minutes before their time, and those count as old; AWS does not say
    # that they do not. What takes long in a worker is in its queue, too, until it is deleted.
    patience = config.alarms.patience_seconds[lane]
    yield AlarmSpec(
        name=f"OldestMessage{label}",
        means=f"A message of {called} is {patience // 60} minutes older than the 15 minutes for which it may "
        "have been held back: its run was due that long ago, and no worker has finished with it.",
        first=f"see whether {called} is worked on at all (messages received, concurrency, throttles, the "
        "state of its event source), then whether its workers fail (MessagesFailed).",
        metric=of_queue(queue, "ApproximateAgeOfOldestMessage"),
        above=MAX_SQS_DELAY_SECONDS + patience,
        periods=3,
        section="OldestMessage",
    )
    if config.alarms.metric_math and config.lanes[lane].timeout_seconds < IDLE_MINUTES * 60:
        yield AlarmSpec(
            name=f"WorkersIdle{label}",
            means=f"Messages of {called} are due, and for {IDLE_MINUTES} minutes no worker has taken any: its "
            "runs do not start.",
            first=f"see whether the event source of {called} is enabled, then the errors and throttles of its "
            "function.",
            metric=_idle(queue),
            above=0,
            periods=IDLE_MINUTES,
            section="WorkersIdle",
        )


def _idle(queue: sqs.IQueue) -> cloudwatch.MathExpression:
    """1 in a minute in which there was always something to take, and nothing was taken."""
    return cloudwatch.MathExpression(
        expression="IF(waiting > 0, IF(FILL(taken, 0) < 1, 1, 0), 0)",
        using_metrics={
            "waiting": of_queue(queue, "ApproximateNumberOfMessagesVisible", statistic="Minimum"),
            "taken": of_queue(queue, "NumberOfMessagesReceived", statistic="Sum"),
        },
        period=Duration.minutes(1),
        label="nobody at work",
    )


def _counted(config: StageConfig) -> Iterator[AlarmSpec]:
    """What a worker could not do."""
    yield AlarmSpec(
        name="MessagesFailed",
        means="Workers fail by a fault of ours or of AWS, not of a target, in two of three times five minutes. Their "
        "messages come again, and are sent afresh before they count as dead.",
        first="read the error in the log (action message_failed): throttling, rights, or a defect.",
        metric=ours(config, "execute", "MessagesFailed"),
        above=0,
        periods=2,
        of=3,
    )
    yield AlarmSpec(
        name="RescueReadsFailed",
        means="A worker near a message's receive limit could not read its run and sent the message afresh unseen.",
        first="see whether the table of runs is throttled or refused (action rescue_read_failed).",
        metric=ours(config, "execute", "RescueReadsFailed"),
        above=0,
    )
    yield AlarmSpec(
        name="EventsRefused",
        means="The event bus did not accept outcomes of runs: those who hook on missed them. The runs are not "
        "affected.",
        first="read the bus's error in the log (action event_refused); it is not sent again.",
        metric=ours(config, "execute", "EventsRefused"),
        above=0,
    )
    yield AlarmSpec(
        name="ResultsLost",
        means="The bucket of results did not accept a large result: its run has succeeded, but only the beginning of "
        "the result is kept, in the record.",
        first="read the bucket's error in the log (action result_lost): policy, key, or S3's health.",
        metric=ours(config, "execute", "ResultsLost"),
        above=0,
    )
    yield AlarmSpec(
        name="JobsPaused",
        means="A job was paused since its runs died one after the other: it does not fire until someone resumes it.",
        first="read which job it is (action job_paused), mend what it calls, resume it.",
        metric=ours(config, "execute", "JobsPaused"),
        above=0,
    )
    yield AlarmSpec(
        name="PausesFailed",
        means="Whether a job whose runs die in a row is to be paused could not be decided: it goes on firing.",
        first="read the reason in the log (action job_not_paused), and pause the job by hand if its target is ill.",
        metric=ours(config, "execute", "PausesFailed"),
        above=0,
    )
