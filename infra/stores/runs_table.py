"""The runs table: one record per run, kept for the retention time; the index `dead`, a stream for the archive."""

from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from infra.settings.config import StageConfig
from infra.stores.encryption import Encryption
from infra.stores.removal import removal_policy
from infra.stores.warm import warm

DEAD_INDEX = "dead"


class RunsTable(Construct):
    """Everything that happened."""

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig, encryption: Encryption) -> None:
        super().__init__(scope, construct_id)
        self.table = dynamodb.Table(
            self,
            "Table",
            partition_key=dynamodb.Attribute(name="PK", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="SK", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            warm_throughput=warm(config.throughput.runs),
            time_to_live_attribute="expires_at",
            stream=dynamodb.StreamViewType.OLD_IMAGE,  # what expires is archived from its last image
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            deletion_protection=config.refuses_deletion,
            removal_policy=removal_policy(retain=config.retain_data),
            **encryption.table,
        )
        # Lists a tenant's dead runs by the time they died; sparse.
        self.table.add_global_secondary_index(
            index_name=DEAD_INDEX,
            partition_key=dynamodb.Attribute(name="dead_key", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="died_at", type=dynamodb.AttributeType.NUMBER),
            warm_throughput=warm(config.throughput.dead),
        )

    @property
    def name(self) -> str:
        """What the functions call it by."""
        return self.table.table_name

    @property
    def arn(self) -> str:
        """The table itself, for policies."""
        return self.table.table_arn

    def index_arn(self, index: str) -> str:
        """One index, for policies."""
        return f"{self.table.table_arn}/index/{index}"
