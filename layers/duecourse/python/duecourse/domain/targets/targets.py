"""What a run calls."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class LambdaMode(StrEnum):
    """SYNC waits for the function's response; ASYNC succeeds when Lambda has accepted the event."""

    SYNC = "sync"
    ASYNC = "async"


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """An HTTP endpoint. `headers` are pairs, so that the whole stays hashable and ordered; their values may name
    secrets (`{{secret:name}}`). `expect`: the statuses that count as success, such as `2xx` or `404`. `sign` names the
    secret that calls are signed with.
    """

    url: str
    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = ()
    expect: tuple[str, ...] = ("2xx",)
    sign: str | None = None


@dataclass(frozen=True, slots=True)
class LambdaTarget:
    """A Lambda function of the stage's own account and region, by name."""

    function: str
    mode: LambdaMode = LambdaMode.SYNC


@dataclass(frozen=True, slots=True)
class SqsTarget:
    """A queue of the stage's own account and region, by name. `group` (a template) is a FIFO queue's message group."""

    queue: str
    group: str | None = None


@dataclass(frozen=True, slots=True)
class SnsTarget:
    """A topic of the stage's own account and region, by name. `group` (a template) is a FIFO topic's message group,
    `subject` (a template) the subject of e-mails.
    """

    topic: str
    subject: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class EventBridgeTarget:
    """An event bus of the stage's own account and region, by name."""

    bus: str
    source: str
    detail_type: str


@dataclass(frozen=True, slots=True)
class StepFunctionsTarget:
    """A state machine of the stage's own account and region, by name; the execution is named after the attempt."""

    machine: str


@dataclass(frozen=True, slots=True)
class EcsTarget:
    """One Fargate task of a cluster. `container` receives the event as the environment variable DUECOURSE_EVENT."""

    cluster: str
    task_definition: str
    container: str
    subnets: tuple[str, ...]
    security_groups: tuple[str, ...] = ()
    public_ip: bool = False


@dataclass(frozen=True, slots=True)
class AwsTarget:
    """One call of an AWS API, such as `ecs` / `UpdateService`, by the assumed `role` (a role's name in this account).

    `parameters` are the request's, with templates in their strings.
    """

    service: str
    action: str
    parameters: Any
    role: str


@dataclass(frozen=True, slots=True)
class TaskTarget:
    """A target that the operator has registered under a name; looked up at each call."""

    name: str


@dataclass(frozen=True, slots=True)
class WorkflowTarget:
    """A graph of jobs, by its hash: its run waits until they have ended."""

    graph: str


CallableTarget = (
    HttpTarget | LambdaTarget | SqsTarget | SnsTarget | EventBridgeTarget | StepFunctionsTarget | EcsTarget | AwsTarget
)
"""Targets that can be called without a look-up."""

Target = CallableTarget | TaskTarget | WorkflowTarget


@dataclass(frozen=True, slots=True)
class Returned:
    """The call succeeded; `result` is the target's response (JSON-able, already bounded)."""

    result: object = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The call failed. `code` names the kind of failure for the job's retry rules: `http.503`, `timeout`, `connection`,
    an AWS error code, the type of a function's exception. `retryable` is the adapter's default for it. With `forbidden`
    the target forbids a further attempt; with `retry_after` (seconds) it asks for a delay. `error` is recorded and
    shown to the tenant. `detail` is an AWS service's own message, only for the operator's log: it names accounts and
    resources that are not the tenant's.
    """

    error: str
    retryable: bool = True
    retry_after: float | None = None
    code: str = "error"
    forbidden: bool = False
    detail: str | None = None


Outcome = Returned | Failed
