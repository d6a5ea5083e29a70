"""The tasks of the stage: targets with defaults that jobs call by name, with one parameter each."""

from aws_cdk import Stack
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from infra.settings.config import StageConfig
from infra.settings.targets_config import task_json


class TaskParameters(Construct):
    """The tasks that the operator has registered. The functions read a task at every call, so a deployment takes effect
    immediately.
    """

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig) -> None:
        super().__init__(scope, construct_id)
        self._prefix = f"duecourse/{config.stage}/tasks"
        for name, task in config.tasks.items():
            ssm.StringParameter(
                self,
                name,
                parameter_name=f"/{self._prefix}/{name}",
                description=f"Duecourse: the task {name}",
                string_value=task_json(task),
            )

    @property
    def arns(self) -> str:
        """The ARN of all tasks, for policies."""
        return Stack.of(self).format_arn(service="ssm", resource="parameter", resource_name=f"{self._prefix}/*")
