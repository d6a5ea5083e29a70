"""The console: a function that serves the web page, which reads all its data from the API."""

from __future__ import annotations

import json

from aws_cdk import Aws
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from duecourse.version import VERSION
from infra.bundling import Made, code
from infra.functions.auth import Auth
from infra.functions.python_function import PythonFunction
from infra.parts import SharedResources


class Console(Construct):
    """The console's function. It does not read stores and has no secrets. The page has only the permissions of its
    user's token.

    `logs` are the names of the log groups to which the page links: the log groups of the API and of the workers.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        parts: SharedResources,
        auth: Auth,
        *,
        logs: dict[str, str | list[str]],
    ) -> None:
        super().__init__(scope, construct_id)
        config, login = parts.config, auth.login
        self.function = PythonFunction(
            self,
            "Worker",
            runtime=parts.runtime,
            source="console",
            description="Duecourse: the console's files",
            timeout_seconds=10,
            memory_mb=256,  # with 128, the first visit's files (a megabyte) take noticeably longer
            code=_code(),
            layers=False,
            environment={
                "DUECOURSE_CONSOLE_SETTINGS": json.dumps(  # CDK's own function omits null
                    {
                        "stage": config.stage,
                        "version": VERSION,
                        "region": Aws.REGION,
                        "auth": "none" if login is None else "oidc",
                        "issuer": None if login is None else login.issuer,
                        "client_id": None if login is None else login.client_id,
                        "scope": None if login is None else login.scope,
                        "docs_url": config.docs_url,
                        "logs": logs,
                        "traces": config.tracing,
                        "operator_view": config.operator_tenant is not None,
                    }
                ),
                "DUECOURSE_CONSOLE_CONNECT": "" if login is None else " ".join(login.origins),
            },
        )


def _code() -> lambda_.Code:
    def made() -> Made:
        from infra.console_files import console  # builds with npm, and only where there is no built console

        return console()

    return code("console", made)
