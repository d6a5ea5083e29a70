"""The bodies of requests. Written by scripts/client_code from openapi.json (`make openapi`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict


class AfterCompletion(TypedDict):
    """What happens to a job that has ended."""

    delete_after_seconds: int | None


class Allow(TypedDict):
    """Up to this number of runs are active at a time. Further runs wait in the wait queue."""

    allow: int


class AwsTarget(TypedDict):
    """One call to an AWS API."""

    type: Literal["aws"]
    service: str
    action: str
    parameters: NotRequired[Mapping[str, Any]]
    role: str


class AwsTargetPatch(TypedDict):
    """Some fields of AwsTarget."""

    type: NotRequired[Literal["aws"]]
    service: NotRequired[str | None]
    action: NotRequired[str | None]
    parameters: NotRequired[Mapping[str, Any] | None]
    role: NotRequired[str | None]


class BasicAuth(TypedDict):
    """Basic authentication with a user name and a password."""

    type: Literal["basic"]
    username: str
    secret: str


class BasicAuthPatch(TypedDict):
    """Some fields of BasicAuth."""

    type: NotRequired[Literal["basic"]]
    username: NotRequired[str | None]
    secret: NotRequired[str | None]


class Breaker(TypedDict):
    """A circuit breaker that attempts of several jobs share. While the target fails, runs wait."""

    key: NotRequired[str | None]
    failures: int
    open_seconds: NotRequired[int]


class Concurrency(TypedDict):
    """A limit that runs of several jobs share. Further runs wait for a place."""

    key: str
    limit: int
    priority: NotRequired[int]


class EcsTarget(TypedDict):
    """A Fargate task."""

    type: Literal["ecs"]
    cluster: str
    task_definition: str
    container: str
    subnets: list[str] | tuple[str, ...]
    security_groups: NotRequired[list[str] | tuple[str, ...]]
    public_ip: NotRequired[bool]


class EcsTargetPatch(TypedDict):
    """Some fields of EcsTarget."""

    type: NotRequired[Literal["ecs"]]
    cluster: NotRequired[str | None]
    task_definition: NotRequired[str | None]
    container: NotRequired[str | None]
    subnets: NotRequired[list[str] | tuple[str, ...] | None]
    security_groups: NotRequired[list[str] | tuple[str, ...] | None]
    public_ip: NotRequired[bool | None]


class EventBridgeTarget(TypedDict):
    """An event bus of the stage's own account and region."""

    type: Literal["eventbridge"]
    bus: str
    source: NotRequired[str]
    detail_type: NotRequired[str]


class EventBridgeTargetPatch(TypedDict):
    """Some fields of EventBridgeTarget."""

    type: NotRequired[Literal["eventbridge"]]
    bus: NotRequired[str | None]
    source: NotRequired[str | None]
    detail_type: NotRequired[str | None]


class HttpTarget(TypedDict):
    """An HTTP endpoint."""

    type: Literal["http"]
    url: str
    method: NotRequired[Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]]
    headers: NotRequired[Mapping[str, str]]
    expect: NotRequired[list[str | int] | tuple[str | int, ...]]
    sign: NotRequired[Sign | None]
    auth: NotRequired[BasicAuth | OAuth | OidcAuth | None]


class HttpTargetPatch(TypedDict):
    """Some fields of HttpTarget."""

    type: NotRequired[Literal["http"]]
    url: NotRequired[str | None]
    method: NotRequired[Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] | None]
    headers: NotRequired[Mapping[str, str | None] | None]
    expect: NotRequired[list[str | int] | tuple[str | int, ...] | None]
    sign: NotRequired[SignPatch | None]
    auth: NotRequired[BasicAuthPatch | OAuthPatch | OidcAuthPatch | None]


