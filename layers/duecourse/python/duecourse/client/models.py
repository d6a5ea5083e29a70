"""What the API answers. Written by scripts/client_code from openapi.json (`make openapi`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from duecourse.client.reading import Answer, HeartbeatExtras, RunExtras


@dataclass(frozen=True, kw_only=True)
class Accepted(Answer):
    """The worker will decide; the run is shown as it is now."""

    run: Run
    accepted: Literal["complete", "fail", "cancel", "redrive"]


@dataclass(frozen=True, kw_only=True)
class Alarm(Answer):
    """An alarm that rings."""

    name: str
    since: datetime | None
    """When it began to ring."""
    description: str
    runbook: str | None
    """The page of the documentation, with its section."""


@dataclass(frozen=True, kw_only=True)
class Alarms(Answer):
    """The stage's alarms: how many there are, how many have no data to judge, and those that ring."""

    count: int
    without_data: int
    ringing: tuple[Alarm, ...]


@dataclass(frozen=True, kw_only=True)
class Attempt(Answer):
    """One attempt of a run."""

    number: int
    started_at: datetime | None
    """UTC, to the millisecond."""
    ended_at: datetime | None
    """Null while it lasts, and if nobody saw its end."""
    outcome: Literal["succeeded", "failed", "lost", "cancelled"] | None
    """Null while it lasts."""
    error: str | None
    """Its first 200 characters."""
    code: str | None


@dataclass(frozen=True, kw_only=True)
class AwsTargetShown(Answer):
    """One call of an AWS API."""

    type: Literal["aws"]
    service: str
    action: str
    parameters: Mapping[str, Any]
    role: str
    """The name of a role in this account and region: 1 to 64 letters, digits and _ + = , . @ -, no ARN; one that the
    stage allows.
    """


@dataclass(frozen=True, kw_only=True)
class Backfill(Answer):
    """What a backfill is, or would be."""

    dry_run: bool
    count: int
    first: datetime | None
    """The oldest occurrence."""
    last: datetime | None
    """The newest occurrence."""
    newest_first: bool
    pace_seconds: int
    starts_at: datetime
    """UTC, to the second where it has no fraction."""
    ends_at: datetime | None
    """When the last one starts."""
    estimated_cost_usd: float
    suffix: str | None
    """What the ids of its runs end in; null where none were started."""


@dataclass(frozen=True, kw_only=True)
class Batch(Answer):
    """What became of each, in their order."""

    items: tuple[BatchItem, ...]


@dataclass(frozen=True, kw_only=True)
class BatchItem(Answer):
    """What became of one job: `job` and `etag`, or `problem`."""

    status: int
    job: Job | None
    etag: str | None
    problem: Problem | None


@dataclass(frozen=True, kw_only=True)
class Bucket(Answer):
    """The runs that come due in a step."""

    at: datetime
    """When the step begins."""
    runs: int
    jobs: tuple[UpcomingJob, ...]
    """Those with the most runs in it."""


@dataclass(frozen=True, kw_only=True)
class Change(Answer):
    """Who did what to a job."""

    at: datetime
    """UTC, to the millisecond."""
    principal: str
    """The token's subject, an IAM ARN, `local`; `duecourse`: nobody asked."""
    action: str
    revision: int | None
    """The job's after it; null for what is asked of single runs."""
    changes: tuple[ChangedField, ...]
    facts: Mapping[str, Any]
    """What was asked of its runs: how many, which."""


