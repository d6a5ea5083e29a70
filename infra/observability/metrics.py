"""Metrics as CloudWatch knows them: ours (duecourse.telemetry names the dimensions) and those of AWS's services."""

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
    """What a function of the stage counted or measured, in one lane or, without one, in all of them."""
    dimensions = {"service": "duecourse", "function": function} | ({} if lane is None else {"lane": lane})
    return _metric(config.metrics_namespace, name, dimensions, statistic, seconds)


def failures(config: StageConfig, symptom: str, *, seconds: int = FIVE_MINUTES) -> cloudwatch.Metric:
    """What all functions of the stage counted as failures of a symptom (duecourse.telemetry, SYMPTOMS)."""
    return _metric(config.metrics_namespace, "Failures", {"service": "duecourse", "symptom": symptom}, "Sum", seconds)


def by_target(config: StageConfig, name: str, target: str, *, seconds: int = FIVE_MINUTES) -> cloudwatch.Metric:
    """What became of runs that call one type of target."""
    dimensions = {"service": "duecourse", "function": "execute", "target": target}
    return _metric(config.metrics_namespace, name, dimensions, "Sum", seconds)


def of_queue(queue: sqs.IQueue, name: str, *, statistic: str = "Maximum", seconds: int = 60) -> cloudwatch.Metric:
    """What SQS says of a queue; nothing while the queue is not used (Amazon SQS Developer Guide, "Available CloudWatch
    metrics for Amazon SQS").
    """
    return _metric("AWS/SQS", name, {"QueueName": queue.queue_name}, statistic, seconds)


def of_function(
    function: lambda_.IFunction, name: str, *, statistic: str = "Sum", seconds: int = FIVE_MINUTES
) -> cloudwatch.Metric:
    """What Lambda says of a function, all its versions and aliases together."""
    return _metric("AWS/Lambda", name, {"FunctionName": function.function_name}, statistic, seconds)


def of_api(api_id: str, name: str, *, seconds: int) -> cloudwatch.Metric:
    """What API Gateway says of an HTTP API, all its routes together."""
    return _metric("AWS/ApiGateway", name, {"ApiId": api_id}, "Sum", seconds)


def of_event_source(source: str, name: str, *, seconds: int) -> cloudwatch.Metric:
    """What Lambda counts of an event source by its id, where that was asked for (AWS Lambda Developer Guide, "Types of
    metrics for Lambda functions"). Nothing while it is disabled, or cannot read.
    """
    return _metric("AWS/Lambda", name, {"EventSourceMappingUUID": source}, "Sum", seconds)


def of_table(
    table: str, name: str, *, index: str | None = None, statistic: str = "Sum", seconds: int = FIVE_MINUTES
) -> cloudwatch.Metric:
    """What DynamoDB says of a table without its indexes, or of one of them (Amazon DynamoDB Developer Guide, "DynamoDB
    metrics and dimensions").
    """
    dimensions = {"TableName": table} | ({} if index is None else {"GlobalSecondaryIndexName": index})
    return _metric("AWS/DynamoDB", name, dimensions, statistic, seconds)


def counted(
    config: StageConfig, function: str, named: Mapping[str, str], lane: str | None = None
) -> list[cloudwatch.Metric]:
    """Counts of a function with the labels of their lines."""
    return [ours(config, function, name, lane=lane).with_(label=label) for name, label in named.items()]


def _metric(namespace: str, name: str, dimensions: dict[str, str], statistic: str, seconds: int) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=name,
        dimensions_map=dimensions,
        statistic=statistic,
        period=Duration.seconds(seconds),
    )
