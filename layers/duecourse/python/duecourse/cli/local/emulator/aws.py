"""AWS calls to the local endpoint that only the demo and the local stack need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from duecourse.cli.local.emulator.environment import REGION, STACK_NAME
from duecourse.cli.terminal import CliError

ERROR_BYTES = 2_000
"""The maximum length of a failed function's response in the error."""

READ_SECONDS = 120
"""The emulator responds within milliseconds, but creates a stack in one request, which can take long on a busy machine.
"""
NOTHING_OF_THE_USERS = {
    "profile": (None, None, None, None),
    "config_file": (None, None, "/dev/null", None),
    "credentials_file": (None, None, "/dev/null", None),
}

PREFIX = f"{STACK_NAME}-"


def client(endpoint: str, service: str, region: str = REGION) -> Any:
    """Return a boto3 client that can only reach the local endpoint."""
    import botocore.session
    from botocore.config import Config

    session = botocore.session.Session(session_vars=NOTHING_OF_THE_USERS)
    session.set_credentials("test", "test")
    retries = {"mode": "standard", "max_attempts": 3}
    config = Config(retries=retries, connect_timeout=5, read_timeout=READ_SECONDS, proxies={})
    return session.create_client(service, region_name=region, endpoint_url=endpoint, config=config)


def stack(endpoint: str, name: str, region: str = REGION) -> Mapping[str, Any] | None:
    """Return CloudFormation's description of a complete stack, or None if there is none."""
    from botocore.exceptions import ClientError

    try:
        (found,) = client(endpoint, "cloudformation", region).describe_stacks(StackName=name)["Stacks"]
    except ClientError:
        return None
    complete: bool = found["StackStatus"] in {"CREATE_COMPLETE", "UPDATE_COMPLETE"}
    return found if complete else None


def template(endpoint: str, name: str, region: str = REGION) -> Any:
    """Return the template of an existing stack."""
    return client(endpoint, "cloudformation", region).get_template(StackName=name)["TemplateBody"]


def invoke(endpoint: str, function: str, payload: bytes = b"{}") -> None:
    """Invoke a function and wait for its end. Raises CliError if it fails."""
    answer = client(endpoint, "lambda").invoke(FunctionName=function, Payload=payload)
    told = answer["Payload"].read()  # read to the end to release the connection
    if "FunctionError" in answer:
        raise CliError(f"the function {function} failed: {told[:ERROR_BYTES].decode(errors='replace')}")


def logged(endpoint: str, function: str, limit: int) -> Iterator[str]:
    """Yield the last lines of every function whose name contains the text, oldest first. Raises CliError if there is
    no such function.
    """
    logs = client(endpoint, "logs")
    groups = dict(_log_groups(client(endpoint, "lambda")))
    chosen = [name for name in groups if function.casefold() in name.casefold()]
    if not chosen:
        raise CliError(f"no function is named {function}; the functions are {', '.join(sorted(groups))}")
    found: list[tuple[int, str, str]] = []
    for name in chosen:
        for page in logs.get_paginator("filter_log_events").paginate(logGroupName=groups[name]):
            found += [(event["timestamp"], name, event["message"].rstrip()) for event in page["events"]]
    for timestamp, name, message in sorted(found, key=lambda event: event[0])[-limit:]:
        yield f"{datetime.fromtimestamp(timestamp / 1000, UTC):%H:%M:%S} {name}  {message}"


def _log_groups(functions: Any) -> Iterator[tuple[str, str]]:
    """Yield the short name and the log group of each function of the stack."""
    for page in functions.get_paginator("list_functions").paginate():
        for function in page["Functions"]:
            name = function["FunctionName"]
            if name.startswith(PREFIX):
                group = function.get("LoggingConfig", {}).get("LogGroup") or f"/aws/lambda/{name}"
                yield name.removeprefix(PREFIX).split("Function", 1)[0], group
