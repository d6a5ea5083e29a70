"""A stage that a CDK app's jobs are on, and the function that applies them: one for each stack that has any."""

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
"""What a stage calls unless its operator says otherwise (docs/security.md, `allowed_targets`)."""
THIS_MACHINE = frozenset({"127.0.0.1", "localhost"})
TIMEOUT = Duration.minutes(5)
"""How long the function waits for a stage that throttles or is away."""
NAME = "DuecourseProvider"


class Duecourse(Construct):
    """A stage, by the address of its API."""

    def __init__(
        self, scope: Construct, construct_id: str, *, api: str, auth: Auth, allowed_names: Sequence[str] = ALLOWED
    ) -> None:
        """As `from_api`."""
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
        """The stage at this address (its output `ApiUrl`).

        `allowed_names`: the patterns of the stage's `allowed_targets`, where its operator changed them. They are for
        warnings only; the stage decides. Raises ValueError for an address that is none.
        """
        return cls(scope, construct_id, api=api, auth=auth, allowed_names=allowed_names)

    def take(self, ids: Sequence[str], path: str) -> None:
        """Note whose these ids are. Raises ValueError for one that another construct has."""
        for job_id in ids:
            if (other := self._ids.setdefault(job_id, path)) != path:
                raise ValueError(f"{path}: the job id {job_id} is already used by {other}")

    def provide(self, stack: Stack) -> tuple[str, Mapping[str, str]]:
        """The ARN of the stack's function, and the property by which it knows who it is here."""
        provider = stack.node.try_find_child(NAME) or Provider(stack, NAME)
        # From the tree: jsii may lose the class of an object that Python code does not reference.
        function = cast("lambda_.Function", provider.node.find_child("Function"))
        role = cast("iam.Role", provider.node.find_child("Role"))
        return function.function_arn, self._auth.bind(role, self.api)


class Provider(Construct):
    """The function, with a role that has no rights but those that `Auth` gives it."""

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
