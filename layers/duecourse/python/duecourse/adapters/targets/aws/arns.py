"""Where the stage stands: jobs name resources, ARNs are made of the names here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Arns:
    """Partition (`aws`), region and account of the stage; its targets are there too."""

    partition: str
    region: str
    account: str

    def arn(self, service: str, resource: str) -> str:
        """`arn:aws:states:eu-west-1:123456789012:stateMachine:report` for `states`, `stateMachine:report`."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"

    def role_arn(self, role: str) -> str:
        """Roles belong to the account and no region."""
        return f"arn:{self.partition}:iam::{self.account}:role/{role}"
