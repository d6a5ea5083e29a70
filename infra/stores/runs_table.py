"""The runs table: one record per run, kept for the retention time; the index `dead`, a stream for the archive."""

from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from infra.settings.config import StageConfig
from infra.stores.encryption import Encryption
from infra.stores.table import Table

DEAD_INDEX = "dead"


class RunsTable(Table):
    """Everything that happened. What expires is archived from its last image."""

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig, encryption: Encryption) -> None:
        rates, images = config.throughput, dynamodb.StreamViewType.OLD_IMAGE
        super().__init__(
            scope, construct_id, config=config, encryption=encryption, throughput=rates.runs, stream=images
        )
        # Lists a tenant's dead runs by the time they died; sparse.
        self.add_index(DEAD_INDEX, "dead_key", "died_at", dynamodb.AttributeType.NUMBER, rates.dead)
