"""The routes for runs: lists, single runs, and GET /v1/jobs/<job_id>/explain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import unquote

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from duecourse.api.answers import (
    AcceptedAnswer,
    Count,
    PageAnswer,
    RunAnswer,
    Second,
    SingleRunAnswer,
    run_document,
    single_run_document,
)
from duecourse.api.api import Answer, Api, listed_tag, page_answer, route
from duecourse.api.bodies.definition_body import JobName, Tag
from duecourse.api.bodies.models import Body, Instant, Whole
from duecourse.api.bodies.validation import read_body
from duecourse.api.identity import OPS, WRITE, insufficient_scope
from duecourse.api.problems import FieldFault, Problem, invalid
from duecourse.api.query import (
    CAUGHT_UP,
    DISCARDED,
    FROM,
    MAX_ERROR_TEXT,
    MAX_LIMIT,
    RUN_ERROR,
    RUN_STATE,
    RUN_TAG,
    SINCE,
    TO,
    UNTIL,
    PageQuery,
    Query,
    after,
    fitting,
    instant_parameter,
    job_parameter,
    line_parameter,
    read_run_page_token,
    read_state_page_token,
    run_page_token,
    state_page_token,
)
from duecourse.api.request import Request
from duecourse.api.routes.jobs import job_id_in
from duecourse.domain.documents import to_document
from duecourse.domain.instants import to_iso
from duecourse.domain.runs.document import RunFilter
from duecourse.domain.runs.explain import Verdict
from duecourse.domain.runs.operations import OperationKind
from duecourse.domain.runs.states import UNENDED, Run, RunState
from duecourse.domain.runs.workers import MAX_WORKER
from duecourse.ports import LINK_SECONDS, Listed
from duecourse.usecases.runs.lists import FoundRuns

_BEGUN = tuple(state for state in RunState if state is not RunState.QUEUED)


RUN_WORKER = line_parameter(
    "RunWorker",
    "Only runs that have an attempt for which this pull worker reported. A run whose worker died before a heartbeat "
    "was stored has no name, so set `heartbeat_seconds`. Names of earlier attempts are omitted if the record "
    "has no room.",
    MAX_WORKER,
    "host-7",
)


class RunsOfJobQuery(PageQuery):
    """The filters of a list of the runs of a job."""

    state: Annotated[tuple[RunState, ...], RUN_STATE] = ()
    first: Annotated[int | None, FROM] = Field(None, alias="from")
    end: Annotated[int | None, TO, after("first", "from")] = Field(None, alias="to")
    caught_up: Annotated[bool, CAUGHT_UP] = False
    discarded: Annotated[bool, DISCARDED] = False
    worker: Annotated[str | None, RUN_WORKER] = None


@route("GET", "/v1/jobs/<job_id>/runs", "runs", {200: PageAnswer[RunAnswer]}, query=RunsOfJobQuery)
def list_runs(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """List the runs of a job.

    The newest runs are first, including enqueued runs (`QUEUED`). `from` and `to` select occurrences from the first
    instant (inclusive) to the second (exclusive). With `from`, `to` or `state`, queued runs are included only if
    `state` contains `QUEUED`, and a page may be short or empty and still have a next page. With `state`, discarded runs
    are excluded; `discarded` selects them. The runs of a deleted job are kept until they expire.
    """
    job_id, query = job_id_in(parameters), RunsOfJobQuery.of(request)
    before = read_run_page_token(query.cursor, job_id)
    states = query.state or (tuple(RunState) if query.first is None and query.end is None else _BEGUN)
    page = api.history.page(
        request.tenant,
        job_id,
        limit=query.limit,
        before=before,
        wanted=RunFilter(states, caught_up=query.caught_up, discarded=_discarded(query), worker=query.worker),
        first=query.first,
        end=query.end,
    )
    return _of_job(job_id, page)


class RunsQuery(PageQuery):
    """The filters of a search for runs across jobs."""

    state: Annotated[tuple[RunState, ...], RUN_STATE] = ()
    tag: Annotated[str | None, RUN_TAG] = None
    job: Annotated[str | None, job_parameter("RunsOf", "Only runs of this job.")] = None
    since: Annotated[int | None, SINCE] = None
    until: Annotated[int | None, UNTIL, after("since", "since")] = None
    error: Annotated[str | None, RUN_ERROR] = None
    caught_up: Annotated[bool, CAUGHT_UP] = False
    discarded: Annotated[bool, DISCARDED] = False
    worker: Annotated[str | None, RUN_WORKER] = None


@route(
    "GET",
    "/v1/runs",
    "runs",
    {200: PageAnswer[RunAnswer]},
    query=RunsQuery,
    problems=("unknown-job", "successes-unlisted"),
    checks_tags=True,
)
def find_runs(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Find runs across jobs.

    Lists the runs of all jobs, or those in the states in `state`. The run that entered its state last is first.
    `RUNNING` lists runs whose call has lasted more than ten seconds; they appear a few seconds later. `WAITING` lists
    runs that wait for their callback or for the steps of a workflow, and `QUEUED` lists runs that wait for other runs
    or for a rate. If `state` contains `QUEUED`, the delayed runs that are due later follow all other runs, the next one
    first. Enqueued occurrences are listed only with `job`. `since` and `until` filter by the time at which the run
    entered its state: the start of its attempt, its end, the end of its last attempt, or the due time of a run that has
    not started. `tag` selects runs of jobs that currently have the tag, and `error` selects runs
    with an error that contains the text (by default, not `SUCCEEDED` and `SKIPPED` runs). `caught_up` selects catch-up
    runs; the `count` of a run is the number of occurrences that it covers. With `job`, the list has the runs of one
    job, newest occurrence first. Discarded runs are excluded, except with `job` and without `state`; `discarded`
    selects them. A filtered page may be short or empty and still have a next page.
    """
    query = RunsQuery.of(request)
    limit, job_id, tag = query.limit, query.job, listed_tag(request, query.tag)
    states = query.state or (tuple(RunState) if job_id is not None or query.error is None else WITH_ERRORS)
    discarded = _discarded(query)
    wanted = RunFilter(states, query.since, query.until, query.error, query.caught_up, discarded, query.worker)
    if job_id is not None:
        before = read_run_page_token(query.cursor, job_id)
        page = api.history.page(request.tenant, job_id, limit=limit, before=before, wanted=wanted, tag=tag)
        return _of_job(job_id, page)
    if not api.settings.list_successes and RunState.SUCCEEDED in states:
        if query.state:
            raise Problem("successes-unlisted", UNLISTED, faults=[FieldFault(UNLISTED, parameter="state")])
        wanted = replace(wanted, states=tuple(each for each in states if each is not RunState.SUCCEEDED))
    mark, delayed = read_state_page_token(query.cursor), RunState.QUEUED in query.state
    found = api.search.page(
        request.tenant, wanted, limit=limit, before=mark, tag=tag, delayed=delayed, charge=request.budget.charge
    )
    answer = found_runs("runs_found", found, {})
    if wanted.states == states:
        return answer
    return replace(answer, body={**answer.body, "unlisted": [RunState.SUCCEEDED]})


