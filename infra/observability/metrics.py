"""CloudWatch metrics: those of Duecourse (duecourse.telemetry defines the dimensions) and those of AWS services."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from infra.settings.config import StageConfig

FIVE_MINUTES = 300


def ours(
    config: StageConfig,
    function: str,
    name: str,
    *,
    lane: str | None = None,
    statistic: str = "Sum",
    seconds: int = FIVE_MINUTES,
) -> cloudwatch.Metric:
    """Return a metric of a function of the stage, in all lanes. `Lateness` also exists in one lane, and
    `FailuresBeyond` only.
    """
    dimensions = {"service": "duecourse", "function": function} | ({} if lane is None else {"lane": lane})
    return _metric(config.metrics_namespace, name, dimensions, statistic, seconds)


def failures(config: StageConfig, symptom: str, *, seconds: int = FIVE_MINUTES) -> cloudwatch.Metric:
    """Return the failures of a symptom that all functions of the stage have counted (duecourse.telemetry, SYMPTOMS)."""
    return _metric(config.metrics_namespace, "Failures", {"service": "duecourse", "symptom": symptom}, "Sum", seconds)


def by_target(config: StageConfig, name: str, target: str, *, seconds: int = FIVE_MINUTES) -> cloudwatch.Metric:
    """Return an outcome of the runs that call one type of target."""
    dimensions = {"service": "duecourse", "function": "execute", "target": target}
    return _metric(config.metrics_namespace, name, dimensions, "Sum", seconds)


def of_queue(queue: sqs.IQueue, name: str, *, statistic: str = "Maximum", seconds: int = 60) -> cloudwatch.Metric:
    """Return SQS's metric of a queue. It has no data while the queue is not used (Amazon SQS Developer Guide,
    "Available CloudWatch metrics for Amazon SQS").
    """
    return _metric("AWS/SQS", name, {"QueueName": queue.queue_name}, statistic, seconds)


def of_function(
    function: lambda_.IFunction, name: str, *, statistic: str = "Sum", seconds: int = FIVE_MINUTES
) -> cloudwatch.Metric:
    """Return Lambda's metric of a function, for all its versions and aliases."""
    return _metric("AWS/Lambda", name, {"FunctionName": function.function_name}, statistic, seconds)


def of_api(api_id: str, name: str, *, seconds: int) -> cloudwatch.Metric:
    """Return API Gateway's metric of an HTTP API, for all its routes."""
    return _metric("AWS/ApiGateway", name, {"ApiId": api_id}, "Sum", seconds)


def of_table(
    table: str, name: str, *, index: str | None = None, statistic: str = "Sum", seconds: int = FIVE_MINUTES
) -> cloudwatch.Metric:
    """Return DynamoDB's metric of a table without its indexes, or of one index (Amazon DynamoDB Developer Guide,
    "DynamoDB metrics and dimensions").
    """
    dimensions = {"TableName": table} | ({} if index is None else {"GlobalSecondaryIndexName": index})
    return _metric("AWS/DynamoDB", name, dimensions, statistic, seconds)


def counted(config: StageConfig, function: str, named: Mapping[str, str]) -> list[cloudwatch.Metric]:
    """Return counts of a function with the labels of their lines."""
    return [ours(config, function, name).with_(label=label) for name, label in named.items()]


def _metric(namespace: str, name: str, dimensions: dict[str, str], statistic: str, seconds: int) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=name,
        dimensions_map=dimensions,
        statistic=statistic,
        period=Duration.seconds(seconds),
    )
