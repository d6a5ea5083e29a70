"""Dispatch: for one shard, enqueues the occurrences that come due and claims their cursors."""

from aws_cdk import aws_codedeploy as codedeploy
from constructs import Construct

from infra.config import DISPATCH_TIMEOUT_SECONDS, StageConfig
from infra.event_bus import EventBus
from infra.jobs_table import DUE_INDEX, JobsTable
from infra.lanes import Lanes
from infra.live_alias import LiveAlias, counted
from infra.python_function import PythonFunction, PythonRuntime
from infra.runs_table import RunsTable
from infra.shard_queue import ShardQueue


class Dispatch(Construct):
    """The function behind the shard queue; the message group is the shard's lock."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: StageConfig,
        runtime: PythonRuntime,
        jobs: JobsTable,
        runs: RunsTable,
        shard_queue: ShardQueue,
        lanes: Lanes,
        bus: EventBus,
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = PythonFunction(
            self,
            "Worker",
            runtime=runtime,
            source="dispatch",
            description="Duecourse: enqueues and claims what comes due in one shard",
            timeout_seconds=DISPATCH_TIMEOUT_SECONDS,
            memory_mb=1024,  # the only function that computes
            reserved_concurrency=config.reserved_concurrency.dispatch,
            on_the_clock=True,
            environment={
                "DUECOURSE_JOBS_TABLE": jobs.name,
                "DUECOURSE_RUNS_TABLE": runs.name,
                "DUECOURSE_SHARDS": str(config.shards),
                "DUECOURSE_LOOKAHEAD_SECONDS": str(config.lookahead_seconds),
                "DUECOURSE_HORIZON_SECONDS": str(config.horizon_seconds),
                "DUECOURSE_RUN_RETENTION_DAYS": str(config.run_retention_days),
                "DUECOURSE_BUS_NAME": bus.name,
                **lanes.environment,
            },
        )
        allow = self.function.allow
        # BatchGetItem: claims without an answer are read back; PartiQLDelete: timers that were sent
        change = ("GetItem", "BatchGetItem", "UpdateItem", "PartiQLUpdate", "PartiQLDelete")
        allow([f"dynamodb:{action}" for action in change], [jobs.arn])
        allow(["dynamodb:Query"], [jobs.index_arn(DUE_INDEX)])
        allow(["dynamodb:PutItem", "dynamodb:Query"], [runs.arn])
        allow(["sqs:SendMessage"], lanes.arns)
        allow(["events:PutEvents"], [bus.arn])  # skipped ranges, where a job wants them told
        self.function.consume(
            shard_queue.queue.queue_arn,
            batch_size=1,
            max_concurrency=config.reserved_concurrency.dispatch,
            report_failures=False,  # it answers success whatever happens: the next tick goes on
            alias=self._live(config).alias if config.deployment == "canary" else None,
        )

    def _live(self, config: StageConfig) -> LiveAlias:
        """The alias behind which a new version takes over bit by bit. A shard's lock is its message group, whichever
        version has it.
        """
        failures = [counted(config, "dispatch", name) for name in ("RoundsFailed", "CursorsSetAside")]
        application = codedeploy.LambdaApplication(self, "Deployments")
        return LiveAlias(self, "Live", function=self.function.function, application=application, failures=failures)
