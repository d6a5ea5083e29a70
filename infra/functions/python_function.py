"""Defines the functions' runtime, processor, layers and logs in one place."""

import platform
from collections.abc import Sequence
from typing import cast

from aws_cdk import Annotations, Aws, Duration, Fn, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.bundling import LAMBDA_PYTHON, Target, core_code, dependencies_code, function_code
from infra.nag import acknowledge_wildcards
from infra.settings.config import StageConfig
from infra.settings.lanes_config import NO_MAXIMUM
from infra.settings.throughput_config import Pollers
from infra.stores.encryption import Encryption, removal_policy

LOG_RETENTION = {
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
}


class PythonRuntime(Construct):
    """The runtime and layers that all functions of a stack share."""

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig, encryption: Encryption) -> None:
        super().__init__(scope, construct_id)
        self.config = config
        self.encryption = encryption
        called = config.allowed_targets.services | (frozenset({"kms"}) if config.oidc_keys else frozenset())
        if config.runs_on_this_machine:
            target = Target.host(called)
            arm = platform.machine() in {"arm64", "aarch64"}
            self.architecture = lambda_.Architecture.ARM_64 if arm else lambda_.Architecture.X86_64
        else:
            target = Target.lambda_arm64(LAMBDA_PYTHON, called)
            self.architecture = lambda_.Architecture.ARM_64
        self.runtime = lambda_.Runtime(f"python{target.python}", lambda_.RuntimeFamily.PYTHON)
        if target.warning is not None:  # the CDK's command line shows it at synth, diff and deploy
            Annotations.of(self).add_warning_v2("duecourse:layers-not-compiled", target.warning)
        self.layers: Sequence[lambda_.LayerVersion] = (
            self._layer("Dependencies", "Third-party packages, from the lock", dependencies_code(target)),
            self._layer("Core", "The package duecourse", core_code(target)),
        )

    def _layer(self, name: str, description: str, code: lambda_.Code) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self,
            name,
            description=description,
            code=code,
            compatible_runtimes=[self.runtime],
            compatible_architectures=[self.architecture],
            removal_policy=RemovalPolicy.DESTROY,
        )


