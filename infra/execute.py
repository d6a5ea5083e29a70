"""Execute: one function per lane, all of the same code, that starts runs, calls targets and records the end."""

from collections.abc import Iterator, Mapping

from aws_cdk import ArnFormat, Aws, Stack
from aws_cdk import aws_codedeploy as codedeploy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.config import StageConfig
from infra.event_bus import EventBus
from infra.jobs_table import JobsTable
from infra.lanes import Lanes
from infra.live_alias import LiveAlias, counted
from infra.nag import acknowledge_wildcards
from infra.notices import Notices
from infra.python_function import PythonFunction, PythonRuntime
from infra.results import Results
from infra.runs_table import RunsTable
from infra.target_permissions import target_arns, target_statements
from infra.tasks import Tasks


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
        bus: EventBus,
        results: Results,
        tasks: Tasks,
    ) -> None:
        super().__init__(scope, construct_id)
        self._config = config
        self._runtime = runtime
        self._jobs = jobs
        self._runs = runs
        self._notices = notices
        self._lanes = lanes
        self._bus = bus
        self._results = results
        self._tasks = tasks
        canary = config.deployment == "canary"
        self._deployments = codedeploy.LambdaApplication(self, "Deployments") if canary else None
        self.functions: Mapping[str, PythonFunction] = {
            name: self._worker(name, queue, lanes.bulk[name]) for name, queue in lanes.queues.items()
        }
        # The same for all lanes, so it stands in the template once; each role holds it as a policy of its own.
        rights = iam.Policy(
            self,
            "Rights",
            statements=[*self._statements()],
            roles=[worker.role for worker in self.functions.values()],
        )
        acknowledge_wildcards(
            rights,
            "Results are objects that come and go with runs; tasks and secrets are registered while the stack is "
            "there. Which ones there are is not known when the role is made, and the prefixes hold nothing else.",
            [results.objects_arn, tasks.arns, self._secrets()[1]],
        )
        acknowledge_wildcards(
            rights,
            "What jobs may call is the operator's list of name patterns (allowed_targets in infra/stages.py), one for "
            "each kind of target: none allows every name, and targets come and go without a deployment of this stack.",
            target_arns(Stack.of(self), config.allowed_targets),
        )
        for worker in self.functions.values():
            worker.function.node.add_dependency(rights)  # no message is taken before it may be worked on

    def _worker(self, name: str, queue: sqs.Queue, bulk: sqs.Queue) -> PythonFunction:
        """The function of one lane, for both of its queues: each has its own limit of executions."""
        lane = self._config.lanes[name]
        worker = PythonFunction(
            self,
            name.capitalize(),
            runtime=self._runtime,
            source="execute",
            description=f"Duecourse: executes the runs of lane {name}",
            timeout_seconds=lane.timeout_seconds,
            memory_mb=lane.memory_mb,
            goes_round=True,  # a run's waits and attempts
            environment={
                "DUECOURSE_LANE": name,
                "DUECOURSE_JOBS_TABLE": self._jobs.name,
                "DUECOURSE_RUNS_TABLE": self._runs.name,
                "DUECOURSE_RUN_RETENTION_DAYS": str(self._config.run_retention_days),
                "DUECOURSE_SHARDS": str(self._config.shards),  # where timers go
                "DUECOURSE_QUEUE_URL": queue.queue_url,
                "DUECOURSE_BULK_URL": bulk.queue_url,
                "DUECOURSE_DEATHS_TOPIC_ARN": self._notices.deaths.topic_arn,
                "DUECOURSE_MAX_RECEIVE_COUNT": str(self._config.max_receive_count),
                "DUECOURSE_PRIVATE_TARGETS": self._config.private_targets,
                "DUECOURSE_BUS_NAME": self._bus.name,
                "DUECOURSE_RESULTS_BUCKET": self._results.name,
                "DUECOURSE_ACCOUNT": Aws.ACCOUNT_ID,
                "DUECOURSE_PARTITION": Aws.PARTITION,
                "DUECOURSE_REGION": Aws.REGION,
                "DUECOURSE_SECRET_STORE": self._config.secret_store,
                "DUECOURSE_ALLOWED_TARGETS": self._config.allowed_targets.to_json(),
                **self._lanes.environment,
            },
        )
        alias = self._live(name, worker)
        for source, construct_id, most, pollers in (
            (queue, "Queue", lane.max_concurrency, lane.pollers),
            (bulk, "BulkQueue", lane.bulk_max_concurrency, lane.bulk_pollers),
        ):
            worker.consume(
                source.queue_arn,
                construct_id=construct_id,
                batch_size=lane.batch_size,
                max_concurrency=most,
                report_failures=True,
                pollers=pollers,
                alias=alias,
            )
        return worker

    def _live(self, lane: str, worker: PythonFunction) -> lambda_.Alias | None:
        """The alias behind which a new version takes over bit by bit, where the stage wants one."""
        if self._deployments is None:
            return None
        told = ("MessagesFailed", "MessagesUnreadable")
        failures = [counted(self._config, "execute", name, lane=lane) for name in told]
        name = f"{lane.capitalize()}Live"
        live = LiveAlias(self, name, function=worker.function, application=self._deployments, failures=failures)
        return live.alias

    def _statements(self) -> Iterator[iam.PolicyStatement]:
        """What every worker may do, whatever its lane. Transactions have no action of their own."""
        job = ("GetItem", "PutItem", "UpdateItem")  # PutItem: timers, and pausing what fails again and again
        record = ("GetItem", "PutItem", "DeleteItem", "Query")  # DeleteItem: the overlap lock
        for actions, resource in (
            ([f"dynamodb:{action}" for action in job], self._jobs.arn),
            ([f"dynamodb:{action}" for action in record], self._runs.arn),
            (["sns:Publish"], self._notices.deaths.topic_arn),
            (["events:PutEvents"], self._bus.arn),
            (["s3:PutObject"], self._results.objects_arn),
            (["ssm:GetParameter"], self._tasks.arns),
            self._secrets(),
        ):
            yield iam.PolicyStatement(actions=actions, resources=[resource])
        # All lanes: a job may have changed to another one since its run was enqueued.
        yield iam.PolicyStatement(actions=["sqs:SendMessage"], resources=self._lanes.arns)
        yield from target_statements(Stack.of(self), self._config.allowed_targets)

    def _secrets(self) -> tuple[list[str], str]:
        """The tenants' secrets of this stage. The default keys of both stores need no grant of their own."""
        stack, stage = Stack.of(self), self._config.stage
        if self._config.secret_store == "parameters":
            name = f"duecourse/{stage}/secrets/*"
            return ["ssm:GetParameter"], stack.format_arn(service="ssm", resource="parameter", resource_name=name)
        return ["secretsmanager:GetSecretValue"], stack.format_arn(
            service="secretsmanager",
            resource="secret",
            resource_name=f"duecourse/{stage}/*",
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