@dataclass(frozen=True, kw_only=True)
class ChangedField(Answer):
    """A field that changed: without values where they are long or not shown (payload, headers, parameters)."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, kw_only=True)
class ChangedJobs(Answer):
    """What became of many jobs; `next_cursor` goes on."""

    changed: int
    failed: tuple[str, ...]
    """Those that others changed at the same moment, again and again."""
    next_cursor: str | None


@dataclass(frozen=True, kw_only=True)
class Check(Answer):
    """What a look at one thing came to. `do` is the first step where there is one."""

    name: str
    verdict: Literal["ok", "warning", "bad", "unknown"]
    says: str
    do: str | None
    runbook: str | None
    """The page of the documentation, with its section."""


@dataclass(frozen=True, kw_only=True)
class Counts(Answer):
    """How many of its jobs succeeded, failed, did not run since one before them failed or the run was over (`cut`),
    had nothing to do (`skipped`); are due or at work, wait, or will not run any more.
    """

    succeeded: int
    failed: int
    aborted: int
    skipped: int
    due: int
    waiting: int
    left: int


@dataclass(frozen=True, kw_only=True)
class DeadCount(Answer):
    """How many dead runs there are, or at least."""

    count: int
    at_least: bool


@dataclass(frozen=True, kw_only=True)
class Dispatch(Answer):
    """How far the shards are: by how many seconds each watermark is behind where it could stand."""

    shards: int
    watermarks_behind_seconds: Mapping[str, int | None]


@dataclass(frozen=True, kw_only=True)
class EcsTargetShown(Answer):
    """A Fargate task."""

    type: Literal["ecs"]
    cluster: str
    """The name of a cluster in this account and region: 1 to 255 letters, digits, - and _, no ARN; one that the stage
    allows.
    """
    task_definition: str
    """The name of a task definition in this account and region: 1 to 255 letters, digits, - and _, with :<revision>
    after it for one other than the latest, no ARN; one that the stage allows.
    """
    container: str
    subnets: tuple[str, ...]
    security_groups: tuple[str, ...]
    public_ip: bool


@dataclass(frozen=True, kw_only=True)
class Error(Answer):
    """One thing that is wrong: a pointer (RFC 6901) into the body, or the name of a query parameter or header."""

    detail: str
    pointer: str | None
    parameter: str | None
    header: str | None


@dataclass(frozen=True, kw_only=True)
class EventBridgeTargetShown(Answer):
    """An event bus of the stage's own account and region."""

    type: Literal["eventbridge"]
    bus: str
    """The name of an event bus in this account and region: 1 to 256 letters, digits, . _ / and -, no ARN; one that the
    stage allows.
    """
    source: str
    detail_type: str


@dataclass(frozen=True, kw_only=True)
class Explained(Answer):
    """Why a job ran at an instant, or did not."""

    at: datetime
    """UTC, to the second where it has no fraction."""
    verdict: Literal[
        "fired",
        "running",
        "queued",
        "skipped",
        "paused",
        "cancelled",
        "deleted",
        "not_an_occurrence",
        "excluded",
        "gap",
        "fold",
        "before_start",
        "after_end",
        "before_creation",
        "max_runs",
        "completed",
        "future",
        "late",
        "waits",
        "lost",
        "expired",
        "changed",
        "unclear",
    ]
    sentence: str
    facts: Mapping[str, Any]
    """What the sentence is made of."""
    run: Run | None
    """The record that says so."""
    nearest: Nearest


@dataclass(frozen=True, kw_only=True)
class Figures(Answer):
    """Figures of all tenants together, oldest first. Steps without a value are left out."""

    since: datetime
    """When the first step began."""
    step_seconds: int
    lateness: tuple[Lateness, ...]
    outcomes: tuple[Outcomes, ...]
    oldest_message_seconds: Mapping[str, float | None]
    """By lane, the age of its oldest message; null where SQS has told none in ten minutes."""


@dataclass(frozen=True, kw_only=True)
class Health(Answer):
    """Whether the clock ticks. `tick` and `dispatch` are for callers with the scope ops."""

    status: Literal["ok", "late"]
    tick: Tick | None
    dispatch: Dispatch | None


@dataclass(frozen=True, kw_only=True)
class HttpTargetShown(Answer):
    """An HTTP endpoint."""

    type: Literal["http"]
    url: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]
    headers: Mapping[str, str]
    expect: tuple[str, ...]
    """Statuses (404) or classes of them (2xx) that are a success."""
    sign: Sign | None


