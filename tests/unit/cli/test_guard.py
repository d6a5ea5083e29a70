"""Whatever ends a long-running command, it is one line and an exit status."""

from __future__ import annotations

import errno
import signal

import click
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from click.testing import CliRunner, Result

from duecourse.cli.commands.guard import guarded
from duecourse.cli.terminal import UsageError
from duecourse.client import ApiError, ApiUnreachableError


def ended_by(error: BaseException | None, *, stopping_is_normal: bool = False) -> Result:
    @click.command()
    def command() -> None:
        with guarded(stopping_is_normal=stopping_is_normal):
            if error is None:
                signal.raise_signal(signal.SIGTERM)
            else:
                raise error

    return CliRunner().invoke(command)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UsageError("port 4599 is taken"), "port 4599 is taken"),
        (ApiError(409, {"title": "Conflict", "detail": "taken"}), "the API refused: 409 Conflict - taken"),
        (ApiUnreachableError("nothing answers at http://x"), "nothing answers at http://x"),
        (FileNotFoundError(2, "No such file or directory", "/x"), "No such file or directory /x"),
        (
            OSError(errno.ENOSPC, "No space left on device", "/x"),
            "No space left on device /x: free some space where the checkout and TMPDIR are, and start again",
        ),
        (
            OSError(errno.EROFS, "Read-only file system", "/x"),
            "Read-only file system /x: use a checkout, a HOME and a TMPDIR that you can write to",
        ),
        (
            OSError(errno.EADDRINUSE, "Address already in use"),
            "Address already in use: another program has taken the port: start again",
        ),
        (
            EndpointConnectionError(endpoint_url="http://x"),
            'the local stack did not answer as it should: Could not connect to the endpoint URL: "http://x"',
        ),
        (
            ClientError({"Error": {"Code": "Throttling", "Message": "slow"}}, "ReceiveMessage"),
            (
                "the local stack did not answer as it should: "
                "An error occurred (Throttling) when calling the ReceiveMessage operation: slow"
            ),
        ),
    ],
)
def test_a_failure_is_one_line(error: Exception, line: str) -> None:
    result = ended_by(error)

    assert result.exit_code in {1, 2}
    assert result.stderr == f"duecourse: {line}\n"


def test_a_signal_gives_the_status_that_a_shell_expects() -> None:
    assert ended_by(None).exit_code == 128 + signal.SIGTERM


def test_stopping_the_stack_that_stays_is_its_normal_end() -> None:
    assert ended_by(None, stopping_is_normal=True).exit_code == 0
