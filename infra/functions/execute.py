"""Execute: one function per lane, all with the same code. They start runs, call targets and record how runs end."""

from collections.abc import Iterator, Mapping
from typing import Any

from aws_cdk import ArnFormat, Aws, Stack
from aws_cdk import aws_codedeploy as codedeploy
from aws_cdk import aws_iam as iam
from constructs import Construct

from duecourse.domain.targets.kinds import TARGETS
from duecourse.limits import OPERATIONS_LANE
from infra.functions.live_alias import LiveAlias, Release
from infra.functions.python_function import PythonFunction
from infra.nag import acknowledge_wildcards
from infra.parts import SharedResources
from infra.settings.lanes_config import CALLBACK_CONCURRENCY, CALLBACK_LANE
from infra.settings.stores_config import beginning_of
from infra.settings.targets_config import AllowedTargetsConfig
from infra.stores.tables import ACTIVE_INDEX, ENDED_INDEX


def target_arns(stack: Stack, allowed: AllowedTargetsConfig) -> list[str]:
    """Return the resources of the statements of `target_statements`."""
    return [arn for statement in target_statements(stack, allowed) for arn in statement.resources]


def target_statements(stack: Stack, allowed: AllowedTargetsConfig) -> Iterator[iam.PolicyStatement]:
    """Yield the permissions for each kind of target that the stage allows."""
    for permission in (each for kind in TARGETS.values() for each in kind.permissions):
        resources = _arns(stack, permission.arn, permission.of, allowed)
        if not resources or not all(getattr(allowed, name) for name in permission.needs):
            continue
        conditions: dict[str, Any] = {}
        if permission.within is not None:
            key, kind, arn = permission.within
            conditions["ArnLike"] = {key: _arns(stack, arn, kind, allowed)}
        if permission.passed_to is not None:
            conditions["StringEquals"] = {"iam:PassedToService": permission.passed_to}
        yield iam.PolicyStatement(actions=list(permission.actions), resources=resources, conditions=conditions or None)


def _arns(stack: Stack, pattern: str, kind: str, allowed: AllowedTargetsConfig) -> list[str]:
    """Return the ARNs of the names in the list of this kind, in this account and region."""
    service, _, resource = pattern.partition(":")
    region = {"region": ""} if service == "iam" else {}
    names = (f"{name}:*" if kind == "task_definitions" and ":" not in name else name for name in getattr(allowed, kind))
    shape = ArnFormat.NO_RESOURCE_NAME
    return [
        stack.format_arn(service=service, resource=resource.format(name=name), arn_format=shape, **region)
        for name in names
    ]