def _discarded(query: RunsOfJobQuery | RunsQuery) -> bool | None:
    """Return whether only discarded runs are listed, or only others. None: both, because no states are selected; an
    index by state has only the others then.
    """
    return query.discarded if query.state or query.discarded else None


def _of_job(job_id: str, page: Listed[Run, str]) -> Answer:
    items = [run_document(run) for run in page.items]
    count = fitting(items)
    following = page.items[count - 1].name.local if count < len(items) else page.following
    cursor = None if following is None else run_page_token(job_id, following)
    return page_answer("runs_listed", items[:count], cursor, {"job_id": job_id})


UNLISTED = (
    "This stage does not list successful runs of all jobs (its setting list_successes is false); set job, or remove "
    "SUCCEEDED from state."
)

WITH_ERRORS = tuple(each for each in RunState if each not in (RunState.SUCCEEDED, RunState.SKIPPED))
"""The states of the runs that a search for an error reads by default."""


def found_runs(action: str, page: FoundRuns, facts: Mapping[str, object]) -> Answer:
    """Return a page of runs of all jobs."""
    items = [run_document(run) for run in page.items]
    count = fitting(items)
    following = page.first(count).following
    cursor = None if following is None else state_page_token(following)
    return page_answer(action, items[:count], cursor, facts)


