"""The shard queue: one message group per shard, so that one dispatch per shard runs at a time."""

from aws_cdk import Duration
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from duecourse.limits import SHARD_RETENTION_SECONDS, SHARD_VISIBILITY_SECONDS
from infra.nag import acknowledge
from infra.settings.config import StageConfig
from infra.stores.encryption import Encryption


class ShardFifoQueue(Construct):
    """FIFO, short-lived, without a dead-letter queue: a round that is lost is repeated by the next tick."""

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig, encryption: Encryption) -> None:
        super().__init__(scope, construct_id)
        self.queue = sqs.Queue(
            self,
            "Queue",
            fifo=True,
            content_based_deduplication=False,  # tick names shard and minute: a second tick of a minute adds no round
            visibility_timeout=Duration.seconds(SHARD_VISIBILITY_SECONDS),
            retention_period=Duration.seconds(SHARD_RETENTION_SECONDS),
            enforce_ssl=config.refuse_plain_http,
            **encryption.queue,
        )
        acknowledge(
            self.queue,
            "A round of dispatch that is lost needs no rescue: the next tick, a minute later, sends the same shard "
            "again, and a kept message would only start an old round over.",
            "SQS3",
        )
