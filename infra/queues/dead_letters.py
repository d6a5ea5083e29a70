"""The dead-letter queue: the messages of runs that used up their attempts, until someone redrives them."""

from aws_cdk import Duration
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from duecourse.limits import MESSAGE_RETENTION_DAYS
from infra.settings.config import StageConfig
from infra.stores.encryption import Encryption


class DeadLettersQueue(Construct):
    """One queue for all lanes; SQS itself moves messages here, so the console's redrive knows their source."""

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig, encryption: Encryption) -> None:
        super().__init__(scope, construct_id)
        self.queue = sqs.Queue(
            self,
            "Queue",
            retention_period=Duration.days(MESSAGE_RETENTION_DAYS),
            enforce_ssl=config.refuse_plain_http,
            **encryption.queue,
        )
