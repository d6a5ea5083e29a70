"""Tick: once a minute, one message per shard."""

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from constructs import Construct

from infra.config import StageConfig
from infra.jobs_table import JobsTable
from infra.python_function import PythonFunction, PythonRuntime
from infra.shard_queue import ShardQueue


class Tick(Construct):
    """The system's clock: a rule and a function. A missed or late tick delays nothing within the lookahead."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: StageConfig,
        runtime: PythonRuntime,
        jobs: JobsTable,
        shard_queue: ShardQueue,
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = PythonFunction(
            self,
            "Worker",
            runtime=runtime,
            source="tick",
            description="Duecourse: starts a dispatch round of every shard",
            timeout_seconds=30,
            memory_mb=256,
            reserved_concurrency=config.reserved_concurrency.tick,
            on_the_clock=True,
            environment={
                "DUECOURSE_JOBS_TABLE": jobs.name,
                "DUECOURSE_SHARDS": str(config.shards),
                "DUECOURSE_SHARD_QUEUE_URL": shard_queue.queue.queue_url,
            },
        )
        self.function.allow(["dynamodb:GetItem", "dynamodb:UpdateItem"], [jobs.arn])
        self.function.allow(["sqs:SendMessage"], [shard_queue.queue.queue_arn])

        # An old tick is worth nothing once the next has come.
        self.function.function.configure_async_invoke(max_event_age=Duration.seconds(60), retry_attempts=0)
        self.rule = events.Rule(
            self,
            "EveryMinute",
            description="Duecourse: starts a round of dispatch",
            schedule=events.Schedule.rate(Duration.minutes(1)),
            targets=[
                targets.LambdaFunction(self.function.function, retry_attempts=1, max_event_age=Duration.seconds(60))
            ],
        )
