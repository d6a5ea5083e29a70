"""Patrol: once a day, everything that stands in the jobs table is looked at, and what stands wrong is mended."""

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from constructs import Construct

from infra.config import StageConfig
from infra.jobs_table import JobsTable
from infra.python_function import PythonFunction, PythonRuntime
from infra.runs_table import RunsTable

TIMEOUT_SECONDS = 600
INTERVAL = Duration.minutes(15)


class Patrol(Construct):
    """A rule and a function. It is started often: that is how a patrol that ran out of time goes on; one that is done
    for the day costs a read.
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
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = PythonFunction(
            self,
            "Worker",
            runtime=runtime,
            source="repair",
            description="Duecourse: finds and mends what stands wrong in the due index",
            timeout_seconds=TIMEOUT_SECONDS,
            memory_mb=512,
            on_the_clock=True,
            environment={
                "DUECOURSE_JOBS_TABLE": jobs.name,
                "DUECOURSE_RUNS_TABLE": runs.name,
                "DUECOURSE_SHARDS": str(config.shards),
                "DUECOURSE_PATROL_HOURS": str(config.patrol_hours),
                "DUECOURSE_COMPLETED_JOB_RETENTION_DAYS": str(config.completed_job_retention_days),
            },
        )
        job = ("Scan", "GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem")
        self.function.allow([f"dynamodb:{action}" for action in job], [jobs.arn])
        self.function.allow(["dynamodb:GetItem", "dynamodb:Query"], [runs.arn])
        self.function.function.configure_async_invoke(max_event_age=INTERVAL, retry_attempts=0)
        self.rule = events.Rule(
            self,
            "EveryQuarterOfAnHour",
            description="Duecourse: begins the day's patrol, or goes on with it",
            schedule=events.Schedule.rate(INTERVAL),
            targets=[targets.LambdaFunction(self.function.function, retry_attempts=1, max_event_age=INTERVAL)],
        )
