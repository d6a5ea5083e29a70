"""What becomes of what holds data when its stack goes."""

from aws_cdk import RemovalPolicy


def removal_policy(*, retain: bool) -> RemovalPolicy:
    """Kept or deleted. What a failed deployment has just made goes in either case: nothing is in it, and the next try
    would make another one beside it (AWS CloudFormation Template Reference, "DeletionPolicy attribute":
    `RetainExceptOnCreate`).
    """
    return RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if retain else RemovalPolicy.DESTROY
