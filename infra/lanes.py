"""The lanes: the queues `high`, `normal`, `low` and `long` that hold runs until their second and share them out."""

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.config import StageConfig
from infra.dead_letters import DeadLetters
from infra.encryption import Encryption


class Lanes(Construct):
    """One standard queue per lane, all with the same dead-letter queue."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: StageConfig,
        dead_letters: DeadLetters,
        encryption: Encryption,
    ) -> None:
        super().__init__(scope, construct_id)
        self.queues: Mapping[str, sqs.Queue] = {
            name: sqs.Queue(
                self,
                name.capitalize(),
                visibility_timeout=Duration.seconds(lane.visibility_seconds),
                retention_period=Duration.days(14),
                dead_letter_queue=sqs.DeadLetterQueue(
                    queue=dead_letters.queue, max_receive_count=config.max_receive_count
                ),
                enforce_ssl=config.refuse_plain_http,
                **encryption.queue,
            )
            for name, lane in config.lanes.items()
        }

    @property
    def arns(self) -> list[str]:
        """All lanes, for policies of those who enqueue."""
        return [queue.queue_arn for queue in self.queues.values()]

    @property
    def environment(self) -> dict[str, str]:
        """The addresses of all lanes for a function that enqueues."""
        return {f"DUECOURSE_QUEUE_URL_{name.upper()}": queue.queue_url for name, queue in self.queues.items()}
