"""The CDK CLI's output in a few short lines."""

from __future__ import annotations

from duecourse.cli.local.deployment import CdkProgress

STACK = "Duecourse-local"


def told(*lines: str) -> list[str]:
    said: list[str] = []
    progress = CdkProgress(said.append)
    for line in lines:
        progress.line(line)
    return said


def resource(done: int, total: int, status: str = "CREATE_COMPLETE") -> str:
    return f"{STACK} | {done:2}/{total} | 9:31:04 AM | {status:<20} | AWS::SQS::Queue                 | lane (lane1)"


def test_resources_are_told_by_quarters() -> None:
    assert told(*(resource(done, 8) for done in range(1, 9))) == [
        f"{done} of 8 resources, now AWS::SQS::Queue" for done in (2, 4, 6, 8)
    ]


def test_an_update_that_counts_too_far_is_told_once() -> None:
    assert len(told(*(resource(done, 8) for done in range(8, 20)))) == 1


def test_the_steps_of_a_deployment_are_told() -> None:
    assert told(
        "Synthesis time: 5.87s",
        f"{STACK}: success: Published api/Code",
        f"{STACK}: success: Published template",
        f"{STACK}: creating CloudFormation changeset...",
        "Outputs:",
    ) == ["synthesised in 6 s", "2 assets published"]


def test_a_deployment_without_changes_says_so() -> None:
    assert told(f"{STACK} (no changes)") == ["nothing has changed"]


def test_failures_are_told_as_they_are() -> None:
    assert told(resource(3, 8, "CREATE_FAILED"), "Error: no such stack")[-1] == "Error: no such stack"
    assert "CREATE_FAILED" in told(resource(1, 8, "CREATE_FAILED"))[0]
