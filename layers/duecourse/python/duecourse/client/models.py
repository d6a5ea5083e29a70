"""The models of responses. Written by scripts/client_code from openapi.json (`make openapi`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from duecourse.client.reading import Answer, HeartbeatExtras, RunExtras


@dataclass(frozen=True, kw_only=True)
class Accepted(Answer):
    """The request was accepted and is processed later; the response is the current state of the run."""

    run: Run
    accepted: Literal["complete", "fail", "cancel", "redrive"]


@dataclass(frozen=True, kw_only=True)
class ActiveRun(Answer):
    """A run that has a place of a key. `state` is null if it is about to start."""

    id: str
    job_id: str
    state: Literal["QUEUED", "RUNNING", "WAITING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"] | None
    started_at: datetime | None
    """UTC, to the millisecond."""


@dataclass(frozen=True, kw_only=True)
class AfterCompletion(Answer):
    """What happens to a job that has ended."""

    delete_after_seconds: int | None
    """The time from the end of the job to its removal; null: the job is not removed."""


@dataclass(frozen=True, kw_only=True)
class Alarm(Answer):
    """An active alarm."""

    name: str
    since: datetime | None
    """When the alarm became active."""
    description: str
    runbook: str | None
    """The page and section of the documentation."""


@dataclass(frozen=True, kw_only=True)
class Alarms(Answer):
    """The alarms of the stage: their number, the number of alarms without data, and the active alarms."""

    count: int
    without_data: int
    ringing: tuple[Alarm, ...]


@dataclass(frozen=True, kw_only=True)
class Allow(Answer):
    """Up to this number of runs are active at a time. Further runs wait in the wait queue."""

    allow: int


@dataclass(frozen=True, kw_only=True)
class Attempt(Answer):
    """One attempt of a run."""

    number: int
    started_at: datetime | None
    """UTC, to the millisecond."""
    ended_at: datetime | None
    """Null while the attempt is in progress, and if its end was not recorded."""
    outcome: Literal["succeeded", "failed", "lost", "cancelled"] | None
    """Null while the attempt is in progress."""
    error: str | None
    """The first 200 characters of the error."""
    code: str | None


@dataclass(frozen=True, kw_only=True)
class AwsTargetShown(Answer):
    """One call to an AWS API."""

    type: Literal["aws"]
    service: str
    action: str
    parameters: Mapping[str, Any]
    role: str
    """The name of a role in this account and region: 1 to 64 letters, digits and _ + = , . @ -, not an ARN; the stage
    must allow it.
    """


@dataclass(frozen=True, kw_only=True)
class Backfill(Answer):
    """A backfill that was started, or would be started."""

    dry_run: bool
    count: int
    only: Literal["missing", "failed", "all"]
    results: Results | None
    """The occurrences of the range by their result so far; null if the backfill was started."""
    first: datetime | None
    """The oldest occurrence of the backfill."""
    last: datetime | None
    """The newest occurrence of the backfill."""
    newest_first: bool
    pace_seconds: int
    at_once: int | None
    """The maximum number of active runs; null if they are not limited."""
    starts_at: datetime
    """UTC, with a fraction only if it is not a whole second."""
    ends_at: datetime | None
    """The start time of the last run."""
    estimated_cost_usd: float
    suffix: str | None
    """The suffix of the ids of the runs; null if no runs were started."""


@dataclass(frozen=True, kw_only=True)
class BasicAuth(Answer):
    """Basic authentication with a user name and a password."""

    type: Literal["basic"]
    username: str
    """The user name, without a colon."""
    secret: str
    """The name of one of the tenant's secrets, not its value."""


@dataclass(frozen=True, kw_only=True)
class Batch(Answer):
    """The results, in the order of the jobs."""

    items: tuple[BatchItem, ...]


@dataclass(frozen=True, kw_only=True)
class BatchItem(Answer):
    """The result for one job: `job` and `etag`, or `problem`."""

    status: int
    job: Job | None
    etag: str | None
    problem: Problem | None


@dataclass(frozen=True, kw_only=True)
class BreakerShown(Answer):
    """A circuit breaker that attempts of several jobs share. While the target fails, runs wait."""

    key: str | None
    """Attempts with the same key share the breaker. A template. Default: the host of an HTTP target."""
    failures: int
    """The number of failed attempts in a row after which it opens."""
    open_seconds: int
    """How long it stays open. If the first attempt after that fails, it opens for twice as long."""


@dataclass(frozen=True, kw_only=True)
class Bucket(Answer):
    """The runs that are due in an interval."""

    at: datetime
    """The start of the interval."""
    runs: int
    jobs: tuple[UpcomingJob, ...]
    """The jobs with the most runs in the interval."""


@dataclass(frozen=True, kw_only=True)
class Calendar(Answer):
    """A calendar. Its dates are in order, with overlapping ranges merged; windows and cron expressions follow."""

    id: str
    description: str
    exclude: tuple[str, ...]
    version: int
    """Increases with every change."""
    updated_at: datetime
    """UTC, to the millisecond."""
    updated_by: str


@dataclass(frozen=True, kw_only=True)
class CancelledRuns(Answer):
    """The number of runs whose cancellation was requested, or would be (`dry_run`), and the cursor to continue."""

    dry_run: bool
    cancelled: int
    refused: int
    more: bool
    next_cursor: str | None


@dataclass(frozen=True, kw_only=True)
class Change(Answer):
    """A change to a job, and the caller who made it."""

    at: datetime
    """UTC, to the millisecond."""
    principal: str
    """The subject of the token, an IAM ARN or `local`; `duecourse` for changes by Duecourse itself."""
    action: str
    revision: int | None
    """The version of the job after the change; null for actions on single runs."""
    changes: tuple[ChangedField, ...]
    facts: Mapping[str, Any]
    """Further details: the number of runs, or the note of a resume."""


