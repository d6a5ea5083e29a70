"""A function's alias `live`, behind which a new version takes over a tenth of the batches first.

SQS invokes the alias, and each batch goes to one version or the other by weight: for as long as a deployment lasts, old
and new code work side by side on the same tables and queues (tests/compat holds what that needs). An alarm in that time
takes the whole deployment back.
"""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_codedeploy as codedeploy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.config import StageConfig
from infra.nag import acknowledge_wildcards

SHIFT = codedeploy.LambdaDeploymentConfig.CANARY_10_PERCENT_10_MINUTES
"""Ten minutes: CloudWatch has a minute's datapoint some two minutes later, and a lane may take its time to be used."""


def counted(config: StageConfig, function: str, name: str, **lane: str) -> cloudwatch.Metric:
    """What a function of ours counted in a minute, in one lane where it has lanes (duecourse.telemetry)."""
    return cloudwatch.Metric(
        namespace=config.metrics_namespace,
        metric_name=name,
        dimensions_map={"service": "duecourse", "function": function, **lane},
        statistic="Sum",
        period=Duration.minutes(1),
    )


class LiveAlias(Construct):
    """The alias, its deployment group and the alarms that are its brake.

    They go off at once: a brake that is pulled for nothing costs another deployment, one that is not costs runs.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        function: lambda_.Function,
        application: codedeploy.ILambdaApplication,
        failures: Sequence[cloudwatch.Metric],
    ) -> None:
        """`failures`: what else than the function's own errors stops a deployment, counted by the minute."""
        super().__init__(scope, construct_id)
        self.alias = lambda_.Alias(self, "Alias", alias_name="live", version=function.current_version)
        brakes = [self._brake("Errors", "its new version ends with errors or time-outs", self._errors(function))]
        for metric in failures:
            told = f"it counts {metric.metric_name}, in whichever version"
            brakes.append(self._brake(metric.metric_name, told, metric))
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("codedeploy.amazonaws.com"),
            inline_policies={"Shift": iam.PolicyDocument(statements=self._statements(function))},
        )
        acknowledge_wildcards(
            role,
            "AWS's own policy for CodeDeploy reads all alarms; how it asks for those of a group is not documented, and "
            "a refusal would keep the brakes from being seen.",
            ["*"],
        )
        codedeploy.LambdaDeploymentGroup(
            self,
            "Group",
            application=application,
            alias=self.alias,
            deployment_config=SHIFT,
            alarms=brakes,
            auto_rollback=codedeploy.AutoRollbackConfig(
                failed_deployment=True, stopped_deployment=True, deployment_in_alarm=True
            ),
            # AWS's own policy for CodeDeploy would let it touch every alias of the account.
            role=role.without_policy_updates(),
        )

    def _errors(self, function: lambda_.Function) -> cloudwatch.Metric:
        """Errors of the version that is being deployed, and of no other: a fix must be able to replace what fails
        (AWS Lambda Developer Guide, "Viewing metrics for Lambda functions": ExecutedVersion).
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

    def _brake(self, name: str, told: str, metric: cloudwatch.IMetric) -> cloudwatch.Alarm:
        """An alarm for CodeDeploy alone: operators have their own for the same."""
        return cloudwatch.Alarm(
            self,
            f"Brake{name}",
            alarm_description=f"Takes a deployment of this function back while it lasts: {told}. First: find the cause "
            "in the function's log, mend it and deploy again. Runbook: docs/upgrading.md#taken-back.",
            metric=metric,
            threshold=0,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            evaluation_periods=1,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )

    def _statements(self, function: lambda_.Function) -> list[iam.PolicyStatement]:
        """What CodeDeploy does to shift an alias's weights by the word of alarms (AWS Managed Policy Reference,
        "AWSCodeDeployRoleForLambdaLimited", without what hooks and AppSpec files in S3 need).
        """
        alias = ["lambda:GetAlias", "lambda:UpdateAlias", "lambda:GetProvisionedConcurrencyConfig"]
        return [
            iam.PolicyStatement(actions=alias, resources=[function.function_arn, f"{function.function_arn}:live"]),
            iam.PolicyStatement(actions=["cloudwatch:DescribeAlarms"], resources=["*"]),
        ]
