"""What the functions of a local stack have logged."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from duecourse_cli.local.emulator import aws
from duecourse_cli.local.emulator.environment import STACK_NAME

PREFIX = f"{STACK_NAME}-"


def logged(endpoint: str, function: str, limit: int) -> Iterator[str]:
    """The last lines of every function whose name contains the word, oldest first."""
    logs = aws.client(endpoint, "logs")
    found: list[tuple[int, str, str]] = []
    for name, group in _log_groups(aws.client(endpoint, "lambda")):
        if function.casefold() in name.casefold():
            for page in logs.get_paginator("filter_log_events").paginate(logGroupName=group):
                found += [(event["timestamp"], name, event["message"].rstrip()) for event in page["events"]]
    for timestamp, name, message in sorted(found, key=lambda event: event[0])[-limit:]:
        yield f"{datetime.fromtimestamp(timestamp / 1000, UTC):%H:%M:%S} {name}  {message}"


def _log_groups(functions: Any) -> Iterator[tuple[str, str]]:
    """Each function of the stack by its short name, with the group that it logs to."""
    for page in functions.get_paginator("list_functions").paginate():
        for function in page["Functions"]:
            name = function["FunctionName"]
            if name.startswith(PREFIX):
                group = function.get("LoggingConfig", {}).get("LogGroup") or f"/aws/lambda/{name}"
                yield name.removeprefix(PREFIX).split("Function", 1)[0], group
