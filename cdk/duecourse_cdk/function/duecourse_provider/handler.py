"""The Lambda function. It handles an event of CloudFormation and sends the response to the event's URL."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import Session

from duecourse_provider.api import Api, Clock, Patience, RefusedError
from duecourse_provider.apply import NotOursError, Wanted, delete, make_way, put, remove
from duecourse_provider.credentials import CredentialsError, authorizer

logger = logging.getLogger("duecourse_provider")

MARGIN_SECONDS = 30.0
"""The time that is reserved for the response to CloudFormation, which would wait an hour for a missing response."""
TIDY_SECONDS = 30.0
"""The maximum time to remove the remains of a failed creation."""
REASON_LENGTH = 1500
"""The maximum length of a reason. A response has at most 4,096 bytes (AWS CloudFormation User Guide, "Custom resource
response objects").
"""
FAILED = "failed:"
"""The prefix of the physical id of a resource that could not be created. Its deletion must succeed; otherwise a
rollback would never end.
"""

Event = Mapping[str, Any]
Known = (RefusedError, NotOursError, CredentialsError, BotoCoreError, ClientError)


def handler(event: Event, context: Any) -> None:
    """The entry point of the Lambda function."""
    clock = Clock()
    patience = Patience(clock.now() + context.get_remaining_time_in_millis() / 1000 - MARGIN_SECONDS, clock)
    answer = respond(event, patience, Session())
    _log(event, answer)
    report(event["ResponseURL"], answer, Patience(patience.until + MARGIN_SECONDS, clock))


def respond(event: Event, patience: Patience, aws: Session) -> dict[str, str]:
    """Handle the event. Return the response for CloudFormation, also after an error."""
    try:
        physical, reason = _ACTIONS[event["RequestType"]](event, patience, aws)
        return _answer(event, "SUCCESS", physical, reason)
    except Known as error:
        reason = str(error)
    except Exception as error:
        # CloudFormation needs a response after every error.
        logger.exception("unexpected")
        reason = f"unexpected {type(error).__name__}; see the function's log for details"
    wanted = str(event["ResourceProperties"].get("Id"))
    physical = event.get("PhysicalResourceId") or FAILED + wanted
    deletes = event["RequestType"] == "Delete"
    if deletes and physical.startswith(FAILED):
        return _answer(event, "SUCCESS", physical, f"{wanted} was not created; an existing resource is kept: {reason}")
    hint = _DELETE_HINT.format(name=event["LogicalResourceId"]) if deletes else ""
    return _answer(event, "FAILED", physical, f"{wanted}: {reason}{hint}")


_DELETE_HINT = (
    ". Correct this and delete the stack again, or keep the "
    "job: aws cloudformation delete-stack --retain-resources {name} --stack-name ..."
)


def report(url: str, answer: Mapping[str, str], patience: Patience) -> None:
    """Send the response to CloudFormation. Raises RuntimeError if CloudFormation rejects it; Lambda then invokes the
    function again.
    """
    try:
        # The URL is signed for a request without a content type.
        Api(url, patience).send("PUT", "", json.dumps(answer).encode(), content_type="")
    except RefusedError as refused:  # its text contains the URL, and anyone with the URL can send a response
        raise RuntimeError(f"CloudFormation did not accept the response: {refused.status}") from None


def _create(event: Event, patience: Patience, aws: Session) -> tuple[str, str]:
    wanted = Wanted.of(event["ResourceProperties"])
    put(_api(event, patience, aws), wanted)
    return wanted.id, "created"


def _update(event: Event, patience: Patience, aws: Session) -> tuple[str, str]:
    """Handle an update. With a new id, the resource is a new one, and CloudFormation then deletes the old one."""
    wanted, before = Wanted.of(event["ResourceProperties"]), Wanted.of(event["OldResourceProperties"])
    api = _api(event, patience, aws)
    if before.steps and wanted.id != before.id:
        make_way(api, wanted, before)
    put(api, wanted)
    delete(api, sorted(before.steps - wanted.steps), before.construct)
    return wanted.id, "updated"


def _delete(event: Event, patience: Patience, aws: Session) -> tuple[str, str]:
    physical, wanted = event["PhysicalResourceId"], Wanted.of(event["ResourceProperties"])
    if physical.startswith(FAILED):
        patience = patience.at_most(TIDY_SECONDS)
    else:
        wanted = replace(wanted, id=physical)
    kept = remove(_api(event, patience, aws), wanted)
    return physical, f"deleted; not changed: {', '.join(kept)}" if kept else "deleted"


_ACTIONS: Mapping[str, Callable[[Event, Patience, Session], tuple[str, str]]] = {
    "Create": _create,
    "Update": _update,
    "Delete": _delete,
}


def _api(event: Event, patience: Patience, aws: Session) -> Api:
    properties = event["ResourceProperties"]
    return Api(str(properties["Api"]).rstrip("/"), patience, authorizer(properties["Auth"], patience, aws))


def _answer(event: Event, status: str, physical: str, reason: str) -> dict[str, str]:
    same = {name: str(event[name]) for name in ("StackId", "RequestId", "LogicalResourceId")}
    return {**same, "Status": status, "PhysicalResourceId": physical, "Reason": reason[:REASON_LENGTH]}


def _log(event: Event, answer: Mapping[str, str]) -> None:
    """Log one line. Never log the event: its ResponseURL allows anyone to respond, and its document has the payload."""
    said = {name: answer[name] for name in ("Status", "PhysicalResourceId", "Reason", "StackId", "LogicalResourceId")}
    sys.stdout.write(json.dumps({"request": event["RequestType"], **said}) + "\n")
