"""A user's CDK app with a job and a workflow, deployed beside the stage that they are on, changed, and deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_secretsmanager as secretsmanager
from botocore.exceptions import WaiterError

from duecourse.cli.local.demo.receiver import OK_PATH
from duecourse.client import NotFoundError
from duecourse_cdk import Auth, Duecourse, ScheduledJob, Workflow
from duecourse_cdk.stage import FUNCTION
from tests.support.deployed import Template, put_asset, send
from tests.support.emulators import client
from tests.support.waiting import PATIENCE_SECONDS, awaited

from .conftest import System, run_in

pytestmark = [pytest.mark.long, pytest.mark.emulator]

STACK = "Billing"


def template(system: System, **changes: Any) -> Template:
    """The app's, by what its author changes."""
    app = App()
    stack = Stack(app, STACK)
    auth = Auth.token(secretsmanager.Secret.from_secret_complete_arn(stack, "Token", secret(system)))
    stage = Duecourse.from_api(stack, "Duecourse", api=system.stack.api, auth=auth)
    called = system.receiver.url + OK_PATH
    job = {"job_id": "invoices", "schedule": "0 2 * * *", "timezone": "Europe/Berlin", "target": called} | changes
    ScheduledJob(stack, "Nightly", stage=stage, **job)
    members = {"extract": {"job": {"target": {"type": "http", "url": called}}}, "load": {"after": ["extract"]}}
    members["load"]["job"] = members["extract"]["job"]
    Workflow(stack, "Etl", stage=stage, workflow_id="etl", document={"schedule": "0 3 * * *", "jobs": members})
    made: Template = app.synth().get_stack_by_name(STACK).template
    (function,) = (each for each in made["Resources"].values() if each["Type"] == "AWS::Lambda::Function")
    files = {str(path.relative_to(FUNCTION)): path.read_bytes() for path in FUNCTION.rglob("*.py")}
    put_asset(system.stack.endpoint, function["Properties"]["Code"]["S3Key"], files)
    return made


def secret(system: System) -> str:
    """The ARN of one with a token, which the local stage does not look at."""
    secrets = client("secretsmanager", system.stack.endpoint)
    try:
        arn: str = secrets.create_secret(Name="ci/duecourse", SecretString="a-token")["ARN"]
    except secrets.exceptions.ResourceExistsException:
        arn = secrets.describe_secret(SecretId="ci/duecourse")["ARN"]
    return arn


@pytest.fixture
def remove(system: System) -> Iterator[Callable[[], None]]:
    """Deletes the stack; at the end in any case."""
    cloudformation = client("cloudformation", system.stack.endpoint)

    def delete() -> None:
        cloudformation.delete_stack(StackName=STACK)
        waiter = cloudformation.get_waiter("stack_delete_complete")
        waiter.wait(StackName=STACK, WaiterConfig={"Delay": 1, "MaxAttempts": PATIENCE_SECONDS})

    yield delete
    delete()


def ids(system: System) -> set[str]:
    return {job.id for job in system.client.list_jobs(tag=f"managed-by=stack:{STACK}")}


def deploy(system: System, verb: str, **changes: Any) -> None:
    """Raises AssertionError with what CloudFormation says where it rolls back."""
    made = template(system, **changes)
    try:
        send(system.stack.endpoint, made, verb, STACK)
    except WaiterError:
        raise AssertionError(reasons(system)) from None


def reasons(system: System) -> str:
    events = client("cloudformation", system.stack.endpoint).describe_stack_events(StackName=STACK)["StackEvents"]
    return "\n".join(str(event.get("ResourceStatusReason")) for event in events)


def test_the_jobs_of_a_stack_come_change_and_go_with_it(system: System, remove: Callable[[], None]) -> None:
    deploy(system, "create")
    assert ids(system) == {"invoices", "etl", "extract", "load"}
    assert system.client.get_job("invoices").timezone == "Europe/Berlin"
    system.client.run_job("invoices")
    awaited("a run of the job", run_in(system, "invoices", "SUCCEEDED"))

    deploy(system, "update", schedule="0 4 * * *")
    assert system.client.get_job("invoices").schedule == "0 4 * * *"

    with pytest.raises(AssertionError, match=r"invoices: PUT .* 422 .* /schedule: "):
        deploy(system, "update", schedule="every night")
    assert system.client.get_job("invoices").schedule == "0 4 * * *"

    remove()
    for job_id in ("invoices", "etl", "extract", "load"):
        with pytest.raises(NotFoundError):
            system.client.get_job(job_id)


def test_another_id_replaces_the_job(system: System, remove: Callable[[], None]) -> None:
    deploy(system, "create")
    deploy(system, "update", job_id="bills")
    assert ids(system) == {"bills", "etl", "extract", "load"}
