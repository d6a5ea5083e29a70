"""A function's alias `live`, through which a new version first receives a tenth of the batches.

SQS invokes the alias, which sends each batch to one of the versions by weight. During a deployment, old and new code
therefore use the same tables and queues (tests/compat tests this). An alarm in this time rolls the whole deployment
back.
"""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_codedeploy as codedeploy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.functions.python_function import PythonFunction
from infra.nag import acknowledge_wildcards
from infra.observability.alarms import AlarmSpec, Severity, WatchedMetric, make_alarms
from infra.observability.metrics import failures, ours
from infra.queues.notices import NoticeTopics
from infra.settings.config import StageConfig

SHIFT = codedeploy.LambdaDeploymentConfig.CANARY_10_PERCENT_10_MINUTES
"""The canary lasts ten minutes: CloudWatch has a minute's datapoint about two minutes later, and a lane may not be used
immediately.
"""


MINUTE = 60

FAILURE_SHARE = 0.001
"""The share of failed batches that must be exceeded in a minute."""


class Release(Construct):
    """The part that all canaries of a stage share: the alarm on failures that new code reports.

    It needs a share of the batches in two minutes, so that a rare fault of a large stage does not roll a good version
    back. The alarm on the errors of a new version needs only one datapoint.
    """

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig, notices: NoticeTopics) -> None:
        super().__init__(scope, construct_id)
        self.config, self.notices = config, notices
        counted = failures(config, "release", seconds=MINUTE)
        batches = ours(config, "execute", "MessagesReceived", statistic="SampleCount", seconds=MINUTE)
        (self.alarm,) = make_alarms(
            self,
            config,
            AlarmSpec(
                name="release-failing",
                severity=Severity.TICKET,
                notifies=False,
                means=f"in two of three minutes, for more than {FAILURE_SHARE:.1%} of the batches: rounds failed, "
                "cursors were quarantined, or workers failed or could not read a message. A deployment in progress is "
                "rolled back.",
                first="find the cause in the log of Dispatch or of the lane's function, correct it and deploy again.",
                find="filter action in ['round_failed', 'cursor_quarantined', 'message_failed', 'message_unreadable'] "
                "| stats count() by action, tenant, job_id, error",
                watches={"failures": WatchedMetric(counted, 0)},
                expression=cloudwatch.MathExpression(
                    # SUM leaves out a metric without data: rounds also fail while no worker receives a batch.
                    expression=f"IF(failures > {FAILURE_SHARE} * SUM([failures, batches]), 1, 0)",
                    using_metrics={"failures": counted, "batches": batches},
                    period=Duration.seconds(MINUTE),
                    label="failures of a release",
                ),
                periods=2,
                of=3,
            ),
            notices,
        )


class LiveAlias(Construct):
    """The alias, its deployment group and the alarm on errors of its new version."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        function: PythonFunction,
        name: str,
        *,
        application: codedeploy.ILambdaApplication,
        release: Release,
    ) -> None:
        """`name` is the function's name in the names of alarms."""
        super().__init__(scope, construct_id)
        self.alias = lambda_.Alias(self, "Alias", alias_name="live", version=function.function.current_version)
        (errors,) = make_alarms(
            self,
            release.config,
            AlarmSpec(
                name=f"release-failing-{name}",
                section="release-failing",
                severity=Severity.TICKET,
                means=f"the newest version of the function {name} ends with errors, timeouts or lack of "
                "memory. A deployment in progress is rolled back.",
                first="read the end of its log: the error, `Task timed out`, or `Runtime exited`.",
                find="filter @message like /Task timed out|Runtime exited|ERROR/ | stats count() by @log",
                watches={"errors": WatchedMetric(self._errors(function.function), 0)},
            ),
            release.notices,
        )
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("codedeploy.amazonaws.com"),
            inline_policies={"Shift": iam.PolicyDocument(statements=self._statements(function.function))},
        )
        acknowledge_wildcards(
            role,
            "The AWS managed policy for CodeDeploy reads all alarms. The requests for the alarms of a deployment "
            "group are not "
            "documented, and a denied request would hide the rollback alarms.",
            ["*"],
        )
        codedeploy.LambdaDeploymentGroup(
            self,
            "Group",
            application=application,
            alias=self.alias,
            deployment_config=SHIFT,
            alarms=[errors, release.alarm],
            auto_rollback=codedeploy.AutoRollbackConfig(
                failed_deployment=True, stopped_deployment=True, deployment_in_alarm=True
            ),
            # The AWS managed policy for CodeDeploy would allow changes to every alias of the account.
            role=role.without_policy_updates(),
        )

    def _errors(self, function: lambda_.Function) -> cloudwatch.Metric:
        """Return the errors of the version that is being deployed. Errors of the old version must not block a
        deployment that corrects them (AWS Lambda Developer Guide, "Viewing metrics for Lambda functions":
        ExecutedVersion).
        """
        return cloudwatch.Metric(
            namespace="AWS/Lambda",
            metric_name="Errors",
            dimensions_map={
                "FunctionName": function.function_name,
                "Resource": f"{function.function_name}:{self.alias.alias_name}",
                "ExecutedVersion": function.current_version.version,
            },
            statistic="Sum",
            period=Duration.minutes(1),
        )

    def _statements(self, function: lambda_.Function) -> list[iam.PolicyStatement]:
        """Return the permissions that CodeDeploy needs to shift an alias's weights and to read alarms (AWS Managed
        Policy Reference, "AWSCodeDeployRoleForLambdaLimited", without those for hooks and AppSpec files in S3).
        """
        alias = ["lambda:GetAlias", "lambda:UpdateAlias", "lambda:GetProvisionedConcurrencyConfig"]
        return [
            iam.PolicyStatement(actions=alias, resources=[function.function_arn, f"{function.function_arn}:live"]),
            iam.PolicyStatement(actions=["cloudwatch:DescribeAlarms"], resources=["*"]),
        ]
