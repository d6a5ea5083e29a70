"""CloudFormation's calls of the function of duecourse_cdk, with a clock that does not wait."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from botocore.session import Session

from duecourse_provider.api import Clock, Patience
from duecourse_provider.handler import respond

PATIENCE_SECONDS = 270.0
STACK, SECRET = "managed-by=stack:Billing", "arn:aws:secretsmanager:us-east-1:000000000000:secret:duecourse"
TOKEN_AUTH = {"Kind": "token", "Secret": SECRET}


@dataclass
class Secrets:
    """The part of botocore's session that the function uses: secrets and parameters by name."""

    values: Mapping[str, str]
    asked: list[str] = field(default_factory=list)

    def create_client(self, service: str) -> Secrets:
        self.asked.append(service)
        return self

    def get_secret_value(self, *, SecretId: str) -> dict[str, str]:  # noqa: N803 as AWS has it
        return {"SecretString": self.values[SecretId]}

    def get_parameter(self, *, Name: str, WithDecryption: bool) -> dict[str, Any]:  # noqa: N803 as AWS has it
        assert WithDecryption
        return {"Parameter": {"Value": self.values[Name]}}


@dataclass
class Passing:
    """A clock that is advanced by each sleep."""

    instant: float = 1_000.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.instant += seconds

    def patience(self, seconds: float = PATIENCE_SECONDS) -> Patience:
        clock = Clock(now=lambda: self.instant, sleep=self.sleep, spread=lambda: 0.5)
        return Patience(self.instant + seconds, clock)


def properties(
    api: str,
    job_id: str,
    document: Mapping[str, Any],
    *,
    kind: str = "jobs",
    stack: str = STACK,
    construct: str = "construct:one",
    auth: Mapping[str, str] = TOKEN_AUTH,
) -> dict[str, Any]:
    """Return the properties of a resource, as the constructs write them."""
    tags = [stack, construct]
    steps = {
        name: {**step, "job": {**step["job"], "tags": tags}} if "job" in step else step
        for name, step in document.get("jobs", {}).items()
    }
    whole = {**document, **({"jobs": steps} if steps else {}), "tags": tags}
    return {
        "Kind": kind,
        "Id": job_id,
        "Api": api,
        "Auth": dict(auth),
        "StackTag": stack,
        "ConstructTag": construct,
        "Document": json.dumps(whole),
    }


@dataclass
class Resource:
    """A resource of a stack from its creation on."""

    token: str = "deploys"
    logical_id: str = "NightlyJob0123"
    clock: Passing = field(default_factory=Passing)
    physical: str | None = None
    properties: dict[str, Any] = field(default_factory=dict)

    def deploy(self, wanted: dict[str, Any]) -> dict[str, str]:
        """Create the resource, or update it and delete the replaced one. Return the function's response to the first
        request.
        """
        if self.physical is None:
            answer = self.send("Create", wanted)
            self.physical, self.properties = answer["PhysicalResourceId"], wanted
            return answer
        answer = self.send("Update", wanted, OldResourceProperties=self.properties)
        if answer["Status"] == "SUCCESS":
            replaced, self.physical = self.physical, answer["PhysicalResourceId"]
            if replaced != self.physical:
                cleaned = self.send("Delete", self.properties, PhysicalResourceId=replaced)
                assert cleaned["Status"] == "SUCCESS", cleaned
            self.properties = wanted
        return answer

    def delete(self) -> dict[str, str]:
        return self.send("Delete", self.properties)

    def send(self, kind: str, wanted: dict[str, Any], **more: Any) -> dict[str, str]:
        event = {
            "RequestType": kind,
            "ResponseURL": "https://cloudformation.example/answer?signature=secret",
            "StackId": "arn:aws:cloudformation:us-east-1:000000000000:stack/Billing/1",
            "RequestId": "request",
            "LogicalResourceId": self.logical_id,
            "ResourceProperties": wanted,
            **({"PhysicalResourceId": self.physical} if self.physical else {}),
            **more,
        }
        return respond(event, self.clock.patience(), cast(Session, Secrets({SECRET: self.token})))
