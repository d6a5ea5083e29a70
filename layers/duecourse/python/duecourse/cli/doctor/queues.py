"""Facts from SQS, Lambda and EventBridge: queues, their event sources, and the rules that start functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from duecourse.checks.facts import Queue
from duecourse.cli.doctor import metrics
from duecourse.cli.doctor.facts import ClockRules, Quotas, Source
from duecourse.cli.doctor.stage import Stage

LANES = ("high", "normal", "low", "long")
COUNTS = tuple(f"ApproximateNumberOfMessages{which}" for which in ("", "Delayed", "NotVisible"))

CALLS_PER_POLLER, OWN_MAX_CONCURRENT = 10, 1_250
"""The maximum number of concurrent executions of a provisioned poller, and of Lambda's own pollers (docs/sizing.md)."""

MAINTENANCE = ("Reconcile", "Repair", "Audit")
"""The functions that a rule starts, other than the tick."""


def lanes(stage: Stage) -> dict[str, str]:
    """Return the outputs with the queue and bulk queue of each lane, and with the queue of callbacks, which stages of
    1.0.0 do not have.
    """
    queues = {name: f"Lane{name.capitalize()}Url" for name in LANES}
    queues |= {f"{name} bulk": f"Lane{name.capitalize()}BulkUrl" for name in LANES}
    return queues | ({"callbacks": output} if (output := "LaneCallbacksUrl") in stage.outputs else {})


def queue(stage: Stage, name: str, output: str) -> Queue:
    """Return the number of messages in the queue of an output. The reconciler hides some dead letters for seconds."""
    url = stage.outputs[output]
    told = stage.clients("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=list(COUNTS))["Attributes"]
    visible, delayed, in_flight = (int(told[each]) for each in COUNTS)
    return Queue(name, visible, delayed, in_flight, None if stage.is_local else metrics.oldest(stage, [url])[url])


def most_executions(stage: Stage) -> int:
    """Return the maximum number of concurrent executions that start runs: of all queues of the lanes together."""
    urls = (stage.outputs[output] for name, output in lanes(stage).items() if name != "callbacks")
    return sum(_most(each) for url in urls for each in _mappings(stage, _arn(stage, url)))


def _most(mapping: Mapping[str, Any]) -> int:
    """Return the maximum number of concurrent executions of an event source."""
    if pollers := (mapping.get("ProvisionedPollerConfig") or {}).get("MaximumPollers"):
        return int(pollers) * CALLS_PER_POLLER
    return int((mapping.get("ScalingConfig") or {}).get("MaximumConcurrency") or OWN_MAX_CONCURRENT)


def quotas(stage: Stage) -> Quotas:
    """Return the account's limits for concurrent executions in this region."""
    limit = stage.clients("lambda").get_account_settings()["AccountLimit"]
    most = metrics.most_executions(stage)
    return Quotas(limit["ConcurrentExecutions"], limit["UnreservedConcurrentExecutions"], most)


def rules(stage: Stage) -> ClockRules:
    """Return the rule of each maintenance function of the stage."""
    functions = stage.functions
    return ClockRules({name: rule_of(stage, functions[name]) for name in MAINTENANCE if name in functions})


def rule_of(stage: Stage, function: str) -> str | None:
    """Return the state of the rule that starts a function: ENABLED if one of several is, None without a rule."""
    configuration = stage.clients("lambda").get_function_configuration(FunctionName=function)
    events = stage.clients("events")
    names = events.list_rule_names_by_target(TargetArn=configuration["FunctionArn"])["RuleNames"]
    states = {events.describe_rule(Name=name)["State"] for name in names}
    return "ENABLED" if "ENABLED" in states else next(iter(states), None)


def sources(stage: Stage) -> list[Source]:
    """Return the event source of each queue that a function reads, and of the current stream of the runs table."""
    return [_source(stage, name, arn) for name, arn in _read(stage)]


def _read(stage: Stage) -> Iterator[tuple[str, str | None]]:
    """Yield the name and the ARN of each queue and stream. A table that was restored under the same name has a new
    stream.
    """
    for name, output in {
        "shards": "ShardQueueUrl",
        **{f"lane {name}": at for name, at in lanes(stage).items()},
    }.items():
        yield name, _arn(stage, stage.outputs[output])
    if "ArchiveFunction" in stage.outputs:
        table = stage.clients("dynamodb").describe_table(TableName=stage.outputs["RunsTable"])["Table"]
        yield "archive", table.get("LatestStreamArn")


def _source(stage: Stage, name: str, arn: str | None) -> Source:
    """Return the event source that reads the queue or stream. If there are several, an enabled one has precedence."""
    if arn is None:
        return Source(name, None)
    found = _mappings(stage, arn)
    found.sort(key=lambda each: each["State"] != "Enabled")
    if not found:
        return Source(name, None)
    pollers = (found[0].get("ProvisionedPollerConfig") or {}).get("MinimumPollers", 0)
    return Source(name, found[0]["State"], found[0].get("LastProcessingResult"), pollers)


def _arn(stage: Stage, url: str) -> str:
    told = stage.clients("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return str(told["Attributes"]["QueueArn"])


def _mappings(stage: Stage, arn: str) -> list[dict[str, Any]]:
    found = stage.clients("lambda").list_event_source_mappings(EventSourceArn=arn)
    return list(found["EventSourceMappings"])