class JobPatch(TypedDict):
    """Some fields of a job."""

    schedule: NotRequired[str | list[str] | tuple[str, ...] | None]
    timezone: NotRequired[str | None]
    dst_gap: NotRequired[Literal["next", "skip"] | None]
    dst_fold: NotRequired[Literal["first", "second", "both"] | None]
    anchor: NotRequired[datetime | str | None]
    start: NotRequired[datetime | str | None]
    end: NotRequired[datetime | str | None]
    exclude: NotRequired[list[str] | tuple[str, ...] | None]
    calendar: NotRequired[str | list[str] | tuple[str, ...] | None]
    on_excluded: NotRequired[Literal["skip", "previous", "next"] | None]
    name: NotRequired[str | None]
    owner: NotRequired[str | None]
    description: NotRequired[str | None]
    runbook_url: NotRequired[str | None]
    jitter_seconds: NotRequired[int | None]
    spread: NotRequired[Spread | None]
    max_runs: NotRequired[int | None]
    ping_url: NotRequired[str | None]
    payload: NotRequired[Any]
    priority: NotRequired[Literal["high", "normal", "low"] | None]
    start_deadline_seconds: NotRequired[int | None]
    start_within_seconds: NotRequired[int | None]
    finish_by: NotRequired[int | str | None]
    on_deadline: NotRequired[Literal["notify", "cancel"] | None]
    pause_on_failure: NotRequired[int | None]
    missed: NotRequired[MissedPatch | None]
    overlap: NotRequired[Literal["skip", "queue", "newest", "replace", "allow"] | Queue | Allow]
    events: NotRequired[Sequence[Literal["deaths", "failures", "late", "deadlines", "all"]] | None]
    notify: NotRequired[Sequence[Notify] | None]
    tags: NotRequired[list[str] | tuple[str, ...] | None]
    id: NotRequired[str | None]
    target: NotRequired[
        HttpTargetPatch
        | LambdaTargetPatch
        | SqsTargetPatch
        | SnsTargetPatch
        | EventBridgeTargetPatch
        | StepFunctionsTargetPatch
        | EcsTargetPatch
        | AwsTargetPatch
        | TaskTargetPatch
        | None
    ]
    task: NotRequired[str | None]
    expect_every: NotRequired[int | None]
    timeout_seconds: NotRequired[int | None]
    estimated_seconds: NotRequired[int | None]
    completion: NotRequired[Literal["response", "callback"] | None]
    completion_seconds: NotRequired[int | None]
    heartbeat_seconds: NotRequired[int | None]
    retry: NotRequired[RetryPatch | None]
    precision: NotRequired[Literal["second", "exact"] | None]
    concurrency: NotRequired[Concurrency | None]
    results: NotRequired[ResultLocation | None]
    rate: NotRequired[Rate | None]
    breaker: NotRequired[Breaker | None]
    delivery: NotRequired[Literal["at_least_once", "at_most_once"] | None]
    after_completion: NotRequired[AfterCompletion | None]
    idempotency_key: NotRequired[str | None]


