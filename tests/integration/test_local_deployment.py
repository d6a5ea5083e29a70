"""The local stack's deployment makes again what has changed, and nothing else.

In the CDK command line's place stands a script that writes down how it was called and puts a template where it would.
"""

import json
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duecourse.cli.local.deployment import Deployment, Outputs
from duecourse.cli.local.emulator import aws
from duecourse.cli.local.emulator.environment import STACK_NAME
from duecourse.cli.local.project import Project
from duecourse.cli.terminal import CliError

OUTPUTS = ("ApiUrl", "DeadLetterQueueUrl", "DeathsTopicArn", "PagesTopicArn", "TicketsTopicArn", "TickFunction")
TOOLKIT = "CDKToolkit"


def template(comment: str) -> dict[str, Any]:
    return {
        "Description": comment,
        "Resources": {"Queue": {"Type": "AWS::SQS::Queue"}},
        "Outputs": {name: {"Value": f"the {name}"} for name in OUTPUTS},
    }


class Checkout:
    """A checkout of one file, whose command line does as it is told."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.work.mkdir()
        self.steps: list[tuple[str, str]] = []
        self._endpoint = endpoint
        self._calls = folder / "calls"
        self._cdk = folder / "cdk"
        self.edit("first")
        self.synthesises(template("first"))

    def edit(self, text: str) -> None:
        (self.folder / "app.py").write_text(text)

    def synthesises(self, made: dict[str, Any], status: int = 0) -> None:
        """What the command line will put into its assembly."""
        target = self.work / "cdk.out" / f"{STACK_NAME}.template.json"
        lines = [
            f'echo "$*" >> {shlex.quote(str(self._calls))}',
            f"mkdir -p {shlex.quote(str(target.parent))}",
            f"printf %s {shlex.quote(json.dumps(made))} > {shlex.quote(str(target))}",
            f"exit {status}",
        ]
        self._cdk.write_text("\n".join(lines))
        self._cdk.chmod(self._cdk.stat().st_mode | stat.S_IXUSR)

    def deploy(self) -> Outputs:
        project = Project(root=self.folder, cdk=self._cdk, node=Path("/bin/sh"))
        deployment = Deployment(project, endpoint=self._endpoint, work=self.work, temporary=self.folder)
        return deployment.deploy(lambda subject, text: self.steps.append((subject, text)))

    def called(self) -> list[str]:
        """How the command line has been called since it was last asked: the words that matter."""
        calls = self._calls.read_text().splitlines() if self._calls.exists() else []
        self._calls.unlink(missing_ok=True)
        return [
            " ".join(word for word in call.split() if word in ("bootstrap", "deploy", "--app", "--output"))
            for call in calls
        ]


class Stacks:
    """CloudFormation on the emulator; each call has its effect when it returns."""

    def __init__(self, endpoint: str) -> None:
        self._client = aws.client(endpoint, "cloudformation")

    def create(self, name: str, comment: str) -> None:
        self._client.create_stack(StackName=name, TemplateBody=json.dumps(template(comment)))
        self._client.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig={"Delay": 1})

    def update(self, name: str, comment: str) -> None:
        self._client.update_stack(StackName=name, TemplateBody=json.dumps(template(comment)))
        self._client.get_waiter("stack_update_complete").wait(StackName=name, WaiterConfig={"Delay": 1})

    def delete(self, name: str) -> None:
        self._client.delete_stack(StackName=name)
        self._client.get_waiter("stack_delete_complete").wait(StackName=name, WaiterConfig={"Delay": 1})


@pytest.fixture
def stacks(ministack: str) -> Iterator[Stacks]:
    """With the toolkit and the stack there already."""
    stacks = Stacks(ministack)
    stacks.create(TOOLKIT, "toolkit")
    stacks.create(STACK_NAME, "first")
    yield stacks
    stacks.delete(STACK_NAME)
    stacks.delete(TOOLKIT)


@pytest.fixture
def checkout(tmp_path: Path, ministack: str, stacks: Stacks) -> Checkout:
    """Deployed once."""
    checkout = Checkout(tmp_path, ministack)
    assert checkout.deploy().tick_function == "the TickFunction"
    assert checkout.called() == ["deploy --output"]
    return checkout


def test_local_deployment_neither_synthesises_nor_deploys_without_changes(checkout: Checkout) -> None:
    assert checkout.deploy().tick_function == "the TickFunction"
    assert checkout.called() == []
    assert checkout.steps[-1] == ("cdk deploy", "nothing has changed")


def test_local_deployment_synthesises_and_deploys_a_change(checkout: Checkout) -> None:
    checkout.edit("second")
    checkout.deploy()
    assert checkout.called() == ["deploy --output"]
    checkout.deploy()
    assert checkout.called() == []


def test_local_deployment_deploys_the_existing_synthesis_to_a_stack_with_older_state(
    checkout: Checkout, stacks: Stacks
) -> None:
    """The emulator was killed before it could save what was deployed last."""
    stacks.update(STACK_NAME, "an older one")
    checkout.deploy()
    assert checkout.called() == ["deploy --app"]


def test_local_deployment_synthesises_a_missing_assembly_again(checkout: Checkout) -> None:
    (checkout.work / "cdk.out" / f"{STACK_NAME}.template.json").unlink()
    checkout.deploy()
    assert checkout.called() == ["deploy --output"]


def test_local_deployment_repeats_a_failed_deployment(checkout: Checkout) -> None:
    checkout.edit("second")
    checkout.synthesises(template("second"), status=1)
    with pytest.raises(CliError, match="cdk deploy failed"):
        checkout.deploy()
    checkout.called()
    with pytest.raises(CliError, match="cdk deploy failed"):
        checkout.deploy()
    assert checkout.called() == ["deploy --output"]


def test_local_deployment_replaces_the_synthesis_of_a_failed_change_after_its_revert(checkout: Checkout) -> None:
    checkout.edit("second")
    checkout.synthesises(template("second"), status=1)
    with pytest.raises(CliError, match="cdk deploy failed"):
        checkout.deploy()
    checkout.called()
    checkout.edit("first")
    checkout.synthesises(template("first"))
    checkout.deploy()
    assert checkout.called() == ["deploy --output"]


def test_local_deployment_bootstraps_at_the_first_deployment(tmp_path: Path, ministack: str) -> None:
    checkout = Checkout(tmp_path, ministack)
    with pytest.raises(CliError, match="is not complete"):  # for this command line deploys nothing
        checkout.deploy()
    assert checkout.called() == ["bootstrap", "deploy --output"]
