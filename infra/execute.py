"""Execute: one function per lane, all of the same code, that starts runs, calls targets and records the end."""

from collections.abc import Mapping

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.config import StageConfig
from infra.jobs_table import JobsTable
from infra.lanes import Lanes
from infra.notices import Notices
from infra.python_function import PythonFunction, PythonRuntime
from infra.runs_table import RunsTable


class Execute(Construct):
    """The workers of all lanes."""

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
        notices: Notices,
    ) -> None:
        super().__init__(scope, construct_id)
        self._config = config
        self._runtime = runtime
        self._jobs = jobs
        self._runs = runs
        self._notices = notices
        self.functions: Mapping[str, PythonFunction] = {
            name: self._worker(name, queue) for name, queue in lanes.queues.items()
        }

    def _worker(self, name: str, queue: sqs.Queue) -> PythonFunction:
        """The function of one lane."""
        lane = self._config.lanes[name]
        worker = PythonFunction(
            self,
            name.capitalize(),
            runtime=self._runtime,
            source="execute",
            description=f"Duecourse: executes the runs of lane {name}",
            timeout_seconds=lane.timeout_seconds,
            memory_mb=lane.memory_mb,
            environment={
                "DUECOURSE_LANE": name,
                "DUECOURSE_JOBS_TABLE": self._jobs.name,
                "DUECOURSE_RUNS_TABLE": self._runs.name,
                "DUECOURSE_RUN_RETENTION_DAYS": str(self._config.run_retention_days),
                "DUECOURSE_QUEUE_URL": queue.queue_url,
                "DUECOURSE_DEATHS_TOPIC_ARN": self._notices.deaths.topic_arn,
                "DUECOURSE_MAX_RECEIVE_COUNT": str(self._config.max_receive_count),
                "DUECOURSE_PRIVATE_TARGETS": self._config.private_targets,
            },
        )
        worker.allow(["dynamodb:GetItem", "dynamodb:UpdateItem"], [self._jobs.arn])
        record = ("GetItem", "PutItem", "DeleteItem", "Query")  # DeleteItem: the overlap lock
        worker.allow([f"dynamodb:{action}" for action in record], [self._runs.arn])
        worker.allow(["sqs:SendMessage"], [queue.queue_arn])
        worker.allow(["sns:Publish"], [self._notices.deaths.topic_arn])
        if self._config.lambda_targets:
            worker.allow(["lambda:InvokeFunction"], [self._function_arn(p) for p in self._config.lambda_targets])
        worker.consume(
            queue.queue_arn, batch_size=lane.batch_size, max_concurrency=lane.max_concurrency, report_failures=True
        )
        return worker

    def _function_arn(self, pattern: str) -> str:
        """The functions of this account and region whose names match the pattern."""
        return Stack.of(self).format_arn(
            service="lambda", resource="function", resource_name=pattern, arn_format=ArnFormat.COLON_RESOURCE_NAME
        )
