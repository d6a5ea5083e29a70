"""cdk-nag's AwsSolutions rules. A finding fails the synthesis unless the construct acknowledges it with a reason."""

from __future__ import annotations

from collections.abc import Iterable

from aws_cdk import Acknowledgment, App, Stack, Validations
from constructs import IConstruct

PACK = "AwsSolutions"


def check(app: App) -> None:
    """Check the whole app when it is synthesised."""
    from cdk_nag import AwsSolutionsChecks  # the import takes a second, so only checked apps do it

    Validations.of(app).add_plugins(AwsSolutionsChecks(app))


def acknowledge(construct: IConstruct, reason: str, *rules: str) -> None:
    """Acknowledge findings of rules such as `SQS3` in a construct and its children, with a reason."""
    acknowledged = [Acknowledgment(id=f"{PACK}::{PACK}-{rule}", reason=reason) for rule in rules]
    Validations.of(construct).acknowledge(*acknowledged)


def acknowledge_wildcards(construct: IConstruct, reason: str, arns: Iterable[str]) -> None:
    """Acknowledge each ARN with a wildcard in a construct's policies, with the reason why it cannot be narrower."""
    stack = Stack.of(construct)
    acknowledge(construct, reason, *(f"IAM5[Resource::{_written(stack, arn)}]" for arn in arns if "*" in arn))


def _written(stack: Stack, arn: str) -> str:
    """Return an ARN in the format of the rules, with references in angle brackets: `<Bucket.Arn>/*`."""
    resolved = stack.resolve(arn)
    parts = resolved["Fn::Join"][1] if isinstance(resolved, dict) and "Fn::Join" in resolved else [resolved]
    return "".join(_word(part) for part in parts)


def _word(part: object) -> str:
    if isinstance(part, dict):
        ((kind, name),) = part.items()
        return f"<{name}>" if kind == "Ref" else f"<{'.'.join(name)}>"
    return str(part)
