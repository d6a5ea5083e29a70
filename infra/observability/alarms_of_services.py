"""Alarms about what AWS says of our functions and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.config import StageConfig
from infra.jobs_table import DUE_INDEX, TENANT_INDEX, JobsTable
from infra.observability.alarms import AlarmSpec
from infra.observability.metrics import FIVE_MINUTES, of_function, of_table
from infra.python_function import PythonFunction
from infra.runs_table import DEAD_INDEX, RunsTable

CALLED_OFTEN = ("Tick", "Dispatch", "Api", "Execute")
"""What their names begin with: of the others, which come every few minutes, hours or days, each error counts."""


def alarms_of_services(
    config: StageConfig, functions: Mapping[str, PythonFunction], jobs: JobsTable, runs: RunsTable
) -> Iterator[AlarmSpec]:
    """Each function, each table, each index."""
    for name, function in functions.items():
        yield from _function(config, name, function)
    tables = (
        ("Jobs", jobs.name, None),
        ("Due", jobs.name, DUE_INDEX),
        ("Tenant", jobs.name, TENANT_INDEX),
        ("Runs", runs.name, None),
        ("Dead", runs.name, DEAD_INDEX),
    )
    for name, table, index in tables:
        yield from _table(config, name, table, index)


def _function(config: StageConfig, name: str, function: PythonFunction) -> Iterator[AlarmSpec]:
    """Errors: invocations that raised, ran out of time or of memory. What a function handles is counted by itself."""
    often = name.startswith(CALLED_OFTEN)
    most = config.alarms.function_errors if often else 0
    yield AlarmSpec(
        name=f"{name}Errors",
        means=f"More than {most} invocations of the function {name} within five minutes ended with an error, by lack "
        "of time or by lack of memory.",
        first="read the end of its log: the error, `Task timed out`, or `Runtime exited`.",
        metric=of_function(function.function, "Errors"),
        above=most,
        section="FunctionErrors",
        stops_firing=name == "Dispatch",
    )
    yield AlarmSpec(
        name=f"{name}Throttles",
        means=f"Invocations of the function {name} were refused for lack of concurrency, in three of five minutes.",
        first="compare the account's concurrent executions with its quota, then with what is reserved for this "
        "function (infra/stages.py); docs/sizing.md has the arithmetic.",
        metric=of_function(function.function, "Throttles", seconds=60),
        above=0,
        periods=3,
        of=5,
        section="FunctionThrottles",
        stops_firing=name == "Dispatch",
    )


def _table(config: StageConfig, name: str, table: str, index: str | None) -> Iterator[AlarmSpec]:
    """DynamoDB tells of requests that were throttled, and nothing while none is."""
    which = f"table {name.lower()}" if index is None else f"index {index}"
    most = config.alarms.table_throttles
    for kind in ("Read", "Write") if config.alarms.metric_math else ():
        yield AlarmSpec(
            name=f"{name}{kind}Throttles",
            means=f"More than {most} {kind.lower()}s of the {which} were throttled within five minutes. The "
            "functions ask again, so runs are late rather than lost.",
            first="see whether one partition is hot (a slot, a tenant) or the whole is too cold: docs/sizing.md says "
            "what to warm up.",
            metric=_throttled(of_table(table, f"{kind}ThrottleEvents", index=index)),
            above=most,
            of=2,
            section="TableThrottles",
        )


def _throttled(events: cloudwatch.Metric) -> cloudwatch.MathExpression:
    """0 where nothing is told. An alarm on the metric itself would keep its state while nothing is told, whatever it
    says of missing data, and so stay in ALARM (Amazon CloudWatch API Reference, "PutMetricAlarm"). This one looks at
    two periods, as the latest may be filled before its events are told (Amazon CloudWatch User Guide, "Using math
    expressions with CloudWatch metrics": FILL).
    """
    return cloudwatch.MathExpression(
        expression="FILL(throttled, 0)",
        using_metrics={"throttled": events},
        period=Duration.seconds(FIVE_MINUTES),
        label="throttled",
    )
