"""The commands take profile, region and credentials as `aws` and `cdk` do."""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from click.testing import CliRunner

from duecourse.cli.main import main
from duecourse.worker import Worker
from tests.support.http_target import answering, http_target

SESSION = "arn:aws:iam::123456789012:user/someone"
ALL_OF_AWS = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Nothing but a profile with a region of its own."""
    for name in ALL_OF_AWS:
        monkeypatch.delenv(name, raising=False)
    config = tmp_path / "config"
    config.write_text("[default]\nregion = eu-west-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return config


def doctor() -> None:
    CliRunner().invoke(main, ["doctor", "--stage", "prod"])


def restore_table() -> None:
    CliRunner().invoke(main, ["restore-table", "restored", "own"])


def work() -> None:
    with pytest.raises(ClientError):
        Worker("tasks", "https://jobs.example")


def sign() -> None:
    CliRunner().invoke(main, ["jobs", "list", "--sign"])


COMMANDS = (doctor, restore_table, work, sign)


def signed_by(monkeypatch: pytest.MonkeyPatch, command: Callable[[], object]) -> str:
    """Key and region of the first request of a command."""
    refused = b'{"__type": "AccessDenied", "message": "no"}'
    with http_target(answering(403, refused)) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url("").rstrip("/"))
        monkeypatch.setenv("DUECOURSE_API", server.url("").rstrip("/"))
        command()
        (credential,) = re.findall("Credential=([^,]*)", dict(server.seen[0].headers)["Authorization"])
    key, _, region, *_ = credential.split("/")
    return f"{key} {region}"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("variables", "region"),
    [
        ({}, "eu-west-1"),
        ({"AWS_DEFAULT_REGION": "eu-south-1"}, "eu-south-1"),
        ({"AWS_REGION": "eu-central-1"}, "eu-central-1"),
        ({"AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "eu-south-1"}, "eu-central-1"),
        ({"AWS_REGION": ""}, "eu-west-1"),
    ],
)
def test_aws_session_aws_region_takes_precedence_over_all_other_regions(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], region: str, command: Callable[[], None]
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert signed_by(monkeypatch, command) == f"AKIDEXAMPLE {region}"


@pytest.fixture
def logged_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own: Path) -> None:
    """What `aws login` leaves behind."""
    own.write_text(f"[default]\nregion = eu-west-1\nlogin_session = {SESSION}\n")
    expires = datetime.now(UTC) + timedelta(hours=1)
    token: dict[str, Any] = {
        "accessToken": {
            "accessKeyId": "ASIALOGGEDIN",
            "secretAccessKey": "secret",
            "sessionToken": "token",
            "accountId": "123456789012",
            "expiresAt": expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
        "refreshToken": "refresh",
        "clientId": "arn:aws:signin:::devtools/same-device",
        "dpopKey": "key",
    }
    (tmp_path / f"{hashlib.sha256(SESSION.encode()).hexdigest()}.json").write_text(json.dumps(token))
    monkeypatch.setenv("AWS_LOGIN_CACHE_DIRECTORY", str(tmp_path))


def in_a_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A command as it is installed: the tests themselves go without awscrt, as the functions do."""
    own = {name: value for name, value in os.environ.items() if name != "BOTO_DISABLE_CRT"}
    return subprocess.run([sys.executable, *arguments], env=own, capture_output=True, text=True, check=False)


DUECOURSE = ("-c", "from duecourse.cli.main import main; main()")


@pytest.mark.parametrize(
    "arguments",
    [
        (*DUECOURSE, "doctor", "--stage", "prod"),
        (*DUECOURSE, "jobs", "list", "--sign"),
        (*DUECOURSE, "restore-table", "restored", "own"),
    ],
)
def test_aws_session_from_aws_login_requires_no_keys(
    monkeypatch: pytest.MonkeyPatch, logged_in: None, arguments: tuple[str, ...]
) -> None:
    assert signed_by(monkeypatch, lambda: in_a_process(*arguments)) == "ASIALOGGEDIN eu-west-1"


@pytest.mark.parametrize("command", [("doctor", "--stage", "prod"), ("jobs", "list", "--sign")])
def test_aws_session_expired_login_is_reported_on_one_line(
    monkeypatch: pytest.MonkeyPatch, logged_in: None, own: Path, command: tuple[str, ...]
) -> None:
    own.write_text(own.read_text().replace(SESSION, "somebody else"))
    monkeypatch.setenv("DUECOURSE_API", "https://jobs.example")
    done = in_a_process(*DUECOURSE, *command)
    assert done.returncode == 2
    assert "aws login" in done.stderr
    assert done.stderr.count("\n") == 1
