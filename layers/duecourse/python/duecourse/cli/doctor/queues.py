"""Facts from SQS, Lambda and EventBridge: queues, the event sources that read them, the rules that start functions."""

from __future__ import annotations

from collections.abc import Iterator

from duecourse.checks.facts import Queue
from duecourse.cli.doctor import metrics
from duecourse.cli.doctor.facts import ClockRules, Quotas, Source
from duecourse.cli.doctor.stage import Stage

LANES = ("high", "normal", "low", "long")
COUNTS = tuple(f"ApproximateNumberOfMessages{which}" for which in ("", "Delayed", "NotVisible"))

MAINTENANCE = ("Reconcile", "Repair", "Audit")
"""Functions that a rule starts, beside the tick."""


def lanes(stage: Stage) -> dict[str, str]:
    """The output that names each lane's queue, and its bulk queue, which stages of before there were seats lack."""
    queues = {name: f"Lane{name.capitalize()}Url" for name in LANES}
    bulk = {f"{name} bulk": f"Lane{name.capitalize()}BulkUrl" for name in LANES}
    return queues | {name: output for name, output in bulk.items() if output in stage.outputs}


def queue(stage: Stage, name: str, output: str) -> Queue:
    """What is in the queue that an output names. The reconciler hides some of the dead letters for seconds."""
    url = stage.outputs[output]
    told = stage.clients("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=list(COUNTS))["Attributes"]
    visible, delayed, in_flight = (int(told[each]) for each in COUNTS)
    return Queue(name, visible, delayed, in_flight, None if stage.is_local else metrics.oldest(stage, [url])[url])


def quotas(stage: Stage) -> Quotas:
    """What the account may execute at once in this region."""
    limit = stage.clients("lambda").get_account_settings()["AccountLimit"]
    most = metrics.most_executions(stage)
    return Quotas(limit["ConcurrentExecutions"], limit["UnreservedConcurrentExecutions"], most)


def rules(stage: Stage) -> ClockRules:
    """The rule of each maintenance function that the stage has."""
    functions = stage.functions
    return ClockRules({name: rule_of(stage, functions[name]) for name in MAINTENANCE if name in functions})


def rule_of(stage: Stage, function: str) -> str | None:
    """The state of the rule whose target a function is: ENABLED if one of several is; None without a rule."""
    configuration = stage.clients("lambda").get_function_configuration(FunctionName=function)
    events = stage.clients("events")
    names = events.list_rule_names_by_target(TargetArn=configuration["FunctionArn"])["RuleNames"]
    states = {events.describe_rule(Name=name)["State"] for name in names}
    return "ENABLED" if "ENABLED" in states else next(iter(states), None)


def sources(stage: Stage) -> list[Source]:
    """The event source of each queue that a function reads, and of the stream that the runs table has now."""
    return [_source(stage, name, arn) for name, arn in _read(stage)]


def _read(stage: Stage) -> Iterator[tuple[str, str | None]]:
    """What is read, by name: its ARN. A table that was restored under its name has another stream than before."""
    for name, output in {
        "shards": "ShardQueueUrl",
        **{f"lane {name}": at for name, at in lanes(stage).items()},
    }.items():
        told = stage.clients("sqs").get_queue_attributes(QueueUrl=stage.outputs[output], AttributeNames=["QueueArn"])
        yield name, told["Attributes"]["QueueArn"]
    if "ArchiveFunction" in stage.outputs:
        table = stage.clients("dynamodb").describe_table(TableName=stage.outputs["RunsTable"])["Table"]
        yield "archive", table.get("LatestStreamArn")


def _source(stage: Stage, name: str, arn: str | None) -> Source:
    """The event source that reads it; of several the one that is enabled."""
    if arn is None:
        return Source(name, None)
    found = stage.clients("lambda").list_event_source_mappings(EventSourceArn=arn)["EventSourceMappings"]
    found.sort(key=lambda each: each["State"] != "Enabled")
    return Source(name, found[0]["State"], found[0].get("LastProcessingResult")) if found else Source(name, None)
