"""Ports of the loopback interface, and environments of processes that can reach the local stack but not AWS."""

from __future__ import annotations

import random
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from duecourse.cli.terminal import UsageError

LOOPBACK = "127.0.0.1"
FOR_SERVERS = range(10_240, 32_768)
"""Systems use higher ports for outgoing connections (Linux from 32768, others from 49152). A connection could take such
a port before a server listens on it, or before the server's next start.
"""

ACCOUNT = "000000000000"
REGION = "us-east-1"
STAGE = "local"
STACK_NAME = f"Duecourse-{STAGE}"
DROPPED = ("AWS_", "CDK_", "DUECOURSE_", "MINISTACK_", "LAMBDA_", "LOCALSTACK_", "PYTEST_")
DIRECT = f"{LOOPBACK},localhost"


def free_port() -> int:
    """Return a port that is not in use, and that no outgoing connection will use."""
    return next(port for port in random.sample(FOR_SERVERS, len(FOR_SERVERS)) if not is_taken(port))


def is_taken(port: int) -> bool:
    """Return whether a server cannot listen on this port now. A port that was closed a moment ago is free."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
        return False


def require_free(port: int, remedy: str) -> int:
    """Return the port. Raises UsageError if it is in use."""
    if is_taken(port):
        raise UsageError(f"port {port} is taken: {remedy}")
    return port


def credentials(region: str = REGION) -> dict[str, str]:
    """Return the well-known test credentials. The user's profiles and files are not read."""
    return {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def without_proxy(inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that exclude loopback from the user's proxy."""
    no_proxy = ",".join(part for part in (inherited.get("NO_PROXY") or inherited.get("no_proxy"), DIRECT) if part)
    return {"NO_PROXY": no_proxy, "no_proxy": no_proxy}


def base(inherited: Mapping[str, str], temporary: Path, region: str = REGION) -> dict[str, str]:
    """Return the user's environment without the variables that could give access to a real account."""
    kept = {name: value for name, value in inherited.items() if not name.startswith(DROPPED)}
    path = f"{Path(sys.executable).parent}:{kept.get('PATH', '')}"
    return {
        **kept,
        **credentials(region),
        **without_proxy(kept),
        "PATH": path,
        "TMPDIR": str(temporary),
        "PYTHONUNBUFFERED": "1",
        "BOTO_DISABLE_CRT": "true",  # Lambda has no awscrt either; both must sign requests in the same way
    }


def ministack(
    inherited: Mapping[str, str], *, port: int, state: Path, temporary: Path, kept: bool, region: str = REGION
) -> dict[str, str]:
    """Return the environment of MiniStack, which listens on loopback only and stores its files in `state`. If it is
    `kept`, it also saves its state there.
    """
    return {
        **base(inherited, temporary, region),
        "BIND_HOST": LOOPBACK,
        "MINISTACK_HOST": LOOPBACK,
        "GATEWAY_PORT": str(port),
        "MINISTACK_REGION": region,
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "PERSIST_STATE": "1" if kept else "0",
        "STATE_DIR": str(state),
        "S3_PERSIST": "1",
        "S3_DATA_DIR": str(state / "s3"),
        "DOCKER_HOST": f"unix://{temporary / 'no-docker'}",  # MiniStack's removal of containers is not needed
    }


def cdk(inherited: Mapping[str, str], *, endpoint: str, temporary: Path, region: str = REGION) -> dict[str, str]:
    """Return the environment variables of the CDK CLI, with which it calls the local stack."""
    return {
        **base(inherited, temporary, region),
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ENDPOINT_URL_S3": endpoint,
        "CDK_HOME": str(temporary / "cdk-home"),  # otherwise the CLI uses ~/.cdk of the system's user and ignores HOME
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "CDK_VALIDATION": "false",  # CloudFormation's rules take ten seconds to load, and this stage is not for AWS
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
        "JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION": "20",
        "NODE_NO_WARNINGS": "1",
        "NO_COLOR": "1",
    }
