"""Facts from Lambda: the event sources by which queues and the stream are read."""

from __future__ import annotations

from collections.abc import Iterator

from duecourse_cli.doctor.facts import Source
from duecourse_cli.doctor.queues import lanes
from duecourse_cli.doctor.stage import Stage

STREAM = "archive"


def sources(stage: Stage) -> list[Source]:
    """One for each queue that a function reads, and for the stream that the runs table has now."""
    return [_source(stage, name, arn) for name, arn in _read(stage)]


def _read(stage: Stage) -> Iterator[tuple[str, str | None]]:
    """What is read, by name: its ARN. A table that was restored under its name has another stream than before."""
    queues = {f"lane {name}": stage.outputs[output] for name, output in lanes(stage).items()}
    for name, url in {"shards": stage.outputs["ShardQueueUrl"], **queues}.items():
        told = stage.clients("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        yield name, told["Attributes"]["QueueArn"]
    if "ArchiveFunction" in stage.outputs:
        table = stage.clients("dynamodb").describe_table(TableName=stage.outputs["RunsTable"])["Table"]
        yield STREAM, table.get("LatestStreamArn")


def _source(stage: Stage, name: str, arn: str | None) -> Source:
    """The event source that reads it; of several the one that is enabled."""
    if arn is None:
        return Source(name, None)
    found = stage.clients("lambda").list_event_source_mappings(EventSourceArn=arn)["EventSourceMappings"]
    found.sort(key=lambda each: each["State"] != "Enabled")
    return Source(name, found[0]["State"], found[0].get("LastProcessingResult")) if found else Source(name, None)
