"""The cost of an idle month: of a stage in which no job is due and that receives no requests. Pure.

Everything is included: the clock, the rounds without work, the shard queue, the polls of the lanes, the reconciler,
index repair and audit, the logs of all of these, a little data, alarms, metrics and the customer key.
benchmarks/cost/apart.py has the additional costs of optional features and of requests.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from benchmarks.cost.model import (
    GB,
    HOURS_OF_MONTH,
    MINUTES_OF_MONTH,
    Assumptions,
    cpu_seconds,
    lambda_usd,
    totalled,
)
from benchmarks.cost.prices import usd
from duecourse.adapters.system import MAX_WORKERS
from duecourse.usecases.dispatch.tick import FULL_TURN_MINUTES

BUDGET = 7.2
"""USD a month of stage prod, all included."""

IDLE_METRICS = 0
"""The number of metrics that an idle stage always emits: none. A tick without work emits no metric."""

WATCHED_QUEUES = 1 + 8 / 2 + 2 / 15
"""The number of queues whose attributes a tick requests: the shard queue, half of the lanes' queues and, every 15
minutes, the queues of failures (usecases/dispatch/watch.py).
"""

FREE_DASHBOARDS = 3
"""The dashboards of an account that cost nothing (Amazon CloudWatch Pricing)."""

HEARTBEATS = 1
"""The number of writes of a maintenance function at its end."""

TABLES = 2
KEY_MINUTES = 5
"""How long DynamoDB keeps a table's key for a connection with traffic before it calls KMS again (Amazon DynamoDB
Developer Guide, "DynamoDB encryption at rest: How it works").
"""

QUEUES = 11
"""The lanes and their bulk queues, the shard queue, the dead letters and the archive's queue. The key of each is
requested once an hour by its senders and by its receivers (infra/stores/encryption.py, DATA_KEY_REUSE).
"""

POLLERS = 5
"""The number of long polls that an SQS event source keeps open on an empty queue: five according to the AWS Lambda
Developer Guide ("Configuring scaling behavior for SQS event source mappings"). Owners of idle queues count 15 empty
receives a minute.
"""

POLL_SECONDS = 20
"""The maximum time that SQS holds an empty receive (Amazon SQS Developer Guide, "Amazon SQS short and long
polling").
"""

CARETAKER_STARTS = 2_880
CARETAKER_READS = 3
"""The starts of index repair in a month, and as many of the audit: one every quarter of an hour
(infra/functions/scheduled.py). The strongly consistent reads of a start: one for index repair, two for the audit.
"""

SEND_BATCH = 10
"""The number of messages of one SendMessageBatch."""

STRUCTURED_LOG_BYTES = 500
"""The size of a log line of the reconciler: about the same as that of a round."""

TICK_SHARDS = 16
"""The number of shards of the measured tick. Its CPU time and queries are proportional to it."""

TICK_THREADS = MAX_WORKERS
"""The number of concurrent queries of a tick."""


@dataclass(frozen=True, slots=True)
class IdleRound:
    """A round or a tick without work: client CPU (ms of a whole processor), strongly consistent reads of a small item,
    queries without a result, other requests, and bytes of log.
    """

    cpu_ms: float
    reads: float
    queries: float
    others: float
    log_bytes: float

    @property
    def requests(self) -> float:
        """All requests, one after another."""
        return self.reads + self.queries + self.others

    @property
    def read_units(self) -> float:
        """The read units: one for a strongly consistent read of less than 4 KB, and half a unit for a query without a
        result that may be stale.
        """
        return self.reads + self.queries / 2


@dataclass(frozen=True, slots=True)
class Idle:
    """A stage without work. `stored_gb`: its jobs and records; `jobs_gb`: the jobs alone (ten thousand).
    `provisioned_pollers`: the pollers of all queues (0: Lambda's own pollers, which cost only their requests).
    `bulk_queues`: the bulk queues of the lanes, which are polled like the lanes. `open_requests_per_second`: the
    requests that the gateway admits on all open routes together. `alarm_metrics`: the metrics of the stage's
    alarms, each of which CloudWatch bills. An idle stage emits no metric. `dashboards`: those of the stage.
    `warm_writes` and `warm_reads`: the warm throughput of all tables and indexes beyond AWS's default, in units per
    second.
    """

    shards: int
    lanes: int
    reconcile_minutes: int
    round: IdleRound
    tick: IdleRound
    woken: float = 1 / FULL_TURN_MINUTES
    """The fraction of minutes in which a shard has a round. It is 1 for a shard that always has due work."""
    pollers: int = POLLERS
    stored_gb: float = 0.1
    jobs_gb: float = 0.01
    provisioned_pollers: int = 0
    bulk_queues: int = 0
    audit_segments: int = 1
    repair_hours: int = 24
    open_requests_per_second: int = 0
    alarm_metrics: int = 0
    dashboards: int = 0
    warm_writes: int = 0
    warm_reads: int = 0
    customer_key: bool = False
    token_keys: int = 0

    @property
    def polls_of_a_queue(self) -> float:
        """The empty receives of one event source in a month."""
        return self.pollers * MINUTES_OF_MONTH * 60 / POLL_SECONDS

    def items(self, assume: Assumptions) -> dict[str, float]:
        """Return USD a month by item, with the total."""
        rounds = self.rounds
        reconciliations = MINUTES_OF_MONTH / self.reconcile_minutes
        advances = self.shards * HOURS_OF_MONTH  # each watermark moves once an hour
        return totalled(
            {
                "lane_polls": usd("sqs_standard", self.lanes * self.polls_of_a_queue),
                "bulk_polls": usd("sqs_standard", self.bulk_queues * self.polls_of_a_queue),
                "shard_queue_messages": usd("sqs_fifo", self._sends + 2 * rounds),  # a receive and a deletion each
                "shard_queue_empty_polls": usd("sqs_fifo", self.polls_of_a_queue),
                "dispatch_lambda": lambda_usd(rounds, self.round_seconds(assume), assume.dispatch_mb),
                "dispatch_reads": usd("rru", rounds * self.round.read_units),
                "watermark_writes": usd("wru", advances),
                "tick": self._tick(assume),
                "reconcile": lambda_usd(reconciliations, 1.05, assume.tick_mb) + usd("sqs_standard", reconciliations),
                "repair_and_audit": self._caretakers(assume),
                "schedule_rules": usd("rule_schedule", MINUTES_OF_MONTH + reconciliations + 2 * CARETAKER_STARTS),
                "logs": usd("log_ingestion", self._log_gb(assume)),
                "storage": usd("table_storage", self.stored_gb) + usd("table_backup", self.stored_gb),
                "alarms": usd("alarm", self.alarm_metrics),
                "metrics": usd("metric", IDLE_METRICS),
                "dashboards": self.dashboards_usd(stages=1),
                "watched_queues": usd("sqs_standard", MINUTES_OF_MONTH * WATCHED_QUEUES),
                "customer_key": self.customer_key_usd if self.customer_key else 0.0,
            }
            | ({"token_keys": usd("kms_key", self.token_keys)} if self.token_keys else {})
        )

    def dashboards_usd(self, *, stages: int) -> float:
        """Return the cost of the dashboards of as many stages in an account without others, in USD a month."""
        return usd("dashboard", max(stages * self.dashboards - FREE_DASHBOARDS, 0))

    @property
    def rounds(self) -> float:
        """The rounds of a month."""
        return self.shards * MINUTES_OF_MONTH * self.woken

    @property
    def _sends(self) -> float:
        """The batches of messages to the shard queue in a month."""
        return MINUTES_OF_MONTH * min(ceil(self.shards * self.woken / SEND_BATCH), self.shards)

    def round_seconds(self, assume: Assumptions) -> float:
        """Return the duration of a round without work: its CPU time on the function's share of a processor, and its
        waits.
        """
        waits = self.round.requests * assume.request_seconds
        return cpu_seconds(self.round.cpu_ms, assume.dispatch_mb) + waits

    def counted(self, assume: Assumptions) -> dict[str, float]:
        """Return the counts behind the items, for a month."""
        return {
            "rounds": round(self.rounds),
            "round_ms": round(1000 * self.round_seconds(assume), 2),
            "round_rru": round(self.round.read_units, 3),
            "empty_receives_of_a_queue": self.polls_of_a_queue,
            "shard_queue_messages": round(self.rounds),
            "log_gb": round(self._log_gb(assume), 3),
        }

    def _tick(self, assume: Assumptions) -> float:
        """Return the cost of the ticks in USD: reads of the shard count and the last tick, queries of the shards' slots
        (TICK_THREADS at the same time), the messages, and the mark.
        """
        queries = self.tick.queries * self.shards / TICK_SHARDS
        waits = self.tick.reads + self.tick.others + ceil(queries / TICK_THREADS)
        cpu = self.tick.cpu_ms * self.shards / TICK_SHARDS
        seconds = cpu_seconds(cpu, assume.tick_mb) + waits * assume.request_seconds
        reads = self.tick.reads + queries / 2
        work = lambda_usd(MINUTES_OF_MONTH, seconds, assume.tick_mb)
        return work + usd("rru", MINUTES_OF_MONTH * reads) + usd("wru", MINUTES_OF_MONTH)

    def _caretakers(self, assume: Assumptions) -> float:
        """Return the cost of the starts of index repair and audit, and of reading all jobs (half a unit per 4 KB): once
        by each pass of index repair, and once by an audit of all segments.
        """
        work = sum(
            lambda_usd(CARETAKER_STARTS, assume.caretaker_seconds, memory)
            for memory in (assume.audit_mb, assume.repair_mb)
        )
        ends = MINUTES_OF_MONTH / self.reconcile_minutes + 2 * CARETAKER_STARTS
        work += usd("wru", ends * HEARTBEATS)
        scans = HOURS_OF_MONTH / self.repair_hours + HOURS_OF_MONTH / self.audit_segments
        return work + usd("rru", CARETAKER_STARTS * CARETAKER_READS + scans * self.jobs_gb * GB / 8192)

    @property
    def customer_key_usd(self) -> float:
        """The cost of a key of the stage and of its requests, in USD a month. The requests are an upper bound: each
        shard's round has its own environment, which reads only the jobs table, and so does the tick; index repair and
        audit start less often than a key expires; the queues.
        """
        tables = key_requests(self.shards + 1, 1) + 2 * CARETAKER_STARTS * TABLES
        return usd("kms_key", 1) + usd("kms_request", tables + 2 * QUEUES * HOURS_OF_MONTH)

    def _log_gb(self, assume: Assumptions) -> float:
        """Return the size of the logs of rounds, ticks (with their metrics), reconciliations, index repair
        and audits.
        """
        reconciliations = MINUTES_OF_MONTH / self.reconcile_minutes + 2 * CARETAKER_STARTS
        written = self.rounds * (self.round.log_bytes + assume.lambda_log_bytes)
        written += MINUTES_OF_MONTH * (self.tick.log_bytes + assume.lambda_log_bytes)
        return (written + reconciliations * (STRUCTURED_LOG_BYTES + assume.lambda_log_bytes)) / GB


def key_requests(connections: float, tables: int) -> float:
    """Return the requests to KMS in a month for connections that are always in use. A worker has as many connections as
    runs in a batch: all runs read their jobs at the same time.
    """
    return connections * tables * MINUTES_OF_MONTH / KEY_MINUTES


def remedies(idle: Idle, assume: Assumptions) -> list[str]:
    """Return changes that would reduce the monthly cost, the largest saving first, in USD a month."""
    total = idle.items(assume)["total"]
    others = {
        "half the shards (each is a message, a round and its reads a minute)": (
            replace(idle, shards=idle.shards // 2),
            assume,
        ),
        "one lane less (its event source polls an empty queue)": (replace(idle, lanes=idle.lanes - 1), assume),
        "no bulk queues": (replace(idle, bulk_queues=0), assume),
        "no alarms (infra/settings/alarms_config.py)": (replace(idle, alarm_metrics=0), assume),
        "no log line of its own for a round that found nothing": (
            replace(idle, round=replace(idle.round, log_bytes=0)),
            assume,
        ),
        "a dispatcher of 512 MB (bursts take it twice as long)": (idle, replace(assume, dispatch_mb=512)),
    }
    found = [(total - other.items(under)["total"], what) for what, (other, under) in others.items()]
    return [f"{saved:.2f} USD less a month: {what}" for saved, what in sorted(found, reverse=True) if saved > 0]
