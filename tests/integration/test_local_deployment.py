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

OUTPUTS = ("ApiUrl", "DeadLetterQueueUrl", "DeathsTopicArn", "AlarmsTopicArn", "TickFunction")
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


def test_what_has_not_changed_is_neither_synthesised_nor_deployed(checkout: Checkout) -> None:
    assert checkout.deploy().tick_function == "the TickFunction"
    assert checkout.called() == []
    assert checkout.steps[-1] == ("cdk deploy", "nothing has changed")


def test_a_change_is_synthesised_and_deployed(checkout: Checkout) -> None:
    checkout.edit("second")
    checkout.deploy()
    assert checkout.called() == ["deploy --output"]
    checkout.deploy()
    assert checkout.called() == []


def test_a_stack_whose_state_is_older_than_the_synthesis_gets_it_without_another_one(
    checkout: Checkout, stacks: Stacks
) -> None:
    """The emulator was killed before it could save what was deployed last."""
    stacks.update(STACK_NAME, "an older one")
    checkout.deploy()
    assert checkout.called() == ["deploy --app"]


def test_a_lost_assembly_is_synthesised_anew(checkout: Checkout) -> None:
    (checkout.work / "cdk.out" / f"{STACK_NAME}.template.json").unlink()
    checkout.deploy()
    assert checkout.called() == ["deploy --output"]


def test_a_deployment_that_failed_is_made_again(checkout: Checkout) -> None:
    checkout.edit("second")
    checkout.synthesises(template("second"), status=1)
    with pytest.raises(CliError, match="cdk deploy failed"):
        checkout.deploy()
    checkout.called()
    with pytest.raises(CliError, match="cdk deploy failed"):
        checkout.deploy()
    assert checkout.called() == ["deploy --output"]


def test_a_change_that_failed_and_was_taken_back_leaves_nothing_of_its_own(checkout: Checkout) -> None:
    checkout.edit("second")
    checkout.synthesises(template("second"), status=1)
    with pytest.raises(CliError, match="cdk deploy failed"):
        checkout.deploy()
    checkout.called()
    checkout.edit("first")
    checkout.synthesises(template("first"))
    checkout.deploy()
    assert checkout.called() == ["deploy --output"]


def test_the_first_deployment_of_all_bootstraps(tmp_path: Path, ministack: str) -> None:
    checkout = Checkout(tmp_path, ministack)
    with pytest.raises(CliError, match="is not complete"):  # for this command line deploys nothing
        checkout.deploy()
    assert checkout.called() == ["bootstrap", "deploy --output"]
