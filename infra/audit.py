"""Audit: each hour, the occurrences of a closed window are compared with their records."""

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from constructs import Construct

from infra.config import StageConfig
from infra.jobs_table import JobsTable
from infra.lanes import Lanes
from infra.python_function import PythonFunction, PythonRuntime
from infra.runs_table import RunsTable

TIMEOUT_SECONDS = 600
INTERVAL = Duration.minutes(15)


class Audit(Construct):
    """A rule and a function. It is started more often than each hour: that is how a turn that ran out of time goes on;
    when there is nothing to do it costs two reads.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: StageConfig,
        runtime: PythonRuntime,
        jobs: JobsTable,
        runs: RunsTable,
        lanes: Lanes,
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = PythonFunction(
            self,
            "Worker",
            runtime=runtime,
            source="audit",
            description="Duecourse: finds occurrences that were lost or run twice",
            timeout_seconds=TIMEOUT_SECONDS,
            memory_mb=1024,
            on_the_clock=True,
            environment={
                "DUECOURSE_JOBS_TABLE": jobs.name,
                "DUECOURSE_RUNS_TABLE": runs.name,
                "DUECOURSE_SHARDS": str(config.shards),
                "DUECOURSE_LOOKAHEAD_SECONDS": str(config.lookahead_seconds),
                "DUECOURSE_HORIZON_SECONDS": str(config.horizon_seconds),
                "DUECOURSE_RUN_RETENTION_DAYS": str(config.run_retention_days),
                "DUECOURSE_AUDIT_SEGMENTS": str(config.audit_segments),
                **lanes.environment,
            },
        )
        job = ("Scan", "GetItem", "BatchGetItem", "Query", "PutItem", "DeleteItem")
        self.function.allow([f"dynamodb:{action}" for action in job], [jobs.arn])
        self.function.allow(["dynamodb:Query"], [runs.arn])
        self.function.allow(["sqs:GetQueueAttributes"], lanes.arns)
        self.function.function.configure_async_invoke(max_event_age=INTERVAL, retry_attempts=0)
        self.rule = events.Rule(
            self,
            "EveryQuarterOfAnHour",
            description="Duecourse: begins the hour's audit, or goes on with it",
            schedule=events.Schedule.rate(INTERVAL),
            targets=[targets.LambdaFunction(self.function.function, retry_attempts=1, max_event_age=INTERVAL)],
        )
