"""The targets that runs call, and the outcomes of calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class LambdaMode(StrEnum):
    """The way in which a function is called. SYNC waits for the function's response. ASYNC succeeds when Lambda has
    accepted the event.
    """

    SYNC = "sync"
    ASYNC = "async"


class Credentials(StrEnum):
    """The part of a token request that contains the client's credentials (RFC 6749, section 2.3.1)."""

    HEADER = "header"
    BODY = "body"


@dataclass(frozen=True, slots=True)
class BasicAuth:
    """Basic authentication (RFC 7617). `secret` is the name of the secret with the password."""

    username: str
    secret: str


@dataclass(frozen=True, slots=True)
class OAuth:
    """An access token for client credentials (RFC 6749, section 4.4). `secret` is the name of the secret with the
    client secret. `audience` is a parameter that some authorization servers need.
    """

    token_url: str
    client_id: str
    secret: str
    scope: str | None = None
    audience: str | None = None
    credentials: Credentials = Credentials.HEADER


@dataclass(frozen=True, slots=True)
class OidcAuth:
    """A token that the stage signs for this audience (domain.targets.oidc)."""

    audience: str


Auth = BasicAuth | OAuth | OidcAuth


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """An HTTP endpoint.

    `headers` are pairs, so that the target stays hashable and ordered. Their values may contain secrets
    (`{{secret:name}}`). `expect`: the statuses that count as success, such as `2xx` or `404`. `sign` is the name of the
    secret for the signatures of calls. `auth` determines the `Authorization` header. `via` is the connector that sends
    the requests from a private network.
    """

    url: str
    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = ()
    expect: tuple[str, ...] = ("2xx",)
    sign: str | None = None
    auth: Auth | None = None
    via: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    """A function that sends requests from a private network: its name in AWS, the tenants whose jobs may use it (`*`:
    all), and the patterns of hosts and the networks (CIDR) that it may call (domain.targets.connectors).
    """

    name: str
    function: str
    tenants: tuple[str, ...]
    hosts: tuple[str, ...]
    cidrs: tuple[str, ...]


Connectors = Mapping[str, Connector]
"""The connectors of a stage by name. The one named `*` has all other names too (`duecourse.testing`)."""

CONNECTOR_UNAVAILABLE = "connector_unavailable"
"""The code of a failed call whose connector did not answer. The target may be healthy."""


@dataclass(frozen=True, slots=True)
class LambdaTarget:
    """A Lambda function in the stage's account and region, by name. `qualifier` is its version or alias. `log`: the end
    of its log is stored with the run, if it is called with SYNC.
    """

    function: str
    mode: LambdaMode = LambdaMode.SYNC
    qualifier: str | None = None
    log: bool = False


@dataclass(frozen=True, slots=True)
class SqsTarget:
    """A queue in the stage's account and region, by name. `group` (a template) is the message group of a FIFO queue."""

    queue: str
    group: str | None = None


@dataclass(frozen=True, slots=True)
class SnsTarget:
    """A topic in the stage's account and region, by name. `group` (a template) is the message group of a FIFO topic,
    `subject` (a template) the subject of e-mails.
    """

    topic: str
    subject: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class EventBridgeTarget:
    """An event bus in the stage's account and region, by name."""

    bus: str
    source: str
    detail_type: str


@dataclass(frozen=True, slots=True)
class StepFunctionsTarget:
    """A state machine in the stage's account and region, by name. The name of the execution is derived from the
    attempt.
    """

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
    """One call to an AWS API, such as `ecs` / `UpdateService`, with the assumed `role` (a role's name in this account).

    `parameters` are the parameters of the request. Their strings may be templates.
    """

    service: str
    action: str
    parameters: Any
    role: str


MAX_REPORT_TAGS = 5
"""The maximum number of tags in a report. The report, its tags included, is stored in the record of the run."""

MAX_REPORT_HOURS = 168
"""The maximum length of a report's window: a week."""


@dataclass(frozen=True, slots=True)
class ReportTarget:
    """A report about the runs of all jobs with one of the `tags`, in the `hours` before the run. None: since the
    previous occurrence.
    """

    tags: tuple[str, ...]
    hours: int | None = None


@dataclass(frozen=True, slots=True)
class TaskTarget:
    """A target that the operator has registered under a name. It is looked up at each call."""

    name: str


@dataclass(frozen=True, slots=True)
class WorkflowTarget:
    """A graph of jobs, by its hash. The run waits until its steps have ended."""

    graph: str


CallableTarget = (
    HttpTarget
    | LambdaTarget
    | SqsTarget
    | SnsTarget
    | EventBridgeTarget
    | StepFunctionsTarget
    | EcsTarget
    | AwsTarget
    | ReportTarget
)
"""Targets that can be called without a lookup."""

Target = CallableTarget | TaskTarget | WorkflowTarget


MAX_RETRY_AFTER_SECONDS = 86_400
"""The longest delay (seconds) that a target can require. Longer ones count as this delay."""


class ExecutionService(StrEnum):
    """The AWS services whose executions a run can follow until their end."""

    STATES = "states"
    ECS = "ecs"
    LAMBDA = "lambda"
    BATCH = "batch"
    GLUE = "glue"
    CODEBUILD = "codebuild"


@dataclass(frozen=True, slots=True)
class Execution:
    """Work that a call has started in an AWS service, and that ends after the call.

    `id` identifies it there: an ARN (states, ecs, lambda, codebuild), a job's id (batch), or a job's name and a run's
    id (glue: `nightly/jr_1`). `role` is the role that was assumed for the call (None: the workers' own role).
    """

    service: ExecutionService
    id: str
    role: str | None = None

    def __str__(self) -> str:
        return f"{self.service} {self.role or '-'} {self.id}"

    @classmethod
    def parse(cls, text: str) -> Execution:
        """Return the execution of a text of `str`. Raises ValueError."""
        service, role, identity = text.split(" ", 2)
        return cls(ExecutionService(service), identity, None if role == "-" else role)


@dataclass(frozen=True, slots=True)
class Returned:
    """The call succeeded. `result` is the target's response (serializable as JSON, of limited size). `execution` is the
    work that the call has started, if it can be followed until its end. `log` is the end of the target's log.
    """

    result: object = None
    execution: Execution | None = None
    log: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Failed:
    """The call failed.

    - `error`: recorded and shown to the tenant.
    - `code`: the type of failure for the job's retry rules: `http.503`, `timeout`, `connection`, an AWS error code, or
      the type of a function's exception.
    - `retryable`: the adapter's default for this failure.
    - `forbidden`: the target forbids another attempt.
    - `retry_after`: the delay (seconds) that the target requires.
    - `detail`: an AWS service's message, only for the operator's log. It contains names of accounts and resources that
      do not belong to the tenant.
    - `log`: the end of the target's log.
    """

    error: str
    retryable: bool = True
    retry_after: float | None = None
    code: str = "error"
    forbidden: bool = False
    detail: str | None = None
    log: str | None = field(default=None, repr=False)


Outcome = Returned | Failed
