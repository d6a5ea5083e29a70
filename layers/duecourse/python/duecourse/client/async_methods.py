"""Every operation of the API. Written by scripts/client_code from openapi.json (`make openapi`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence
from datetime import datetime
from typing import Any, Literal, TypeVar

from duecourse.client.bodies import JobPatch, JobRequest, LimitBreaker, LimitRate, RunRequest, WorkflowRequest
from duecourse.client.calls import Call
from duecourse.client.models import (
    Accepted,
    Backfill,
    Batch,
    Calendar,
    CancelledRuns,
    Change,
    ChangedJobs,
    CreatedKey,
    Explained,
    Health,
    Heartbeat,
    Job,
    JobWarnings,
    Keys,
    ListedLimit,
    NotifyTest,
    Preview,
    PutCalendar,
    Redriven,
    RequestedRuns,
    Run,
    RunPayload,
    SingleCalendar,
    SingleLimit,
    SingleRun,
    Skipped,
    SpreadPlan,
    Stage,
    StageMetrics,
    Stats,
    Tenants,
    Upcoming,
    Workflow,
    WorkflowPut,
    WorkflowRun,
    WorkflowSummary,
)
from duecourse.client.pagination import AsyncPage
from duecourse.client.reading import Answer

A = TypeVar("A", bound=Answer)


class AsyncMethods(ABC):
    """The operations; `_send` and `_page` send their calls."""

    @abstractmethod
    def _send(self, call: Call, answer: type[A]) -> Awaitable[A]:
        """Return the model of a call's response."""

    @abstractmethod
    def _page(self, call: Call, item: type[A]) -> Awaitable[AsyncPage[A]]:
        """Return the page of items in a call's response."""

    def list_calendars(self, *, limit: int | None = None, cursor: str | None = None) -> Awaitable[AsyncPage[Calendar]]:
        """List calendars.

        Lists the calendars of the tenant, ordered by id.

        `limit`: the maximum number of items of a page.

        `cursor`: `next_cursor` of the previous page of the same list. It is opaque.
        """
        return self._page(Call("GET", "calendars", query={"limit": limit, "cursor": cursor}), Calendar)

    def put_calendar(
        self,
        calendar_id: str,
        exclude: list[str] | tuple[str, ...],
        *,
        if_match: str | None = None,
        if_none_match: Literal["*"] | None = None,
        description: str | None = None,
        cursor: str | None = None,
    ) -> Awaitable[PutCalendar]:
        """Create or replace a calendar.

        This request also updates the jobs that use the calendar: up to 100 jobs in one call, and each counts as a
        request. Pass `next_cursor` as `cursor`, with the same days, to continue; if the calendar has changed in
        between, the response is 412. Jobs whose schedule changes start a new generation, as after an edit.
        Repeating the request changes nothing. Index repair completes an interrupted request within a day.

        `calendar_id`: the id of the calendar.

        `if_match`: make the change only if the resource still has this ETag (412 otherwise); `*` matches any ETag.

        `if_none_match`: with `*`, make the change only if the resource does not exist yet.

        `exclude`: dates, ranges of dates (2026-12-24/2027-01-01), windows
        (2026-12-01T22:00:00Z/2026-12-02T02:00:00Z) and cron expressions (* * * * SAT,SUN). If a window is written
        with /catch_up, one occurrence at its end replaces those in it.
        """
        return self._send(
            Call(
                "PUT",
                Call.at("calendars/{calendar_id}", calendar_id=calendar_id),
                fields={"exclude": exclude, "description": description, "cursor": cursor},
                headers={"If-Match": if_match, "If-None-Match": if_none_match},
            ),
            PutCalendar,
        )

    def get_calendar(self, calendar_id: str) -> Awaitable[SingleCalendar]:
        """Read a calendar.

        Returns the calendar and the jobs that use it.

        `calendar_id`: the id of the calendar.
        """
        return self._send(Call("GET", Call.at("calendars/{calendar_id}", calendar_id=calendar_id)), SingleCalendar)

    def delete_calendar(self, calendar_id: str, *, if_match: str | None = None) -> Awaitable[Answer]:
        """Delete a calendar.

        A calendar that jobs use is not deleted (409).

        `calendar_id`: the id of the calendar.

        `if_match`: make the change only if the resource still has this ETag (412 otherwise); `*` matches any ETag.
        """
        return self._send(
            Call("DELETE", Call.at("calendars/{calendar_id}", calendar_id=calendar_id), headers={"If-Match": if_match}),
            Answer,
        )

    def list_dead_runs(
        self,
        *,
        job_id: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        tag: str | None = None,
        error: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Awaitable[AsyncPage[Run]]:
        """List dead runs.

        Lists dead runs, newest first. `job_id` selects the runs of one job; `since` (inclusive) and `until`
        (exclusive) select by the time of death; `tag` by the current tags of the job; `error` by a text in the
        error. With `tag` or `error` a page may be short or empty and still have a next page.

        `job_id`: only runs of this job.

        `since`: only runs that entered their state at this time or later.

        `until`: only runs that entered their state before this time.

        `tag`: only runs of jobs that currently have this tag.

        `error`: only runs with an error that contains this text (not case-sensitive).

        `limit`: the maximum number of items of a page.

        `cursor`: `next_cursor` of the previous page of the same list. It is opaque.
        """
        return self._page(
            Call(
                "GET",
                "dead-letters",
                query={
                    "job_id": job_id,
                    "since": since,
                    "until": until,
                    "tag": tag,
                    "error": error,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            Run,
        )

    def redrive_dead_runs(
        self,
        *,
        job_id: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        tag: str | None = None,
        error: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        dry_run: bool | None = None,
    ) -> Awaitable[Redriven]:
        """Redrive dead runs.

        Redrives the dead runs of one job or of all jobs, filtered by the time of death, the tags of the job and the
        error: at most `limit` runs, or fewer if the request reaches its time limit. Pass `next_cursor` to continue.
        With `dry_run`, no run is redriven, and `redriven` is the number of runs that would be redriven.

        `since`: ISO-8601 with an offset, preferably UTC with Z.

        `until`: ISO-8601 with an offset, preferably UTC with Z.

        `dry_run`: redrive nothing; return the number of runs that would be redriven.
        """
        return self._send(
            Call(
                "POST",
                "dead-letters/redrive",
                fields={
                    "job_id": job_id,
                    "since": since,
                    "until": until,
                    "tag": tag,
                    "error": error,
                    "limit": limit,
                    "cursor": cursor,
                    "dry_run": dry_run,
                },
            ),
            Redriven,
        )

    def get_health(self) -> Awaitable[Health]:
        """Check whether ticks run.

        The status is 503 if the last tick ran more than three minutes ago. Callers without the `ops` scope see no
        details.
        """
        return self._send(Call("GET", "health"), Health)

    def create_job(self, job: JobRequest, *, idempotency_key: str | None = None) -> Awaitable[Job]:
        """Create a job.

        If `id` is missing, it is generated. If the job is not valid, all errors are returned together and no job is
        created. With an `Idempotency-Key` the same request can be repeated for one day without creating a second
        job: it returns the job of the first request (200).

        `idempotency_key`: your own unique key for this request, such as a UUID. You can safely repeat the request
        with the same key.
        """
        return self._send(Call("POST", "jobs", idempotency_key=idempotency_key, body=job), Job)

    def list_jobs(
        self,
        *,
        prefix: str | None = None,
        search: str | None = None,
        tag: str | None = None,
        state: Literal["ACTIVE", "PAUSED", "COMPLETED"] | None = None,
        owner: str | None = None,
        total: bool | None = None,
        runs: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Awaitable[AsyncPage[Job]]:
        """List jobs.

        Lists the jobs of the tenant, ordered by id. A search (`search`, `state`, `owner`, `total`) reads up to 10
        MB of jobs; the page may then be short and still have a next page. Every MB after the first costs another
        request.

        `prefix`: only jobs with an id that starts with this text.

        `search`: only jobs with an id or a name that contains this text (not case-sensitive).

        `tag`: only jobs with this tag.

        `state`: only jobs in this state.

        `owner`: only jobs of this owner (exact match).

        `total`: also return the number of matching jobs, from this page to the end of the list.

        `runs`: return up to this number of last runs of each job (`last_runs`).

        `limit`: the maximum number of items of a page.

        `cursor`: `next_cursor` of the previous page of the same list. It is opaque.
        """
        return self._page(
            Call(
                "GET",
                "jobs",
                query={
                    "prefix": prefix,
                    "search": search,
                    "tag": tag,
                    "state": state,
                    "owner": owner,
                    "total": total,
                    "runs": runs,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            Job,
        )

    def get_job(self, job_id: str) -> Awaitable[Job]:
        """Read a job.

        Returns the stored job with its next occurrence.

        `job_id`: the id of the job.
        """
        return self._send(Call("GET", Call.at("jobs/{job_id}", job_id=job_id)), Job)

    def put_job(
        self,
        job_id: str,
        job: JobRequest,
        *,
        dry_run: bool | None = None,
        if_match: str | None = None,
        if_none_match: Literal["*"] | None = None,
    ) -> Awaitable[Job]:
        """Create or replace a job.

        The body replaces the job completely. Repeating the request with the same body changes nothing. If the
        schedule does not change, enqueued runs are kept. The response of GET is a valid body. With `dry_run=true`
        nothing is written: the response is the job that would be stored (with the ETag of the version that it would
        replace).

        `job_id`: the id of the job.

        `dry_run`: write nothing; return the result that the request would have.

        `if_match`: make the change only if the resource still has this ETag (412 otherwise); `*` matches any ETag.

        `if_none_match`: with `*`, make the change only if the resource does not exist yet.
        """
        return self._send(
            Call(
                "PUT",
                Call.at("jobs/{job_id}", job_id=job_id),
                body=job,
                query={"dry_run": dry_run},
                headers={"If-Match": if_match, "If-None-Match": if_none_match},
            ),
            Job,
        )

    def patch_job(
        self, job_id: str, changes: JobPatch, *, dry_run: bool | None = None, if_match: str | None = None
    ) -> Awaitable[Job]:
        """Change a job.

        The body is a JSON merge patch (RFC 7396): the fields in the patch are replaced, and null restores a field's
        default (null for `schedule` removes the schedule). The result is validated like a posted job. A rate keeps
        the job's `anchor` unless the patch sets it. As with PUT, `dry_run=true` writes nothing.

        `job_id`: the id of the job.

        `dry_run`: write nothing; return the result that the request would have.

        `if_match`: make the change only if the resource still has this ETag (412 otherwise); `*` matches any ETag.
        """
        return self._send(
            Call(
                "PATCH",
                Call.at("jobs/{job_id}", job_id=job_id),
                body=changes,
                query={"dry_run": dry_run},
                headers={"If-Match": if_match},
            ),
            Job,
        )

    def delete_job(self, job_id: str, *, if_match: str | None = None) -> Awaitable[Answer]:
        """Delete a job.

        No new runs start; running attempts continue to their end. The records of the job's runs can still be read.
        If the job is a workflow, its active runs and the redriven steps of its other runs are cancelled, and its
        steps are kept. For the rate limit, every 20 steps count as one request. After an error, repeat the request
        to cancel the remaining runs, even if the API reports that the job does not exist.

        `job_id`: the id of the job.

        `if_match`: make the change only if the resource still has this ETag (412 otherwise); `*` matches any ETag.
        """
        return self._send(
            Call("DELETE", Call.at("jobs/{job_id}", job_id=job_id), headers={"If-Match": if_match}), Answer
        )

    def backfill_job(
        self,
        job_id: str,
        from_: datetime | str,
        to: datetime | str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        pace_seconds: int | None = None,
        at_once: int | None = None,
        newest_first: bool | None = None,
        only: Literal["missing", "failed", "all"] | None = None,
        force_new_key: bool | None = None,
        dry_run: bool | None = None,
    ) -> Awaitable[Backfill]:
        """Run past occurrences.

        Runs occurrences of the current schedule in a range, one every `pace_seconds`, at most `at_once` at a time.
        `only` selects those that are missing (without a record, or skipped because they were late), those that
        failed (dead), or all. Each has the idempotency key of its scheduled run. If `dry_run` is true (the
        default), the response (200) has only the plan, its estimated cost and the results so far. A started
        backfill returns 202.

        `job_id`: the id of the job.

        `if_match`: make the change only if the resource still has this ETag (412 otherwise); `*` matches any ETag.

        `idempotency_key`: your own unique key for this request, such as a UUID. You can safely repeat the request
        with the same key.

        `from_`: ISO-8601 with an offset, preferably UTC with Z.

        `to`: ISO-8601 with an offset, preferably UTC with Z.

        `at_once`: the maximum number of active runs; further runs wait. Null: the job's overlap rule applies.
        """
        return self._send(
            Call(
                "POST",
                Call.at("jobs/{job_id}/backfill", job_id=job_id),
                idempotency_key=idempotency_key,
                fields={
                    "from": from_,
                    "to": to,
                    "pace_seconds": pace_seconds,
                    "at_once": at_once,
                    "newest_first": newest_first,
                    "only": only,
                    "force_new_key": force_new_key,
                    "dry_run": dry_run,
                },
                headers={"If-Match": if_match},
            ),
            Backfill,
        )

    def explain_job(self, job_id: str, *, at: datetime | str | None = None) -> Awaitable[Explained]:
        """Explain why a job ran or did not run at an instant.

        The explanation is based on the records if there are any, otherwise on the schedule. Examples are the reason
        for a skipped run, the caller who paused the job, a gap in the local time, an exclusion, a time before the
        job's creation, or a run that is still queued. For a run of a workflow, the explanation includes the number
        of ended steps and the steps that the run waits for. For a step (at an occurrence of its workflow), it
        includes the step's record, the upstream steps that it waits for, or the reason why the workflow did not
        run.

        `job_id`: the id of the job.

        `at`: the instant to explain (default: now).
        """
        return self._send(Call("GET", Call.at("jobs/{job_id}/explain", job_id=job_id), query={"at": at}), Explained)

    def get_job_history(
        self, job_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Awaitable[AsyncPage[Change]]:
        """Read the change history of a job.

        The newest changes are first. Changes are kept for 400 days, even after the job is deleted or created again.
        Requests about the runs of the job are included.

        `job_id`: the id of the job.

        `limit`: the maximum number of items of a page.

        `cursor`: `next_cursor` of the previous page of the same list. It is opaque.
        """
        return self._page(
            Call("GET", Call.at("jobs/{job_id}/history", job_id=job_id), query={"limit": limit, "cursor": cursor}),
            Change,
        )

    def pause_job(
        self,
        job_id: str,
        *,
        if_match: str | None = None,
        note: str | None = None,
        from_: datetime | str | None = None,
        until: datetime | str | None = None,
        catch_up: bool | None = None,
    ) -> Awaitable[Job]:
        """Pause a job.

        Occurrences that are due during the pause do not run. With `until`, the job resumes automatically; the
        occurrence at that instant runs. With `from`, the pause is planned: it replaces the last planned pause or,
        if that one has `catch_up` and is in progress, extends it. A job without a schedule cannot have a planned
        pause. A resume request removes a planned pause. If the pause has started, and the pause or the resume
        request has `catch_up`, the pause ends now instead. A paused job can be paused again: the last request
        determines when the pause ends. If the job is a step of a workflow, its runs, including redriven runs, wait
        until it is resumed.

        `job_id`: the id of the job.

        `if_match`: make the change only if the resource still has this ETag (412 otherwise); `*` matches any ETag.

        `from_`: ISO-8601 with an offset, preferably UTC with Z.

        `until`: ISO-8601 with an offset, preferably UTC with Z.
        """
        return self._send(
            Call(
                "POST",
                Call.at("jobs/{job_id}/pause", job_id=job_id),
                fields={"note": note, "from": from_, "until": until, "catch_up": catch_up},
                headers={"If-Match": if_match},
            ),
            Job,
        )

    def ping_job(self, job_id: str) -> Awaitable[Job]:
        """Ping a job.

        The job must have `expect_every`. It runs if no further ping arrives within that interval. `anchor` is the
        time of the last ping. The change history does not contain pings.

        `job_id`: the id of the job.
        """
        return self._send(Call("POST", Call.at("jobs/{job_id}/ping", job_id=job_id)), Job)

    def resume_job(
        self, job_id: str, *, if_match: str | None = None, catch_up: bool | None = None, note: str | None = None
    ) -> Awaitable[Job]:
        """Resume a job.

        With `catch_up`, the occurrences during the pause are treated as missed, according to the job's policy;
        otherwise they are skipped. If the job is a step of a workflow, its waiting runs start within a second.

        `job_id`: the id of the job.

        `if_match`: make the change only if the resource still has this ETag (412 otherwise); `*` matches any ETag.
        """
        return self._send(
            Call(
                "POST",
                Call.at("jobs/{job_id}/resume", job_id=job_id),
                fields={"catch_up": catch_up, "note": note},
                headers={"If-Match": if_match},
            ),
            Job,
        )

    def run_job(
        self,
        job_id: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        payload: Any | None = None,
        at: str | None = None,
        delay_seconds: int | None = None,
    ) -> Awaitable[Run]:
        """Run a job now or at a later time.

        Starts a run independently of the state and the schedule of the job; `overlap`, `start_deadline_seconds` and
        deadlines apply. Exception: if the job is a step of a workflow and is paused, its run waits until the job is
        resumed. With `at` or `delay_seconds`, the run is `QUEUED` until its start time, at most 366 days ahead. It
        can be listed, read and cancelled, and does not start if the job is deleted. A repeated request with the
        same `Idempotency-Key` returns the same run.

        `job_id`: the id of the job.

        `if_match`: make the change only if the resource still has this ETag (412 otherwise); `*` matches any ETag.

        `idempotency_key`: your own unique key for this request, such as a UUID. You can safely repeat the request
        with the same key.

        `at`: an instant with an offset, or a time in the job's zone, such as 2026-12-24T18:00:00.
        """
        return self._send(
            Call(
                "POST",
                Call.at("jobs/{job_id}/run", job_id=job_id),
                idempotency_key=idempotency_key,
                fields={"payload": payload, "at": at, "delay_seconds": delay_seconds},
                headers={"If-Match": if_match},
            ),
            Run,
        )

    def run_job_many_times(
        self,
        job_id: str,
        runs: Sequence[RunRequest],
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Awaitable[RequestedRuns]:
        """Request many runs of a job.

        Requests up to 100 runs, now or at later times. Each run has its own result and counts as one request. An
        `Idempotency-Key` applies to each position of the list separately.

        `job_id`: the id of the job.

        `if_match`: make the change only if the resource still has this ETag (412 otherwise); `*` matches any ETag.

        `idempotency_key`: your own unique key for this request, such as a UUID. You can safely repeat the request
        with the same key.
        """
        return self._send(
            Call(
                "POST",
                Call.at("jobs/{job_id}/run/batch", job_id=job_id),
                idempotency_key=idempotency_key,
                fields={"runs": runs},
                headers={"If-Match": if_match},
            ),
            RequestedRuns,
        )

    def list_runs(
        self,
        job_id: str,
        *,
        state: Literal["QUEUED", "RUNNING", "WAITING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"]
        | Sequence[Literal["QUEUED", "RUNNING", "WAITING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"]]
        | None = None,
        from_: datetime | str | None = None,
        to: datetime | str | None = None,
        caught_up: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Awaitable[AsyncPage[Run]]:
        """List the runs of a job.

        The newest runs are first, including enqueued runs (`QUEUED`). `from` and `to` select occurrences from the
        first instant (inclusive) to the second (exclusive). With `from`, `to` or `state`, queued runs are included
        only if `state` contains `QUEUED`, and a page may be short or empty and still have a next page. The runs of
        a deleted job are kept until they expire.

        `job_id`: the id of the job.

        `state`: only runs in these states; separate them by commas, or repeat the parameter.

        `from_`: only items at this instant or later.

        `to`: only items before this instant.

        `caught_up`: only catch-up runs, whose occurrences were missed or covered by a pause with `catch_up`.

        `limit`: the maximum number of items of a page.

        `cursor`: `next_cursor` of the previous page of the same list. It is opaque.
        """
        return self._page(
            Call(
                "GET",
                Call.at("jobs/{job_id}/runs", job_id=job_id),
                query={
                    "state": state,
                    "from": from_,
                    "to": to,
                    "caught_up": caught_up,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            Run,
        )

    def skip_next(
        self, job_id: str, *, if_match: str | None = None, idempotency_key: str | None = None, count: int | None = None
    ) -> Awaitable[Skipped]:
        """Skip the next occurrences.

        Skips the next occurrences that have no record yet. A repeated request with the same `Idempotency-Key` skips
        no further occurrences.

        `job_id`: the id of the job.

        `if_match`: make the change only if the resource still has this ETag (412 otherwise); `*` matches any ETag.

        `idempotency_key`: your own unique key for this request, such as a UUID. You can safely repeat the request
        with the same key.
        """
        return self._send(
            Call(
                "POST",
                Call.at("jobs/{job_id}/skip-next", job_id=job_id),
                idempotency_key=idempotency_key,
                fields={"count": count},
                headers={"If-Match": if_match},
            ),
            Skipped,
        )

    def send_test_notice(self, job_id: str, *, idempotency_key: str | None = None) -> Awaitable[NotifyTest]:
        """Send a test notice.

        Starts a run of each job that the rules in `notify` name. Its payload is a notice that is marked as a test.

        `job_id`: the id of the job.

        `idempotency_key`: your own unique key for this request, such as a UUID. You can safely repeat the request
        with the same key.
        """
        return self._send(
            Call("POST", Call.at("jobs/{job_id}/test-notice", job_id=job_id), idempotency_key=idempotency_key),
            NotifyTest,
        )

    def get_job_warnings(self, job_id: str) -> Awaitable[JobWarnings]:
        """Read the warnings about a job.

        `slow`: runs take longer than the interval between two occurrences. `skipped`: at least five runs were
        skipped (not by a caller) or cover several occurrences. `notify`: a job in `notify` does not exist.
        `calendar`: the last date of a calendar is less than 60 days away.

        `job_id`: the id of the job.
        """
        return self._send(Call("GET", Call.at("jobs/{job_id}/warnings", job_id=job_id)), JobWarnings)

    def create_jobs(self, jobs: Sequence[JobRequest], *, idempotency_key: str | None = None) -> Awaitable[Batch]:
        """Create many jobs.

        Creates up to 100 jobs. Each job has its own result, and an error in one job does not affect the other jobs.
        An `Idempotency-Key` applies to each position of the list separately.

        `idempotency_key`: your own unique key for this request, such as a UUID. You can safely repeat the request
        with the same key.
        """
        return self._send(Call("POST", "jobs/batch", idempotency_key=idempotency_key, fields={"jobs": jobs}), Batch)

    def pause_jobs(
        self,
        *,
        note: str | None = None,
        from_: datetime | str | None = None,
        until: datetime | str | None = None,
        catch_up: bool | None = None,
        tag: str | None = None,
        ids: list[str] | tuple[str, ...] | None = None,
        all: bool | None = None,
        cursor: str | None = None,
    ) -> Awaitable[ChangedJobs]:
        """Pause many jobs.

        Selects the jobs with a tag or with `ids`, or all jobs with `"all": true`. A selection by `ids` does not
        require the `ops` scope. One call handles up to 100 jobs, and each job counts as a request. Pass
        `next_cursor` to continue.

        `from_`: ISO-8601 with an offset, preferably UTC with Z.

        `until`: ISO-8601 with an offset, preferably UTC with Z.
        """
        return self._send(
            Call(
                "POST",
                "jobs/pause",
                fields={
                    "note": note,
                    "from": from_,
                    "until": until,
                    "catch_up": catch_up,
                    "tag": tag,
                    "ids": ids,
                    "all": all,
                    "cursor": cursor,
                },
            ),
            ChangedJobs,
        )

    def resume_jobs(
        self,
        *,
        tag: str | None = None,
        ids: list[str] | tuple[str, ...] | None = None,
        all: bool | None = None,
        cursor: str | None = None,
        catch_up: bool | None = None,
        others: bool | None = None,
        note: str | None = None,
    ) -> Awaitable[ChangedJobs]:
        """Resume many jobs.

        Selects the jobs with a tag or with `ids`, or all jobs with `"all": true`. Without `ids`, it resumes the
        jobs that were paused by a request with the same tag or for all jobs; with `others`, it also resumes jobs
        that were paused in another way. A selection by `ids` does not require the `ops` scope. One call handles up
        to 100 jobs, and each job counts as a request. Pass `next_cursor` to continue.
        """
        return self._send(
            Call(
                "POST",
                "jobs/resume",
                fields={
                    "tag": tag,
                    "ids": ids,
                    "all": all,
                    "cursor": cursor,
                    "catch_up": catch_up,
                    "others": others,
                    "note": note,
                },
            ),
            ChangedJobs,
        )

    def plan_spread(self, ids: list[str] | tuple[str, ...], within_minutes: int) -> Awaitable[SpreadPlan]:
        """Plan the spread of jobs.

        Chooses a quiet minute for each job from the upcoming load. Each choice takes the previous ones into
        account, so the jobs are also spread relative to each other. Nothing is stored: to apply the plan, set
        `spread` of each job (PATCH). `before` and `after` are null if the tenant has too many jobs (about 5,000) or
        runs for a forecast; then only a hash of the id chooses the minute. They are also null for callers with tag-
        scoped permissions. The request counts as one request for each job, in addition to the requests of the
        forecast (GET /v1/upcoming).
        """
        return self._send(
            Call("POST", "jobs/spread", fields={"ids": ids, "within_minutes": within_minutes}), SpreadPlan
        )

    def create_key(
        self,
        scope: str,
        *,
        idempotency_key: str | None = None,
        description: str | None = None,
        expires_in_days: int | None = None,
        requests_per_minute: int | None = None,
        debounce_seconds: int | None = None,
        debounce_key: str | None = None,
        signed: bool | None = None,
        events: list[str] | tuple[str, ...] | None = None,
    ) -> Awaitable[CreatedKey]:
        """Create an API key.

        The key starts runs of one job. Only its hash is stored, so this response is the only one that contains the
        key. A repeated request with the same `Idempotency-Key` replaces the first API key.

        `idempotency_key`: your own unique key for this request, such as a UUID. You can safely repeat the request
        with the same key.

        `scope`: the job that the key can run: run:JOB.

        `debounce_seconds`: requests with the same debounce_key within a window of this length start one run, at the
        end of the window, with the first payload.

        `debounce_key`: A template, such as {{payload.repository.name}}. Without it, all requests start one run.

        `signed`: whether requests must have a signature.

        `events`: the values of X-GitHub-Event, such as push, that start runs. Requests about other events have no
        effect. Empty: all events except ping.
        """
        return self._send(
            Call(
                "POST",
                "keys",
                idempotency_key=idempotency_key,
                fields={
                    "scope": scope,
                    "description": description,
                    "expires_in_days": expires_in_days,
                    "requests_per_minute": requests_per_minute,
                    "debounce_seconds": debounce_seconds,
                    "debounce_key": debounce_key,
                    "signed": signed,
                    "events": events,
                },
            ),
            CreatedKey,
        )

    def list_keys(self) -> Awaitable[Keys]:
        """List API keys.

        Also lists keys that expired less than 30 days ago.
        """
        return self._send(Call("GET", "keys"), Keys)

    def delete_key(self, key_id: str) -> Awaitable[Answer]:
        """Revoke an API key.

        The key can no longer start runs.

        `key_id`: the id of the API key.
        """
        return self._send(Call("DELETE", Call.at("keys/{key_id}", key_id=key_id)), Answer)

    def list_limits(self, *, limit: int | None = None, cursor: str | None = None) -> Awaitable[AsyncPage[ListedLimit]]:
        """List concurrency limits.

        Lists the keys with a stored limit or with waiting runs, ordered by key.

        `limit`: the maximum number of items of a page.

        `cursor`: `next_cursor` of the previous page of the same list. It is opaque.
        """
        return self._page(Call("GET", "limits", query={"limit": limit, "cursor": cursor}), ListedLimit)

    def get_limit(self, limit_key: str) -> Awaitable[SingleLimit]:
        """Read a concurrency limit.

        Returns the stored limit of a key, its active runs and its wait queue.

        `limit_key`: the concurrency key.
        """
        return self._send(Call("GET", Call.at("limits/{limit_key}", limit_key=limit_key)), SingleLimit)

    def put_limit(
        self,
        limit_key: str,
        *,
        concurrency: int | None = None,
        rate: LimitRate | None = None,
        breaker: LimitBreaker | None = None,
    ) -> Awaitable[SingleLimit]:
        """Set a concurrency limit.

        The limit replaces the limits of the jobs with this key, from the next start on. A higher limit starts
        waiting runs. A lower limit stops no run; the next run starts when fewer runs are active. With 0, all runs
        with the key wait. A run that waits for the rate keeps its planned instant.

        `limit_key`: the concurrency key.

        `concurrency`: the maximum number of active runs with the key; 0: none starts.

        `rate`: the rate of the attempts with the key.

        `breaker`: the settings of the circuit breaker of the key.
        """
        return self._send(
            Call(
                "PUT",
                Call.at("limits/{limit_key}", limit_key=limit_key),
                fields={"concurrency": concurrency, "rate": rate, "breaker": breaker},
            ),
            SingleLimit,
        )

    def delete_limit(self, limit_key: str) -> Awaitable[Answer]:
        """Delete a concurrency limit.

        The limits of the jobs then apply again.

        `limit_key`: the concurrency key.
        """
        return self._send(Call("DELETE", Call.at("limits/{limit_key}", limit_key=limit_key)), Answer)

    def close_breaker(self, limit_key: str) -> Awaitable[SingleLimit]:
        """Close a circuit breaker.

        Closes the circuit breaker of a key, and ends its hold or its pause after a `Retry-After`. Attempts start
        again. Of the tenant's newest 200 queued and 200 retrying runs, those that wait for the circuit breaker
        start within 30 seconds. Other waiting runs keep their planned instant, which is at most 15 minutes away.

        `limit_key`: the concurrency key.
        """
        return self._send(Call("POST", Call.at("limits/{limit_key}/close", limit_key=limit_key)), SingleLimit)

    def hold_key(self, limit_key: str, seconds: int) -> Awaitable[SingleLimit]:
        """Hold a key.

        No attempt with the key starts for this time, regardless of whether its jobs have a limit, a rate or a
        circuit breaker. Active runs continue. If the key is already paused for longer, that pause remains.

        `limit_key`: the concurrency key.

        `seconds`: the length of the hold.
        """
        return self._send(
            Call("POST", Call.at("limits/{limit_key}/hold", limit_key=limit_key), fields={"seconds": seconds}),
            SingleLimit,
        )

    def release_place(self, limit_key: str, run_id: str) -> Awaitable[SingleLimit]:
        """Release a place.

        Gives the place of a run to the first waiting run. The run itself continues, so more runs than the limit may
        be active. Use this request only if no program works on the run any longer.

        `limit_key`: the concurrency key.

        `run_id`: the id of a run that has a place of the key.
        """
        return self._send(
            Call("POST", Call.at("limits/{limit_key}/release", limit_key=limit_key), fields={"run_id": run_id}),
            SingleLimit,
        )

    def find_runs(
        self,
        *,
        state: Literal["QUEUED", "RUNNING", "WAITING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"]
        | Sequence[Literal["QUEUED", "RUNNING", "WAITING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"]]
        | None = None,
        tag: str | None = None,
        job: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        error: str | None = None,
        caught_up: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Awaitable[AsyncPage[Run]]:
        """Find runs across jobs.

        Lists runs in the `DEAD`, `RETRYING`, `CANCELLED` and `SKIPPED` states, or in the states in `state`. The run
        that entered its state last is first. `RUNNING` lists runs whose call has lasted more than ten seconds; they
        appear a few seconds later. `WAITING` lists runs that wait for their callback or for the steps of a
        workflow, and `QUEUED` lists runs that wait for other runs or for a rate; delayed runs and enqueued
        occurrences are listed only with `job`. `since` and `until` filter by the time at which the run entered its
        state: the start of its attempt, its end, the end of its last attempt, or the due time of a run that never
        started. `tag` selects runs of jobs that currently have the tag, and `error` selects runs with an error that
        contains the text. `caught_up` selects catch-up runs (default: in any state); the `count` of a run is the
        number of occurrences that it covers. With `job`, the list has the runs of one job in `state` (default: in
        any state), newest occurrence first. A page may be short or empty and still have a next page.  With
        `SUCCEEDED` in `state` and without `job`, the newest occurrence is first, and `since` and `until` select
        occurrences. The id of a run is then also a cursor: the page begins after this run. The list has no runs of
        deleted jobs. With more than 40 jobs, it is read in slices of time, and each slice in groups of jobs: sort
        the runs at or after `complete_from` (in `searched`).

        `state`: only runs in these states; separate them by commas, or repeat the parameter.

        `tag`: only runs of jobs that currently have this tag.

        `job`: only runs of this job.

        `since`: only runs that entered their state at this time or later.

        `until`: only runs that entered their state before this time.

        `error`: only runs with an error that contains this text (not case-sensitive).

        `caught_up`: only catch-up runs, whose occurrences were missed or covered by a pause with `catch_up`.

        `limit`: the maximum number of items of a page.

        `cursor`: `next_cursor` of the previous page of the same list. It is opaque.
        """
        return self._page(
            Call(
                "GET",
                "runs",
                query={
                    "state": state,
                    "tag": tag,
                    "job": job,
                    "since": since,
                    "until": until,
                    "error": error,
                    "caught_up": caught_up,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            Run,
        )

    def get_run(self, run_id: str) -> Awaitable[SingleRun]:
        """Read a run.

        Returns the run with its last 20 attempts. Instead of a result above 2 KB, the response has its size and a
        temporary address (`result_url`). If an ended run of a step may continue because of a redrive, the response
        has `waits_for`.

        `run_id`: the id of the run: job, occurrence (UTC) and, for manual runs, a suffix.
        """
        return self._send(Call("GET", Call.at("runs/{run_id}", run_id=run_id)), SingleRun)

    def cancel_run(self, run_id: str) -> Awaitable[Accepted]:
        """Cancel a run.

        A run that has not started yet will not start. A call in progress is not interrupted; if it fails, it is not
        retried. A run that waits for a callback without heartbeats ends immediately; with heartbeats, the response
        to the next heartbeat has `cancel_requested`. A run of a workflow ends immediately.

        `run_id`: the id of the run: job, occurrence (UTC) and, for manual runs, a suffix.
        """
        return self._send(Call("POST", Call.at("runs/{run_id}/cancel", run_id=run_id)), Accepted)

    def complete_run(self, run_id: str, token: str, *, result: Any | None = None) -> Awaitable[Accepted]:
        """Complete a run.

        The request can be repeated with the same token: the status is 200 after the run has ended.

        `run_id`: the id of the run: job, occurrence (UTC) and, for manual runs, a suffix.

        `token`: the attempt's callback token.
        """
        return self._send(
            Call("POST", Call.at("runs/{run_id}/complete", run_id=run_id), token=token, fields={"result": result}),
            Accepted,
        )

    def fail_run(
        self,
        run_id: str,
        token: str,
        error: str,
        *,
        code: str | None = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
    ) -> Awaitable[Accepted]:
        """Report the failure of a run.

        The retry policy of the job applies; `retryable: false` prevents another attempt. The body can be up to 32
        KB.

        `run_id`: the id of the run: job, occurrence (UTC) and, for manual runs, a suffix.

        `token`: the attempt's callback token.
        """
        return self._send(
            Call(
                "POST",
                Call.at("runs/{run_id}/fail", run_id=run_id),
                token=token,
                fields={"error": error, "code": code, "retryable": retryable, "retry_after": retry_after},
            ),
            Accepted,
        )

    def heartbeat_run(
        self, run_id: str, token: str, *, progress: float | None = None, note: str | None = None
    ) -> Awaitable[Heartbeat]:
        """Send a heartbeat.

        Extends the deadline by `heartbeat_seconds` and stores the reported progress with the run. At most one
        heartbeat per run is stored every five seconds; the first reported progress is always stored. The body can
        be up to 4 KB. Stop working if `cancel_requested` is true, and on every 401 and 409.

        `run_id`: the id of the run: job, occurrence (UTC) and, for manual runs, a suffix.

        `token`: the attempt's callback token.

        `progress`: from 0 to 1, stored with 6 digits.

        `note`: A note for people; an empty text removes the note.
        """
        return self._send(
            Call(
                "POST",
                Call.at("runs/{run_id}/heartbeat", run_id=run_id),
                token=token,
                fields={"progress": progress, "note": note},
            ),
            Heartbeat,
        )

    def get_run_payload(self, run_id: str) -> Awaitable[RunPayload]:
        """Read the payload of a run.

        Returns the payload of the last attempt, or of the first attempt if none has started. The payload is not
        stored, but computed from the run and the current definition of its job. A run that ended before its first
        attempt has no payload (see `problem`). For a run of a workflow, it is the payload that the steps can use.

        `run_id`: the id of the run: job, occurrence (UTC) and, for manual runs, a suffix.
        """
        return self._send(Call("GET", Call.at("runs/{run_id}/payload", run_id=run_id)), RunPayload)

    def redrive_run(self, run_id: str) -> Awaitable[Accepted]:
        """Redrive a dead run.

        The run gets a new set of attempts. Only dead runs can be redriven. A workflow continues as if the failure
        had not happened: a redrive of its run also redrives its dead steps. Without a dead step of its own, a run
        of a workflow whose steps failed cannot be redriven. After a redrive of a step, the conditions of the
        skipped steps after it are evaluated again. A paused step starts after it is resumed.

        `run_id`: the id of the run: job, occurrence (UTC) and, for manual runs, a suffix.
        """
        return self._send(Call("POST", Call.at("runs/{run_id}/redrive", run_id=run_id)), Accepted)

    def rerun(
        self, run_id: str, from_: list[str] | tuple[str, ...], *, idempotency_key: str | None = None
    ) -> Awaitable[Run]:
        """Rerun a part of a workflow's run.

        Starts a new run of the same occurrence with the same graph. The steps in `from` start immediately, and all
        their downstream steps follow. The other steps keep their outcomes and results. If one of them is dead, the
        new run will be dead, unless that step may fail. A repeated request with the same `Idempotency-Key` returns
        the same run.

        `run_id`: the id of the run: job, occurrence (UTC) and, for manual runs, a suffix.

        `idempotency_key`: your own unique key for this request, such as a UUID. You can safely repeat the request
        with the same key.
        """
        return self._send(
            Call(
                "POST",
                Call.at("runs/{run_id}/rerun", run_id=run_id),
                idempotency_key=idempotency_key,
                fields={"from": from_},
            ),
            Run,
        )

    def cancel_runs(
        self,
        state: Sequence[Literal["QUEUED", "RETRYING", "WAITING", "RUNNING"]],
        *,
        job_id: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        tag: str | None = None,
        error: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        dry_run: bool | None = None,
    ) -> Awaitable[CancelledRuns]:
        """Cancel many runs.

        Requests the cancellation of the runs that `GET /v1/runs` lists with the same filter: at most `limit` runs,
        or fewer if the request reaches its time limit or has to search many runs. Pass `next_cursor` to continue.
        Each run counts as a request. Without `job_id`, it requires the `ops` scope. With `dry_run`, no run is
        cancelled, and `cancelled` is the number of runs that would be cancelled. Cancel `QUEUED` runs before active
        ones, because they could start in the meantime.

        `since`: ISO-8601 with an offset, preferably UTC with Z.

        `until`: ISO-8601 with an offset, preferably UTC with Z.

        `dry_run`: cancel nothing; return the number of runs that would be cancelled.
        """
        return self._send(
            Call(
                "POST",
                "runs/cancel",
                fields={
                    "job_id": job_id,
                    "since": since,
                    "until": until,
                    "tag": tag,
                    "error": error,
                    "limit": limit,
                    "state": state,
                    "cursor": cursor,
                    "dry_run": dry_run,
                },
            ),
            CancelledRuns,
        )

    def preview_schedule(
        self,
        schedule: str | list[str] | tuple[str, ...],
        *,
        timezone: str | None = None,
        dst_gap: Literal["next", "skip"] | None = None,
        dst_fold: Literal["first", "second", "both"] | None = None,
        anchor: datetime | str | None = None,
        start: datetime | str | None = None,
        end: datetime | str | None = None,
        exclude: list[str] | tuple[str, ...] | None = None,
        calendar: str | list[str] | tuple[str, ...] | None = None,
        on_excluded: Literal["skip", "previous", "next"] | None = None,
        after: datetime | str | None = None,
        count: int | None = None,
    ) -> Awaitable[Preview]:
        """Preview a schedule.

        Returns the schedule in words, and its next occurrences with the effects of daylight saving time. Nothing is
        stored.

        `schedule`: cron with five fields, or six with seconds first; names such as @daily; rate(5 minutes);
        at(2026-12-31T09:00:00); EventBridge's cron(...); an ISO-8601 instant; R/start/period. A list: up to 10 of
        these; an instant that several of them produce is one occurrence.

        `timezone`: an IANA zone.

        `anchor`: ISO-8601 with an offset, preferably UTC with Z.

        `start`: ISO-8601 with an offset, preferably UTC with Z.

        `end`: ISO-8601 with an offset, preferably UTC with Z.

        `exclude`: the exclusions of a job, and the window of its planned pause.

        `calendar`: the id of a calendar whose days are also excluded, or a list of up to 5 ids. A day that one of
        the calendars excludes is excluded.

        `on_excluded`: on an excluded day: skip the occurrence, or move it to the previous or next day that is not
        excluded.

        `after`: ISO-8601 with an offset, preferably UTC with Z.
        """
        return self._send(
            Call(
                "POST",
                "schedules/preview",
                fields={
                    "schedule": schedule,
                    "timezone": timezone,
                    "dst_gap": dst_gap,
                    "dst_fold": dst_fold,
                    "anchor": anchor,
                    "start": start,
                    "end": end,
                    "exclude": exclude,
                    "calendar": calendar,
                    "on_excluded": on_excluded,
                    "after": after,
                    "count": count,
                },
            ),
            Preview,
        )

    def get_stage(self) -> Awaitable[Stage]:
        """Read the state of the stage.

        Returns the release and settings of the stage, checks of its ticks, rounds and lanes, and its active alarms,
        each with its runbook. A check has the verdict `unknown` if its data cannot be read. `duecourse doctor`
        makes more checks, with an operator's permissions.
        """
        return self._send(Call("GET", "stage"), Stage)

    def get_stage_metrics(self) -> Awaitable[StageMetrics]:
        """Read the stage's CloudWatch metrics.

        Returns lateness and outcomes of the last 24 hours in intervals of 30 minutes, the age of the oldest message
        of each lane, and the extent to which the stage met its objectives, for all tenants together. The response
        is at most one minute old. CloudWatch metrics are delayed by a few minutes, and intervals without events
        have no value.
        """
        return self._send(Call("GET", "stage/metrics"), StageMetrics)

    def get_stats(self) -> Awaitable[Stats]:
        """Read counts and limits.

        Returns the number of jobs and dead runs, and the remaining limits. With the `ops` scope, also returns the
        depth of the lanes and the state of dispatch.
        """
        return self._send(Call("GET", "stats"), Stats)

    def get_tenants(self) -> Awaitable[Tenants]:
        """List all tenants of the stage.

        Only for the operator tenant, a setting of the stage. Returns the jobs of each tenant, its use of the quota,
        its runs in progress, and the expected cost of a day. Jobs are counted once a day. The response is at most
        one minute old.
        """
        return self._send(Call("GET", "tenants"), Tenants)

    def list_upcoming(
        self,
        *,
        from_: datetime | str | None = None,
        to: datetime | str | None = None,
        step: int | None = None,
        largest: int | None = None,
        cursor: str | None = None,
    ) -> Awaitable[Upcoming]:
        """Count the upcoming runs.

        Counts the runs from `from` (default: now) to `to` (exclusive; default and maximum: 48 hours later), in
        intervals of `step` seconds (default: 3600). A page counts the runs of some of the jobs: pass `next_cursor`,
        with `from` and `to` of the first page, and add up the pages. With a step of one minute, the intervals with
        the most runs are the busiest minutes. With a step as long as the window, and `largest=1000`, a page has the
        number of runs of each job. The counts include the occurrences of the current schedules, but not manual
        runs, backfills or the runs of steps. A page also has the numbers of jobs that are paused, that are late
        now, and that do not fire.

        `from_`: only items at this instant or later.

        `to`: only items before this instant.

        `step`: the length of an interval in seconds.

        `largest`: the maximum number of jobs that an interval names; 10,000 at most for all intervals.

        `cursor`: `next_cursor` of the previous page of the same list. It is opaque.
        """
        return self._send(
            Call(
                "GET", "upcoming", query={"from": from_, "to": to, "step": step, "largest": largest, "cursor": cursor}
            ),
            Upcoming,
        )

    def list_workflows(
        self,
        *,
        prefix: str | None = None,
        search: str | None = None,
        tag: str | None = None,
        state: Literal["ACTIVE", "PAUSED", "COMPLETED"] | None = None,
        owner: str | None = None,
        total: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Awaitable[AsyncPage[WorkflowSummary]]:
        """List workflows.

        Lists the workflows of the tenant without their steps, ordered by id. A page may be short and still have a
        next page.

        `prefix`: only jobs with an id that starts with this text.

        `search`: only jobs with an id or a name that contains this text (not case-sensitive).

        `tag`: only jobs with this tag.

        `state`: only jobs in this state.

        `owner`: only jobs of this owner (exact match).

        `total`: also return the number of matching jobs, from this page to the end of the list.

        `limit`: the maximum number of items of a page.

        `cursor`: `next_cursor` of the previous page of the same list. It is opaque.
        """
        return self._page(
            Call(
                "GET",
                "workflows",
                query={
                    "prefix": prefix,
                    "search": search,
                    "tag": tag,
                    "state": state,
                    "owner": owner,
                    "total": total,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            WorkflowSummary,
        )

    def put_workflow(
        self,
        workflow_id: str,
        workflow: WorkflowRequest,
        *,
        dry_run: bool | None = None,
        if_match: str | None = None,
        if_none_match: Literal["*"] | None = None,
    ) -> Awaitable[WorkflowPut]:
        """Create or replace a workflow.

        A workflow is a job that runs other jobs, its steps. Each step starts after its upstream steps. If a step
        has `job`, its job is created or replaced together with the workflow. If the workflow is not valid, all
        errors are returned together and nothing is written. With `dry_run=true`, nothing is written: the response
        has the result that the request would have (with the ETag of the version that it would replace). The jobs
        are written first and the workflow last. If a change at the same time prevents that, the error names the
        jobs that were written; repeat the request to continue. With `If-Match` or `If-None-Match`, the workflow is
        reserved before the first write, so 412 means that nothing was changed; other changes to the workflow wait.
        Repeating the request with the same body changes nothing; active runs keep the graph that they started with.
        The response of GET is a valid body. For the request rate, each job that the body defines counts as one
        request. Every 20 jobs that are only named or removed count as one request, and each named job with a
        payload above 4 KB counts as two. A dry run counts in the same way.

        `workflow_id`: the id of the workflow.

        `dry_run`: write nothing; return the result that the request would have.

        `if_match`: make the change only if the resource still has this ETag (412 otherwise); `*` matches any ETag.

        `if_none_match`: with `*`, make the change only if the resource does not exist yet.
        """
        return self._send(
            Call(
                "PUT",
                Call.at("workflows/{workflow_id}", workflow_id=workflow_id),
                body=workflow,
                query={"dry_run": dry_run},
                headers={"If-Match": if_match, "If-None-Match": if_none_match},
            ),
            WorkflowPut,
        )

    def get_workflow(self, workflow_id: str) -> Awaitable[Workflow]:
        """Read a workflow.

        Returns the stored workflow with its next occurrence.

        `workflow_id`: the id of the workflow.
        """
        return self._send(Call("GET", Call.at("workflows/{workflow_id}", workflow_id=workflow_id)), Workflow)

    def get_workflow_run(self, workflow_id: str, instant: str) -> Awaitable[WorkflowRun]:
        """Read a run of a workflow.

        Returns the run with the states of its steps, each read at a different moment. The runs of the steps are at
        /v1/runs/<id>.

        `workflow_id`: the id of the workflow.

        `instant`: the part of the run id after the id of the workflow: occurrence (UTC) and, for manual runs, a
        suffix.
        """
        return self._send(
            Call("GET", Call.at("workflows/{workflow_id}/runs/{instant}", workflow_id=workflow_id, instant=instant)),
            WorkflowRun,
        )
