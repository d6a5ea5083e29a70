"""A stage for the jobs of a CDK app, and the function that applies them: one for each stack with jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from aws_cdk import Duration, RemovalPolicy, Stack, Token
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from duecourse_cdk.auth import Auth

FUNCTION = Path(__file__).parent / "function"
ALLOWED = ("duecourse-target-*",)
"""The default of the targets that a stage allows (docs/security.md, `allowed_targets`)."""
THIS_MACHINE = frozenset({"127.0.0.1", "localhost"})
TIMEOUT = Duration.minutes(5)
"""The time for which the function retries requests to a stage that throttles requests or does not respond."""
NAME = "DuecourseProvider"


class Duecourse(Construct):
    """A stage with the address of its API."""

    def __init__(
        self, scope: Construct, construct_id: str, *, api: str, auth: Auth, allowed_names: Sequence[str] = ALLOWED
    ) -> None:
        """The parameters are those of `from_api`."""
        super().__init__(scope, construct_id)
        if not Token.is_unresolved(api):
            _check(api)
        self.api = api
        self.allowed_names = tuple(allowed_names)
        self._auth = auth
        self._ids: dict[str, str] = {}

    @classmethod
    def from_api(
        cls, scope: Construct, construct_id: str, *, api: str, auth: Auth, allowed_names: Sequence[str] = ALLOWED
    ) -> Duecourse:
        """Return the stage at this address (its `ApiUrl` output).

        `allowed_names` are the patterns of the stage's `allowed_targets`, if its operator has changed them. They are
        used only for warnings; the stage decides. Raises ValueError for an invalid address.
        """
        return cls(scope, construct_id, api=api, auth=auth, allowed_names=allowed_names)

    def take(self, ids: Sequence[str], path: str) -> None:
        """Record these ids for a construct. Raises ValueError if another construct uses one of them."""
        for job_id in ids:
            if (other := self._ids.setdefault(job_id, path)) != path:
                raise ValueError(f"{path}: the job id {job_id} is already used by {other}")

    def provide(self, stack: Stack) -> tuple[str, Mapping[str, str]]:
        """Return the ARN of the stack's function, and the property with its credentials for this stage."""
        provider = stack.node.try_find_child(NAME) or Provider(stack, NAME)
        # Read it from the tree: jsii can lose the class of an object that Python code does not reference.
        function = cast("lambda_.Function", provider.node.find_child("Function"))
        role = cast("iam.Role", provider.node.find_child("Role"))
        return function.function_arn, self._auth.bind(role, self.api)


class Provider(Construct):
    """The function. Its role has only the permissions that `Auth` grants, and the permissions for its logs."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        log_group = logs.LogGroup(
            self, "Logs", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
        )
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        log_group.grant_write(role)
        lambda_.Function(
            self,
            "Function",
            description="Applies the stack's jobs and workflows to a stage of Duecourse",
            code=lambda_.Code.from_asset(str(FUNCTION), exclude=["**/__pycache__"]),
            handler="duecourse_provider.handler.handler",
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=lambda_.Architecture.ARM_64,
            role=role,
            log_group=log_group,
            timeout=TIMEOUT,
            memory_size=256,
        )


def _check(api: str) -> None:
    parts = urlsplit(api)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in THIS_MACHINE):
        raise ValueError(f"api must start with https://, because tokens are sent to it: {api}")
    if parts.query or parts.fragment or parts.username or parts.path.rstrip("/").endswith("/v1"):
        raise ValueError(f"api must be the ApiUrl of the stage, without /v1 and the rest of the path: {api}")
