"""The tables of a stage. `jobs` has definitions, cursors, timers and watermarks, and the `due`, `tenant` and `state`
indexes. `runs` has a record of each run for the retention time, the `dead` and `active` indexes, and a stream for the
archive.
"""

from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from infra.settings.config import StageConfig
from infra.settings.throughput_config import WarmThroughput
from infra.stores.encryption import Encryption, removal_policy


class Table(Construct):
    """An on-demand table with keys `PK` and `SK` and point-in-time recovery. Items expire by `expires_at`."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: StageConfig,
        encryption: Encryption,
        throughput: WarmThroughput | None,
        stream: dynamodb.StreamViewType | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.table = dynamodb.Table(
            self,
            "Table",
            partition_key=dynamodb.Attribute(name="PK", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="SK", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            warm_throughput=_warm(throughput),
            time_to_live_attribute="expires_at",
            stream=stream,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            deletion_protection=config.refuses_deletion,
            removal_policy=removal_policy(retain=config.retain_data),
            **encryption.table,
        )

    def add_index(
        self,
        name: str,
        partition: str,
        sort: str,
        kind: dynamodb.AttributeType,
        throughput: WarmThroughput | None,
        *,
        projection: dynamodb.ProjectionType = dynamodb.ProjectionType.ALL,
    ) -> None:
        """Add a global index of the items that have both key attributes. `kind` is the type of the sort key."""
        self.table.add_global_secondary_index(
            index_name=name,
            partition_key=dynamodb.Attribute(name=partition, type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name=sort, type=kind),
            projection_type=projection,
            warm_throughput=_warm(throughput),
        )

    @property
    def name(self) -> str:
        """The name of the table in the functions' settings."""
        return self.table.table_name

    @property
    def arn(self) -> str:
        """The ARN of the table, for policies."""
        return self.table.table_arn

    def index_arn(self, index: str) -> str:
        """Return the ARN of an index, for policies."""
        return f"{self.table.table_arn}/index/{index}"


def _warm(wanted: WarmThroughput | None) -> dynamodb.WarmThroughput | None:
    """Return the property for the template. None omits the property, so that AWS manages the throughput."""
    if wanted is None:
        return None
    return dynamodb.WarmThroughput(read_units_per_second=wanted.reads, write_units_per_second=wanted.writes)


DUE_INDEX = "due"
TENANT_INDEX = "tenant"
STATE_INDEX = "state"


class JobsTable(Table):
    """The table of definitions, cursors, timers and watermarks."""

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig, encryption: Encryption) -> None:
        rates = config.throughput
        super().__init__(scope, construct_id, config=config, encryption=encryption, throughput=rates.jobs)
        # Finds cursors by time. The index is sparse: an exhausted or paused job has no slot.
        self.add_index(DUE_INDEX, "slot", "due", dynamodb.AttributeType.NUMBER, rates.due)
        # Lists a tenant's jobs. The index is sparse: only the definition has the two attributes.
        self.add_index(TENANT_INDEX, "tenant", "job_id", dynamodb.AttributeType.STRING, rates.tenant)
        # Lists a tenant's paused or completed jobs. The index is sparse: an active job does not have the attribute.
        self.add_index(STATE_INDEX, "state_key", "job_id", dynamodb.AttributeType.STRING, rates.tenant)


DEAD_INDEX = "dead"
ACTIVE_INDEX = "active"


class RunsTable(Table):
    """The table of runs. Expired records are archived from their old image in the stream."""

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig, encryption: Encryption) -> None:
        rates, images = config.throughput, dynamodb.StreamViewType.OLD_IMAGE
        super().__init__(
            scope, construct_id, config=config, encryption=encryption, throughput=rates.runs, stream=images
        )
        # Lists a tenant's unsuccessful runs by state and time. The index is sparse: other runs do not have these
        # attributes.
        self.add_index(DEAD_INDEX, "dead_key", "died_at", dynamodb.AttributeType.NUMBER, rates.dead)
        # Lists a tenant's waiting runs and long calls. It has only the keys, so that a heartbeat does not write it.
        self.add_index(
            ACTIVE_INDEX,
            "active_key",
            "active_since",
            dynamodb.AttributeType.NUMBER,
            rates.active,
            projection=dynamodb.ProjectionType.KEYS_ONLY,
        )
