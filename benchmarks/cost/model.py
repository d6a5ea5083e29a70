"""What the arithmetic assumes where nothing was measured, and the small sums that the parts share. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.cost.prices import usd

VCPU_MB = 1769
"""At so much memory a function has one whole processor, and in proportion below (AWS Lambda Developer Guide,
"Configure Lambda function memory")."""

GB = 1024**3
HOURS_OF_MONTH = 720
MINUTES_OF_MONTH = 43_200
"""A month of thirty days."""

FULL_BATCH = 10
"""Messages of a worker's invocation at most."""

FULL_ROUND = 1_000
"""Firings that a busy dispatcher finds at once: a page of the due index."""

TRACED_PART = 0.05
"""Of the invocations that are not the first of their second, Lambda records so many (AWS Lambda Developer Guide,
"Visualize Lambda function invocations using AWS X-Ray")."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What no benchmark of this machine can measure. Seconds, bytes."""

    call_seconds: float = 0.2
    """How long a target takes to answer."""
    batch: int = FULL_BATCH
    """Messages in a worker's invocation: ten where many runs come due together, one where they come alone."""
    request_seconds: float = 0.005
    """A request to DynamoDB or SQS, as its client waits for it in the same region."""
    waits_of_a_run: int = 3
    """Requests that a run makes one after the other: read the job, write the start, write the end."""
    lambda_log_bytes: int = 330
    """What Lambda writes by itself of an invocation: START, END and REPORT."""
    run_log_bytes: int = 900
    """What a worker writes of a run."""
    record_bytes: int = 700
    """A run's record with the 100 bytes that DynamoDB adds to each item for its own index."""
    record_months: float = 3
    """Ninety days."""
    tracing: bool = True
    """X-Ray follows runs from their worker on, as in stage prod."""
    caller_mb: int = 128
    """Memory of the function that somebody else's scheduler would start to make the call."""
    dispatch_mb: int = 1024
    execute_mb: int = 512
    tick_mb: int = 256
    audit_mb: int = 1024
    repair_mb: int = 512
    caretaker_seconds: float = 1.0
    """A start of repair or audit with little to do. A quarter of an hour lies between two, so it is taken for a cold
    one: AWS does not say how long it keeps an environment."""
    api_mb: int = 512
    api_cpu_ms: float = 3.0
    """Of a whole processor, for a request that creates a job or a run."""
    waits_of_a_request: int = 4
    """Requests that it makes one after the other: tokens, key, job, write."""
    open_seconds: float = 0.01
    """An answer of health, or of the API's description."""
    access_log_bytes: int = 500
    """A line of the gateway's access log."""
    round_firings: int = FULL_ROUND
    """Firings that a dispatcher finds in one invocation, over which its fixed costs are shared."""
    alignment_seconds: float = 1.2
    """How long such an invocation sleeps until seconds begin, billed like work (`benchmarks.cost.alignment`)."""


def round_firings(batch: int) -> int:
    """Firings that a dispatcher finds at once where workers find so many: full batches come from full rounds, and runs
    that come one by one were enqueued one by one.
    """
    return FULL_ROUND if batch == FULL_BATCH else batch


def lambda_usd(invocations: float, seconds: float, memory_mb: int) -> float:
    """So many invocations of so many seconds each."""
    return usd("lambda_request", invocations) + usd("lambda_gb_second", invocations * seconds * memory_mb / 1024)


def cpu_seconds(milliseconds: float, memory_mb: int) -> float:
    """How long a function of that memory takes for what took a whole processor so many milliseconds."""
    return milliseconds / 1000 * max(VCPU_MB / memory_mb, 1)


def traced(invocations: float, seconds: float) -> float:
    """How many of so many invocations X-Ray records when they are spread evenly over so many seconds: the first of each
    second, and a part of the others. Fewer where they come closer together.
    """
    firsts = min(invocations, seconds)
    return firsts + TRACED_PART * (invocations - firsts)


def logs_usd(count: float, size: float) -> float:
    """So many lines, or bunches of lines, of so many bytes, taken in by CloudWatch."""
    return usd("log_ingestion", count * size / GB)


def totalled(items: Mapping[str, float]) -> dict[str, float]:
    """The items with their sum, in USD, to a hundredth of a cent."""
    return {name: round(value, 4) for name, value in (*items.items(), ("total", sum(items.values())))}
