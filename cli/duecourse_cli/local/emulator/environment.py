"""The environments of the processes on this machine: they can reach the local stack and nothing else of AWS."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from duecourse_cli.local.emulator.ports import LOOPBACK

ACCOUNT = "000000000000"
REGION = "us-east-1"
STAGE = "local"
STACK_NAME = f"Duecourse-{STAGE}"
DROPPED = ("AWS_", "CDK_", "DUECOURSE_", "MINISTACK_", "LAMBDA_", "LOCALSTACK_", "PYTEST_")
DIRECT = f"{LOOPBACK},localhost"


def credentials() -> dict[str, str]:
    """The well-known test credentials; no profile or file of the user's is read."""
    return {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def base(inherited: Mapping[str, str], temporary: Path) -> dict[str, str]:
    """What the user's environment says, without anything that could lead to a real account."""
    kept = {name: value for name, value in inherited.items() if not name.startswith(DROPPED)}
    no_proxy = ",".join(part for part in (kept.get("NO_PROXY") or kept.get("no_proxy"), DIRECT) if part)
    path = f"{Path(sys.executable).parent}:{kept.get('PATH', '')}"
    return {
        **kept,
        **credentials(),
        "NO_PROXY": no_proxy,
        "no_proxy": no_proxy,
        "PATH": path,
        "TMPDIR": str(temporary),
        "PYTHONUNBUFFERED": "1",
        "BOTO_DISABLE_CRT": "true",  # Lambda has no awscrt: the functions' requests are signed here as they are there
    }


def ministack(inherited: Mapping[str, str], *, port: int, state: Path, temporary: Path, kept: bool) -> dict[str, str]:
    """MiniStack on loopback only, with its files in `state`; what it knows is saved there when it is `kept`."""
    return {
        **base(inherited, temporary),
        "BIND_HOST": LOOPBACK,
        "MINISTACK_HOST": LOOPBACK,
        "GATEWAY_PORT": str(port),
        "MINISTACK_REGION": REGION,
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "PERSIST_STATE": "1" if kept else "0",
        "STATE_DIR": str(state),
        "S3_PERSIST": "1",
        "S3_DATA_DIR": str(state / "s3"),
        "DOCKER_HOST": f"unix://{temporary / 'no-docker'}",  # its container sweeps are none of our business
    }


def cdk(inherited: Mapping[str, str], *, endpoint: str, temporary: Path) -> dict[str, str]:
    """The CDK CLI, sent to the local stack."""
    return {
        **base(inherited, temporary),
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ENDPOINT_URL_S3": endpoint,
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "CDK_VALIDATION": "false",  # CloudFormation's rules take ten seconds to load; this stage is not for AWS
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
        "JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION": "20",
        "NODE_NO_WARNINGS": "1",
        "NO_COLOR": "1",
    }