@dataclass(frozen=True, kw_only=True)
class Job(Answer):
    """A job as it is kept: what was posted with the defaults filled in, and what became of it."""

    schedule: str | None
    """Cron with five fields, or six with seconds first; @daily and the like; rate(5 minutes); at(2026-12-31T09:00:00);
    EventBridge's cron(...); an ISO-8601 instant; R/start/period. Null: it runs only when it is asked to.
    """
    timezone: str
    """An IANA zone."""
    dst_gap: Literal["next", "skip"]
    dst_fold: Literal["first", "second", "both"]
    anchor: datetime | None
    """UTC."""
    start: datetime | None
    """UTC."""
    end: datetime | None
    """UTC."""
    name: str
    owner: str
    """Who answers for it: a team, a person."""
    description: str
    """What it is for, in a line."""
    runbook_url: str | None
    """What to do when it fails."""
    exclude: tuple[str, ...]
    """Instants, dates and ranges of dates (2026-12-24/2027-01-06) without runs."""
    jitter_seconds: int
    max_runs: int | None
    payload: Any
    """Any JSON up to 200 KB that the target gets; its strings are templates ({{due_at}})."""
    priority: Literal["high", "normal", "low"]
    start_deadline_seconds: int | None
    pause_on_failure: int | None
    missed: MissedShown
    overlap: Literal["skip", "queue", "newest", "replace", "allow"] | Mapping[str, Any]
    events: tuple[Literal["deaths", "failures", "late", "all"], ...]
    """Which outcomes go to the event bus."""
    tags: tuple[str, ...]
    id: str
    target: Mapping[str, Any]
    timeout_seconds: int
    estimated_seconds: int | None
    completion: Literal["response", "callback"]
    completion_seconds: int | None
    heartbeat_seconds: int | None
    retry: RetryShown
    precision: Literal["second", "exact"]
    delivery: Literal["at_least_once", "at_most_once"]
    idempotency_key: str | None
    """A template; the same for every attempt of a run."""
    tenant: str
    state: Literal["ACTIVE", "PAUSED", "COMPLETED"]
    understood_as: str | None
    """The schedule in words."""
    schedule_canonical: str | None
    """One spelling for each meaning."""
    next_occurrence: datetime | None
    """The next one to come due, whoever has enqueued it."""
    paused_by: str | None
    """Who paused it; null where Duecourse did it by itself."""
    paused_because: str | None
    """Why it is paused: the note, or what Duecourse found."""
    created_at: datetime
    """UTC, to the millisecond."""
    updated_at: datetime
    """UTC, to the millisecond."""
    error: str | None
    """Why it does not run, where its schedule is understood no more."""
    workflow: str | None
    """The workflow that it was put into."""


@dataclass(frozen=True, kw_only=True)
class JobCount(Answer):
    """How many jobs there are and may be."""

    count: int
    quota: int
    left: int


@dataclass(frozen=True, kw_only=True)
class LambdaTargetShown(Answer):
    """A Lambda function of the stage's own account and region."""

    type: Literal["lambda"]
    function: str
    """The name of a function in this account and region: 1 to 64 letters, digits, - and _, no ARN; one that the stage
    allows.
    """
    mode: Literal["sync", "async"]


@dataclass(frozen=True, kw_only=True)
class LaneDepth(Answer):
    """How full a lane is, all tenants together (SQS counts approximately)."""

    waiting: int
    in_flight: int
    delayed: int


@dataclass(frozen=True, kw_only=True)
class Lateness(Answer):
    """How late the runs of a step began."""

    at: datetime
    """When the step began."""
    median_seconds: float
    """Half of the runs began within this time."""
    p99_seconds: float
    """99 of 100 began within this time."""


@dataclass(frozen=True, kw_only=True)
class Limits(Answer):
    """What else is limited."""

    smallest_interval_seconds: int
    backfill: int


@dataclass(frozen=True, kw_only=True)
class MissedShown(Answer):
    """What becomes of occurrences that nobody enqueued in time."""

    policy: Literal["skip", "run_once", "run_all"]
    grace_seconds: int
    max_missed: int


@dataclass(frozen=True, kw_only=True)
class Nearest(Answer):
    """The occurrences next to an instant, by the job's present schedule."""

    before: datetime | None
    """UTC, to the second where it has no fraction."""
    after: datetime | None
    """UTC, to the second where it has no fraction."""


@dataclass(frozen=True, kw_only=True)
class Occurrence(Answer):
    """One occurrence, or the times of one gap that were dropped (`at` is null then)."""

    at: datetime | None
    """UTC, to the second where it has no fraction."""
    wall: str
    """What the zone's clock shows then, with its offset."""
    mark: Literal["moved", "dropped", "repeated"] | None
    named: str | None
    """The time in the gap that the schedule names; only when moved."""
    count: int


@dataclass(frozen=True, kw_only=True)
class Outcomes(Answer):
    """What became of the runs of a step."""

    at: datetime
    """When the step began."""
    succeeded: int
    retried: int
    """Failed attempts that were followed by another one."""
    dead: int


@dataclass(frozen=True, kw_only=True)
class Preview(Answer):
    """What a schedule means and what comes next."""

    understood_as: str
    canonical: str
    occurrences: tuple[Occurrence, ...]
    tzdata: str
    """The version of the time zones it was computed with."""


