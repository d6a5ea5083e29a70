"""What the functions of a local stack have logged."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from duecourse_cli.local import aws
from duecourse_cli.local.environment import STACK_NAME

PREFIX = f"/aws/lambda/{STACK_NAME}-"


def logged(endpoint: str, function: str, limit: int) -> Iterator[str]:
    """The last lines of every function whose name contains the word, oldest first."""
    logs = aws.client(endpoint, "logs")
    found: list[tuple[int, str, str]] = []
    for page in logs.get_paginator("describe_log_groups").paginate(logGroupNamePrefix=PREFIX):
        for group in page["logGroups"]:
            name = group["logGroupName"].removeprefix(PREFIX)
            if function.casefold() in name.casefold():
                for events in logs.get_paginator("filter_log_events").paginate(logGroupName=group["logGroupName"]):
                    found += [(event["timestamp"], name, event["message"].rstrip()) for event in events["events"]]
    for timestamp, name, message in sorted(found, key=lambda event: event[0])[-limit:]:
        yield f"{datetime.fromtimestamp(timestamp / 1000, UTC):%H:%M:%S.%f} {name}  {message}"
