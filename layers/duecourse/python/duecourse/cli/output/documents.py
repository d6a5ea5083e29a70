"""The documents that commands print with `--json`, apart from those of the API (`duecourse.client.models`).

A document has every field that is not marked as NotRequired. The names and the types are stable (docs/releases.md);
`tests/compat` compares them with those of each release. All times are UTC, such as `2026-11-21T03:00:00Z`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


def utc(at: float | datetime) -> str:
    """Return an instant (or UTC seconds) as text, in whole seconds."""
    found = at.astimezone(UTC) if isinstance(at, datetime) else datetime.fromtimestamp(at, UTC)
    return found.strftime("%Y-%m-%dT%H:%M:%SZ")


class Total(TypedDict):
    """The number of matching jobs in the document of `jobs list --search`."""

    matching: int
    searched: int
    complete: bool


class Listed(TypedDict):
    """A list of documents of the API. `left_out`: `explain --last-night` has omitted the occurrences from this instant
    on, because there are too many. `complete` and `unreadable` are those of the API's page.
    """

    items: Sequence[Mapping[str, Any]]
    next_cursor: str | None
    total: NotRequired[Total]
    complete: NotRequired[bool]
    unreadable: NotRequired[list[str]]
    left_out: NotRequired[str]


class ExplainedGroup(TypedDict):
    """The additional fields of an item of `explain --last-night`. The item is the API's explanation of the last
    occurrence of a group.
    """

    first: str
    count: int


class CreatedKey(TypedDict):
    """The additional field in the document of `keys create`, which is otherwise the API's document."""

    url: str


class ShownRun(TypedDict):
    """The additional field in the document of `runs show`, which is otherwise the API's document. A run without a
    record does not have it.
    """

    payload: Any


class AccountEnvironment(TypedDict):
    """The document of `accounts create`."""

    DUECOURSE_API: str
    DUECOURSE_ISSUER: str
    DUECOURSE_CLIENT_ID: str
    DUECOURSE_ACCOUNT: str
    DUECOURSE_CLIENT_SECRET: str


class ListedAccount(TypedDict):
    """An item of `accounts list`."""

    name: str
    tenant: str
    scopes: list[str]
    created_at: str


class Accounts(TypedDict):
    """The document of `accounts list`."""

    items: list[ListedAccount]
    next_cursor: str | None


class ListedSecret(TypedDict):
    """An item of `secrets list`."""

    name: str
    changed_at: str


class Secrets(TypedDict):
    """The document of `secrets list`."""

    items: list[ListedSecret]
    next_cursor: str | None


class Profiles(TypedDict):
    """The document of `profile list`. An item has the name and the fields of a profile."""

    items: list[dict[str, str]]
    next_cursor: str | None
    default: str | None


class PlannedField(TypedDict):
    """A field that a plan changes."""

    field: str
    before: Any
    after: Any


class PlannedStep(TypedDict):
    """An item of a plan. `action` is create, change, remove or keep. `not_found`: the earlier ids of a new job.
    `shadow`: the new job is a shadow of another scheduler. `interim`: a version that only lasts until the plan's next
    step for the workflow. `schedule_change`: as in the API's dry run of the change.
    """

    action: str
    kind: Literal["job", "workflow"]
    id: str
    moved_from: NotRequired[str]
    not_found: NotRequired[list[str]]
    shadow: NotRequired[bool]
    interim: NotRequired[bool]
    differences: list[PlannedField]
    schedule_change: NotRequired[Mapping[str, Any]]


class Plan(TypedDict):
    """The document of `apply` and `jobs patch`."""

    items: list[PlannedStep]
    next_cursor: str | None


class ImportedEntry(TypedDict):
    """An item of `import`. `job` is null if the entry was not imported."""

    place: str
    text: str
    job: dict[str, Any] | None
    notes: list[str]


class Imported(TypedDict):
    """The document of `import`."""

    items: list[ImportedEntry]
    next_cursor: str | None


class PromotedJob(TypedDict):
    """An item of `shadow promote`: the stored `job`, or why it was not promoted."""

    id: str
    promoted: bool
    job: Mapping[str, Any] | None
    error: str | None


class PromotedJobs(TypedDict):
    """The document of `shadow promote`."""

    items: list[PromotedJob]
    next_cursor: str | None


class JobsChanged(TypedDict):
    """The document of `jobs pause` and `jobs resume` for several jobs. `failed` has the ids of the jobs that failed."""

    changed: int
    failed: list[str]


class ChangedCalendar(TypedDict):
    """The totals in the document of `calendars put`, `add`, `remove` and `import`, which is otherwise the API's
    document. `failed` has the ids of the jobs that keep the previous days.
    """

    changed: int
    failed: list[str]


class CalendarDays(TypedDict):
    """The document of `calendars import --dry-run`."""

    id: str
    exclude: list[str]


