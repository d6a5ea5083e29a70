"""The archive as a table for Athena. Its definition uses partition projection by day, so that no crawler is needed."""

from aws_cdk import Aws
from aws_cdk import aws_glue as glue
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.settings.config import StageConfig

TABLE = "runs"
PREFIX = "runs/"
FIRST_DAY = "2020-01-01"

COLUMNS = {
    "schema_version": "int",
    "tenant": "string",
    "result_key": "string",
    "id": "string",
    "job_id": "string",
    "state": "string",
    "reason": "string",
    "occurrence": "string",
    "due": "string",
    "started_at": "string",
    "finished_at": "string",
    "attempt_started_at": "string",
    "next_attempt_at": "string",
    "duration_seconds": "double",
    "lateness_seconds": "double",
    "delays": "struct<dispatch:double,queue:double,waiting:double,start:double>",
    "attempts": "int",
    "max_attempts": "int",
    "waiting_for": "string",
    "concurrency_key": "string",
    "rate_key": "string",
    "breaker_key": "string",
    "waiting_since": "string",
    "waiting_until": "string",
    "heartbeat_until": "string",
    "heartbeat_at": "string",
    "progress": "double",
    "note": "string",
    "worker": "string",
    "execution": "struct<service:string,id:string>",
    "cancel_requested": "string",
    "result": "string",
    "result_bytes": "bigint",
    "result_location": "string",
    "result_error": "string",
    "error": "string",
    "code": "string",
    "discarded": "struct<at:string,by:string,note:string>",
    "count": "int",
    "requested_by": "string",
    "correlation_id": "string",
    "workflow": "string",
}
"""The fields of a row (`row_of` in duecourse.domain.maintenance.archive) in order. Instants are ISO 8601 strings in the
API's format. `result` is always JSON text.
"""


class ArchiveTable(Construct):
    """A database and a table in the account's data catalogue. They contain no data and are deleted with the stack."""

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig, bucket: s3.IBucket) -> None:
        super().__init__(scope, construct_id)
        self.database_name = f"duecourse_{config.stage}".replace("-", "_").lower()
        database = glue.CfnDatabase(
            self,
            "Database",
            catalog_id=Aws.ACCOUNT_ID,
            database_input=glue.CfnDatabase.DatabaseInputProperty(
                name=self.database_name, description=f"Duecourse's history (stage {config.stage})"
            ),
        )
        self.table = glue.CfnTable(
            self,
            "Table",
            catalog_id=Aws.ACCOUNT_ID,
            database_name=self.database_name,
            table_input=glue.CfnTable.TableInputProperty(
                name=TABLE,
                description="Runs whose records have expired, by the day of their occurrence (UTC)",
                table_type="EXTERNAL_TABLE",
                partition_keys=[glue.CfnTable.ColumnProperty(name="day", type="string")],
                parameters={
                    "classification": "json",
                    "compressionType": "gzip",
                    "projection.enabled": "true",
                    "projection.day.type": "date",
                    "projection.day.format": "yyyy-MM-dd",
                    "projection.day.range": f"{FIRST_DAY},NOW",
                },
                storage_descriptor=glue.CfnTable.StorageDescriptorProperty(
                    columns=[glue.CfnTable.ColumnProperty(name=name, type=kind) for name, kind in COLUMNS.items()],
                    location=f"s3://{bucket.bucket_name}/{PREFIX}",
                    input_format="org.apache.hadoop.mapred.TextInputFormat",
                    output_format="org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
                    compressed=True,
                    serde_info=glue.CfnTable.SerdeInfoProperty(
                        serialization_library="org.openx.data.jsonserde.JsonSerDe",
                        parameters={"ignore.malformed.json": "false"},
                    ),
                ),
            ),
        )
        self.table.add_resource_dependency(database)