class JobRequest(TypedDict):
    """A job as posted. `task` is an abbreviation for a target of type task, and is expanded before validation."""

    schedule: str | list[str] | tuple[str, ...] | None
    timezone: NotRequired[str]
    dst_gap: NotRequired[Literal["next", "skip"]]
    dst_fold: NotRequired[Literal["first", "second", "both"]]
    anchor: NotRequired[datetime | str | None]
    start: NotRequired[datetime | str | None]
    end: NotRequired[datetime | str | None]
    exclude: NotRequired[list[str] | tuple[str, ...]]
    calendar: NotRequired[str | list[str] | tuple[str, ...] | None]
    on_excluded: NotRequired[Literal["skip", "previous", "next"]]
    name: NotRequired[str]
    owner: NotRequired[str]
    description: NotRequired[str]
    runbook_url: NotRequired[str | None]
    jitter_seconds: NotRequired[int]
    spread: NotRequired[Spread | None]
    max_runs: NotRequired[int | None]
    ping_url: NotRequired[str | None]
    payload: NotRequired[Any]
    priority: NotRequired[Literal["high", "normal", "low"]]
    start_deadline_seconds: NotRequired[int | None]
    start_within_seconds: NotRequired[int | None]
    finish_by: NotRequired[int | str | None]
    on_deadline: NotRequired[Literal["notify", "cancel"]]
    pause_on_failure: NotRequired[int | None]
    missed: NotRequired[Missed]
    overlap: NotRequired[Literal["skip", "queue", "newest", "replace", "allow"] | Queue | Allow]
    events: NotRequired[Sequence[Literal["deaths", "failures", "late", "deadlines", "all"]]]
    notify: NotRequired[Sequence[Notify]]
    tags: NotRequired[list[str] | tuple[str, ...]]
    id: NotRequired[str | None]
    target: NotRequired[
        HttpTarget
        | LambdaTarget
        | SqsTarget
        | SnsTarget
        | EventBridgeTarget
        | StepFunctionsTarget
        | EcsTarget
        | AwsTarget
        | TaskTarget
    ]
    task: NotRequired[str | None]
    expect_every: NotRequired[int | None]
    timeout_seconds: NotRequired[int]
    estimated_seconds: NotRequired[int | None]
    completion: NotRequired[Literal["response", "callback"]]
    completion_seconds: NotRequired[int | None]
    heartbeat_seconds: NotRequired[int | None]
    retry: NotRequired[Retry]
    precision: NotRequired[Literal["second", "exact"] | None]
    concurrency: NotRequired[Concurrency | None]
    results: NotRequired[ResultLocation | None]
    rate: NotRequired[Rate | None]
    breaker: NotRequired[Breaker | None]
    delivery: NotRequired[Literal["at_least_once", "at_most_once"]]
    after_completion: NotRequired[AfterCompletion | None]
    idempotency_key: NotRequired[str | None]


class LambdaTarget(TypedDict):
    """A Lambda function of the stage's own account and region."""

    type: Literal["lambda"]
    function: str
    mode: NotRequired[Literal["sync", "async"]]


class LambdaTargetPatch(TypedDict):
    """Some fields of LambdaTarget."""

    type: NotRequired[Literal["lambda"]]
    function: NotRequired[str | None]
    mode: NotRequired[Literal["sync", "async"] | None]


class LimitBreaker(TypedDict):
    """The settings of the circuit breaker of the key."""

    failures: int
    open_seconds: NotRequired[int]


class LimitRate(TypedDict):
    """The rate of the attempts with the key."""

    per_minute: int
    burst: NotRequired[int]


class Missed(TypedDict):
    """The policy for occurrences that were not enqueued in time."""

    policy: NotRequired[Literal["skip", "run_once", "run_all"]]
    grace_seconds: NotRequired[int]
    max_missed: NotRequired[int]


class MissedPatch(TypedDict):
    """Some fields of Missed."""

    policy: NotRequired[Literal["skip", "run_once", "run_all"] | None]
    grace_seconds: NotRequired[int | None]
    max_missed: NotRequired[int | None]


class Notify(TypedDict):
    """Notices that are delivered to one target."""

    on: Sequence[Literal["dead", "late", "missed", "recovered", "paused", "deadline"]]
    to: NotifyTarget


class NotifyTarget(TypedDict):
    """The job whose run delivers a notice as its payload."""

    job: str
    format: NotRequired[Literal["json", "slack", "teams"]]


class OAuth(TypedDict):
    """An access token that Duecourse requests with client credentials and caches."""

    type: Literal["oauth"]
    token_url: str
    client_id: str
    secret: str
    scope: NotRequired[str | None]
    audience: NotRequired[str | None]
    credentials: NotRequired[Literal["header", "body"]]


class OAuthPatch(TypedDict):
    """Some fields of OAuth."""

    type: NotRequired[Literal["oauth"]]
    token_url: NotRequired[str | None]
    client_id: NotRequired[str | None]
    secret: NotRequired[str | None]
    scope: NotRequired[str | None]
    audience: NotRequired[str | None]
    credentials: NotRequired[Literal["header", "body"] | None]