@dataclass(frozen=True, kw_only=True)
class ChangedField(Answer):
    """A changed field. The values are omitted if they are long or not shown (payload, headers, parameters)."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, kw_only=True)
class ChangedJobs(Answer):
    """The results for many jobs; pass `next_cursor` to continue."""

    changed: int
    failed: tuple[str, ...]
    """The jobs that could not be changed because of repeated concurrent changes, their schedule (a planned pause
    requires one) or a later planned pause with another selection, and `ids` without a job.
    """
    next_cursor: str | None


@dataclass(frozen=True, kw_only=True)
class Check(Answer):
    """The result of a check. `do` is the first step, if there is one."""

    name: str
    verdict: Literal["ok", "warning", "bad", "unknown"]
    """`unknown` means that the check could not run."""
    says: str
    do: str | None
    runbook: str | None
    """The page and section of the documentation."""


@dataclass(frozen=True, kw_only=True)
class ConcurrencyShown(Answer):
    """A limit that runs of several jobs share. Further runs wait for a place."""

    key: str
    """Runs with the same key share the limit. A template, such as crm-{{payload.region}}."""
    limit: int
    """The maximum number of active runs with the key. PUT /v1/limits/{key} replaces it."""
    priority: int
    """Waiting runs with a higher number start first."""


@dataclass(frozen=True, kw_only=True)
class Counts(Answer):
    """The number of steps that succeeded, failed, did not run because an upstream step failed or the run had ended
    (`aborted`), were not needed (`skipped`), are due or running, are waiting, or will not run (`left`).
    """

    succeeded: int
    failed: int
    aborted: int
    skipped: int
    due: int
    waiting: int
    left: int


@dataclass(frozen=True, kw_only=True)
class CreatedKey(Answer):
    """A new key with its text and its secret, which are not stored and cannot be read again."""

    id: str
    scope: str
    """The job that the key can run: run:JOB."""
    description: str
    created_at: datetime
    """UTC, to the millisecond."""
    created_by: str
    expires_at: datetime
    """UTC, with a fraction only if it is not a whole second."""
    last_used_at: datetime | None
    """The last use, to the hour; null if the key was never used."""
    requests_per_minute: int
    debounce_seconds: int | None
    debounce_key: str | None
    signed: bool
    events: tuple[str, ...]
    """The events that start runs; empty: all events except ping."""
    key: str
    path: str
    """The path of the trigger URL. It contains the key."""
    secret: str | None
    """The secret for X-Hub-Signature-256; null if requests need no signature."""


@dataclass(frozen=True, kw_only=True)
class DeadCount(Answer):
    """The number of dead runs, or a lower bound."""

    count: int
    at_least: bool


@dataclass(frozen=True, kw_only=True)
class Dispatch(Answer):
    """The progress of the shards: the delay of each shard's watermark in seconds."""

    shards: int
    watermarks_behind_seconds: Mapping[str, int | None]


@dataclass(frozen=True, kw_only=True)
class EcsTargetShown(Answer):
    """A Fargate task."""

    type: Literal["ecs"]
    cluster: str
    """The name of a cluster in this account and region: 1 to 255 letters, digits, - and _, not an ARN; the stage must
    allow it.
    """
    task_definition: str
    """The name of a task definition in this account and region: 1 to 255 letters, digits, - and _, followed by
    :<revision> for a revision other than the latest, not an ARN; the stage must allow it.
    """
    container: str
    subnets: tuple[str, ...]
    security_groups: tuple[str, ...]
    public_ip: bool


@dataclass(frozen=True, kw_only=True)
class Error(Answer):
    """One error: a pointer (RFC 6901) into the body, or the name of a query parameter or header."""

    detail: str
    pointer: str | None
    parameter: str | None
    header: str | None


@dataclass(frozen=True, kw_only=True)
class EventBridgeTargetShown(Answer):
    """An event bus of the stage's own account and region."""

    type: Literal["eventbridge"]
    bus: str
    """The name of an event bus in this account and region: 1 to 256 letters, digits, . _ and -, not an ARN; the stage
    must allow it.
    """
    source: str
    detail_type: str


@dataclass(frozen=True, kw_only=True)
class Explained(Answer):
    """The explanation of why a job ran or did not run at an instant."""

    at: datetime
    """UTC, with a fraction only if it is not a whole second."""
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
    """The facts in the sentence."""
    run: Run | None
    """The record that the explanation is based on."""
    nearest: Nearest


@dataclass(frozen=True, kw_only=True)
class Figures(Answer):
    """Metrics of all tenants together, oldest first. Intervals without a value are omitted."""

    since: datetime
    """The start of the first interval."""
    step_seconds: int
    lateness: tuple[Lateness, ...]
    outcomes: tuple[Outcomes, ...]
    oldest_message_seconds: Mapping[str, float | None]
    """The age of the oldest message by lane; null if SQS has reported no age for ten minutes."""
    objectives: tuple[Objective, ...]


