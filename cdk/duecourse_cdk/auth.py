"""The credentials with which a deployment calls a stage: a signature, or a reference to a token, never the token
itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from aws_cdk import Stack, Token
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_ssm as ssm
from aws_cdk.aws_iam import PolicyStatement, Role

Secret: TypeAlias = secretsmanager.ISecret | ssm.IParameter
"""A secret of Secrets Manager, or a SecureString of Parameter Store."""

_GATEWAY = re.compile(r"https://([a-z0-9]+)\.execute-api\.([a-z0-9-]+)\.amazonaws\.com")
ROUTES = ("v1/jobs/*", "v1/workflows/*")
"""The API paths that the function calls."""


@dataclass(frozen=True, slots=True)
class Auth:
    """The credentials for a stage: `Auth.iam()`, `Auth.token(secret)` or `Auth.client_credentials(secret)`."""

    kind: str
    secret: Secret | None = None
    api_id: str | None = None
    region: str | None = None

    @classmethod
    def iam(cls, *, api_id: str | None = None, region: str | None = None) -> Auth:
        """Return credentials for stages with `"auth": "iam"`: requests are signed. `api_id` and `region` are required
        if the address is a custom domain or is known only at deployment. The stage must be in this account.
        """
        return cls("iam", api_id=api_id, region=region)

    @classmethod
    def token(cls, secret: Secret) -> Auth:
        """Return credentials with a secret that contains only the token. You must renew it before it expires."""
        return cls("token", secret)

    @classmethod
    def client_credentials(cls, secret: Secret) -> Auth:
        """Return credentials with a secret in JSON: `token_url`, `client_id`, `client_secret`, and `scope` or
        `audience` if the issuer requires them. Each event requests a new token (OAuth 2.0 client credentials). For a
        stage with its own user pool, the secret is the output of `duecourse accounts create --json`.
        """
        return cls("client_credentials", secret)

    def bind(self, role: Role, api: str) -> Mapping[str, str]:
        """Grant the role only the permissions that these credentials need. Return the property `Auth` of a resource.

        Raises ValueError if the API's id is not known.
        """
        if self.secret is None:
            return self._signing(role, api)
        self.secret.grant_read(role)
        if hasattr(self.secret, "parameter_name"):
            return {"Kind": self.kind, "Parameter": self.secret.parameter_name}
        return {"Kind": self.kind, "Secret": self.secret.secret_arn}

    def _signing(self, role: Role, api: str) -> Mapping[str, str]:
        found = None if Token.is_unresolved(api) else _GATEWAY.match(api)
        api_id, region = (found.groups() if found else (None, None)) if self.api_id is None else (self.api_id, None)
        region = self.region or region
        if api_id is None or region is None:
            raise ValueError(
                f"Auth.iam(api_id=..., region=...): pass both, because the address {api} does not contain them"
            )
        stack = Stack.of(role)
        arns = [
            stack.format_arn(service="execute-api", region=region, resource=api_id, resource_name=f"*/*/{route}")
            for route in ROUTES
        ]
        role.add_to_policy(PolicyStatement(actions=["execute-api:Invoke"], resources=arns))
        return {"Kind": self.kind, "Region": region}
