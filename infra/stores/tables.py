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
        replica: str | None = None,
        replica_stream: str | None = None,
    ) -> None:
        """`replica` is the name of a replica that already exists; the stack then creates no table. `replica_stream` is
        the ARN of its stream.
        """
        super().__init__(scope, construct_id)
        self._own: dynamodb.Table | None = None
        if replica is not None:
            self.table = dynamodb.Table.from_table_attributes(
                self, "Table", table_name=replica, table_stream_arn=replica_stream
            )
            return
        self.table = self._own = dynamodb.Table(
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
        """Add a global index of the items that have both key attributes. `kind` is the type of the sort key. A replica
        has the indexes of its table.
        """
        if self._own is None:
            return
        self._own.add_global_secondary_index(
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


REPLICATED = dynamodb.StreamViewType.NEW_AND_OLD_IMAGES
"""The view type of the streams of tables that have replicas, or can get them: it cannot be changed later
(docs/decisions/023-standby.md). The archive only needs old images.
"""

DUE_INDEX = "due"
TENANT_INDEX = "tenant"
STATE_INDEX = "state"


class JobsTable(Table):
    """The table of definitions, cursors, timers and watermarks."""

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig, encryption: Encryption) -> None:
        rates, standby = config.throughput, config.standby
        super().__init__(
            scope,
            construct_id,
            config=config,
            encryption=encryption,
            throughput=rates.jobs,
            stream=None if standby is None else REPLICATED,
            replica=standby.jobs_table if standby is not None and standby.uses_replicas else None,
        )
        # Finds cursors by time. The index is sparse: an exhausted or paused job has no slot.
        self.add_index(DUE_INDEX, "slot", "due", dynamodb.AttributeType.NUMBER, rates.due)
        # Lists a tenant's jobs. The index is sparse: only the definition has the two attributes.
        self.add_index(TENANT_INDEX, "tenant", "job_id", dynamodb.AttributeType.STRING, rates.tenant)
        # Lists a tenant's paused or completed jobs, and quarantined cursors. The index is sparse: an active job and its
        # cursor do not have the attribute.
        self.add_index(STATE_INDEX, "state_key", "job_id", dynamodb.AttributeType.STRING, rates.tenant)


ENDED_INDEX = "ended"
ACTIVE_INDEX = "active"


class RunsTable(Table):
    """The table of runs. Expired records are archived from their old image in the stream."""

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig, encryption: Encryption) -> None:
        rates, standby = config.throughput, config.standby
        replica = standby if standby is not None and standby.uses_replicas else None
        super().__init__(
            scope,
            construct_id,
            config=config,
            encryption=encryption,
            throughput=rates.runs,
            stream=REPLICATED,
            replica=None if replica is None else replica.runs_table,
            replica_stream=None if replica is None else replica.runs_stream,
        )
        # List a tenant's runs by state and time: those whose last attempt has ended, and waiting runs and long calls.
        # The indexes have only the keys, so that an entry is small and a heartbeat does not write it.
        keys, number = dynamodb.ProjectionType.KEYS_ONLY, dynamodb.AttributeType.NUMBER
        self.add_index(ENDED_INDEX, "ended_key", "ended_at", number, rates.ended, projection=keys)
        self.add_index(ACTIVE_INDEX, "active_key", "active_since", number, rates.active, projection=keys)
