"""Facts from SQS and from the account's settings."""

from __future__ import annotations

from duecourse_cli.doctor import metrics
from duecourse_cli.doctor.facts import Queue, Quotas
from duecourse_cli.doctor.stage import Stage

LANES = ("high", "normal", "low", "long")


def lanes(stage: Stage) -> dict[str, str]:
    """The output that names each lane's queue, and its bulk queue, which stages of before there were seats lack."""
    queues = {name: f"Lane{name.capitalize()}Url" for name in LANES}
    bulk = {f"{name} bulk": f"Lane{name.capitalize()}BulkUrl" for name in LANES}
    return queues | {name: output for name, output in bulk.items() if output in stage.outputs}


def lane(stage: Stage, name: str) -> Queue:
    """A queue of a lane, by its name in `lanes`."""
    return _queue(stage, name, stage.outputs[lanes(stage)[name]])


def shard_queue(stage: Stage) -> Queue:
    """The queue between tick and dispatch."""
    return _queue(stage, "shards", stage.outputs["ShardQueueUrl"])


def dead_letters(stage: Stage) -> Queue:
    """The dead-letter queue; the sweep has some of its messages in hand for seconds."""
    return _queue(stage, "dead letters", stage.outputs["DeadLetterQueueUrl"])


def archive_letters(stage: Stage) -> Queue:
    """Places in the stream that the archiver could not write."""
    return _queue(stage, "archive", stage.outputs["ArchiveFailuresQueueUrl"])


def quotas(stage: Stage) -> Quotas:
    """What the account may execute at once in this region."""
    limit = stage.clients("lambda").get_account_settings()["AccountLimit"]
    most = metrics.most_executions(stage)
    return Quotas(limit["ConcurrentExecutions"], limit["UnreservedConcurrentExecutions"], most)


def _queue(stage: Stage, name: str, url: str) -> Queue:
    wanted = (
        "ApproximateNumberOfMessages",
        "ApproximateNumberOfMessagesDelayed",
        "ApproximateNumberOfMessagesNotVisible",
    )
    told = stage.clients("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=list(wanted))["Attributes"]
    visible, delayed, in_flight = (int(told[each]) for each in wanted)
    return Queue(name, visible, delayed, in_flight, None if stage.is_local else metrics.oldest(stage, [url])[url])
