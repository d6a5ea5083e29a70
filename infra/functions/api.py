"""The HTTP API. One function handles all routes except the callback routes and the console's routes."""

import json
from typing import cast

import jsii
from aws_cdk import ArnFormat, Aws, Stack
from aws_cdk import aws_apigateway as rest
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_certificatemanager as certificates
from aws_cdk import aws_logs as logs
from aws_cdk import aws_route53 as dns
from constructs import Construct

from duecourse.limits import API_SECONDS
from infra.functions.auth import Auth
from infra.functions.callbacks import callbacks
from infra.functions.python_function import PythonFunction, log_group
from infra.nag import acknowledge, acknowledge_wildcards
from infra.parts import SharedResources
from infra.settings.auth_config import OPEN_TO_READ, WELL_KNOWN
from infra.settings.domain_config import ApiDomainConfig
from infra.stores.tables import ACTIVE_INDEX, ENDED_INDEX, STATE_INDEX, TENANT_INDEX

CALLBACKS = tuple(f"/v1/runs/{{run_id}}/{callback}" for callback in ("heartbeat", "complete", "fail"))
"""The callback routes but LOG. These, LOG, HOOKS, KEYED, OPEN_TO_READ and WELL_KNOWN are the routes without
authorization; `OPEN` in `duecourse/api/routes/table.py` has all of them but KEYED.
"""

LOG = "/v1/runs/{run_id}/log"
"""The callback route that adds to the log of a run."""

HOOKS = ("/v1/hooks", "/v1/hooks/{key}")
"""The routes that require an API key, in a header or in the path."""

KEYED = "/key/v1/{proxy+}"
"""All routes again, for API keys with scopes. The function checks the key (`duecourse/api/keyed.py`)."""

OPEN_REASON = (
    "Callbacks come from targets, which have no credentials of this account. They send the callback token "
    "of the run, and the function checks it. Triggers and requests below /key send an API key, which the function "
    "checks, too. Health, the API's description and the public keys of OIDC tokens contain no data of tenants."
)

CONSOLE_PATHS = ("/console", "/console/{file+}")

CONSOLE_REASON = (
    "A browser loads the console before the login. Its files are the same for all users and contain no "
    "secret. The console reads its data from the API with the token of the user."
)

ACCESS_LOG_FIELDS = (
    "requestId",
    "requestTime",
    "identity.sourceIp",
    "identity.userArn",
    "httpMethod",
    "routeKey",  # the path of a trigger URL contains an API key
    "status",
    "responseLength",
    "responseLatency",
    "integrationLatency",
    "integrationErrorMessage",
    "error.message",  # messageString would be quoted if there is an error, and an unquoted hyphen otherwise
)


ACCESS_LOGS = "/aws/vendedlogs"
"""The folder of the access log. API Gateway delivers to other groups only if the account's resource policy for logs,
which has at most 5,120 characters, names each of them (Amazon CloudWatch Logs User Guide, "Enable logging from AWS
services").
"""


@jsii.implements(apigateway.IAccessLogSettings)
class AccessLogDestination:
    """The access log: one JSON line per request, with the fields for investigating a request."""

    def __init__(self, group: logs.LogGroup) -> None:
        self._group = group

    @property
    def destination(self) -> apigateway.LogGroupLogDestination:
        """The destination of the lines."""
        return apigateway.LogGroupLogDestination(self._group)

    @property
    def format(self) -> rest.AccessLogFormat:
        """The format of a line."""
        return rest.AccessLogFormat.custom(json.dumps({name: f"$context.{name}" for name in ACCESS_LOG_FIELDS}))


class ApiDomain(Construct):
    """The domain name of the API and, with a hosted zone, its record. The endpoint of API Gateway still works."""

    def __init__(self, scope: Construct, construct_id: str, config: ApiDomainConfig) -> None:
        super().__init__(scope, construct_id)
        self._name = apigateway.DomainName(
            self,
            "Name",
            domain_name=config.name,
            certificate=certificates.Certificate.from_certificate_arn(self, "Certificate", config.certificate),
            security_policy=apigateway.SecurityPolicy.TLS_1_2,
        )
        self.target = self._name.regional_domain_name
        """The name to which a CNAME record for the domain name must refer."""
        if config.hosted_zone is not None:
            dns.CfnRecordSet(
                self,
                "Record",
                name=f"{config.name}.",
                type="A",
                hosted_zone_id=config.hosted_zone,
                alias_target=dns.CfnRecordSet.AliasTargetProperty(
                    dns_name=self.target, hosted_zone_id=self._name.regional_hosted_zone_id
                ),
            )

    def serve(self, api: apigateway.IHttpApi, stage: apigateway.IHttpStage) -> None:
        """Send all requests for the domain name to this stage of the API."""
        apigateway.ApiMapping(self, "Mapping", api=api, domain_name=self._name, stage=stage)