class OidcAuth(TypedDict):
    """A token that the stage signs. Its `sub` is <tenant>/<job>."""

    type: Literal["oidc"]
    audience: str


class OidcAuthPatch(TypedDict):
    """Some fields of OidcAuth."""

    type: NotRequired[Literal["oidc"]]
    audience: NotRequired[str | None]


class Queue(TypedDict):
    """Runs wait in the wait queue, up to this number."""

    queue: int


class Rate(TypedDict):
    """A rate that attempts of several jobs share. Further runs wait."""

    key: str
    per_minute: int
    burst: NotRequired[int]


class ResultLocation(TypedDict):
    """The bucket that receives the results. The stage must allow it."""

    bucket: str
    prefix: NotRequired[str | None]


class Retry(TypedDict):
    """The number of attempts, the wait between them, and the failures that are retried."""

    max_attempts: NotRequired[int]
    backoff: NotRequired[Literal["exponential", "linear", "fixed"]]
    min_seconds: NotRequired[float]
    max_seconds: NotRequired[float]
    on: NotRequired[list[str | int] | tuple[str | int, ...] | None]
    never: NotRequired[list[str | int] | tuple[str | int, ...]]
    max_age_seconds: NotRequired[int | None]


class RetryPatch(TypedDict):
    """Some fields of Retry."""

    max_attempts: NotRequired[int | None]
    backoff: NotRequired[Literal["exponential", "linear", "fixed"] | None]
    min_seconds: NotRequired[float | None]
    max_seconds: NotRequired[float | None]
    on: NotRequired[list[str | int] | tuple[str | int, ...] | None]
    never: NotRequired[list[str | int] | tuple[str | int, ...] | None]
    max_age_seconds: NotRequired[int | None]


class RunRequest(TypedDict):
    """A run to start: now, at the time `at`, or after `delay_seconds`. `payload` replaces the job's payload for all
    attempts of this run; null is a valid payload.
    """

    payload: NotRequired[Any]
    at: NotRequired[str | None]
    delay_seconds: NotRequired[int | None]


class Sign(TypedDict):
    """The tenant's secret that signs the calls."""

    secret: str


class SignPatch(TypedDict):
    """Some fields of Sign."""

    secret: NotRequired[str | None]


class SnsTarget(TypedDict):
    """A topic of the stage's own account and region."""

    type: Literal["sns"]
    topic: str
    subject: NotRequired[str | None]
    group: NotRequired[str | None]


class SnsTargetPatch(TypedDict):
    """Some fields of SnsTarget."""

    type: NotRequired[Literal["sns"]]
    topic: NotRequired[str | None]
    subject: NotRequired[str | None]
    group: NotRequired[str | None]


class Spread(TypedDict):
    """The range of minutes after each occurrence from which a quiet minute is chosen, and the chosen minute."""

    within_minutes: int
    offset_minutes: NotRequired[int | None]


class SqsTarget(TypedDict):
    """A queue of the stage's own account and region."""

    type: Literal["sqs"]
    queue: str
    group: NotRequired[str | None]


class SqsTargetPatch(TypedDict):
    """Some fields of SqsTarget."""

    type: NotRequired[Literal["sqs"]]
    queue: NotRequired[str | None]
    group: NotRequired[str | None]


class Step(TypedDict):
    """A step of a workflow, and the conditions of its start."""

    job: NotRequired[StepJob | None]
    job_id: NotRequired[str | None]
    after: NotRequired[list[str] | tuple[str, ...]]
    when: NotRequired[Literal["all_success", "all_done", "any_success", "any_failure", "none_failed"]]
    may_fail: NotRequired[bool]
    not_before: NotRequired[str | None]
    only: NotRequired[str | None]


class StepFunctionsTarget(TypedDict):
    """A state machine of the stage's own account and region."""

    type: Literal["stepfunctions"]
    machine: str


class StepFunctionsTargetPatch(TypedDict):
    """Some fields of StepFunctionsTarget."""

    type: NotRequired[Literal["stepfunctions"]]
    machine: NotRequired[str | None]