@dataclass(frozen=True, kw_only=True)
class Problem(Answer):
    """A refusal (RFC 9457). Compare the last part of `type`, show `detail`."""

    type: str
    title: str
    status: int
    detail: str
    errors: tuple[Error, ...]
    request_id: str


@dataclass(frozen=True, kw_only=True)
class Queue(Answer):
    """Runs wait in the wait queue, up to so many."""

    queue: int


@dataclass(frozen=True, kw_only=True)
class Redriven(Answer):
    """How many dead runs were sent again, or would be (`dry_run`), and where to go on."""

    dry_run: bool
    redriven: int
    refused: int
    more: bool
    next_cursor: str | None


@dataclass(frozen=True, kw_only=True)
class RequestRate(Answer):
    """How often the tenant may ask."""

    per_second: int
    burst: int
    left: int


@dataclass(frozen=True, kw_only=True)
class RetryShown(Answer):
    """How often, how long to wait in between, and which failures are worth it."""

    max_attempts: int
    backoff: Literal["exponential", "linear", "fixed"]
    min_seconds: float
    max_seconds: float
    on: tuple[str, ...] | None
    """Statuses (503), classes of them (5xx), codes (timeout) or patterns (Throttling*)."""
    never: tuple[str, ...]
    """Statuses (503), classes of them (5xx), codes (timeout) or patterns (Throttling*)."""
    max_age_seconds: int | None


@dataclass(frozen=True, kw_only=True)
class RunPayload(Answer):
    """What a run sends to its target."""

    payload: Any
    """With its templates filled in, but for `callback_token`."""
    idempotency_key: str | None
    own: bool
    """Whether it was given when the run was asked for; else it is the job's."""
    changed: bool
    """Whether the job was changed after the attempt began, which may have sent another one."""
    problem: str | None
    """Why it cannot be told; then there is no payload."""


@dataclass(frozen=True, kw_only=True)
class Sign(Answer):
    """With which secret of the tenant's calls are signed."""

    secret: str


@dataclass(frozen=True, kw_only=True)
class Skipped(Answer):
    """What will not run."""

    items: tuple[Run, ...]


@dataclass(frozen=True, kw_only=True)
class SnsTargetShown(Answer):
    """A topic of the stage's own account and region."""

    type: Literal["sns"]
    topic: str
    """The name of a topic in this account and region: 1 to 256 letters, digits, - and _ (.fifo at its end), no ARN;
    one that the stage allows.
    """
    subject: str | None
    group: str | None


@dataclass(frozen=True, kw_only=True)
class SqsTargetShown(Answer):
    """A queue of the stage's own account and region."""

    type: Literal["sqs"]
    queue: str
    """The name of a queue in this account and region: 1 to 80 letters, digits, - and _ (.fifo at its end), no ARN; one
    that the stage allows.
    """
    group: str | None


@dataclass(frozen=True, kw_only=True)
class Stage(Answer):
    """What the stage is, and the first look at it."""

    stage: str
    version: str
    region: str
    auth: Literal["none", "iam", "jwt"]
    """How callers are known."""
    default_precision: Literal["second", "exact"]
    shards: int
    checks: tuple[Check, ...]
    """In the order in which a run is made."""
    alarms: Alarms | None
    """Null where they cannot be read: a check says why."""


@dataclass(frozen=True, kw_only=True)
class StageMetrics(Answer):
    """What CloudWatch keeps of the stage."""

    figures: Figures | None
    """Null where they cannot be read."""
    error: str | None
    """Why they cannot be read."""


@dataclass(frozen=True, kw_only=True)
class Stats(Answer):
    """What the tenant has and may still do, and how busy the stage is. `dispatch` is for callers with the scope ops."""

    jobs: JobCount
    dead_runs: DeadCount
    requests: RequestRate
    limits: Limits
    lanes: Mapping[str, LaneDepth | None]
    status: Literal["ok", "late"]
    tick: Tick
    dispatch: Dispatch | None


@dataclass(frozen=True, kw_only=True)
class StepFunctionsTarget(Answer):
    """A state machine of the stage's own account and region."""

    type: Literal["stepfunctions"]
    machine: str
    """The name of a state machine in this account and region: 1 to 80 letters, digits, - and _, no ARN; one that the
    stage allows.
    """