MAX_SELECTED = 1000


class SelectRunsBody(Body):
    """A filter for runs: the job, the time at which they entered their state (from `since`, before `until`), a current
    tag of the job, and a text in the error.
    """

    model_config = ConfigDict(defer_build=True)  # only its subclasses validate values

    job_id: JobName | None = None
    since: Instant | None = None
    until: Instant | None = None
    tag: Tag | None = None
    error: Annotated[str, Field(min_length=1, max_length=MAX_ERROR_TEXT)] | None = None
    limit: Annotated[Whole, Field(ge=1, le=MAX_SELECTED)] = 100

    def check_times(self) -> None:
        """Raise Problem (422) if `until` is not later than `since`."""
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise invalid([FieldFault("must be later than since", "/until")], "invalid-command")


if TYPE_CHECKING:
    UnendedState = str
else:
    UnendedState = Literal[tuple(each.value for each in UNENDED)]


class CancelRunsBody(SelectRunsBody):
    """The runs to cancel: those in the states in `state`, of one job or of all jobs, filtered by the time at which they
    entered their state (from `since`, before `until`), a current tag of the job, and a text in the error. `cursor` is
    the `next_cursor` of the previous response.
    """

    state: Annotated[list[UnendedState], Field(min_length=1, max_length=len(UNENDED))]
    cursor: Annotated[str, Field(min_length=1, max_length=768)] | None = None
    dry_run: Annotated[
        bool, Field(description="Cancel nothing; return the number of runs that would be cancelled.")
    ] = False


class CancelledRunsAnswer(TypedDict):
    """The number of runs whose cancellation was requested, or would be (`dry_run`), and the cursor to continue."""

    dry_run: bool
    cancelled: Count
    refused: Count
    more: bool
    next_cursor: str | None


