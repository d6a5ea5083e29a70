"""Dispatch: enqueues the due occurrences of one shard and claims their cursors."""

from aws_cdk import aws_codedeploy as codedeploy
from constructs import Construct

from duecourse.limits import DISPATCH_SECONDS
from infra.functions.live_alias import LiveAlias, Release
from infra.functions.python_function import PythonFunction
from infra.parts import SharedResources
from infra.stores.tables import DUE_INDEX


class DispatchFunction(Construct):
    """The function of the shard queue. The message group of a shard is its lock across all versions of the function."""

    def __init__(self, scope: Construct, construct_id: str, parts: SharedResources, release: Release | None) -> None:
        """`release` is None if new code takes over immediately."""
        super().__init__(scope, construct_id)
        config, jobs, runs, lanes = parts.config, parts.jobs, parts.runs, parts.lanes
        self.function = PythonFunction(
            self,
            "Worker",
            runtime=parts.runtime,
            source="dispatch",
            description="Duecourse: enqueues and claims the due occurrences of one shard",
            timeout_seconds=DISPATCH_SECONDS,
            memory_mb=1024,  # the only function that needs CPU
            reserved_concurrency=config.reserved_concurrency.dispatch,
            scheduled=True,
            environment=parts.settings(
                *("JOBS_TABLE", "RUNS_TABLE", "SHARDS", "LOOKAHEAD_SECONDS", "HORIZON_SECONDS"),
                *("RUN_RETENTION_DAYS", "BUS_NAME"),
            )
            | lanes.environment,
        )
        allow = self.function.allow
        # BatchGetItem reads back claims without a response; PartiQLDelete removes sent timers; PutItem is for jobs that
        # resume at the end of their pause.
        change = ("GetItem", "BatchGetItem", "PutItem", "UpdateItem", "PartiQLUpdate", "PartiQLDelete")
        allow([f"dynamodb:{action}" for action in change], [jobs.arn])
        allow(["dynamodb:Query"], [jobs.index_arn(DUE_INDEX)])
        allow([f"dynamodb:{action}" for action in ("GetItem", "PutItem", "Query", "UpdateItem")], [runs.arn])
        allow(["sqs:SendMessage"], lanes.arns)
        allow(["events:PutEvents"], [parts.bus.arn])  # skipped ranges, if a job publishes them
        alias = None
        if release is not None:
            application = codedeploy.LambdaApplication(self, "Deployments")
            alias = LiveAlias(self, "Live", self.function, "dispatch", application=application, release=release).alias
        self.function.consume(
            parts.shard_queue.queue.queue_arn,
            batch_size=1,
            max_concurrency=config.reserved_concurrency.dispatch,
            report_failures=False,  # it always reports success, because the next tick continues
            alias=alias,
        )