class StepJob(TypedDict):
    """The job of a step. It has no id and no schedule."""

    name: NotRequired[str]
    owner: NotRequired[str]
    description: NotRequired[str]
    runbook_url: NotRequired[str | None]
    ping_url: NotRequired[str | None]
    payload: NotRequired[Any]
    priority: NotRequired[Literal["high", "normal", "low"]]
    start_deadline_seconds: NotRequired[int | None]
    pause_on_failure: NotRequired[int | None]
    overlap: NotRequired[Literal["skip", "queue", "newest", "replace", "allow"] | Queue | Allow]
    events: NotRequired[Sequence[Literal["deaths", "failures", "late", "deadlines", "all"]]]
    notify: NotRequired[Sequence[Notify]]
    tags: NotRequired[list[str] | tuple[str, ...]]
    target: NotRequired[
        HttpTarget
        | LambdaTarget
        | SqsTarget
        | SnsTarget
        | EventBridgeTarget
        | StepFunctionsTarget
        | EcsTarget
        | AwsTarget
        | TaskTarget
    ]
    task: NotRequired[str | None]
    timeout_seconds: NotRequired[int]
    estimated_seconds: NotRequired[int | None]
    completion: NotRequired[Literal["response", "callback"]]
    completion_seconds: NotRequired[int | None]
    heartbeat_seconds: NotRequired[int | None]
    retry: NotRequired[Retry]
    precision: NotRequired[Literal["second", "exact"] | None]
    concurrency: NotRequired[Concurrency | None]
    results: NotRequired[ResultLocation | None]
    rate: NotRequired[Rate | None]
    breaker: NotRequired[Breaker | None]
    delivery: NotRequired[Literal["at_least_once", "at_most_once"]]
    after_completion: NotRequired[AfterCompletion | None]
    idempotency_key: NotRequired[str | None]


class TaskTarget(TypedDict):
    """A target that the operator has registered."""

    type: Literal["task"]
    name: str


class TaskTargetPatch(TypedDict):
    """Some fields of TaskTarget."""

    type: NotRequired[Literal["task"]]
    name: NotRequired[str | None]


class WorkflowRequest(TypedDict):
    """A workflow as posted: its schedule and its steps."""

    schedule: str | list[str] | tuple[str, ...] | None
    timezone: NotRequired[str]
    dst_gap: NotRequired[Literal["next", "skip"]]
    dst_fold: NotRequired[Literal["first", "second", "both"]]
    anchor: NotRequired[datetime | str | None]
    start: NotRequired[datetime | str | None]
    end: NotRequired[datetime | str | None]
    exclude: NotRequired[list[str] | tuple[str, ...]]
    calendar: NotRequired[str | list[str] | tuple[str, ...] | None]
    on_excluded: NotRequired[Literal["skip", "previous", "next"]]
    name: NotRequired[str]
    owner: NotRequired[str]
    description: NotRequired[str]
    runbook_url: NotRequired[str | None]
    jitter_seconds: NotRequired[int]
    spread: NotRequired[Spread | None]
    max_runs: NotRequired[int | None]
    ping_url: NotRequired[str | None]
    payload: NotRequired[Any]
    priority: NotRequired[Literal["high", "normal", "low"]]
    start_deadline_seconds: NotRequired[int | None]
    start_within_seconds: NotRequired[int | None]
    finish_by: NotRequired[int | str | None]
    on_deadline: NotRequired[Literal["notify", "cancel"]]
    pause_on_failure: NotRequired[int | None]
    missed: NotRequired[Missed]
    overlap: NotRequired[Literal["skip", "queue", "newest", "replace", "allow"] | Queue | Allow]
    events: NotRequired[Sequence[Literal["deaths", "failures", "late", "deadlines", "all"]]]
    notify: NotRequired[Sequence[Notify]]
    tags: NotRequired[list[str] | tuple[str, ...]]
    deadline_seconds: NotRequired[int]
    jobs: Mapping[str, Step]
