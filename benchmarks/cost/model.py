"""The assumptions of the cost model for values that were not measured, and the computations that its parts
share. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.cost.prices import usd

VCPU_MB = 1769
"""The memory with which a function has one whole processor. Functions with less memory have a proportional share (AWS
Lambda Developer Guide, "Configure Lambda function memory").
"""

GB = 1024**3
HOURS_OF_MONTH = 720
MINUTES_OF_MONTH = 43_200
"""A month of thirty days."""

FULL_BATCH = 10
"""The maximum number of messages of a worker's invocation."""

FULL_ROUND = 1_000
"""The number of firings that a busy dispatcher finds at a time: a page of the due index."""

TRACED_PART = 0.05
"""The share of invocations other than the first of their second that Lambda records (AWS Lambda Developer Guide,
"Visualize Lambda function invocations using AWS X-Ray").
"""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Values that no benchmark on this machine can measure, in seconds or bytes."""

    call_seconds: float = 0.2
    """The response time of a target."""
    batch: int = FULL_BATCH
    """The messages of a worker's invocation: ten if many runs are due at the same time, one if runs are due
    separately.
    """
    request_seconds: float = 0.005
    """The time that a client waits for a request to DynamoDB or SQS in the same region."""
    waits_of_a_run: int = 3
    """The requests that a run makes one after another: read the job, write the start, write the end."""
    lambda_log_bytes: int = 330
    """The log lines that Lambda itself writes for an invocation: START, END and REPORT."""
    run_log_bytes: int = 900
    """The log lines that a worker writes for a run."""
    record_bytes: int = 700
    """A run's record, including the 100 bytes that DynamoDB adds to each item for its own index."""
    record_months: float = 3
    """Ninety days."""
    tracing: bool = True
    """Whether X-Ray traces runs from their worker on, as in stage prod."""
    caller_mb: int = 128
    """The memory of the function that another scheduler would start to make the call."""
    dispatch_mb: int = 1024
    execute_mb: int = 512
    tick_mb: int = 256
    audit_mb: int = 1024
    repair_mb: int = 512
    caretaker_seconds: float = 1.0
    """The duration of a start of index repair or audit with little work. It is assumed to be a cold start, because
    starts are a quarter of an hour apart and AWS does not document how long it keeps an environment.
    """
    api_mb: int = 512
    api_cpu_ms: float = 3.0
    """The CPU time (ms of a whole processor) of a request that creates a job or a run."""
    waits_of_a_request: int = 4
    """The requests that such a request makes one after another: tokens, key, job, write."""
    open_seconds: float = 0.01
    """The duration of a response of the health route or of the API's description."""
    access_log_bytes: int = 500
    """A line of the gateway's access log."""
    round_firings: int = FULL_ROUND
    """The firings that a dispatcher finds in one invocation. They share its fixed costs."""
    alignment_seconds: float = 1.2
    """The time that such an invocation sleeps until the next second begins, which is billed like work
    (`benchmarks.cost.alignment`).
    """
    held_seconds: float = 0.0
    """The time for which an invocation of a worker holds messages until their second begins (after small rounds)."""


def round_firings(batch: int) -> int:
    """Return the number of firings that a dispatcher finds at a time if workers receive batches of this size: full
    batches come from full rounds, and runs that come one by one were enqueued one by one.
    """
    return FULL_ROUND if batch == FULL_BATCH else batch


def lambda_usd(invocations: float, seconds: float, memory_mb: int) -> float:
    """Return the cost of this number of invocations with this duration each."""
    return usd("lambda_request", invocations) + usd("lambda_gb_second", invocations * seconds * memory_mb / 1024)


def cpu_seconds(milliseconds: float, memory_mb: int) -> float:
    """Return the time that a function with this memory needs for work that takes a whole processor this many
    milliseconds.
    """
    return milliseconds / 1000 * max(VCPU_MB / memory_mb, 1)


def traced(invocations: float, seconds: float) -> float:
    """Return the number of invocations that X-Ray records if they are spread evenly over this number of seconds: the
    first of each second, and a share of the others. If they are closer together, fewer are recorded.
    """
    firsts = min(invocations, seconds)
    return firsts + TRACED_PART * (invocations - firsts)


def logs_usd(count: float, size: float) -> float:
    """Return the cost of CloudWatch's ingestion of this number of lines, or groups of lines, of this size in bytes."""
    return usd("log_ingestion", count * size / GB)


def totalled(items: Mapping[str, float]) -> dict[str, float]:
    """Return the items with their sum, in USD, rounded to a hundredth of a cent."""
    return {name: round(value, 4) for name, value in (*items.items(), ("total", sum(items.values())))}
