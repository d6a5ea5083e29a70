"""What the workers' roles may do to targets: the stage's allow-list as policy statements."""

from collections.abc import Iterator, Sequence
from typing import Any

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam

from infra.settings.targets_config import AllowedTargetsConfig

SLASH = ArnFormat.SLASH_RESOURCE_NAME
COLON = ArnFormat.COLON_RESOURCE_NAME
BARE = ArnFormat.NO_RESOURCE_NAME


def target_arns(stack: Stack, allowed: AllowedTargetsConfig) -> list[str]:
    """The resources of those statements."""
    return [arn for statement in target_statements(stack, allowed) for arn in statement.resources]


def target_statements(stack: Stack, allowed: AllowedTargetsConfig) -> Iterator[iam.PolicyStatement]:
    """One statement a kind of target; none for a kind that the stage does not allow."""

    def arns(patterns: Sequence[str], service: str, kind: str = "", shape: ArnFormat = SLASH, **more: str) -> list[str]:
        """The resources of this account and region whose names match."""
        parts = [{"resource": kind, "resource_name": name} if kind else {"resource": name} for name in patterns]
        return [stack.format_arn(service=service, arn_format=shape, **part, **more) for part in parts]

    clusters = arns(allowed.clusters, "ecs", "cluster")
    families = [name if ":" in name else f"{name}:*" for name in allowed.task_definitions if clusters]
    in_clusters = {"ArnLike": {"ecs:cluster": clusters}}
    to_tasks = {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}
    task_roles = arns(allowed.task_roles if families else (), "iam", "role", region="")
    assumed = arns(allowed.roles if allowed.actions else (), "iam", "role", region="")

    grants: list[tuple[Sequence[str], list[str], dict[str, Any] | None]] = [
        (["lambda:InvokeFunction"], arns(allowed.functions, "lambda", "function", COLON), None),
        (["sqs:SendMessage", "sqs:GetQueueUrl"], arns(allowed.queues, "sqs", shape=BARE), None),
        (["sns:Publish"], arns(allowed.topics, "sns", shape=BARE), None),
        (["events:PutEvents"], arns(allowed.buses, "events", "event-bus"), None),
        (["states:StartExecution"], arns(allowed.machines, "states", "stateMachine", COLON), None),
        (["ecs:RunTask"], arns(families, "ecs", "task-definition"), in_clusters),
        (["iam:PassRole"], task_roles, to_tasks),
        (["sts:AssumeRole"], assumed, None),
    ]
    for actions, resources, conditions in grants:
        if resources:
            yield iam.PolicyStatement(actions=actions, resources=resources, conditions=conditions)