class Execute(Construct):
    """The functions that execute the runs of all lanes."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        parts: SharedResources,
        release: Release | None,
        *,
        issuer: str,
        audit: PythonFunction,
    ) -> None:
        """`release` is None if new code takes over immediately. `issuer` is the API's address, the `iss` of tokens.
        `audit` is the function that makes reports.
        """
        super().__init__(scope, construct_id)
        self._audit = audit
        self._issuer = issuer
        self._parts = parts
        self._release = release
        self.sources: dict[str, str] = {}
        """The ids of the event sources by queue: `normal`, `normal bulk`."""
        self._deployments = None if release is None else codedeploy.LambdaApplication(self, "Deployments")
        self.functions: Mapping[str, PythonFunction] = {name: self._worker(name) for name in parts.lanes.queues}
        # The permissions are the same for all lanes. The template contains them once, and each role has them as a
        # separate policy.
        rights = iam.Policy(
            self,
            "Rights",
            statements=[*self._statements()],
            roles=[worker.role for worker in self.functions.values()],
        )
        acknowledge_wildcards(
            rights,
            "Results and logs are objects of runs, and tasks and secrets are registered after the deployment, "
            "so their names are not known when the role is created. The prefixes contain no other objects.",
            [parts.results.objects_arn, parts.results.logs_arn, parts.tasks.arns, self._secrets()[1]],
        )
        acknowledge_wildcards(
            rights,
            "The keys of results contain the ids of their jobs and runs, which are not known when the role is created. "
            "Each is in the folder of one tenant.",
            [arn for statement in self._result_statements() for arn in statement.resources],
        )
        acknowledge_wildcards(
            rights,
            "The targets of jobs are limited by the operator's lists of name patterns (allowed_targets), "
            "one list for each kind of target. No list allows every name, and targets change without a "
            "deployment of this stack.",
            target_arns(Stack.of(self), parts.config.allowed_targets),
        )
        # Operations find their runs with the indexes, and delayed runs by their timers, and record their commands.
        operations = self.functions[OPERATIONS_LANE]
        indexes = [parts.runs.index_arn(ENDED_INDEX), parts.runs.index_arn(ACTIVE_INDEX)]
        operations.allow(["dynamodb:Query"], [parts.jobs.arn, *indexes])
        operations.allow(["dynamodb:BatchWriteItem"], [parts.runs.arn])
        for worker in self.functions.values():
            worker.function.node.add_dependency(rights)  # no message is received before the permissions exist

    def _worker(self, name: str) -> PythonFunction:
        """Return the function of one lane. It reads both queues of the lane, and that of CALLBACK_LANE also reads the
        callbacks. Each queue has its own concurrency limit.
        """
        parts, lane = self._parts, self._parts.config.lanes[name]
        queue, bulk = parts.lanes.queues[name], parts.lanes.bulk[name]
        worker = PythonFunction(
            self,
            name.capitalize(),
            runtime=parts.runtime,
            source="execute",
            description=f"Duecourse: executes the runs of lane {name}",
            timeout_seconds=lane.timeout_seconds,
            memory_mb=lane.memory_mb,
            allow_recursion=True,  # a run can send messages for its waits and attempts
            environment={
                "DUECOURSE_LANE": name,
                "DUECOURSE_FAILED_SHARE": str(parts.config.alarms.failed_share),
                "DUECOURSE_QUEUE_URL": queue.queue_url,
                "DUECOURSE_BULK_URL": bulk.queue_url,
                "DUECOURSE_CALLBACK_URL": parts.lanes.callbacks.queue_url,
                "DUECOURSE_AUDIT_FUNCTION": self._audit.name,
                "DUECOURSE_ACCOUNT": Aws.ACCOUNT_ID,
                "DUECOURSE_PARTITION": Aws.PARTITION,
                "DUECOURSE_REGION": Aws.REGION,
                **parts.settings(
                    *("JOBS_TABLE", "RUNS_TABLE", "RUN_RETENTION_DAYS", "SHARDS", "DEATHS_TOPIC_ARN"),
                    *("LOOKAHEAD_SECONDS", "HORIZON_SECONDS", "REQUESTS_PER_SECOND", "BURST"),
                    *("MAX_RECEIVE_COUNT", "PRIVATE_TARGETS", "BUS_NAME", "RESULTS_BUCKET", "SECRET_STORE"),
                    *("ALLOWED_TARGETS", "RESULT_BUCKETS"),
                ),
                **parts.token_keys.environment(self._issuer),
                **parts.lanes.environment,
            },
        )
        alias = None
        if self._release is not None and self._deployments is not None:
            alias = LiveAlias(
                self,
                f"{name.capitalize()}Live",
                worker,
                f"execute-{name}",
                application=self._deployments,
                release=self._release,
            ).alias
        mappings = {}
        for source, construct_id, most, pollers in (
            (queue, "Queue", lane.max_concurrency, lane.pollers),
            (bulk, "BulkQueue", lane.bulk_max_concurrency, lane.bulk_pollers),
            *([(parts.lanes.callbacks, "CallbackQueue", CALLBACK_CONCURRENCY, None)] if name == CALLBACK_LANE else []),
        ):
            mappings[construct_id] = worker.consume(
                source.queue_arn,
                construct_id=construct_id,
                batch_size=lane.batch_size,
                max_concurrency=most,
                report_failures=True,
                pollers=pollers,
                alias=alias,
            )
        self.sources[name] = mappings["Queue"].event_source_mapping_id
        self.sources[f"{name} bulk"] = mappings["BulkQueue"].event_source_mapping_id
        return worker

    def _statements(self) -> Iterator[iam.PolicyStatement]:
        """Yield the permissions that every worker has. Transactions require no separate action."""
        # BatchGetItem is for limits of keys, PutItem for timers, and for pausing jobs that fail repeatedly.
        job = ("GetItem", "BatchGetItem", "PutItem", "UpdateItem")
        # BatchGetItem and UpdateItem are for the ends of steps in a workflow's run; DeleteItem is for wait queues.
        record = ("GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem", "Query")
        for actions, resource in (
            ([f"dynamodb:{action}" for action in job], self._parts.jobs.arn),
            ([f"dynamodb:{action}" for action in record], self._parts.runs.arn),
            (["sns:Publish"], self._parts.notices.deaths.topic_arn),
            (["events:PutEvents"], self._parts.bus.arn),
            (["s3:GetObject", "s3:PutObject"], self._parts.results.objects_arn),
            (["s3:PutObject"], self._parts.results.logs_arn),
            (["ssm:GetParameter"], self._parts.tasks.arns),
            self._secrets(),
        ):
            yield iam.PolicyStatement(actions=actions, resources=[resource])
        # All lanes are allowed, because a job can change its lane after its run was enqueued.
        yield iam.PolicyStatement(actions=["sqs:SendMessage"], resources=self._parts.lanes.arns)
        yield from self._result_statements()
        yield from self._parts.token_keys.permission("kms:Sign")
        yield from self._parts.connectors.permission()
        yield iam.PolicyStatement(
            actions=["lambda:InvokeFunction"], resources=[self._audit.function.function_arn]
        )  # reports
        yield from target_statements(Stack.of(self), self._parts.config.allowed_targets)

    def _result_statements(self) -> Iterator[iam.PolicyStatement]:
        """Yield the permissions for the buckets in which jobs can store their results. The account in the condition
        protects against a bucket that is deleted and created again by another account.
        """
        stack = Stack.of(self)
        for bucket, parts in self._parts.config.result_buckets.items():
            resources = [
                stack.format_arn(
                    service="s3", region="", account="", resource=bucket, resource_name=f"{beginning_of(prefix)}*"
                )
                for prefix in parts["prefixes"].values()
            ]
            owner = {"StringEquals": {"s3:ResourceAccount": parts.get("account") or Aws.ACCOUNT_ID}}
            yield iam.PolicyStatement(actions=["s3:PutObject"], resources=resources, conditions=owner)
            if key := parts.get("key"):
                # An object needs a data key (Amazon S3 User Guide, "Using server-side encryption with AWS KMS keys").
                service = f"s3.{key.split(':')[3]}.{Aws.URL_SUFFIX}"
                via = {"StringEquals": {"kms:ViaService": service}}
                yield iam.PolicyStatement(actions=["kms:GenerateDataKey"], resources=[key], conditions=via)

    def _secrets(self) -> tuple[list[str], str]:
        """Return the permission for the tenants' secrets of this stage. The default keys of both stores do not need a
        grant.
        """
        stack, stage = Stack.of(self), self._parts.config.stage
        if self._parts.config.secret_store == "parameters":
            name = f"duecourse/{stage}/secrets/*"
            return ["ssm:GetParameter"], stack.format_arn(service="ssm", resource="parameter", resource_name=name)
        return ["secretsmanager:GetSecretValue"], stack.format_arn(
            service="secretsmanager",
            resource="secret",
            resource_name=f"duecourse/{stage}/*",
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