class DescribedField(TypedDict):
    """An item of `fields`. `schema` is its JSON Schema in the OpenAPI document."""

    name: str
    schema: dict[str, Any]


class DescribedFields(TypedDict):
    """The document of `fields`."""

    items: list[DescribedField]
    next_cursor: str | None


class WatchedBackfill(TypedDict):
    """The document of `runs watch` for a backfill. `states` has the number of listed runs by state."""

    id: str
    runs: int
    ended: int
    states: dict[str, int]


class RunGroup(TypedDict):
    """An item of `runs list --by`: the number of runs of a job or with a code and an error, their first and last
    occurrences, and the id of the last run.
    """

    job: NotRequired[str]
    code: NotRequired[str | None]
    error: NotRequired[str | None]
    runs: int
    first: str
    last: str
    run: str


class RunGroups(TypedDict):
    """The document of `runs list --by`. If it is not `complete`, only the newest runs were counted."""

    items: list[RunGroup]
    complete: bool


class CancelledRuns(TypedDict):
    """The document of `runs cancel` for many runs: the operation's id and counts. `refused` includes those that were
    `skipped`, by reason.
    """

    operation: str
    cancelled: int
    refused: int
    skipped: Mapping[str, int]


class RunsToCancel(TypedDict):
    """The document of `runs cancel --dry-run`, and of `runs cancel` if there is nothing to cancel: the number of runs
    by state. `more`: there may be further runs. `skipped` has the runs that cannot be cancelled, by reason.
    """

    would_cancel: Mapping[str, int]
    more: bool
    skipped: Mapping[str, int]


class RedrivenRuns(TypedDict):
    """The document of `dead-letters redrive`: the operation's id (null if there was nothing to redrive) and counts.
    `refused` includes those that were `skipped`, by reason. `more`: there may be further runs.
    """

    operation: str | None
    redriven: int
    refused: int
    skipped: Mapping[str, int]
    more: bool


class RunsToRedrive(TypedDict):
    """The document of `dead-letters redrive --dry-run`. `more`: there may be further runs. `skipped` has the runs that
    cannot be redriven, by reason.
    """

    would_redrive: int
    more: bool
    skipped: Mapping[str, int]


class DiscardedRuns(TypedDict):
    """The document of `dead-letters discard`: as that of `dead-letters redrive`."""

    operation: str | None
    discarded: int
    refused: int
    skipped: Mapping[str, int]
    more: bool


class RunsToDiscard(TypedDict):
    """The document of `dead-letters discard --dry-run`: as that of `dead-letters redrive --dry-run`."""

    would_discard: int
    more: bool
    skipped: Mapping[str, int]


class Interval(TypedDict):
    """An item of `upcoming`: the runs that are due in an interval from `at`, and their number by job."""

    at: str
    runs: int
    jobs: dict[str, int]


class UpcomingRun(TypedDict):
    """A delayed run among the runs of `upcoming`."""

    id: str
    job: str
    due: str


class Upcoming(TypedDict):
    """The document of `upcoming`. `late` and `uncounted` are numbers of jobs."""

    items: list[Interval]
    delayed_runs: list[UpcomingRun]
    next_cursor: str | None
    late: int
    uncounted: int


class JobLoad(TypedDict):
    """An item of `upcoming --by-job`."""

    job: str
    runs: int


class UpcomingByJob(TypedDict):
    """The document of `upcoming --by-job`. `runs` is the number of all runs, and `not_named` of those that no item
    counts. `late` and `uncounted` are numbers of jobs.
    """

    items: list[JobLoad]
    runs: int
    not_named: int
    delayed_runs: list[UpcomingRun]
    next_cursor: str | None
    late: int
    uncounted: int


class RehearsedOccurrence(TypedDict):
    """An occurrence in the document of `rehearse`. `called_at` is the time of the first call."""

    due: str
    result: Literal["on time", "late", "covered", "never", "unfinished"]
    called_at: str | None
    calls: int
    ended_at: str | None
    why: str | None


class Rehearsal(TypedDict):
    """The document of `rehearse`. `counts` has the number of occurrences (`due`), the number with each result, and the
    number of runs that were called more than once (`repeated`).
    """

    job_id: str
    begin: str
    end: str
    items: list[RehearsedOccurrence]
    counts: Mapping[str, int]


class ChangedJob(TypedDict):
    """An item of `tzdata-report`. It has `error` if the schedule is not valid with the new data, otherwise the
    other fields.
    """

    job: str
    timezone: str
    error: NotRequired[str | None]
    old: NotRequired[str | None]
    new: NotRequired[str | None]
    count: NotRequired[int]
    complete: NotRequired[bool]


TzdataReport = TypedDict("TzdataReport", {"from": str, "to": str, "items": list[ChangedJob], "next_cursor": str | None})
"""The document of `tzdata-report`."""


