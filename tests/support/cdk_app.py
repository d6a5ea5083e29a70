"""A user's CDK app with a job and a workflow, and the emulated CloudFormation that deploys it."""

from dataclasses import dataclass
from typing import Any

from aws_cdk import App, Stack
from aws_cdk import aws_secretsmanager as secretsmanager
from botocore.exceptions import WaiterError

from duecourse.ports import ServiceError
from duecourse_cdk import Auth, Duecourse, ScheduledJob, Workflow
from duecourse_cdk.stage import FUNCTION
from tests.support.deployed import Template, put_asset, send
from tests.support.emulators import client
from tests.support.waiting import PATIENCE_SECONDS

STACK, TAG = "Billing", "managed-by=stack:Billing"
TOKEN = "a-token-that-nobody-looks-at"
IDS = {"invoices", "etl", "etl--extract", "etl--load"}
"""The ids of the app's jobs."""


@dataclass(frozen=True)
class CdkApp:
    """The app of a user whose jobs call `url`."""

    endpoint: str
    api: str
    url: str

    def deploy(self, verb: str, **changes: Any) -> None:
        """ "create" or "update" the stack. Raises AssertionError with CloudFormation's message if it rolls back."""
        made = self.template(**changes)
        try:
            send(self.endpoint, made, verb, STACK)
        except WaiterError:
            raise AssertionError(self._reasons()) from None

    def destroy(self) -> None:
        """Delete the stack."""
        cloudformation = client("cloudformation", self.endpoint)
        cloudformation.delete_stack(StackName=STACK)
        waiter = cloudformation.get_waiter("stack_delete_complete")
        waiter.wait(StackName=STACK, WaiterConfig={"Delay": 1, "MaxAttempts": PATIENCE_SECONDS})

    def template(self, **changes: Any) -> Template:
        """Return the template that the app synthesises with these changes of the job's fields. Its asset is
        uploaded.
        """
        app = App()
        stack = Stack(app, STACK)
        secret = secretsmanager.Secret.from_secret_complete_arn(stack, "Token", self._secret())
        stage = Duecourse.from_api(stack, "Duecourse", api=self.api, auth=Auth.token(secret))
        job = {"job_id": "invoices", "schedule": "0 2 * * *", "timezone": "Europe/Berlin", "target": self.url}
        ScheduledJob(stack, "Nightly", stage=stage, **(job | changes))
        called = {"target": self.url}
        steps = {"extract": {"job": called}, "load": {"after": ["extract"], "job": called}}
        Workflow(stack, "Etl", stage=stage, workflow_id="etl", document={"schedule": "0 3 * * *", "jobs": steps})
        made: Template = app.synth().get_stack_by_name(STACK).template
        (function,) = (each for each in made["Resources"].values() if each["Type"] == "AWS::Lambda::Function")
        files = {str(path.relative_to(FUNCTION)): path.read_bytes() for path in FUNCTION.rglob("*.py")}
        put_asset(self.endpoint, function["Properties"]["Code"]["S3Key"], files)
        return made

    def _secret(self) -> str:
        """Return the ARN of a secret with a token."""
        secrets = client("secretsmanager", self.endpoint)
        try:
            arn: str = secrets.create_secret(Name="ci/duecourse", SecretString=TOKEN)["ARN"]
        except ServiceError as error:
            if error.code != "ResourceExistsException":
                raise
            arn = secrets.describe_secret(SecretId="ci/duecourse")["ARN"]
        return arn

    def _reasons(self) -> str:
        events = client("cloudformation", self.endpoint).describe_stack_events(StackName=STACK)["StackEvents"]
        return "\n".join(str(event.get("ResourceStatusReason")) for event in events)
