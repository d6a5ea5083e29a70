"""`make deploy`: what is looked at before, and the two deployments that make a stage which keeps its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from scripts.deploy import deploy

OF_PROD = {"TickFunction": 2, "DispatchFunction": 16, "ApiFunction": 50, "CallbacksFunction": 25}
PROD = ["-c", "stage=prod"]
FIRST = [*PROD, "-c", "deletion_protection=off"]


@dataclass
class Account:
    """As much of an account as is looked at: CloudFormation and Lambda at once."""

    status: str | None = "UPDATE_COMPLETE"
    protected: bool = True
    quota: int = 1_000
    others: int = 0
    reserved: Mapping[str, int] = field(default_factory=lambda: OF_PROD)
    refuses: Exception | None = None
    asked: list[str] = field(default_factory=list)

    def describe_stacks(self, StackName: str) -> dict[str, Any]:  # noqa: N803
        self.asked.append("describe_stacks")
        if self.refuses is not None:
            raise self.refuses
        if self.status is None:
            raise error("ValidationError", f"Stack with id {StackName} does not exist")
        outputs = [{"OutputKey": name, "OutputValue": name} for name in self.reserved]
        stack = {"StackStatus": self.status, "EnableTerminationProtection": self.protected, "Outputs": outputs}
        return {"Stacks": [stack]}

    def update_termination_protection(self, StackName: str, EnableTerminationProtection: bool) -> None:  # noqa: N803
        assert StackName == "Duecourse-prod"
        self.protected = EnableTerminationProtection

    def get_account_settings(self) -> dict[str, Any]:
        self.asked.append("get_account_settings")
        unreserved = self.quota - self.others - sum(self.reserved.values())
        return {"AccountLimit": {"ConcurrentExecutions": self.quota, "UnreservedConcurrentExecutions": unreserved}}

    def get_function_concurrency(self, FunctionName: str) -> dict[str, Any]:  # noqa: N803
        return {"ReservedConcurrentExecutions": self.reserved[FunctionName]} if self.reserved[FunctionName] else {}


def error(code: str, message: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "DescribeStacks")


@dataclass
class Deployed:
    """The deployments that were asked for, and what became of it."""

    status: int
    deployments: list[list[str]]
    said: list[str]


def deployed(account: Account, *arguments: str, fails_at: int = 0, settings: Path | None = None) -> Deployed:
    made: list[list[str]] = []
    said: list[str] = []

    def run(given: list[str]) -> int:
        made.append(given)
        return 1 if len(made) == fails_at else 0

    nowhere = Path(__file__).parent / "no_settings"
    status = deploy([*arguments], lambda _: account, run, said.append, settings=settings or nowhere)
    return Deployed(status, made, said)


@pytest.mark.parametrize("status", [None, "REVIEW_IN_PROGRESS"])
def test_a_stage_that_keeps_its_data_is_made_first_and_protected_once_it_stands(status: str | None) -> None:
    done = deployed(Account(status=status, reserved={}), *PROD)
    assert (done.status, done.deployments) == (0, [FIRST, PROD])


def test_what_could_not_be_made_is_not_protected_so_that_the_same_command_makes_it_anew() -> None:
    done = deployed(Account(status=None, reserved={}), *PROD, fails_at=1)
    assert (done.status, done.deployments) == (1, [FIRST])
    again = deployed(Account(status="ROLLBACK_COMPLETE", protected=False, reserved={}), *PROD)
    assert (again.status, again.deployments) == (0, [FIRST, PROD])


@pytest.mark.parametrize("status", ["ROLLBACK_COMPLETE", "ROLLBACK_FAILED"])
def test_protection_of_a_stack_that_was_never_made_is_taken_off_so_that_it_can_be_made_anew(status: str) -> None:
    """`cdk deploy` by itself sets it before it makes anything, and cannot delete what is left of the failure."""
    account = Account(status=status, reserved={})
    done = deployed(account, *PROD)
    assert not account.protected
    assert done.deployments == [FIRST, PROD]
    assert any("was never made" in line for line in done.said)


@pytest.mark.parametrize("status", ["CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"])
def test_a_stage_that_stands_is_deployed_once_and_stays_protected(status: str) -> None:
    account = Account(status=status)
    done = deployed(account, *PROD, "--require-approval", "never")
    assert (done.status, done.deployments) == (0, [[*PROD, "--require-approval", "never"]])
    assert account.protected


def test_a_stage_whose_data_go_with_it_is_made_at_once() -> None:
    assert deployed(Account(status=None), "-c", "stage=dev").deployments == [["-c", "stage=dev"]]


def test_a_stage_that_is_to_be_deleted_is_deployed_without_protection_and_left_so() -> None:
    assert deployed(Account(), *FIRST).deployments == [FIRST]
    assert deployed(Account(status=None, reserved={}), *FIRST).deployments == [FIRST]


def test_an_account_without_room_for_what_is_reserved_is_said_in_one_sentence_and_nothing_is_deployed() -> None:
    done = deployed(Account(status=None, reserved={}, others=850), *PROD)
    assert (done.status, done.deployments) == (1, [])
    (line,) = done.said
    assert "stage prod reserves 93 executions (tick 2, dispatch 16, api 50, callbacks 25)" in line
    assert "43 are missing" in line
    assert "reserved_concurrency=none" in line


def test_a_young_account_has_no_room_at_all() -> None:
    done = deployed(Account(status=None, reserved={}, quota=10), *PROD)
    assert (done.status, done.deployments) == (1, [])
    assert "183 are missing" in done.said[0]


def test_what_the_stage_holds_already_is_not_asked_for_again() -> None:
    account = Account(others=807)  # AWS's own hundred are left
    assert deployed(account, *PROD).status == 0


def test_what_one_function_gives_back_does_not_yet_serve_another() -> None:
    """Functions are changed in any order."""
    held = {"TickFunction": 2, "DispatchFunction": 6, "ApiFunction": 60, "CallbacksFunction": 25}
    account = Account(others=807, reserved=held)
    done = deployed(account, *PROD)
    assert (done.status, done.deployments) == (1, [])
    assert "10 are missing" in done.said[0]


def test_a_stage_that_reserves_nothing_asks_lambda_nothing() -> None:
    account = Account(status=None, reserved={}, quota=10)
    assert deployed(account, *PROD, "-c", "reserved_concurrency=none").status == 0
    assert "get_account_settings" not in account.asked


def test_what_a_deployment_keeps_by_itself_is_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / "prod.json").write_text('{"reserved_concurrency": "none"}')
    assert deployed(Account(status=None, reserved={}, quota=10), *PROD, settings=tmp_path).status == 0


@pytest.mark.parametrize(
    "refusal", [error("AccessDenied", "not authorized to perform: cloudformation:DescribeStacks"), NoCredentialsError()]
)
def test_a_deployment_without_the_right_to_look_says_what_was_not_checked_and_goes_on(refusal: Exception) -> None:
    done = deployed(Account(refuses=refusal), *PROD)
    assert (done.status, done.deployments) == (0, [PROD])
    (line,) = done.said
    assert line.startswith("not looked at beforehand: ")
    assert "deletion_protection=off" in line


def test_a_stage_that_is_none_is_refused_before_anything_is_asked() -> None:
    account = Account()
    done = deployed(account, "-c", "stage=qa")
    assert (done.status, done.deployments, account.asked) == (1, [], [])
    assert done.said[0].startswith("stage must be one of")
