"""AWS calls to the local endpoint, for what only the demo and the local stack need."""

from __future__ import annotations

from typing import Any

from duecourse_cli.local.environment import REGION

READ_SECONDS = 120
"""The emulator answers within milliseconds, but a stack is created within one request, be the machine ever so busy."""
NOTHING_OF_THE_USERS = {
    "profile": (None, None, None, None),
    "config_file": (None, None, "/dev/null", None),
    "credentials_file": (None, None, "/dev/null", None),
}


def client(endpoint: str, service: str) -> Any:
    """A boto3 client that can only reach the local endpoint."""
    import botocore.session
    from botocore.config import Config

    session = botocore.session.Session(session_vars=NOTHING_OF_THE_USERS)
    session.set_credentials("test", "test")
    retries = {"mode": "standard", "max_attempts": 3}
    config = Config(retries=retries, connect_timeout=5, read_timeout=READ_SECONDS, proxies={})
    return session.create_client(service, region_name=REGION, endpoint_url=endpoint, config=config)


def stack_exists(endpoint: str, name: str) -> bool:
    """Whether a stack of that name is complete."""
    from botocore.exceptions import ClientError

    try:
        found = client(endpoint, "cloudformation").describe_stacks(StackName=name)["Stacks"]
    except ClientError:
        return False
    return any(stack["StackStatus"] in {"CREATE_COMPLETE", "UPDATE_COMPLETE"} for stack in found)


def invoke(endpoint: str, function: str, payload: bytes = b"{}") -> None:
    """Invoke a function and do not wait for its answer."""
    answer = client(endpoint, "lambda").invoke(FunctionName=function, InvocationType="Event", Payload=payload)
    answer["Payload"].read()  # to its end, though it is empty: only then is the connection given back