class ExaminedPart(TypedDict):
    """A check of `doctor`. `facts` has the data of the check, which are not stable."""

    name: str
    verdict: Literal["ok", "warning", "bad", "unknown"]
    says: str
    do: str | None
    runbook: str | None
    facts: Any


class Diagnosis(TypedDict):
    """The document of `doctor`."""

    stage: str
    at: str
    exit_status: int
    checks: list[ExaminedPart]


class PlannedDeployment(TypedDict):
    """The document of `deploy`. `parameters` are those of CloudFormation."""

    stack: str
    account: str
    region: str
    action: Literal["create", "change"]
    deployments: int
    variant: str
    parameters: dict[str, str]


class SimulatedStage(TypedDict):
    """The result of a simulation. Seconds are relative to the due second; `month_usd` has USD by kind of cost."""

    last_enqueued_seconds: float | None
    p50_seconds: float | None
    p99_seconds: float | None
    enqueuing_limited_by: str | None
    starts_limited_by: str | None
    month_usd: dict[str, float]


class Simulation(TypedDict):
    """The document of `simulate`. `settings` and `recommended` are null if the present settings are sufficient."""

    stage: str
    lane: str
    within_seconds: float
    runs_of_month: int
    busiest_runs: int
    busiest_at: str | None
    now: SimulatedStage
    settings: dict[str, Any] | None
    recommended: SimulatedStage | None
    met: bool


@dataclass(frozen=True, slots=True)
class Tenant:
    """An item of `tenants list`. `quota_used` counts the jobs that count towards its quota. `running` and `waiting` are
    its runs in progress; `running` counts only calls that have lasted ten seconds. `oldest_waiting_seconds` is the age
    of the oldest waiting run (None: none waits). `runs` and `dollars` are for the last 24 hours (None: not read).
    """

    tenant: str
    state: str
    jobs: int
    paused: int
    quota_used: int
    running: int
    waiting: int
    oldest_waiting_seconds: int | None
    runs: int | None
    dollars: float | None


class MetObjective(TypedDict):
    """An objective. `share` is null without data."""

    name: str
    target: float
    share: float | None


class Tenants(TypedDict):
    """The document of `tenants list`."""

    items: list[Tenant]
    next_cursor: str | None
    objectives: list[MetObjective]


class Failover(TypedDict):
    """The document of `failover`. `written`: the regions in which the fence was changed. `faults`: what prevents the
    region from working. Occurrences from `check_since` to `check_until` may be lost; both are missing if the stage has
    never had a tick.
    """

    stage: str
    region: str
    epoch: int
    works_from: str
    written: list[str]
    faults: list[str]
    check_since: NotRequired[str]
    check_until: NotRequired[str]


class ShownTenant(TypedDict):
    """The document of `tenants show`. Only a tenant that is not active has `since` and `note`, and only an erased
    tenant has `until`.
    """

    tenant: str
    state: str
    since: NotRequired[str]
    note: NotRequired[str | None]
    until: NotRequired[str]


class SuspendedTenant(TypedDict):
    """The document of `tenants suspend`. `changed` is the number of changed items."""

    tenant: str
    state: str
    since: str
    changed: int


class ResumedTenant(TypedDict):
    """The document of `tenants resume`. `changed` is the number of changed items."""

    tenant: str
    state: str
    suspended_since: str
    changed: int


class ExportedTenant(TypedDict):
    """The document of `tenants export`, which is also its file export.json."""

    tenant: str
    stage: str
    at: str
    counts: dict[str, int]
    secrets: list[str]


class TenantToErase(TypedDict):
    """The document of `tenants erase` without `--confirm`. `left` has the data that would remain."""

    tenant: str
    state: str
    would_erase: dict[str, int]
    left: list[str]


class ErasedTenant(TypedDict):
    """The document of `tenants erase`. `left` has the data that remain; `repeat_after` is null unless a pass must
    begin later.
    """

    tenant: str
    stage: str
    state: str
    begun_by: str
    begun_at: str
    ended_at: str | None
    repeat_after: str | None
    erased: dict[str, int]
    left: list[str]


Document: TypeAlias = (
    Listed
    | ExplainedGroup
    | CreatedKey
    | ShownRun
    | AccountEnvironment
    | Accounts
    | Secrets
    | Profiles
    | Plan
    | Imported
    | JobsChanged
    | PromotedJobs
    | WatchedBackfill
    | DescribedFields
    | ChangedCalendar
    | CalendarDays
    | RunGroups
    | CancelledRuns
    | RunsToCancel
    | DiscardedRuns
    | Rehearsal
    | RedrivenRuns
    | RunsToDiscard
    | RunsToRedrive
    | Upcoming
    | UpcomingByJob
    | TzdataReport
    | Diagnosis
    | PlannedDeployment
    | Simulation
    | Failover
    | Tenants
    | ShownTenant
    | SuspendedTenant
    | ResumedTenant
    | ExportedTenant
    | TenantToErase
    | ErasedTenant
)