@dataclass(frozen=True, kw_only=True)
class StepRun(Answer):
    """A job in a run of its workflow."""

    id: str
    state: (
        Literal["QUEUED", "RUNNING", "WAITING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"]
        | Literal["WAITS", "DUE", "LEFT"]
    )
    """The state of its run. Without a record: WAITS, DUE, LEFT if the workflow's run is over, or how it counts if a
    rerun carried it over.
    """
    reason: str | None
    run: str | None
    """Null if it has no record, or if its record has changed since it was carried over."""
    carried_over: bool
    """A rerun did not run it again: its outcome is that of `run`."""
    after: tuple[str, ...]
    when: Literal["all_success", "all_done", "any_success", "any_failure", "none_failed"]
    waits_for: tuple[str, ...]
    """Those before it that have not ended, while it waits."""
    attempts: int
    started_at: datetime | None
    """UTC, to the millisecond."""
    finished_at: datetime | None
    """UTC, to the millisecond."""
    code: str | None
    """The kind of its last failure, such as http.503 or timeout."""
    error: str | None


@dataclass(frozen=True, kw_only=True)
class TaskTarget(Answer):
    """A target that the operator has registered."""

    type: Literal["task"]
    name: str


@dataclass(frozen=True, kw_only=True)
class Tick(Answer):
    """The last tick of the clock; null before the first."""

    last: datetime | None
    """UTC, to the second where it has no fraction."""
    age_seconds: float | None


@dataclass(frozen=True, kw_only=True)
class Upcoming(Answer):
    """The coming runs of some jobs. Add up the pages for those of all."""

    from_: datetime
    """UTC, to the second where it has no fraction."""
    to: datetime
    """UTC, to the second where it has no fraction."""
    step: int
    """Seconds."""
    buckets: tuple[Bucket, ...]
    """Those with runs, in order of time."""
    runs: int
    jobs: int
    """How many jobs were looked at."""
    paused: int
    """How many of them are paused: they have no runs to come."""
    late: int
    """How many have a run that was due 60 s ago and is in no lane yet."""
    late_jobs: tuple[str, ...]
    """The first of them."""
    uncounted: int
    """How many do not fire: their place in the schedule cannot be read."""
    uncounted_jobs: tuple[str, ...]
    """The first of them."""
    next_cursor: str | None


@dataclass(frozen=True, kw_only=True)
class UpcomingJob(Answer):
    """A job, and how many of its runs come due."""

    id: str
    runs: int


@dataclass(frozen=True, kw_only=True)
class WorkflowJob(Answer):
    """A job of a workflow, and when it starts."""

    after: tuple[str, ...]
    when: Literal["all_success", "all_done", "any_success", "any_failure", "none_failed"]
    may_fail: bool
    not_before: str | None
    only: str | None


@dataclass(frozen=True, kw_only=True)
class WorkflowSummary(Answer):
    """A workflow without its jobs."""

    schedule: str | None
    """Cron with five fields, or six with seconds first; @daily and the like; rate(5 minutes); at(2026-12-31T09:00:00);
    EventBridge's cron(...); an ISO-8601 instant; R/start/period. Null: it runs only when it is asked to.
    """
    timezone: str
    """An IANA zone."""
    dst_gap: Literal["next", "skip"]
    dst_fold: Literal["first", "second", "both"]
    anchor: datetime | None
    """UTC."""
    start: datetime | None
    """UTC."""
    end: datetime | None
    """UTC."""
    name: str
    owner: str
    """Who answers for it: a team, a person."""
    description: str
    """What it is for, in a line."""
    runbook_url: str | None
    """What to do when it fails."""
    exclude: tuple[str, ...]
    """Instants, dates and ranges of dates (2026-12-24/2027-01-06) without runs."""
    jitter_seconds: int
    max_runs: int | None
    payload: Any
    """Any JSON up to 200 KB that the target gets; its strings are templates ({{due_at}})."""
    priority: Literal["high", "normal", "low"]
    start_deadline_seconds: int | None
    pause_on_failure: int | None
    missed: MissedShown
    overlap: Literal["skip", "queue", "newest", "replace", "allow"] | Mapping[str, Any]
    events: tuple[Literal["deaths", "failures", "late", "all"], ...]
    """Which outcomes go to the event bus."""
    tags: tuple[str, ...]
    id: str
    tenant: str
    state: Literal["ACTIVE", "PAUSED", "COMPLETED"]
    understood_as: str | None
    """The schedule in words."""
    schedule_canonical: str | None
    """One spelling for each meaning."""
    next_occurrence: datetime | None
    """The next one to come due, whoever has enqueued it."""
    paused_by: str | None
    """Who paused it; null where Duecourse did it by itself."""
    paused_because: str | None
    """Why it is paused: the note, or what Duecourse found."""
    created_at: datetime
    """UTC, to the millisecond."""
    updated_at: datetime
    """UTC, to the millisecond."""
    error: str | None
    """Why it does not run, where its schedule is understood no more."""
    deadline_seconds: int


