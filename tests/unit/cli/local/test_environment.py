"""The child processes of the local stack can reach no AWS but the local one."""

from __future__ import annotations

from pathlib import Path

from botocore.compat import HAS_CRT

from duecourse.cli.local.emulator import environment

USERS = {
    "PATH": "/usr/bin",
    "HOME": "/home/someone",
    "AWS_PROFILE": "production",
    "AWS_SESSION_TOKEN": "real",
    "AWS_ENDPOINT_URL_SQS": "https://sqs.example",
    "CDK_DEFAULT_ACCOUNT": "123456789012",
    "DUECOURSE_API": "https://jobs.example",
    "HTTPS_PROXY": "http://proxy.example:3128",
    "NO_PROXY": "intra.example",
}


def test_nothing_that_leads_to_a_real_account_is_inherited(tmp_path: Path) -> None:
    found = environment.cdk(USERS, endpoint="http://127.0.0.1:4599", temporary=tmp_path)

    assert {"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_SQS", "CDK_DEFAULT_ACCOUNT"}.isdisjoint(found)
    assert found["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4599"
    assert found["AWS_ACCESS_KEY_ID"] == "test"
    assert found["AWS_CONFIG_FILE"] == found["AWS_SHARED_CREDENTIALS_FILE"] == "/dev/null"
    assert found["HOME"] == "/home/someone"
    assert found["CDK_HOME"] == str(tmp_path / "cdk-home")


def test_loopback_is_reached_without_the_users_proxy(tmp_path: Path) -> None:
    found = environment.base(USERS, tmp_path)

    assert found["NO_PROXY"] == found["no_proxy"] == "intra.example,127.0.0.1,localhost"
    assert found["HTTPS_PROXY"] == "http://proxy.example:3128"


def test_the_emulator_listens_on_loopback_only_and_writes_only_where_it_is_told(tmp_path: Path) -> None:
    found = environment.ministack(USERS, port=4599, state=tmp_path / "state", temporary=tmp_path / "tmp", kept=True)

    assert (found["BIND_HOST"], found["GATEWAY_PORT"]) == ("127.0.0.1", "4599")
    assert (found["IOT_MTLS_ENABLED"], found["SFTP_ENABLED"]) == ("0", "0")
    assert (found["PERSIST_STATE"], found["STATE_DIR"]) == ("1", str(tmp_path / "state"))
    assert (found["S3_PERSIST"], found["S3_DATA_DIR"]) == ("1", str(tmp_path / "state" / "s3"))
    assert found["DOCKER_HOST"] == f"unix://{tmp_path / 'tmp' / 'no-docker'}"
    assert found["TMPDIR"] == str(tmp_path / "tmp")


def test_the_functions_requests_are_signed_as_on_aws_where_there_is_no_awscrt(tmp_path: Path) -> None:
    found = environment.ministack(USERS, port=4599, state=tmp_path, temporary=tmp_path, kept=False)

    assert found["BOTO_DISABLE_CRT"] == "true"
    assert HAS_CRT is False  # in the tests, too
