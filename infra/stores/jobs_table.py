"""The jobs table: definitions, cursors, timers, watermarks; with the indexes `due` and `tenant`."""

from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from infra.settings.config import StageConfig
from infra.stores.encryption import Encryption
from infra.stores.table import Table

DUE_INDEX = "due"
TENANT_INDEX = "tenant"


class JobsTable(Table):
    """Everything that says when something is due."""

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig, encryption: Encryption) -> None:
        rates = config.throughput
        super().__init__(scope, construct_id, config=config, encryption=encryption, throughput=rates.jobs)
        # Finds cursors by time; sparse: an exhausted or paused job has no slot.
        self.add_index(DUE_INDEX, "slot", "due", dynamodb.AttributeType.NUMBER, rates.due)
        # Lists a tenant's jobs; sparse: only the definition carries the two attributes.
        self.add_index(TENANT_INDEX, "tenant", "job_id", dynamodb.AttributeType.STRING, rates.tenant)
