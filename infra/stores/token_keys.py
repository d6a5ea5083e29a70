"""The keys with which the stage signs OIDC tokens for targets."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.settings.config import StageConfig

NO_KEYS = "none"


class TokenKeys(Construct):
    """A key for each name in `oidc_keys`. The first one signs; all are published. A key that leaves the list is
    deleted: only tokens of the last hour need it.
    """

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig) -> None:
        super().__init__(scope, construct_id)
        self.keys = [
            kms.Key(
                self,
                name,
                description=f"{config.stack_name}: OIDC tokens for targets ({name})",
                key_spec=kms.KeySpec.RSA_2048,
                key_usage=kms.KeyUsage.SIGN_VERIFY,
                pending_window=Duration.days(7),
                removal_policy=RemovalPolicy.DESTROY,
            )
            for name in config.oidc_keys
        ]

    def environment(self, issuer: str) -> Mapping[str, str]:
        """Return the environment of functions that sign tokens or publish the keys. `issuer` is the API's address."""
        return {"DUECOURSE_OIDC": " ".join([issuer, *(key.key_id for key in self.keys)]) if self.keys else NO_KEYS}

    def permission(self, action: str) -> list[iam.PolicyStatement]:
        """Return the permission for an action on all keys. While a new list is deployed, the previous code still signs
        with the previous first key.
        """
        arns = [key.key_arn for key in self.keys]
        return [iam.PolicyStatement(actions=[action], resources=arns)] if arns else []
