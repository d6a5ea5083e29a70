"""cdk-nag's AwsSolutions rules: a finding fails the synthesis, unless the construct says why it is as it is."""

from __future__ import annotations

from collections.abc import Iterable

from aws_cdk import Acknowledgment, App, Stack, Validations
from constructs import IConstruct

PACK = "AwsSolutions"


def check(app: App) -> None:
    """Have the whole app checked when it is synthesised."""
    from cdk_nag import AwsSolutionsChecks  # takes a second: only for those who check

    Validations.of(app).add_plugins(AwsSolutionsChecks(app))


def acknowledge(construct: IConstruct, reason: str, *rules: str) -> None:
    """Except a construct and what is in it from rules, such as `SQS3`, and say why."""
    acknowledged = [Acknowledgment(id=f"{PACK}::{PACK}-{rule}", reason=reason) for rule in rules]
    Validations.of(construct).acknowledge(*acknowledged)


def acknowledge_wildcards(construct: IConstruct, reason: str, arns: Iterable[str]) -> None:
    """Except each of the ARNs with a wildcard in a construct's policies, and say why no narrower one would do."""
    stack = Stack.of(construct)
    acknowledge(construct, reason, *(f"IAM5[Resource::{_written(stack, arn)}]" for arn in arns if "*" in arn))


def _written(stack: Stack, arn: str) -> str:
    """An ARN as the rules write it, references in angle brackets: `<Bucket.Arn>/*`."""
    resolved = stack.resolve(arn)
    parts = resolved["Fn::Join"][1] if isinstance(resolved, dict) and "Fn::Join" in resolved else [resolved]
    return "".join(_word(part) for part in parts)


def _word(part: object) -> str:
    if isinstance(part, dict):
        ((kind, name),) = part.items()
        return f"<{name}>" if kind == "Ref" else f"<{'.'.join(name)}>"
    return str(part)
