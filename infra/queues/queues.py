"""The queues: the `high`, `normal`, `low` and `long` lanes, which hold runs until they are due and distribute them; the
queue of callbacks; their common dead-letter queue; and the shard queue with one message group per shard, so that only
one dispatch runs per shard.
"""

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from duecourse.limits import MESSAGE_RETENTION_DAYS, SHARD_RETENTION_SECONDS, SHARD_VISIBILITY_SECONDS
from infra.nag import acknowledge
from infra.settings.config import StageConfig
from infra.settings.lanes_config import CALLBACK_LANE
from infra.stores.encryption import Encryption


class DeadLettersQueue(Construct):
    """One dead-letter queue for all lanes and the callbacks. SQS itself moves the messages, so a redrive in the AWS
    console returns them to their source.
    """

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig, encryption: Encryption) -> None:
        super().__init__(scope, construct_id)
        self.queue = sqs.Queue(
            self,
            "Queue",
            retention_period=Duration.days(MESSAGE_RETENTION_DAYS),
            enforce_ssl=config.refuse_plain_http,
            **encryption.queue,
        )


class LaneQueues(Construct):
    """Two standard queues per lane, all with the same dead-letter queue: `queues` for jobs with a seat, `bulk` for the
    others (docs/sizing.md). `callbacks` has the completions and failures that callers without a token of the API
    report, so that the function that accepts them cannot send to a lane. Workers of CALLBACK_LANE receive them.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: StageConfig,
        dead_letters: DeadLettersQueue,
        encryption: Encryption,
    ) -> None:
        super().__init__(scope, construct_id)

        def queue(name: str, construct_id: str) -> sqs.Queue:
            return sqs.Queue(
                self,
                construct_id,
                visibility_timeout=Duration.seconds(config.lanes[name].visibility_seconds),
                retention_period=Duration.days(MESSAGE_RETENTION_DAYS),
                dead_letter_queue=sqs.DeadLetterQueue(
                    queue=dead_letters.queue, max_receive_count=config.max_receive_count
                ),
                enforce_ssl=config.refuse_plain_http,
                **encryption.queue,
            )

        self.queues: Mapping[str, sqs.Queue] = {name: queue(name, name.capitalize()) for name in config.lanes}
        self.bulk: Mapping[str, sqs.Queue] = {name: queue(name, f"{name.capitalize()}Bulk") for name in config.lanes}
        self.callbacks = queue(CALLBACK_LANE, "Callbacks")

    @property
    def every(self) -> Mapping[str, sqs.Queue]:
        """All queues by their name: `normal`, `normal bulk`."""
        return {**self.queues, **{f"{name} bulk": queue for name, queue in self.bulk.items()}}

    @property
    def watched(self) -> Mapping[str, sqs.Queue]:
        """The queues whose messages workers must process soon, by their name."""
        return {**self.every, "callbacks": self.callbacks}

    @property
    def arns(self) -> list[str]:
        """The ARNs of all queues, for the policies of functions that enqueue."""
        return [queue.queue_arn for queue in self.every.values()]

    @property
    def environment(self) -> dict[str, str]:
        """The URLs of all queues, for a function that enqueues."""
        return {
            f"DUECOURSE_{kind}_URL_{name.upper()}": queue.queue_url
            for kind, queues in (("QUEUE", self.queues), ("BULK", self.bulk))
            for name, queue in queues.items()
        }


class ShardFifoQueue(Construct):
    """A FIFO queue with a short retention time and without a dead-letter queue: the next tick repeats a lost round."""

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig, encryption: Encryption) -> None:
        super().__init__(scope, construct_id)
        self.queue = sqs.Queue(
            self,
            "Queue",
            fifo=True,
            content_based_deduplication=False,  # by shard and minute: a second tick of a minute does not add a round
            visibility_timeout=Duration.seconds(SHARD_VISIBILITY_SECONDS),
            retention_period=Duration.seconds(SHARD_RETENTION_SECONDS),
            enforce_ssl=config.refuse_plain_http,
            **encryption.queue,
        )
        acknowledge(
            self.queue,
            "A lost dispatch round does not need a dead-letter queue: the next tick sends the same shard again "
            "one minute later, and a kept message would only repeat an old round.",
            "SQS3",
        )
