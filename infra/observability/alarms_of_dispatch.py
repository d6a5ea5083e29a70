"""Alarms about the clock and the dispatcher: what keeps jobs from becoming runs."""

from __future__ import annotations

from collections.abc import Iterator

from aws_cdk import aws_sqs as sqs

from infra.config import ROUND_SECONDS, StageConfig
from infra.observability.alarms import AlarmSpec
from infra.observability.metrics import of_queue, ours

MINUTE = 60


def alarms_of_dispatch(config: StageConfig, shard_queue: sqs.IQueue) -> Iterator[AlarmSpec]:
    """In the order of the flow."""
    yield from _clock(config, shard_queue)
    yield from _rounds(config)
    yield from _claims(config)


def _clock(config: StageConfig, shard_queue: sqs.IQueue) -> Iterator[AlarmSpec]:
    """The tick and what it starts."""
    limits = config.alarms
    # CloudWatch looks a little further back than three periods for numbers that it can use, so the alarm comes three to
    # five minutes after the last tick (Amazon CloudWatch User Guide, "Configuring how CloudWatch alarms treat missing
    # data"): within the lookahead, for which nothing is late.
    yield AlarmSpec(
        name="NoTick",
        means="No tick for three minutes: the clock stands still. After five minutes (the lookahead) runs are late.",
        first="see whether the rule that starts the tick function is enabled, and that function's errors and "
        "throttles.",
        metric=ours(config, "tick", "TicksSent", seconds=MINUTE),
        above=1,
        below=True,
        periods=3,
        stops_firing=True,
        tells_itself=True,
    )
    yield AlarmSpec(
        name="ShardQueueOld",
        means=f"A shard's tick has waited for more than {limits.shard_queue_seconds} s: its rounds of dispatch are not "
        "started, or do not end. After five minutes ticks are dropped.",
        first="look at the dispatch function: is it throttled, does its event source stand still, do rounds take all "
        f"of their {ROUND_SECONDS} s (action dispatched, complete false)?",
        metric=of_queue(shard_queue, "ApproximateAgeOfOldestMessage"),
        above=limits.shard_queue_seconds,
        periods=2,
        stops_firing=True,
    )
    yield AlarmSpec(
        name="WatermarkBehind",
        means=f"A shard still has entries in the due index from more than {limits.watermark_seconds // 60} minutes "
        "ago: what was due then has not been claimed, and each round reads it again.",
        first="find the shard and its first_bucket in the log (action dispatched), then what keeps those claims from "
        "being made (actions round_stopped, claims_refused). After an outage it passes by itself.",
        metric=ours(config, "dispatch", "WatermarkAge", statistic="Maximum", seconds=MINUTE),
        above=limits.watermark_seconds,
        periods=3,
    )


def _rounds(config: StageConfig) -> Iterator[AlarmSpec]:
    """Rounds as a whole."""
    size = config.catch_up_alarm_size
    yield AlarmSpec(
        name="DispatchRoundsFailed",
        means="Rounds of dispatch end with errors, in three of five minutes: their shards' jobs do not fire. (A single "
        "failed round is repeated by the next tick.)",
        first="read the error in the log (action round_failed).",
        metric=ours(config, "dispatch", "RoundsFailed", seconds=MINUTE),
        above=0,
        periods=3,
        of=5,
        stops_firing=True,
    )
    yield AlarmSpec(
        name="RoundsUnfinished",
        means="Rounds of dispatch have ended before their work was done, five minutes in a row: mostly for lack of "
        "time, as more comes due than the shards can hand over. Runs will be late.",
        first="see whether it is a burst that ends (CursorsRead), throttling (StatementsThrottled), or too few shards: "
        "docs/sizing.md has the arithmetic.",
        metric=ours(config, "dispatch", "RoundsUnfinished", seconds=MINUTE),
        above=0,
        periods=5,
    )
    yield AlarmSpec(
        name="CatchUpStorm",
        means=f"More than {size} missed occurrences were caught up within five minutes: something had kept the "
        "dispatcher from running, and the lanes are filling now.",
        first="find out what it was (tick, shard queue, throttling), then watch the age of the lanes.",
        metric=ours(config, "dispatch", "Missed"),
        above=size,
    )


def _claims(config: StageConfig) -> Iterator[AlarmSpec]:
    """Sends and claims, and what follows from them."""
    limits = config.alarms
    yield AlarmSpec(
        name="SendsRefused",
        means="A lane does not take messages, in three of five minutes: its jobs do not fire until it does.",
        first="read which jobs and queue it is (action send_refused), then the queue's policy, key and SQS's health.",
        metric=ours(config, "dispatch", "SendsRefused", seconds=MINUTE),
        above=0,
        periods=3,
        of=5,
        stops_firing=True,
    )
    yield AlarmSpec(
        name="ClaimsFailed",
        means="Claims fail for another reason than their condition, in three of five minutes: rounds stop there, and "
        "what comes after in the same shard does not fire.",
        first="read the reason in the log (action round_stopped): throttling, rights, or DynamoDB's health.",
        metric=ours(config, "dispatch", "ClaimsFailed", seconds=MINUTE),
        above=0,
        periods=3,
        of=5,
        stops_firing=True,
    )
    yield AlarmSpec(
        name="ClaimsRefused",
        means="The table of jobs refuses claims in two of five minutes. (A single cursor that it refuses is set "
        "aside at once.) Those jobs fire, but their messages are sent again by each round.",
        first="read the table's error in the log (action claims_refused).",
        metric=ours(config, "dispatch", "ClaimsRefused", seconds=MINUTE),
        above=0,
        periods=2,
        of=5,
    )
    yield AlarmSpec(
        name="StatementsThrottled",
        means=f"Claims have been throttled for {limits.throttled_minutes} minutes in a row: the table of jobs or its "
        "index `due` has not grown into the load. Rounds get slower; nothing is lost.",
        first="compare the consumed units of both with what they are warmed up for; docs/sizing.md says what to set.",
        metric=ours(config, "dispatch", "StatementsThrottled", seconds=MINUTE),
        above=0,
        periods=limits.throttled_minutes,
    )
    yield AlarmSpec(
        name="CursorsSetAside",
        means="A job's cursor could not be read, planned or claimed and was taken out of the index: the job does not "
        "fire any more.",
        first="read the job's error (the job shows it; action cursor_set_aside has it, too), then correct the job: an "
        "edit of its schedule puts it back.",
        metric=ours(config, "dispatch", "CursorsSetAside"),
        above=0,
    )
    yield AlarmSpec(
        name="ClaimsDeferred",
        means="Claims that skip occurrences or end a schedule could not be made in three of five minutes, since the "
        "records of runs cannot be read: those jobs stand still until they can.",
        first="read the error and the jobs in the log (action claim_deferred).",
        metric=ours(config, "dispatch", "ClaimsDeferred", seconds=MINUTE),
        above=0,
        periods=3,
        of=5,
    )
    yield AlarmSpec(
        name="DispatchEventsRefused",
        means="The event bus did not accept that occurrences were skipped: those who hook on missed it.",
        first="read the bus's error in the log (action event_refused); it is not sent again.",
        metric=ours(config, "dispatch", "EventsRefused"),
        above=0,
        section="EventsRefused",
    )