@dataclass(frozen=True, kw_only=True)
class WorkflowTarget(Answer):
    """The jobs of a workflow, which PUT /v1/workflows writes: `graph` names them."""

    type: Literal["workflow"]
    graph: str


@dataclass(frozen=True, kw_only=True)
class Heartbeat(HeartbeatExtras, Answer):
    """How the run stands, and whether to stop working on it."""

    state: Literal["QUEUED", "RUNNING", "WAITING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"]
    cancel_requested: bool
    reason: str | None
    heartbeat_until: datetime | None
    """UTC, to the millisecond."""
    waiting_until: datetime | None
    """UTC, to the millisecond."""


@dataclass(frozen=True, kw_only=True)
class Run(RunExtras, Answer):
    """A run: the execution of one occurrence."""

    id: str
    job_id: str
    state: Literal["QUEUED", "RUNNING", "WAITING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"]
    reason: str | None
    """Why it is in this state, where that is not plain."""
    occurrence: datetime
    """The instant that the schedule names."""
    due: datetime
    """The occurrence and its jitter."""
    started_at: datetime | None
    """When its first attempt started."""
    finished_at: datetime | None
    """UTC, to the millisecond."""
    lateness_seconds: float | None
    """From the due second to the first start."""
    attempts: int
    """How many have begun."""
    max_attempts: int
    waiting_for: Literal["overlap"] | None
    """Why it waits in the wait queue."""
    waiting_since: datetime | None
    """When it began to wait in the wait queue; kept after the wait."""
    waiting_until: datetime | None
    """By when its callback must come."""
    heartbeat_until: datetime | None
    """By when the next sign of life must come."""
    heartbeat_at: datetime | None
    """When its last attempt was last heard of."""
    progress: float | None
    """How far its last attempt said to be."""
    note: str | None
    """What its last attempt said of its work."""
    cancel_requested: str | None
    """Why it is to end, once its worker hears of it."""
    result: Any
    """What its target answered; null where it lies elsewhere (result_url)."""
    result_bytes: int | None
    error: str | None
    code: str | None
    """The kind of its last failure, such as http.503 or timeout."""
    count: int
    """How many occurrences it stands for."""
    requested_by: str | None
    """Who asked for it, or for its being skipped, by hand."""
    correlation_id: str | None
    """What its log lines and its target's calls bear, too."""
    workflow: str | None
    """The workflow that ran it, or whose run it is."""


@dataclass(frozen=True, kw_only=True)
class Workflow(WorkflowSummary):
    """A workflow as it is kept; each of its jobs is at /v1/jobs/<id>."""

    jobs: Mapping[str, WorkflowJob]


@dataclass(frozen=True, kw_only=True)
class WorkflowRun(RunExtras, Answer):
    """A run of a workflow with the state of each job, each read at a moment of its own."""

    run: str
    state: Literal["QUEUED", "RUNNING", "WAITING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"]
    reason: str | None
    occurrence: datetime
    """UTC, to the second where it has no fraction."""
    started_at: datetime | None
    """UTC, to the millisecond."""
    finished_at: datetime | None
    """UTC, to the millisecond."""
    deadline: datetime | None
    """By when all its jobs must have ended."""
    rerun_of: str | None
    """The run of which this one runs a part again."""
    rerun_from: tuple[str, ...]
    """The jobs that it began with then."""
    code: str | None
    error: str | None
    counts: Counts
    jobs: tuple[StepRun, ...]


@dataclass(frozen=True, kw_only=True)
class SingleRun(Run):
    """A run with its attempts, and where its large result can be read for a while."""

    attempt_list: tuple[Attempt, ...]
    """The last attempts, oldest first, as far as its record has them."""
    result_url: str | None
    result_url_seconds: int | None


@dataclass(frozen=True, kw_only=True)
class WorkflowPut(Workflow):
    """A workflow as it is now, or would be (`dry_run`)."""

    dry_run: bool
    created: tuple[str, ...]
    """Jobs that are new, the workflow's own among them."""
    changed: tuple[str, ...]
    """Jobs that are otherwise than before."""