class HttpApi(Construct):
    """The HTTP API for jobs and runs, with the stage's authorizer for all but a few routes.

    The callback routes have no authorizer in any stage: targets have no credentials for this account, and send the
    token of their run instead. Triggers, and requests below /key, send an API key. Health and the API's description
    contain no data of tenants.
    """

    def __init__(self, scope: Construct, construct_id: str, parts: SharedResources) -> None:
        """`open` adds the routes later, because the clients of the authorizer contain the API's address."""
        super().__init__(scope, construct_id)
        self._parts = parts
        config, jobs, runs, lanes = parts.config, parts.jobs, parts.runs, parts.lanes
        results, tasks, runtime = parts.results, parts.tasks, parts.runtime
        self.http = apigateway.HttpApi(
            self, "Http", api_name=config.stack_name, description="Duecourse", create_default_stage=False
        )
        domain = config.api_domain
        self.address = self.http.api_endpoint if domain is None else domain.address
        """The address of the API, without a slash at its end."""
        self.domain = None if domain is None else ApiDomain(self, "Domain", domain)
        self.function = PythonFunction(
            self,
            "Worker",
            runtime=runtime,
            source="api",
            description="Duecourse: the HTTP API",
            timeout_seconds=API_SECONDS,
            memory_mb=512,
            reserved_concurrency=config.reserved_concurrency.api,
            environment={
                **parts.settings(
                    *("JOBS_TABLE", "RUNS_TABLE", "SHARDS", "LOOKAHEAD_SECONDS", "HORIZON_SECONDS"),
                    *("RUN_RETENTION_DAYS", "OPERATOR_TENANT"),
                    *("DEFAULT_PRECISION", "PRIVATE_TARGETS", "ALLOWED_TARGETS", "RESULTS_BUCKET"),
                    "RESULT_BUCKETS",
                ),
                "DUECOURSE_AUTH": config.auth.setting,
                "DUECOURSE_TENANT_CLAIM": config.auth.tenant_claim,
                "DUECOURSE_REGION": Aws.REGION,
                **parts.token_keys.environment(self.address),
                **config.limits.environment,
                **parts.seats,
                **lanes.environment,
                **(
                    {}
                    if config.prescale is None
                    else {"DUECOURSE_PRESCALE_DOLLARS": str(config.prescale.dollars_per_day)}
                ),
            },
        )
        allow = self.function.allow
        change = (
            "GetItem",
            "BatchGetItem",
            "BatchWriteItem",  # the timers of a backfill
            "PutItem",
            "UpdateItem",
            "DeleteItem",
            "ConditionCheckItem",  # for a deletion whose job is created again
        )  # TransactWriteItems requires no separate action
        allow([f"dynamodb:{action}" for action in change], [jobs.arn])
        # Jobs by tag, by tenant, and by state.
        allow(["dynamodb:Query"], [jobs.arn, jobs.index_arn(TENANT_INDEX), jobs.index_arn(STATE_INDEX)])
        # BatchGetItem is for a workflow's run, PutItem and BatchWriteItem for the runs that a pause covered and for
        # records of changes and for the watch of a wait queue, and UpdateItem for heartbeats and held messages.
        record = ("GetItem", "BatchGetItem", "BatchWriteItem", "Query", "PutItem", "UpdateItem")
        allow([f"dynamodb:{action}" for action in record], [runs.arn])
        allow(["dynamodb:Query"], [runs.index_arn(ENDED_INDEX), runs.index_arn(ACTIVE_INDEX)])
        if config.operator_tenant is not None:  # the runs in progress of all tenants
            allow(["dynamodb:Scan"], [runs.index_arn(ACTIVE_INDEX)])
        allow(["sqs:SendMessage", "sqs:GetQueueAttributes"], lanes.arns)
        # A presigned link has the permissions of its signer.
        allow(["s3:GetObject"], [results.objects_arn, results.logs_arn])
        self.function.function.add_to_role_policy(results.list_logs)
        allow(["ssm:GetParameter"], [tasks.arns])
        for statement in parts.token_keys.permission("kms:GetPublicKey"):
            self.function.function.add_to_role_policy(statement)
        alarms = Stack.of(self).format_arn(
            service="cloudwatch", resource="alarm", resource_name="*", arn_format=ArnFormat.COLON_RESOURCE_NAME
        )
        allow(["cloudwatch:DescribeAlarms"], [alarms])
        allow(["cloudwatch:GetMetricData"], ["*"])
        acknowledge_wildcards(
            self.function,
            "CloudWatch has neither resources nor condition keys for reading metrics. The function reads only "
            "the metrics of its stage and lanes.",
            ["*"],
        )
        acknowledge_wildcards(
            self.function,
            "CloudWatch lists alarms by the prefix of their names only for roles that may read all alarms of the "
            "region. The function reads only the alarms of its stage.",
            [alarms],
        )
        acknowledge_wildcards(
            self.function,
            "Results and logs are objects of runs, and tasks are registered by deployments, so their names are "
            "not known when the role is created. The prefixes contain no other objects.",
            [results.objects_arn, results.logs_arn, tasks.arns],
        )

        self.callbacks = callbacks(self, parts)
        addresses = dict.fromkeys((self.address, self.http.api_endpoint))
        self.console_urls = tuple(f"{address}{CONSOLE_PATHS[0]}" for address in addresses)
        """The addresses of the console. The first one is the published one."""

    def open(self, auth: Auth, console: PythonFunction | None) -> None:
        """Add the routes: those of the API with the authorizer, those of the console without one."""
        config, runtime = self._parts.config, self._parts.runtime
        function = integrations.HttpLambdaIntegration(
            "Function", self.function.function, scope_permission_to_route=False
        )
        self.http.add_routes(
            path="/v1/{proxy+}",
            methods=[apigateway.HttpMethod.ANY],
            integration=function,
            authorizer=auth.authorizer,
        )
        of_callbacks = integrations.HttpLambdaIntegration(
            "Callbacks", self.callbacks.function, scope_permission_to_route=False
        )
        open_routes = [  # the most specific route wins
            route
            for method, paths, integration in (
                (apigateway.HttpMethod.GET, (*OPEN_TO_READ, *WELL_KNOWN), function),
                (apigateway.HttpMethod.POST, (*CALLBACKS, LOG), of_callbacks),
                (apigateway.HttpMethod.POST, HOOKS, function),
                (apigateway.HttpMethod.ANY, (KEYED,), function),
            )
            for path in paths
            for route in self.http.add_routes(path=path, methods=[method], integration=integration)
        ]
        for route in open_routes:
            acknowledge(route, OPEN_REASON, "APIG4")
        if console is None:
            # API Gateway keeps a stage's settings of a deleted route, and rejects later updates of the stage for them.
            # So a stage that loses its console keeps the routes, for signed requests; the API answers with 404.
            for path in CONSOLE_PATHS:
                open_routes += self.http.add_routes(
                    path=path,
                    methods=[apigateway.HttpMethod.GET],
                    integration=function,
                    authorizer=auth.authorizer,
                )
        else:
            open_routes += self._console_routes(console)
        self.stage = apigateway.HttpStage(
            self,
            "Stage",
            http_api=self.http,
            stage_name="$default",
            auto_deploy=True,
            throttle=apigateway.ThrottleSettings(
                rate_limit=config.api.requests_per_second, burst_limit=config.api.burst
            ),
            access_log_settings=AccessLogDestination(log_group(self, config, runtime.encryption, folder=ACCESS_LOGS))
            if config.api.access_logs
            else None,
        )
        stage = cast("apigateway.CfnStage", self.stage.node.default_child)
        limits = config.api
        opened = (limits.open_requests_per_second, limits.open_burst)
        # A higher limit costs more in a flood. It is for receivers that read the keys.
        of_keys = (limits.well_known_requests_per_second, limits.well_known_burst) if config.oidc_keys else opened
        stage.route_settings = {
            f"{method} {path}": {"ThrottlingRateLimit": rate, "ThrottlingBurstLimit": burst}
            for method, paths, rate, burst in (
                ("GET", OPEN_TO_READ, *opened),
                ("POST", CALLBACKS, limits.callback_requests_per_second, limits.callback_burst),
                ("POST", (LOG,), limits.log_requests_per_second, limits.log_burst),
                ("POST", HOOKS, limits.hook_requests_per_second, limits.hook_burst),
                ("ANY", (KEYED,), limits.hook_requests_per_second, limits.hook_burst),
                ("GET", WELL_KNOWN, *of_keys),
                ("GET", CONSOLE_PATHS, limits.console_requests_per_second, limits.console_burst),
            )
            for path in paths
        }
        if self.domain is not None:
            self.domain.serve(self.http, self.stage)
        self.stage.node.add_dependency(*open_routes)  # API Gateway rejects settings of a route that does not exist yet

    def _console_routes(self, console: PythonFunction) -> list[apigateway.HttpRoute]:
        integration = integrations.HttpLambdaIntegration("Console", console.function, scope_permission_to_route=False)
        routes = [
            route
            for path in CONSOLE_PATHS
            for route in self.http.add_routes(path=path, methods=[apigateway.HttpMethod.GET], integration=integration)
        ]
        for route in routes:
            acknowledge(route, CONSOLE_REASON, "APIG4")
        return routes
