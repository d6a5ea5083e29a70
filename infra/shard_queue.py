"""The shard queue: one message group per shard, so that one dispatch per shard runs at a time."""

from aws_cdk import Duration
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.config import SHARD_VISIBILITY_SECONDS, StageConfig


class ShardQueue(Construct):
    """FIFO, short-lived, without a dead-letter queue: a round that is lost is repeated by the next tick."""

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig) -> None:
        super().__init__(scope, construct_id)
        self.queue = sqs.Queue(
            self,
            "Queue",
            fifo=True,
            content_based_deduplication=False,  # tick names each round; two ticks in a minute make two rounds
            visibility_timeout=Duration.seconds(SHARD_VISIBILITY_SECONDS),
            retention_period=Duration.minutes(5),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=config.refuse_plain_http,
        )