@route(
    "POST",
    "/v1/runs/cancel",
    "runs",
    {200: CancelledRunsAnswer},
    body=CancelRunsBody,
    only_for=frozenset({OPS, WRITE}),
    problems=("invalid-command", "unknown-job", "lane-unavailable"),
)
def cancel_runs(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Cancel many runs.

    Requests the cancellation of the runs that `GET /v1/runs` lists with the same filter: at most `limit` runs, or fewer
    if the request reaches its time limit or has to search many runs. Pass `next_cursor` to continue. Each run counts as
    a request. Without `job_id`, it requires the `ops` scope. With `dry_run`, no run is cancelled, and `cancelled` is
    the number of runs that would be cancelled. Cancel `QUEUED` runs before active ones, because they could start in
    the meantime.
    """
    body = read_body(request, CancelRunsBody)
    if body.job_id is None and OPS not in request.scopes:
        raise insufficient_scope(
            "The cancellation of runs of all jobs requires the scope ops; set job_id", frozenset({OPS})
        )
    body.check_times()
    runs, cursor_after = _to_cancel(api, request, body)
    request.budget.charge(len(runs))
    done = api.commands.send_many(OperationKind.CANCEL, runs, by=request.principal, dry_run=body.dry_run)
    following = cursor_after(done.done)
    document = CancelledRunsAnswer(
        dry_run=body.dry_run,
        cancelled=done.sent,
        refused=done.refused,
        more=following is not None,
        next_cursor=following,
    )
    facts = {"job_id": body.job_id, "dry_run": body.dry_run, "sent": done.sent, "unsent": done.refused}
    counts = {"SendsRefused": done.refused} if done.refused else {}
    return Answer(HTTPStatus.OK, "runs_cancelled", document, facts=facts, counts=counts)


def _to_cancel(api: Api, request: Request, body: CancelRunsBody) -> tuple[Sequence[Run], Callable[[int], str | None]]:
    """Return a page of the runs that the body selects, and a function that returns the cursor after the first runs of
    the page. Raises Problem (422) for an invalid cursor.
    """
    wanted = RunFilter(tuple(dict.fromkeys(map(RunState, body.state))), body.since, body.until, body.error)
    tenant, job_id, tag = request.tenant, body.job_id, body.tag
    try:
        mark = read_state_page_token(body.cursor) if job_id is None else None
        before = None if job_id is None else read_run_page_token(body.cursor, job_id)
    except Problem:
        remedy = "use next_cursor of the previous response with the same job_id, or remove it"
        raise invalid([FieldFault(f"is not a cursor of this list; {remedy}", "/cursor")], "invalid-command") from None
    if job_id is None:
        delayed = RunState.QUEUED in wanted.states
        charge = request.budget.charge
        found = api.search.page(tenant, wanted, limit=body.limit, before=mark, tag=tag, delayed=delayed, charge=charge)

        def after_found(count: int) -> str | None:
            following = found.first(count).following
            return None if following is None else state_page_token(following)

        return found.items, after_found
    limit = min(body.limit, MAX_LIMIT)
    page = api.history.page(tenant, job_id, limit=limit, before=before, wanted=wanted, tag=tag)

    def after_run(count: int) -> str | None:
        following = page.items[count - 1].name.local if count < len(page.items) else page.following
        return None if following is None else run_page_token(job_id, following)

    return page.items, after_run


Command = Literal["complete", "fail", "cancel", "redrive"]


@route("GET", "/v1/runs/<run_id>", "runs", {200: SingleRunAnswer})
def get_run(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Read a run.

    Returns the run with its last 20 attempts. Instead of a result above 2 KB, the response has its size and a temporary
    address (`result_url`). If an ended run of a step may continue because of a redrive, the response has `waits_for`.
    """
    run_id = run_id_in(parameters)
    run = api.runs.get(request.tenant, run_id)
    url = api.runs.link(run)
    body = single_run_document(run)
    if (view := api.explain.redriven(run, request.tags, request.budget.charge)) is not None:
        body["waits_for"] = list(view.step(run.job_id).waits_for)
    if url is not None:
        body |= {"result_url": url, "result_url_seconds": LINK_SECONDS}
    return Answer(HTTPStatus.OK, "run_read", body, facts={"run_id": run_id})


class RunPayloadAnswer(TypedDict):
    """The payload that a run sends to its target."""

    payload: Annotated[Any, Field(description="The payload with its templates filled in, except for `callback_token`.")]
    idempotency_key: str | None
    own: Annotated[
        bool,
        Field(
            description=(
                "Whether the payload was set when the run was requested; otherwise it is the payload of the job."
            )
        ),
    ]
    changed: Annotated[
        bool,
        Field(
            description=(
                "Whether the job was changed after the attempt started; the attempt may have sent a different payload."
            )
        ),
    ]
    problem: Annotated[
        str | None, Field(description="The reason why the payload is unknown, if it is; `payload` is then null.")
    ]


@route("GET", "/v1/runs/<run_id>/payload", "runs", {200: RunPayloadAnswer}, problems=("job-deleted",))
def get_run_payload(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Read the payload of a run.

    Returns the payload of the last attempt, or of the first attempt if none has started. The payload is not stored, but
    computed from the run and the current definition of its job. A run that ended before its first attempt has no
    payload (see `problem`). For a run of a workflow, it is the payload that the steps can use.
    """
    run_id = run_id_in(parameters)
    sent = api.run_payloads.of(request.tenant, run_id)
    return Answer(HTTPStatus.OK, "run_payload_read", to_document(sent), facts={"run_id": run_id})


@route("POST", "/v1/runs/<run_id>/cancel", "runs", {202: AcceptedAnswer}, problems=("run-ended", "lane-unavailable"))
def cancel_run(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Cancel a run.

    A run that has not started yet will not start. A call in progress is not interrupted; if it fails, it is not
    retried. A run that waits for a callback without heartbeats ends immediately; with heartbeats, the response to the
    next heartbeat has `cancel_requested`. A run of a workflow ends immediately.
    """
    return _asked("cancel", parameters, lambda run_id: api.commands.cancel(request.tenant, run_id, request.principal))


@route(
    "POST",
    "/v1/runs/<run_id>/redrive",
    "dead letters",
    {202: AcceptedAnswer},
    problems=("not-dead", "nothing-to-redrive", "job-deleted", "lane-unavailable"),
)
def redrive_run(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Redrive a dead run.

    The run gets a new set of attempts. Only dead runs can be redriven. A workflow continues as if the failure had not
    happened: a redrive of its run also redrives its dead steps. Without a dead step of its own, a run of a workflow
    whose steps failed cannot be redriven. After a redrive of a step, the conditions of
    the skipped steps after it are evaluated again. A paused step starts after it is resumed.
    """
    return _asked("redrive", parameters, lambda run_id: api.commands.redrive(request.tenant, run_id, request.principal))


def _asked(command: Command, parameters: Mapping[str, str], ask: Callable[[str], Run]) -> Answer:
    run_id = run_id_in(parameters)
    run = ask(run_id)
    return accepted(command, run)


def accepted(command: Command, run: Run) -> Answer:
    """Return 202 with the current run. The worker applies the command later."""
    body = AcceptedAnswer(run=run_document(run), accepted=command)
    facts = {"tenant": run.tenant, "run_id": run.run_id, "attempt": run.attempt, "state": run.state}
    return Answer(HTTPStatus.ACCEPTED, f"{command}_accepted", body, facts=facts)


def run_id_in(parameters: Mapping[str, str]) -> str:
    """Return the percent-decoded run id in a path."""
    return unquote(parameters["run_id"])


class NearestAnswer(TypedDict):
    """The occurrences nearest to an instant, according to the job's current schedule."""

    before: Second | None
    after: Second | None


class ExplainedAnswer(TypedDict):
    """The explanation of why a job ran or did not run at an instant."""

    at: Second
    verdict: Verdict
    sentence: str
    facts: Annotated[dict[str, Any], Field(description="The facts in the sentence.")]
    run: Annotated[RunAnswer | None, Field(description="The record that the explanation is based on.")]
    nearest: NearestAnswer


class ExplainQuery(Query):
    """The instant to explain."""

    at: Annotated[
        int | None, instant_parameter("At", "The instant to explain (default: now).", "2026-11-21T03:00:00Z")
    ] = None


@route("GET", "/v1/jobs/<job_id>/explain", "runs", {200: ExplainedAnswer}, query=ExplainQuery)
def explain_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Explain why a job ran or did not run at an instant.

    The explanation is based on the records if there are any, otherwise on the schedule. Examples are the reason for a
    skipped run, the caller who paused the job, a gap in the local time, an exclusion, a time before the job's creation,
    or a run that is still queued. For a run of a workflow, the explanation includes the number of ended steps and the
    steps that the run waits for. For a step (at an occurrence of its workflow), it includes the step's record, the
    upstream steps that it waits for, or the reason why the workflow did not run.
    """
    job_id = job_id_in(parameters)
    asked = ExplainQuery.of(request).at
    at = int(api.explain.parts.clock.now()) if asked is None else asked
    explained = api.explain(request.tenant, job_id, at, request.tags, request.budget.charge)
    found = explained.found
    body = ExplainedAnswer(
        at=to_iso(at),
        verdict=found.verdict,
        sentence=found.sentence,
        facts=dict(found.facts),
        run=None if explained.run is None else run_document(explained.run),
        nearest=NearestAnswer(before=_second(found.before), after=_second(found.after)),
    )
    return Answer(HTTPStatus.OK, "job_explained", body, facts={"job_id": job_id, "at": at, "verdict": found.verdict})


def _second(instant: int | None) -> str | None:
    return None if instant is None else to_iso(instant)
