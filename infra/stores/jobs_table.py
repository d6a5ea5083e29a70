"""The jobs table: definitions, cursors, timers, watermarks; with the indexes `due` and `tenant`."""

from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from infra.settings.config import StageConfig
from infra.stores.encryption import Encryption
from infra.stores.removal import removal_policy
from infra.stores.warm import warm

DUE_INDEX = "due"
TENANT_INDEX = "tenant"


class JobsTable(Construct):
    """Everything that says when something is due."""

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig, encryption: Encryption) -> None:
        super().__init__(scope, construct_id)
        self.table = dynamodb.Table(
            self,
            "Table",
            partition_key=dynamodb.Attribute(name="PK", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="SK", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            warm_throughput=warm(config.throughput.jobs),
            time_to_live_attribute="expires_at",
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            deletion_protection=config.refuses_deletion,
            removal_policy=removal_policy(retain=config.retain_data),
            **encryption.table,
        )
        # Finds cursors by time; sparse: an exhausted or paused job has no slot.
        self.table.add_global_secondary_index(
            index_name=DUE_INDEX,
            partition_key=dynamodb.Attribute(name="slot", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="due", type=dynamodb.AttributeType.NUMBER),
            warm_throughput=warm(config.throughput.due),
        )
        # Lists a tenant's jobs; sparse: only the definition carries the two attributes.
        self.table.add_global_secondary_index(
            index_name=TENANT_INDEX,
            partition_key=dynamodb.Attribute(name="tenant", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="job_id", type=dynamodb.AttributeType.STRING),
            warm_throughput=warm(config.throughput.tenant),
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
