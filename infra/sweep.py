"""Sweep: every few minutes, a look into the dead-letter queue for messages whose runs are not dead."""

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from constructs import Construct

from infra.config import StageConfig
from infra.dead_letters import DeadLetters
from infra.event_bus import EventBus
from infra.jobs_table import JobsTable
from infra.lanes import Lanes
from infra.notices import Notices
from infra.python_function import PythonFunction, PythonRuntime
from infra.runs_table import RunsTable

TIMEOUT_SECONDS = 120


class Sweep(Construct):
    """A rule and a function: a worker that died at a message's last delivery left no record of it."""

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
        dead_letters: DeadLetters,
        notices: Notices,
        bus: EventBus,
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = PythonFunction(
            self,
            "Worker",
            runtime=runtime,
            source="reconcile",
            description="Duecourse: records what came to the dead-letter queue without its run being dead",
            timeout_seconds=TIMEOUT_SECONDS,
            memory_mb=256,
            on_the_clock=True,
            environment={
                "DUECOURSE_JOBS_TABLE": jobs.name,
                "DUECOURSE_RUNS_TABLE": runs.name,
                "DUECOURSE_RUN_RETENTION_DAYS": str(config.run_retention_days),
                "DUECOURSE_SHARDS": str(config.shards),
                "DUECOURSE_DEAD_LETTER_QUEUE_URL": dead_letters.queue.queue_url,
                "DUECOURSE_DEATHS_TOPIC_ARN": notices.deaths.topic_arn,
                "DUECOURSE_BUS_NAME": bus.name,
                **lanes.environment,
            },
        )
        allow = self.function.allow
        hold = ("ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility")
        allow([f"sqs:{action}" for action in hold], [dead_letters.queue.queue_arn])
        # It ends a run as a worker would: record, lock, notice, event, the job's completion or pause, the next message.
        job = ("GetItem", "PutItem", "UpdateItem")
        record = ("GetItem", "PutItem", "DeleteItem", "Query")
        allow([f"dynamodb:{action}" for action in job], [jobs.arn])
        allow([f"dynamodb:{action}" for action in record], [runs.arn])
        allow(["sqs:SendMessage"], lanes.arns)
        allow(["sns:Publish"], [notices.deaths.topic_arn])
        allow(["events:PutEvents"], [bus.arn])

        # An old sweep is worth nothing once the next has come.
        interval = Duration.minutes(config.sweep_minutes)
        self.function.function.configure_async_invoke(max_event_age=interval, retry_attempts=0)
        self.rule = events.Rule(
            self,
            "EveryFewMinutes",
            description="Duecourse: starts a sweep of the dead-letter queue",
            schedule=events.Schedule.rate(interval),
            targets=[targets.LambdaFunction(self.function.function, retry_attempts=1, max_event_age=interval)],
        )
