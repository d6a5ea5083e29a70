"""Connectors: a function in a private network for each entry of the setting `connectors`. Workers invoke it with
finished HTTP requests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from duecourse.limits import WORKER_SECONDS
from infra.functions.python_function import PythonFunction, PythonRuntime
from infra.nag import acknowledge_wildcards
from infra.settings.config import StageConfig
from infra.settings.connectors_config import CONNECTOR_MB, connector_settings

NETWORK_ACTIONS = (
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
)
"""What Lambda needs to manage the network interfaces of a function (AWS Lambda Developer Guide, "Giving Lambda
functions access to resources in an Amazon VPC").
"""


class Connectors(Construct):
    """The functions of all connectors. Their roles have no permissions except those that Lambda uses for the function's
    network interfaces and its logs, and its code cannot use the former.
    """

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig, runtime: PythonRuntime) -> None:
        super().__init__(scope, construct_id)
        self._config = config
        settings = connector_settings(config.stack_name, config.connectors)
        self.functions: Mapping[str, PythonFunction] = {
            name: self._connector(name, str(own["function"]), json.dumps({name: own}, separators=(",", ":")), runtime)
            for name, own in settings.items()
        }

    def permission(self) -> list[iam.PolicyStatement]:
        """Return the permission of workers to invoke the connectors; none if the stage has no connectors."""
        arns = [each.function.function_arn for each in self.functions.values()]
        return [iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=arns)] if arns else []

    def _connector(self, name: str, function_name: str, own: str, runtime: PythonRuntime) -> PythonFunction:
        connector = PythonFunction(
            self,
            name.capitalize(),
            runtime=runtime,
            source="connector",
            description=f"Duecourse: sends requests of jobs via {name}",
            function_name=function_name,
            timeout_seconds=max(WORKER_SECONDS.values()),  # the timeouts of targets are shorter
            memory_mb=CONNECTOR_MB,
            reserved_concurrency=self._config.reserved.get(f"connector {name}"),
            traced=False,  # its role would need permissions
            environment={"DUECOURSE_CONNECTOR": own, "DUECOURSE_PRIVATE_TARGETS": self._config.private_targets},
        )
        parts = self._config.connectors[name]
        if "subnets" in parts:
            self._join(connector, function_name, parts["subnets"], parts["security_groups"])
        return connector

    def _join(self, connector: PythonFunction, function_name: str, subnets: list[str], groups: list[str]) -> None:
        """Put a function into its network. Lambda creates the network interfaces with the function's role, and the
        function's own code may not use these permissions (AWS Lambda Developer Guide, same page). The ARN in the
        condition is written out, because the function itself depends on the policy.
        """
        arn = Stack.of(self).format_arn(
            service="lambda",
            resource="function",
            resource_name=function_name,
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        connector.allow(NETWORK_ACTIONS, ["*"])
        connector.function.add_to_role_policy(
            iam.PolicyStatement(
                effect=iam.Effect.DENY,
                actions=[*NETWORK_ACTIONS, "ec2:DetachNetworkInterface"],
                resources=["*"],
                conditions={"ArnEquals": {"lambda:SourceFunctionArn": arn}},
            )
        )
        acknowledge_wildcards(
            connector,
            "Lambda creates the network interfaces and checks these permissions for all resources. The function's code "
            "is denied them.",
            ["*"],
        )
        # CDK's own property needs the id of the VPC, and adds a managed policy.
        resource = cast("lambda_.CfnFunction", connector.function.node.default_child)
        resource.vpc_config = lambda_.CfnFunction.VpcConfigProperty(subnet_ids=subnets, security_group_ids=groups)