@dataclass(frozen=True, kw_only=True)
class Health(Answer):
    """Whether ticks run. `tick` and `dispatch` require the `ops` scope."""

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
    """Statuses (404) or classes of statuses (2xx) that count as success."""
    sign: Sign | None
    auth: Mapping[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class Job(Answer):
    """A stored job: the posted fields with their defaults, and the state of the job."""

    schedule: str | tuple[str, ...] | None
    """Cron with five fields, or six with seconds first; names such as @daily; rate(5 minutes);
    at(2026-12-31T09:00:00); EventBridge's cron(...); an ISO-8601 instant; R/start/period. A list: up to 10 of
    these; an instant that several of them produce is one occurrence. Null: the job runs only on demand.
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
    exclude: tuple[str, ...]
    """Times without runs: instants, dates, ranges of dates (2026-12-24/2027-01-06), windows between two instants, and
    cron expressions (* * * * SAT,SUN). If a window is written with /catch_up, one occurrence at its end replaces
    those in it. At most 500 characters.
    """
    calendar: str | tuple[str, ...] | None
    """The id of a calendar whose days are also excluded, or a list of up to 5 ids. A day that one of the calendars
    excludes is excluded.
    """
    on_excluded: Literal["skip", "previous", "next"]
    """On an excluded day: skip the occurrence, or move it to the previous or next day that is not excluded."""
    name: str
    owner: str
    """The team or person responsible for the job."""
    description: str
    """The purpose of the job, in one line."""
    runbook_url: str | None
    """The address of the instructions for failures."""
    jitter_seconds: int
    spread: SpreadShown | None
    """Runs the job at a quiet minute after each occurrence, according to the upcoming load."""
    max_runs: int | None
    ping_url: str | None
    """The address of an external monitor, which is requested (GET) after each successful run."""
    payload: Any
    """Any JSON up to 200 KB, sent to the target; its strings are templates ({{due_at}})."""
    priority: Literal["high", "normal", "low"]
    start_deadline_seconds: int | None
    start_within_seconds: int | None
    """A notice is sent if a run has not started within this time after it was due."""
    finish_by: int | str | None
    """A notice is sent if a run has not finished by then: this many seconds after it was due, or at the next such time
    of day (06:00, in the time zone).
    """
    on_deadline: Literal["notify", "cancel"]
    """Whether a run that misses one of these deadlines is also cancelled."""
    pause_on_failure: int | None
    missed: MissedShown
    overlap: Literal["skip", "queue", "newest", "replace", "allow"] | Mapping[str, Any]
    events: tuple[Literal["deaths", "failures", "late", "deadlines", "all"], ...]
    """The outcomes that are sent to the event bus."""
    notify: tuple[NotifyShown, ...]
    """The notices about the job, and the jobs that deliver them."""
    tags: tuple[str, ...]
    id: str
    target: Mapping[str, Any]
    expect_every: int | None
    """The longest time between two pings (POST /v1/jobs/{id}/ping). The job runs if no ping arrives within it. Its
    schedule must be null.
    """
    timeout_seconds: int
    estimated_seconds: int | None
    completion: Literal["response", "callback"]
    completion_seconds: int | None
    heartbeat_seconds: int | None
    retry: RetryShown
    precision: Literal["second", "exact"]
    concurrency: ConcurrencyShown | None
    """The limit that the runs share with those of other jobs."""
    results: ResultLocationShown | None
    """The bucket for the results; null: the stage keeps them."""
    rate: RateShown | None
    """The rate that the attempts share with those of other jobs."""
    breaker: BreakerShown | None
    """The circuit breaker that the attempts share with those of other jobs."""
    delivery: Literal["at_least_once", "at_most_once"]
    after_completion: AfterCompletion | None
    """For a job that ends: its schedule is at(...), or it has end or max_runs. Default: a job with the schedule
    at(...) is removed after one day unless its run is DEAD; others are not removed.
    """
    idempotency_key: str | None
    """A template; the same for every attempt of a run."""
    tenant: str
    state: Literal["ACTIVE", "PAUSED", "COMPLETED"]
    understood_as: str | None
    """The schedule in words."""
    schedule_canonical: str | tuple[str, ...] | None
    """The schedule in a normalized form; a list if there are several."""
    next_occurrence: datetime | None
    """The next occurrence that becomes due, whether or not it is already enqueued."""
    runs_left: int | None
    """The number of occurrences that `max_runs` still allows; null without `max_runs`."""
    paused_by: str | None
    """The caller who paused the job; null if Duecourse paused it."""
    paused_because: str | None
    """The reason for the pause: the caller's note, or Duecourse's reason."""
    paused_until: datetime | None
    """When the pause ends automatically; null if it does not."""
    planned_pause: str | None
    """The window of the pause that was planned last. It may be over."""
    created_at: datetime
    """UTC, to the millisecond."""
    updated_at: datetime
    """UTC, to the millisecond."""
    error: str | None
    """The error, if the schedule is no longer valid; the job then does not run."""
    workflow: str | None
    """The workflow that has the job as a step."""
    delete_at: datetime | None
    """When the job is removed after its end; null if it is not removed."""
    last_runs: tuple[LastRun, ...] | None
    """In a list with `runs`: the last runs of the job, newest first, without queued runs."""
    spread_load: SpreadLoad | None
    """In a dry run that chooses the offset of `spread`, unless the tenant has too many jobs."""


@dataclass(frozen=True, kw_only=True)
class JobCount(Answer):
    """The number of jobs and the quota."""

    count: int
    quota: int
    left: int


@dataclass(frozen=True, kw_only=True)
class JobWarning(Answer):
    """A warning about a job."""

    kind: Literal["slow", "skipped", "notify", "calendar"]
    says: str
    """The problem."""
    do: str
    """The remedy."""
    facts: Mapping[str, Any]
    """The facts in the sentence."""


@dataclass(frozen=True, kw_only=True)
class JobWarnings(Answer):
    """The warnings about a job."""

    items: tuple[JobWarning, ...]


@dataclass(frozen=True, kw_only=True)
class Key(Answer):
    """A key, without its text."""

    id: str
    scope: str
    """The job that the key can run: run:JOB."""
    description: str
    created_at: datetime
    """UTC, to the millisecond."""
    created_by: str
    expires_at: datetime
    """UTC, with a fraction only if it is not a whole second."""
    last_used_at: datetime | None
    """The last use, to the hour; null if the key was never used."""
    requests_per_minute: int
    debounce_seconds: int | None
    debounce_key: str | None
    signed: bool
    events: tuple[str, ...]
    """The events that start runs; empty: all events except ping."""


@dataclass(frozen=True, kw_only=True)
class Keys(Answer):
    """All keys of the tenant, newest first."""

    items: tuple[Key, ...]


@dataclass(frozen=True, kw_only=True)
class LambdaTargetShown(Answer):
    """A Lambda function of the stage's own account and region."""

    type: Literal["lambda"]
    function: str
    """The name of a function in this account and region: 1 to 64 letters, digits, - and _, not an ARN; the stage must
    allow it.
    """
    mode: Literal["sync", "async"]


@dataclass(frozen=True, kw_only=True)
class LaneDepth(Answer):
    """The depth of a lane for all tenants together (SQS counts are approximate)."""

    waiting: int
    in_flight: int
    delayed: int


@dataclass(frozen=True, kw_only=True)
class LastRun(Answer):
    """One of the last runs of a job in a list of jobs."""

    id: str
    occurrence: datetime
    """UTC, with a fraction only if it is not a whole second."""
    state: Literal["QUEUED", "RUNNING", "WAITING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"]


@dataclass(frozen=True, kw_only=True)
class Lateness(Answer):
    """The lateness of the runs in an interval."""

    at: datetime
    """The start of the interval."""
    median_seconds: float
    """The median: half of the runs started within this time."""
    p99_seconds: float
    """The 99th percentile: 99 of 100 runs started within this time."""


@dataclass(frozen=True, kw_only=True)
class Limits(Answer):
    """The minimum interval of a schedule (seconds), and the maximum number of runs of a backfill."""

    smallest_interval_seconds: int
    backfill: int


@dataclass(frozen=True, kw_only=True)
class ListedLimit(Answer):
    """A concurrency key in a list."""

    key: str
    concurrency: int | None
    """The stored limit; null if the limits of the jobs apply."""
    rate: StoredRate | None
    """The stored rate; null if the rates of the jobs apply."""
    breaker: StoredBreaker | None
    """The stored settings of the circuit breaker; null if the settings of the jobs apply."""
    updated_at: datetime | None
    """UTC, to the millisecond."""
    updated_by: str | None
    waiting: int
    """The runs that wait for a place, among the newest waiting runs."""
    waiting_for_rate: int
    """The runs that wait for the rate, among the newest waiting runs."""
    waiting_for_breaker: int
    """The runs that wait for the circuit breaker, among the newest waiting runs."""


@dataclass(frozen=True, kw_only=True)
class Minute(Answer):
    """A minute, and the number of runs that are due in it."""

    at: datetime
    """UTC, with a fraction only if it is not a whole second."""
    runs: int


@dataclass(frozen=True, kw_only=True)
class MissedShown(Answer):
    """The policy for occurrences that were not enqueued in time."""

    policy: Literal["skip", "run_once", "run_all"]
    grace_seconds: int
    max_missed: int


@dataclass(frozen=True, kw_only=True)
class Nearest(Answer):
    """The occurrences nearest to an instant, according to the job's current schedule."""

    before: datetime | None
    """UTC, with a fraction only if it is not a whole second."""
    after: datetime | None
    """UTC, with a fraction only if it is not a whole second."""


@dataclass(frozen=True, kw_only=True)
class NotifyShown(Answer):
    """Notices that are delivered to one target."""

    on: tuple[Literal["dead", "late", "missed", "recovered", "paused", "deadline"], ...]
    to: NotifyTargetShown


@dataclass(frozen=True, kw_only=True)
class NotifyTargetShown(Answer):
    """The job whose run delivers a notice as its payload."""

    job: str
    format: Literal["json", "slack", "teams"]
    """The format of the payload."""


@dataclass(frozen=True, kw_only=True)
class NotifyTest(Answer):
    """The runs that deliver the test notice, and the ids of jobs in `notify` that do not exist."""

    runs: tuple[Run, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class OAuthShown(Answer):
    """An access token that Duecourse requests with client credentials and caches."""

    type: Literal["oauth"]
    token_url: str
    client_id: str
    secret: str
    """The name of one of the tenant's secrets, not its value."""
    scope: str | None
    audience: str | None
    credentials: Literal["header", "body"]
    """The part of the token request that contains the client id and secret."""


@dataclass(frozen=True, kw_only=True)
class Objective(Answer):
    """An objective of the stage, and the extent to which it was met in the last 24 hours."""

    name: Literal["lateness", "availability"]
    """`lateness`: runs that start within 5 s. `availability`: requests answered without a 5xx."""
    target: float
    share: float | None
    """The share that met the objective; null without data."""
    budget_used: float | None
    """The used part of the error budget. At 1, as many runs or requests missed the objective as the target allows.
    """


@dataclass(frozen=True, kw_only=True)
class Occurrence(Answer):
    """One occurrence, or the times that one gap in the local time drops (`at` is then null)."""

    at: datetime | None
    """UTC, with a fraction only if it is not a whole second."""
    wall: str
    """The local time of the zone at this instant, with its offset."""
    mark: Literal["moved", "dropped", "repeated", "excluded", "shifted"] | None
    named: str | None
    """The scheduled local time, if the occurrence does not fire then (`moved`, `shifted`)."""
    count: int


@dataclass(frozen=True, kw_only=True)
class OidcAuth(Answer):
    """A token that the stage signs. Its `sub` is <tenant>/<job>."""

    type: Literal["oidc"]
    audience: str
    """The receiver (claim `aud`)."""


@dataclass(frozen=True, kw_only=True)
class Outcomes(Answer):
    """The outcomes of the runs in an interval."""

    at: datetime
    """The start of the interval."""
    succeeded: int
    retried: int
    """Failed attempts that were followed by another attempt."""
    dead: int


@dataclass(frozen=True, kw_only=True)
class PlannedSpread(Answer):
    """The offset that was chosen for a job, or the `problem` with it."""

    id: str
    offset_minutes: int | None
    before: Minute | None
    """The minute of the job's next run, if nothing is changed."""
    after: Minute | None
    """The minute of this run, if all offsets are applied."""
    problem: str | None
    """Why the job cannot be spread, for example because it does not exist."""


@dataclass(frozen=True, kw_only=True)
class Preview(Answer):
    """A schedule in words, and its next occurrences."""

    understood_as: str
    canonical: str | tuple[str, ...]
    occurrences: tuple[Occurrence, ...]
    tzdata: str
    """The version of the time zone data."""


@dataclass(frozen=True, kw_only=True)
class Problem(Answer):
    """An error (RFC 9457). Programs should compare the last part of `type` and show `detail`."""

    type: str
    title: str
    status: int
    detail: str
    errors: tuple[Error, ...]
    request_id: str


@dataclass(frozen=True, kw_only=True)
class PutCalendar(Answer):
    """A calendar, and the result for up to 100 of its jobs. Pass `next_cursor` to continue with the others."""

    id: str
    description: str
    exclude: tuple[str, ...]
    version: int
    """Increases with every change."""
    updated_at: datetime
    """UTC, to the millisecond."""
    updated_by: str
    changed: int
    failed: tuple[str, ...]
    """The jobs that keep the previous exclusions: they were changed at the same time, would exceed the limit, or would
    have no future occurrence.
    """
    next_cursor: str | None


@dataclass(frozen=True, kw_only=True)
class Queue(Answer):
    """Runs wait in the wait queue, up to this number."""

    queue: int


@dataclass(frozen=True, kw_only=True)
class RateShown(Answer):
    """A rate that attempts of several jobs share. Further runs wait."""

    key: str
    """Attempts with the same key share the rate. A template, such as crm-{{payload.region}}."""
    per_minute: int
    """The number of attempts that start per minute."""
    burst: int
    """The maximum number of attempts that start at once."""


@dataclass(frozen=True, kw_only=True)
class RatedRun(Answer):
    """A run that waits for the rate of a key."""

    id: str
    job_id: str
    next_attempt_at: datetime | None
    """When it starts, or tries again."""


@dataclass(frozen=True, kw_only=True)
class Redriven(Answer):
    """The number of dead runs that were redriven, or would be (`dry_run`), and the cursor to continue."""

    dry_run: bool
    redriven: int
    refused: int
    more: bool
    next_cursor: str | None


@dataclass(frozen=True, kw_only=True)
class RequestRate(Answer):
    """The request rates of the tenant."""

    per_second: int
    burst: int
    left: int


@dataclass(frozen=True, kw_only=True)
class RequestedRun(Answer):
    """The result of one request: `run`, or `problem`."""

    status: int
    run: Run | None
    problem: Problem | None


@dataclass(frozen=True, kw_only=True)
class RequestedRuns(Answer):
    """The result of each request, in the order of the requests."""

    items: tuple[RequestedRun, ...]


@dataclass(frozen=True, kw_only=True)
class ResultLocationShown(Answer):
    """The bucket that receives the results. The stage must allow it."""

    bucket: str
    prefix: str | None
    """The prefix of the objects' keys: folders, such as reports/daily/. It must start with your prefix in this bucket,
    which is the default.
    """


@dataclass(frozen=True, kw_only=True)
class Results(Answer):
    """The number of occurrences in a range, by result."""

    missing: int
    """Occurrences without a record, or skipped because they were late."""
    failed: int
    """Occurrences whose run is dead."""
    succeeded: int
    active: int
    """Occurrences whose run is in progress, or may still start within the grace period."""
    skipped: int
    """Occurrences that were skipped for another reason, or cancelled."""


@dataclass(frozen=True, kw_only=True)
class RetryShown(Answer):
    """The number of attempts, the wait between them, and the failures that are retried."""

    max_attempts: int
    backoff: Literal["exponential", "linear", "fixed"]
    min_seconds: float
    max_seconds: float
    on: tuple[str, ...] | None
    """Statuses (503), classes of statuses (5xx), error codes (timeout) or patterns (Throttling*)."""
    never: tuple[str, ...]
    """Statuses (503), classes of statuses (5xx), error codes (timeout) or patterns (Throttling*)."""
    max_age_seconds: int | None


@dataclass(frozen=True, kw_only=True)
class RunPayload(Answer):
    """The payload that a run sends to its target."""

    payload: Any
    """The payload with its templates filled in, except for `callback_token`."""
    idempotency_key: str | None
    own: bool
    """Whether the payload was set when the run was requested; otherwise it is the payload of the job."""
    changed: bool
    """Whether the job was changed after the attempt started; the attempt may have sent a different payload."""
    problem: str | None
    """The reason why the payload is unknown, if it is; `payload` is then null."""


@dataclass(frozen=True, kw_only=True)
class Searched(Answer):
    """The progress of a list of successful runs across jobs."""

    complete_from: datetime | None
    """All runs from this instant on are on this page or on earlier ones. Null: not known."""
    jobs: int
    """The number of jobs that were searched further back than `complete_from`."""


@dataclass(frozen=True, kw_only=True)
class Sign(Answer):
    """The tenant's secret that signs the calls."""

    secret: str


@dataclass(frozen=True, kw_only=True)
class SingleCalendar(Answer):
    """A calendar and its jobs."""

    id: str
    description: str
    exclude: tuple[str, ...]
    version: int
    """Increases with every change."""
    updated_at: datetime
    """UTC, to the millisecond."""
    updated_by: str
    jobs: tuple[str, ...]
    """The ids of the first 100 jobs that use the calendar."""


@dataclass(frozen=True, kw_only=True)
class SingleLimit(Answer):
    """A concurrency key, its stored limit and its runs."""

    key: str
    concurrency: int | None
    """The stored limit; null if the limits of the jobs apply."""
    rate: StoredRate | None
    """The stored rate; null if the rates of the jobs apply."""
    breaker: StoredBreaker | None
    """The stored settings of the circuit breaker; null if the settings of the jobs apply."""
    updated_at: datetime | None
    """UTC, to the millisecond."""
    updated_by: str | None
    active: tuple[ActiveRun, ...]
    waiting: int
    """The number of runs that wait for a place; at most 1000 are counted."""
    queue: tuple[WaitingRun, ...]
    """The first 100 of them, in order."""
    waiting_for_rate: int
    """The number of runs that wait for the rate, among the newest waiting runs."""
    rate_queue: tuple[RatedRun, ...]
    """The first 100 of them, in order."""
    paused_until: datetime | None
    """No run with the key starts before this time, because a target sent Retry-After or an operator holds the key.
    """
    waiting_for_breaker: int
    """The number of runs that wait for the circuit breaker, among the newest waiting runs."""
    breaker_state: Literal["closed", "open", "half_open"]
    """The state of the circuit breaker. `half_open`: one attempt tests the target."""
    breaker_failures: int
    """The failed attempts since the last success."""
    breaker_open_until: datetime | None
    """When the circuit breaker lets an attempt start; null if it is closed."""


@dataclass(frozen=True, kw_only=True)
class Skipped(Answer):
    """The occurrences that will not run."""

    items: tuple[Run, ...]


@dataclass(frozen=True, kw_only=True)
class SnsTargetShown(Answer):
    """A topic of the stage's own account and region."""

    type: Literal["sns"]
    topic: str
    """The name of a topic in this account and region: 1 to 256 letters, digits, - and _ (.fifo at its end), not an
    ARN; the stage must allow it.
    """
    subject: str | None
    group: str | None


@dataclass(frozen=True, kw_only=True)
class SpreadLoad(Answer):
    """The minute of the job's next run with its present and its chosen offset."""

    before: Minute
    after: Minute


@dataclass(frozen=True, kw_only=True)
class SpreadPlan(Answer):
    """The offsets of the jobs, in the order of the request."""

    within_minutes: int
    jobs: tuple[PlannedSpread, ...]


@dataclass(frozen=True, kw_only=True)
class SpreadShown(Answer):
    """The range of minutes after each occurrence from which a quiet minute is chosen, and the chosen minute."""

    within_minutes: int
    """The number of minutes, including that of the occurrence."""
    offset_minutes: int | None
    """The delay of each run. If it is missing, it is chosen when the job is created, and again when its schedule or
    `within_minutes` changes.
    """


@dataclass(frozen=True, kw_only=True)
class SqsTargetShown(Answer):
    """A queue of the stage's own account and region."""

    type: Literal["sqs"]
    queue: str
    """The name of a queue in this account and region: 1 to 80 letters, digits, - and _ (.fifo at its end), not an ARN;
    the stage must allow it.
    """
    group: str | None


@dataclass(frozen=True, kw_only=True)
class Stage(Answer):
    """The settings of the stage, and the results of its checks."""

    stage: str
    version: str
    region: str
    auth: Literal["none", "iam", "jwt"]
    """The authentication of callers."""
    default_precision: Literal["second", "exact"]
    shards: int
    checks: tuple[Check, ...]
    """In the order in which a run passes the checked parts."""
    alarms: Alarms | None
    """Null if the alarms cannot be read; a check contains the reason."""


@dataclass(frozen=True, kw_only=True)
class StageMetrics(Answer):
    """The CloudWatch metrics of the stage."""

    figures: Figures | None
    """Null if the metrics cannot be read."""
    error: str | None
    """The reason why the metrics cannot be read."""


@dataclass(frozen=True, kw_only=True)
class Stats(Answer):
    """The counts and limits of the tenant. `lanes` and `dispatch` describe all tenants and require the `ops` scope."""

    jobs: JobCount
    dead_runs: DeadCount
    requests: RequestRate
    limits: Limits
    lanes: Mapping[str, LaneDepth | None] | None
    status: Literal["ok", "late"]
    tick: Tick
    dispatch: Dispatch | None


@dataclass(frozen=True, kw_only=True)
class StepFunctionsTarget(Answer):
    """A state machine of the stage's own account and region."""

    type: Literal["stepfunctions"]
    machine: str
    """The name of a state machine in this account and region: 1 to 80 letters, digits, - and _, not an ARN; the stage
    must allow it.
    """


@dataclass(frozen=True, kw_only=True)
class StepRun(Answer):
    """A step in a run of its workflow. `id` is its name in the workflow."""

    id: str
    job_id: str
    state: (
        Literal["QUEUED", "RUNNING", "WAITING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"]
        | Literal["WAITS", "DUE", "LEFT"]
    )
    """The state of the step's run. Without a record, or after a redrive of the step or an upstream step: WAITS, DUE,
    LEFT if the run of the workflow has ended, or the outcome that a rerun carried over.
    """
    reason: str | None
    run: str | None
    """Null if the run has no record, or if the record has changed since it was carried over."""
    carried_over: bool
    """Whether the rerun keeps the outcome of `run` instead of running the step again."""
    after: tuple[str, ...]
    when: Literal["all_success", "all_done", "any_success", "any_failure", "none_failed"]
    waits_for: tuple[str, ...]
    """The upstream steps that have not ended, while the step waits."""
    attempts: int
    started_at: datetime | None
    """UTC, to the millisecond."""
    finished_at: datetime | None
    """UTC, to the millisecond."""
    code: str | None
    """The code of the last failure, such as http.503 or timeout."""
    error: str | None


@dataclass(frozen=True, kw_only=True)
class StoredBreaker(Answer):
    """The stored settings of a circuit breaker."""

    failures: int
    open_seconds: int


@dataclass(frozen=True, kw_only=True)
class StoredRate(Answer):
    """A stored rate: attempts per minute, and how many may start at once."""

    per_minute: int
    burst: int


@dataclass(frozen=True, kw_only=True)
class TaskTarget(Answer):
    """A target that the operator has registered."""

    type: Literal["task"]
    name: str


@dataclass(frozen=True, kw_only=True)
class Tenant(Answer):
    """A tenant of the stage."""

    tenant: str | None
    """Null: all tenants together beyond the first 1,000 that were counted."""
    state: Literal["active", "suspended", "erased"]
    jobs: int
    paused: int
    quota_used: int
    """The jobs that count towards the quota."""
    running: int
    """Runs whose call has lasted more than ten seconds."""
    waiting: int
    """Runs that wait for their turn or for a callback."""
    oldest_waiting_seconds: int | None
    """Null if no run waits."""
    runs_per_day: int
    """An estimate: the runs due in 24 hours by the jobs' schedules."""
    dollars_per_day: float
    """The approximate cost of `runs_per_day`."""


@dataclass(frozen=True, kw_only=True)
class Tenants(Answer):
    """All tenants of the stage."""

    as_of: datetime | None
    """When the count of jobs began; null before the first one. The numbers of runs in progress are newer."""
    quota: int
    """The job quota of each tenant."""
    all_runs_counted: bool
    """False: so many runs are in progress that their counts are lower bounds."""
    objectives: tuple[Objective, ...] | None
    """Null if the metrics of the stage cannot be read."""
    tenants: tuple[Tenant, ...]
    """The tenants with the most jobs are first."""


@dataclass(frozen=True, kw_only=True)
class Tick(Answer):
    """The last tick; null before the first."""

    last: datetime | None
    """UTC, with a fraction only if it is not a whole second."""
    age_seconds: float | None


@dataclass(frozen=True, kw_only=True)
class Total(Answer):
    """The number of matching jobs, and the number of jobs that were searched."""

    matching: int
    searched: int
    complete: bool
    """False if there are more jobs than one request searches."""


@dataclass(frozen=True, kw_only=True)
class Upcoming(Answer):
    """The upcoming runs of some jobs. Add up the pages to get the upcoming runs of all jobs."""

    from_: datetime
    """UTC, with a fraction only if it is not a whole second."""
    to: datetime
    """UTC, with a fraction only if it is not a whole second."""
    step: int
    """The length of an interval in seconds."""
    buckets: tuple[Bucket, ...]
    """The intervals with runs, in chronological order."""
    runs: int
    jobs: int
    """The number of jobs that were examined."""
    paused: int
    """The number of paused jobs, which have no upcoming runs before their pause ends."""
    late: int
    """The number of jobs with a run that is 60 s overdue and not enqueued."""
    late_jobs: tuple[str, ...]
    """The ids of the first 10 of these jobs."""
    uncounted: int
    """The number of jobs that do not fire because their cursor cannot be read."""
    uncounted_jobs: tuple[str, ...]
    """The ids of the first 10 of these jobs."""
    next_cursor: str | None


@dataclass(frozen=True, kw_only=True)
class UpcomingJob(Answer):
    """A job, and the number of its upcoming runs."""

    id: str
    runs: int


@dataclass(frozen=True, kw_only=True)
class WaitingRun(Answer):
    """A run that waits for a place of a key."""

    id: str
    job_id: str
    due: datetime
    """UTC, with a fraction only if it is not a whole second."""
    place: int
    """Its position in the wait queue."""


@dataclass(frozen=True, kw_only=True)
class WorkflowJob(Answer):
    """A step of a workflow, and the conditions of its start."""

    job_id: str
    after: tuple[str, ...]
    when: Literal["all_success", "all_done", "any_success", "any_failure", "none_failed"]
    may_fail: bool
    not_before: str | None
    only: str | None


@dataclass(frozen=True, kw_only=True)
class WorkflowSummary(Answer):
    """A workflow without its steps."""

    schedule: str | tuple[str, ...] | None
    """Cron with five fields, or six with seconds first; names such as @daily; rate(5 minutes);
    at(2026-12-31T09:00:00); EventBridge's cron(...); an ISO-8601 instant; R/start/period. A list: up to 10 of
    these; an instant that several of them produce is one occurrence. Null: the job runs only on demand.
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
    exclude: tuple[str, ...]
    """Times without runs: instants, dates, ranges of dates (2026-12-24/2027-01-06), windows between two instants, and
    cron expressions (* * * * SAT,SUN). If a window is written with /catch_up, one occurrence at its end replaces
    those in it. At most 500 characters.
    """
    calendar: str | tuple[str, ...] | None
    """The id of a calendar whose days are also excluded, or a list of up to 5 ids. A day that one of the calendars
    excludes is excluded.
    """
    on_excluded: Literal["skip", "previous", "next"]
    """On an excluded day: skip the occurrence, or move it to the previous or next day that is not excluded."""
    name: str
    owner: str
    """The team or person responsible for the job."""
    description: str
    """The purpose of the job, in one line."""
    runbook_url: str | None
    """The address of the instructions for failures."""
    jitter_seconds: int
    spread: SpreadShown | None
    """Runs the job at a quiet minute after each occurrence, according to the upcoming load."""
    max_runs: int | None
    ping_url: str | None
    """The address of an external monitor, which is requested (GET) after each successful run."""
    payload: Any
    """Any JSON up to 200 KB, sent to the target; its strings are templates ({{due_at}})."""
    priority: Literal["high", "normal", "low"]
    start_deadline_seconds: int | None
    start_within_seconds: int | None
    """A notice is sent if a run has not started within this time after it was due."""
    finish_by: int | str | None
    """A notice is sent if a run has not finished by then: this many seconds after it was due, or at the next such time
    of day (06:00, in the time zone).
    """
    on_deadline: Literal["notify", "cancel"]
    """Whether a run that misses one of these deadlines is also cancelled."""
    pause_on_failure: int | None
    missed: MissedShown
    overlap: Literal["skip", "queue", "newest", "replace", "allow"] | Mapping[str, Any]
    events: tuple[Literal["deaths", "failures", "late", "deadlines", "all"], ...]
    """The outcomes that are sent to the event bus."""
    notify: tuple[NotifyShown, ...]
    """The notices about the job, and the jobs that deliver them."""
    tags: tuple[str, ...]
    id: str
    tenant: str
    state: Literal["ACTIVE", "PAUSED", "COMPLETED"]
    understood_as: str | None
    """The schedule in words."""
    schedule_canonical: str | tuple[str, ...] | None
    """The schedule in a normalized form; a list if there are several."""
    next_occurrence: datetime | None
    """The next occurrence that becomes due, whether or not it is already enqueued."""
    runs_left: int | None
    """The number of occurrences that `max_runs` still allows; null without `max_runs`."""
    paused_by: str | None
    """The caller who paused the job; null if Duecourse paused it."""
    paused_because: str | None
    """The reason for the pause: the caller's note, or Duecourse's reason."""
    paused_until: datetime | None
    """When the pause ends automatically; null if it does not."""
    planned_pause: str | None
    """The window of the pause that was planned last. It may be over."""
    created_at: datetime
    """UTC, to the millisecond."""
    updated_at: datetime
    """UTC, to the millisecond."""
    error: str | None
    """The error, if the schedule is no longer valid; the job then does not run."""
    deadline_seconds: int


@dataclass(frozen=True, kw_only=True)
class WorkflowTarget(Answer):
    """The target of a workflow: `graph` refers to its steps, which PUT /v1/workflows writes."""

    type: Literal["workflow"]
    graph: str


@dataclass(frozen=True, kw_only=True)
class Heartbeat(HeartbeatExtras, Answer):
    """The state of the run, and whether to stop working on it."""

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
    """The reason for this state, if it is not obvious."""
    occurrence: datetime
    """The instant that the schedule gives, before spread and jitter."""
    due: datetime
    """The occurrence, delayed by the spread and jitter of the job."""
    started_at: datetime | None
    """When the first attempt started."""
    finished_at: datetime | None
    """UTC, to the millisecond."""
    attempt_started_at: datetime | None
    """The start of the attempt that is in progress or that ended at `finished_at`."""
    next_attempt_at: datetime | None
    """When the next attempt starts, or tries again."""
    lateness_seconds: float | None
    """The time from the due second to the first start."""
    attempts: int
    """The number of attempts that have started."""
    max_attempts: int
    waiting_for: Literal["overlap", "concurrency", "rate", "breaker"] | None
    """Whether the run waits for another run of its job, for a place of its concurrency key, for the rate of its rate
    key, or for a circuit breaker.
    """
    concurrency_key: str | None
    """The key for which the run waits, or whose limit counted its last attempt."""
    rate_key: str | None
    """The key for whose rate the run waits."""
    breaker_key: str | None
    """The key for whose circuit breaker the run waits."""
    waiting_since: datetime | None
    """When the run began to wait; kept after the wait."""
    waiting_until: datetime | None
    """The time by which the callback must arrive."""
    heartbeat_until: datetime | None
    """The time by which the next heartbeat must arrive."""
    heartbeat_at: datetime | None
    """The last heartbeat of the last attempt."""
    progress: float | None
    """The progress that the last attempt reported."""
    note: str | None
    """The note that the last attempt reported."""
    cancel_requested: str | None
    """The reason for a requested cancellation, until the worker has received the request."""
    result: Any
    """The response of the target; null if the response is stored elsewhere (result_url, result_location)."""
    result_bytes: int | None
    result_location: str | None
    """The object (s3://BUCKET/KEY) with the result of a job that has `results`."""
    result_error: str | None
    """Why the bucket in `results` did not accept the result."""
    error: str | None
    code: str | None
    """The code of the last failure, such as http.503 or timeout."""
    count: int
    """The number of occurrences that this record covers."""
    requested_by: str | None
    """The caller who requested the run, or who skipped it."""
    correlation_id: str | None
    """The correlation id in the log lines of the run and in the calls of its target."""
    workflow: str | None
    """The workflow that started this run, or whose run this is."""


@dataclass(frozen=True, kw_only=True)
class Workflow(WorkflowSummary):
    """A stored workflow; the job of each step is at /v1/jobs/<id>."""

    jobs: Mapping[str, WorkflowJob]


@dataclass(frozen=True, kw_only=True)
class WorkflowRun(RunExtras, Answer):
    """A run of a workflow with the states of its steps, each read at a different moment."""

    run: str
    state: Literal["QUEUED", "RUNNING", "WAITING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"]
    reason: str | None
    occurrence: datetime
    """UTC, with a fraction only if it is not a whole second."""
    started_at: datetime | None
    """UTC, to the millisecond."""
    finished_at: datetime | None
    """UTC, to the millisecond."""
    deadline: datetime | None
    """The time by which all steps must have ended."""
    rerun_of: str | None
    """The run of which this run is a partial rerun."""
    rerun_from: tuple[str, ...]
    """The steps that the rerun started with."""
    code: str | None
    error: str | None
    counts: Counts
    jobs: tuple[StepRun, ...]


@dataclass(frozen=True, kw_only=True)
class SingleRun(Run):
    """A run with its attempts, and a temporary address of a large result."""

    attempt_list: tuple[Attempt, ...]
    """The last attempts that the record has, oldest first."""
    result_url: str | None
    result_url_seconds: int | None
    waits_for: tuple[str, ...] | None
    """The steps that the run waits for, if it belongs to a step that may run after all because another step was
    redriven. Empty if the step can start.
    """


@dataclass(frozen=True, kw_only=True)
class WorkflowPut(Workflow):
    """The workflow after the change. With `dry_run`, the workflow that the change would produce."""

    dry_run: bool
    created: tuple[str, ...]
    """The jobs that were created, including the job of the workflow."""
    changed: tuple[str, ...]
    """The jobs that were changed."""