class PythonFunction(Construct):
    """A function of `functions/<source>/handler.py` with its own role and log group.

    The role has only the permissions that are granted here and with `allow`, and no managed policies.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        runtime: PythonRuntime,
        source: str,
        description: str,
        timeout_seconds: int,
        memory_mb: int,
        environment: dict[str, str],
        reserved_concurrency: int | None = None,
        scheduled: bool = False,
        allow_recursion: bool = False,
        code: lambda_.Code | None = None,
        layers: bool = True,
        function_name: str | None = None,
        traced: bool = True,
    ) -> None:
        """`scheduled`: a rule starts the function at regular intervals, directly or through a queue. `allow_recursion`:
        the function sends messages to the queue that invokes it, with its own bounds. Without this, Lambda would stop
        it after about sixteen rounds and drop the message ("Use Lambda recursive loop detection", AWS Lambda Developer
        Guide). The default of `code` is the function's folder. Without `layers`, the function has only the standard
        library. CloudFormation chooses the name of a function without `function_name`. `traced`: whether it is traced
        in a stage with traces.
        """
        super().__init__(scope, construct_id)
        traced = traced and runtime.config.tracing and not scheduled
        self.timeout_seconds = timeout_seconds
        self.memory_mb = memory_mb
        self.environment = {
            "DUECOURSE_STAGE": runtime.config.stage,
            "POWERTOOLS_SERVICE_NAME": "duecourse",
            "POWERTOOLS_METRICS_NAMESPACE": runtime.config.metrics_namespace,
            "POWERTOOLS_LOG_LEVEL": "INFO",
            **({} if runtime.config.standby is None else {"DUECOURSE_FENCE": runtime.config.standby.fence}),
            **environment,
        }
        self.log_group = log_group(self, runtime.config, runtime.encryption)
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        self.log_group.grant_write(self.role)
        self.function = lambda_.Function(
            self,
            "Function",
            function_name=function_name,
            description=description,
            code=code or function_code(source),
            handler="handler.handler",
            runtime=runtime.runtime,
            architecture=runtime.architecture,
            layers=list(runtime.layers) if layers else None,
            role=self.role,
            log_group=self.log_group,
            timeout=Duration.seconds(timeout_seconds),
            memory_size=memory_mb,
            reserved_concurrent_executions=reserved_concurrency,
            recursive_loop=lambda_.RecursiveLoop.ALLOW if allow_recursion and runtime.config.loop_detection else None,
            # Grants xray:PutTraceSegments and xray:PutTelemetryRecords on "*", because they have no resource level
            # (Service Authorization Reference, "AWS X-Ray"). HTTP APIs do not support X-Ray, so traces start here.
            tracing=lambda_.Tracing.ACTIVE if traced else lambda_.Tracing.DISABLED,
            # If there are versions (live_alias.py), old ones are kept, because an operator may have to roll back to
            # them.
            current_version_options=lambda_.VersionOptions(removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE),
            environment=self.environment,
        )

        if traced:
            acknowledge_wildcards(
                self,
                "X-Ray segments and telemetry have no resource that a policy can refer to.",
                ["*"],
            )

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.function_name

    def allow(self, actions: Sequence[str], resources: Sequence[str]) -> None:
        """Add a statement to the function's role."""
        self.function.add_to_role_policy(iam.PolicyStatement(actions=list(actions), resources=list(resources)))

    def consume(
        self,
        queue_arn: str,
        *,
        batch_size: int,
        max_concurrency: int | None,
        report_failures: bool,
        pollers: Pollers | None = None,
        alias: lambda_.Alias | None = None,
        construct_id: str = "Queue",
    ) -> lambda_.EventSourceMapping:
        """Let SQS invoke this function or its alias, with only the permissions that (provisioned) pollers need."""
        poller = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility")
        self.allow(poller, [queue_arn])
        # The scope is the function's even with an alias. The mapping is then updated, not replaced, and its queue is
        # always read.
        mapping = lambda_.EventSourceMapping(
            self.function,
            construct_id,
            target=self.function if alias is None else alias,
            event_source_arn=queue_arn,
            batch_size=batch_size,
            max_concurrency=max_concurrency or None,
            report_batch_item_failures=report_failures,
        )
        _scale(mapping, max_concurrency, pollers)
        return mapping


def _scale(mapping: lambda_.EventSourceMapping, max_concurrency: int | None, pollers: Pollers | None) -> None:
    """Set the values that CDK's construct does not support: more than 2,000 pollers, and the empty values that remove a
    maximum or pollers in Lambda. A property that is missing from the template keeps its old value (AWS CloudFormation
    Template Reference, "AWS::Lambda::EventSourceMapping": ScalingConfig).
    """
    resource = cast("lambda_.CfnEventSourceMapping", mapping.node.default_child)
    if max_concurrency == NO_MAXIMUM:
        resource.scaling_config = lambda_.CfnEventSourceMapping.ScalingConfigProperty()
    if pollers is not None:
        resource.provisioned_poller_config = lambda_.CfnEventSourceMapping.ProvisionedPollerConfigProperty(
            minimum_pollers=pollers.minimum or None, maximum_pollers=pollers.maximum or None
        )


def log_group(
    scope: Construct, config: StageConfig, encryption: Encryption, *, folder: str | None = None
) -> logs.LogGroup:
    """Return a log group with a retention time. It outlives the stack in stages that retain data. With a `folder`, its
    name begins with it, and ends with the stack's own id, so that a later stack of the stage can be created.
    """
    stack_id = Fn.select(2, Fn.split("/", Aws.STACK_ID))
    return logs.LogGroup(
        scope,
        "Logs",
        log_group_name=None if folder is None else f"{folder}/{config.stack_name}-{stack_id}",
        retention=LOG_RETENTION[config.log_retention_days],
        removal_policy=removal_policy(retain=config.retain_data),
        **encryption.logs,
    )
