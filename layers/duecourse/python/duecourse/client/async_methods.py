"""Every operation of the API. Written by scripts/client_code from openapi.json (`make openapi`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence
from datetime import datetime
from typing import Any, Literal, TypeVar

from duecourse.client.bodies import JobPatch, JobRequest, WorkflowRequest
from duecourse.client.calls import Call
from duecourse.client.models import (
    Accepted,
    Backfill,
    Batch,
    Change,
    ChangedJobs,
    Explained,
    Health,
    Heartbeat,
    Job,
    Preview,
    Redriven,
    Run,
    RunPayload,
    SingleRun,
    Skipped,
    Stage,
    StageMetrics,
    Stats,
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
        """The model of a call's answer."""

    @abstractmethod
    def _page(self, call: Call, item: type[A]) -> Awaitable[AsyncPage[A]]:
        """The page of items that a call is answered."""

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

        Those that died last first: of one job (`job_id`), that died from `since` on and before `until`, of jobs
        that have the `tag` now, whose `error` contains the text. With the last two a page may be short or empty and
        still have a next one.

        `job_id`: only those of this job.

        `since`: only runs that came into their state then or later.

        `until`: only runs that came into their state before.

        `tag`: only runs of jobs that have this tag now.

        `error`: only runs whose error contains this text, in capitals or not.

        `limit`: how many items a page has at most.

        `cursor`: `next_cursor` of the page before; it belongs to its list and is opaque.
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
        """Send dead runs again.

        Of one job or all, by when they died, by their job's tags and by their error: up to `limit`, and no more
        than there is time for. `next_cursor` goes on where this answer ended. With `dry_run` nothing is sent, and
        `redriven` says how many of these runs would be.

        `since`: ISO-8601 with an offset, best UTC with Z.

        `until`: ISO-8601 with an offset, best UTC with Z.

        `dry_run`: send nothing; say how many would be sent.
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
        """Ask whether the clock ticks.

        Says no more than that to a stranger. Late (503) is a last tick more than three minutes ago.
        """
        return self._send(Call("GET", "health"), Health)

    def create_job(self, job: JobRequest, *, idempotency_key: str | None = None) -> Awaitable[Job]:
        """Create a job.

        Without an `id` one is made up. All that is wrong is named at once, and nothing is created then. With an
        `Idempotency-Key` the same request can be sent again for a day without creating a second job: the job that
        it has created is shown then (200).

        `idempotency_key`: your own name for this request (a UUID, say): sent again, it does nothing again.
        """
        return self._send(Call("POST", "jobs", idempotency_key=idempotency_key, body=job), Job)

    def list_jobs(
        self,
        *,
        prefix: str | None = None,
        name: str | None = None,
        tag: str | None = None,
        state: Literal["ACTIVE", "PAUSED", "COMPLETED"] | None = None,
        owner: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Awaitable[AsyncPage[Job]]:
        """List jobs.

        The tenant's jobs, ordered by id. With `name`, `state` or `owner` a page may be short and yet have a next.

        `prefix`: only jobs whose ids begin so.

        `name`: only jobs whose name contains this text, in capitals or not.

        `tag`: only jobs with this tag.

        `state`: only jobs in this state.

        `owner`: only jobs of exactly this owner.

        `limit`: how many items a page has at most.

        `cursor`: `next_cursor` of the page before; it belongs to its list and is opaque.
        """
        return self._page(
            Call(
                "GET",
                "jobs",
                query={
                    "prefix": prefix,
                    "name": name,
                    "tag": tag,
                    "state": state,
                    "owner": owner,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            Job,
        )

    def get_job(self, job_id: str) -> Awaitable[Job]:
        """Read a job.

        The job as it is kept, with its next occurrence.

        `job_id`: the job's id.
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

        The job is then as the body says, whatever it was. The same body twice changes nothing the second time. A
        change that leaves the schedule alone loses no run that is enqueued. What GET answers can be put back as it
        is. With `dry_run=true` nothing is written: the answer is the job as it would be (with the ETag of what it
        would replace).

        `job_id`: the job's id.

        `dry_run`: write nothing; say what would be.

        `if_match`: only if the job is still at this ETag (412 otherwise), or at any with `*`.

        `if_none_match`: with `*` only if there is no such job yet.
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

    def patch_job(self, job_id: str, changes: JobPatch, *, if_match: str | None = None) -> Awaitable[Job]:
        """Change a job.

        A JSON merge patch (RFC 7396): what it names is replaced, null brings back the default (of `schedule` it
        takes the schedule away). The whole is then judged as if it had been posted. A rate goes on counting from
        the job's `anchor` unless that is named, too.

        `job_id`: the job's id.

        `if_match`: only if the job is still at this ETag (412 otherwise), or at any with `*`.
        """
        return self._send(
            Call("PATCH", Call.at("jobs/{job_id}", job_id=job_id), body=changes, headers={"If-Match": if_match}), Job
        )

    def delete_job(self, job_id: str, *, if_match: str | None = None) -> Awaitable[Answer]:
        """Delete a job.

        No run of it starts any more; what is being worked on ends. Its runs can still be read. With a workflow its
        runs that have not ended are cancelled; its jobs stay, and 20 of them count as a request. After an error the
        same request cancels those that are left, also where it answers that there is no such job any more.

        `job_id`: the job's id.

        `if_match`: only if the job is still at this ETag (412 otherwise), or at any with `*`.
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
        newest_first: bool | None = None,
        dry_run: bool | None = None,
    ) -> Awaitable[Backfill]:
        """Run occurrences of the past.

        Those of the present schedule in a range, one each `pace_seconds`. Unless `dry_run` is false, the answer
        only says what would be, and what it would cost (200; 202 once it is under way).

        `job_id`: the job's id.

        `if_match`: only if the job is still at this ETag (412 otherwise), or at any with `*`.

        `idempotency_key`: your own name for this request (a UUID, say): sent again, it does nothing again.

        `from_`: ISO-8601 with an offset, best UTC with Z.

        `to`: ISO-8601 with an offset, best UTC with Z.
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
                    "newest_first": newest_first,
                    "dry_run": dry_run,
                },
                headers={"If-Match": if_match},
            ),
            Backfill,
        )

    def explain_job(self, job_id: str, *, at: datetime | str | None = None) -> Awaitable[Explained]:
        """Ask why a job ran at an instant, or did not.

        From the records where there are any, else from the schedule: skipped and why, paused by whom, a gap in the
        zone's clock, excluded, before it existed, still queued. Of a workflow's run: how many of its jobs have
        ended, and which it waits for. Of a job of a workflow, at the instant of the workflow: its record, the jobs
        that it waits for, or why the workflow did not run.

        `job_id`: the job's id.

        `at`: the instant to look at, ISO-8601 with an offset.
        """
        return self._send(Call("GET", Call.at("jobs/{job_id}/explain", job_id=job_id), query={"at": at}), Explained)

    def get_job_history(
        self, job_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Awaitable[AsyncPage[Change]]:
        """Read who changed a job, and what.

        Newest first, kept for 400 days, beyond the deletion of the job and its being created anew. Requests about
        its runs stand there, too.

        `job_id`: the job's id.

        `limit`: how many items a page has at most.

        `cursor`: `next_cursor` of the page before; it belongs to its list and is opaque.
        """
        return self._page(
            Call("GET", Call.at("jobs/{job_id}/history", job_id=job_id), query={"limit": limit, "cursor": cursor}),
            Change,
        )

    def pause_job(self, job_id: str, *, if_match: str | None = None, note: str | None = None) -> Awaitable[Job]:
        """Pause a job.

        What comes due during the pause is not run. A job that is paused already stays so. The runs of a workflow's
        job wait until it is resumed, those that are redriven too.

        `job_id`: the job's id.

        `if_match`: only if the job is still at this ETag (412 otherwise), or at any with `*`.
        """
        return self._send(
            Call(
                "POST",
                Call.at("jobs/{job_id}/pause", job_id=job_id),
                fields={"note": note},
                headers={"If-Match": if_match},
            ),
            Job,
        )

    def resume_job(self, job_id: str, *, if_match: str | None = None, catch_up: bool | None = None) -> Awaitable[Job]:
        """Resume a job.

        With `catch_up` what the pause covered is missed, by the job's own policy, instead of skipped. The runs of a
        workflow's job that waited start within a second.

        `job_id`: the job's id.

        `if_match`: only if the job is still at this ETag (412 otherwise), or at any with `*`.
        """
        return self._send(
            Call(
                "POST",
                Call.at("jobs/{job_id}/resume", job_id=job_id),
                fields={"catch_up": catch_up},
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
    ) -> Awaitable[Run]:
        """Run a job now.

        Whatever its state and schedule; `overlap` and `start_deadline_seconds` hold. A paused job that belongs to a
        workflow is the exception: its run waits for the job's resumption. With an `Idempotency-Key` the same
        request is the same run.

        `job_id`: the job's id.

        `if_match`: only if the job is still at this ETag (412 otherwise), or at any with `*`.

        `idempotency_key`: your own name for this request (a UUID, say): sent again, it does nothing again.
        """
        return self._send(
            Call(
                "POST",
                Call.at("jobs/{job_id}/run", job_id=job_id),
                idempotency_key=idempotency_key,
                fields={"payload": payload},
                headers={"If-Match": if_match},
            ),
            Run,
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
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Awaitable[AsyncPage[Run]]:
        """List the runs of a job.

        Newest first, with those that are enqueued (`QUEUED`). `from` and `to` choose occurrences, from the first
        instant on and before the second; with one of them, or with `state`, queued runs are shown only if `state`
        names `QUEUED`. A page may then be short or empty and still have a next one. Runs of a deleted job are kept
        a while.

        `job_id`: the job's id.

        `state`: only runs in these states.

        `from_`: only what comes at this instant or later.

        `to`: only what comes before this instant.

        `limit`: how many items a page has at most.

        `cursor`: `next_cursor` of the page before; it belongs to its list and is opaque.
        """
        return self._page(
            Call(
                "GET",
                Call.at("jobs/{job_id}/runs", job_id=job_id),
                query={"state": state, "from": from_, "to": to, "limit": limit, "cursor": cursor},
            ),
            Run,
        )

    def skip_next(
        self, job_id: str, *, if_match: str | None = None, idempotency_key: str | None = None, count: int | None = None
    ) -> Awaitable[Skipped]:
        """Skip what comes next.

        The next occurrences that are still to come and have no record will not run. With an `Idempotency-Key` the
        same request skips nothing further.

        `job_id`: the job's id.

        `if_match`: only if the job is still at this ETag (412 otherwise), or at any with `*`.

        `idempotency_key`: your own name for this request (a UUID, say): sent again, it does nothing again.
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

    def create_jobs(self, jobs: Sequence[JobRequest], *, idempotency_key: str | None = None) -> Awaitable[Batch]:
        """Create many jobs.

        Up to 100, each with an answer of its own: one that is refused costs no other. With an `Idempotency-Key`
        each place in the list has its own.

        `idempotency_key`: your own name for this request (a UUID, say): sent again, it does nothing again.
        """
        return self._send(Call("POST", "jobs/batch", idempotency_key=idempotency_key, fields={"jobs": jobs}), Batch)

    def pause_jobs(
        self, *, tag: str | None = None, all: bool | None = None, cursor: str | None = None, note: str | None = None
    ) -> Awaitable[ChangedJobs]:
        """Pause many jobs.

        Those with a tag, or `"all": true`; a hundred a call, each of which counts as a request. `next_cursor` goes
        on where it ended.
        """
        return self._send(
            Call("POST", "jobs/pause", fields={"tag": tag, "all": all, "cursor": cursor, "note": note}), ChangedJobs
        )

    def resume_jobs(
        self,
        *,
        tag: str | None = None,
        all: bool | None = None,
        cursor: str | None = None,
        catch_up: bool | None = None,
    ) -> Awaitable[ChangedJobs]:
        """Resume many jobs.

        Those with a tag, or `"all": true`; a hundred a call, each of which counts as a request. `next_cursor` goes
        on where it ended.
        """
        return self._send(
            Call("POST", "jobs/resume", fields={"tag": tag, "all": all, "cursor": cursor, "catch_up": catch_up}),
            ChangedJobs,
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
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Awaitable[AsyncPage[Run]]:
        """Find runs across jobs that did not go well.

        Those in `DEAD`, `RETRYING`, `CANCELLED` and `SKIPPED`, or in those states that `state` names; those that
        came into their state last first. `since` and `until` choose by that time: when the run ended, or its last
        attempt did; for a run that never began, when it was due. `tag`: of jobs that have the tag now. `error`:
        whose error contains the text. With `job`, the runs of one job in any state, newest occurrence first. A page
        may be short or empty and still have a next one.

        `state`: only runs in these states.

        `tag`: only runs of jobs that have this tag now.

        `job`: only runs of this job.

        `since`: only runs that came into their state then or later.

        `until`: only runs that came into their state before.

        `error`: only runs whose error contains this text, in capitals or not.

        `limit`: how many items a page has at most.

        `cursor`: `next_cursor` of the page before; it belongs to its list and is opaque.
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
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            Run,
        )

    def get_run(self, run_id: str) -> Awaitable[SingleRun]:
        """Read a run.

        With its last 20 attempts. A result above 2 KB is shown by its size and an address (`result_url`) that works
        for a while.

        `run_id`: the run's id: job, occurrence (UTC) and, for runs made by hand, a suffix.
        """
        return self._send(Call("GET", Call.at("runs/{run_id}", run_id=run_id)), SingleRun)

    def cancel_run(self, run_id: str) -> Awaitable[Accepted]:
        """Cancel a run.

        One that has not started never will. One that is being worked on learns it with its next heartbeat.

        `run_id`: the run's id: job, occurrence (UTC) and, for runs made by hand, a suffix.
        """
        return self._send(Call("POST", Call.at("runs/{run_id}/cancel", run_id=run_id)), Accepted)

    def complete_run(self, run_id: str, token: str, *, result: Any | None = None) -> Awaitable[Accepted]:
        """Say that a run is done.

        Can be asked again with the same token: 200 once it is done.

        `run_id`: the run's id: job, occurrence (UTC) and, for runs made by hand, a suffix.

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
        """Say that a run has failed.

        The job's retry policy decides what follows; `retryable: false` forbids another attempt. The body may have
        32 KB.

        `run_id`: the run's id: job, occurrence (UTC) and, for runs made by hand, a suffix.

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
        """Say that a run is being worked on.

        Moves its deadline by `heartbeat_seconds`, and keeps what it says of the work, which the run shows; of one
        run's heartbeats one in five seconds is written. The body may have 4 KB. Stop working when
        `cancel_requested` is true, and on every 401 and 409.

        `run_id`: the run's id: job, occurrence (UTC) and, for runs made by hand, a suffix.

        `token`: the attempt's callback token.

        `progress`: from 0 to 1.

        `note`: for people; empty: none any more.
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
        """Read what a run sends.

        The payload of its last attempt, or of the first one to come. It is not kept, but computed again from the
        run and the present definition of its job. A run that ended before its first attempt sent nothing (`problem`
        says so). Of a workflow's run it is what its steps take of it.

        `run_id`: the run's id: job, occurrence (UTC) and, for runs made by hand, a suffix.
        """
        return self._send(Call("GET", Call.at("runs/{run_id}/payload", run_id=run_id)), RunPayload)

    def redrive_run(self, run_id: str) -> Awaitable[Accepted]:
        """Send a dead run again.

        It gets a fresh allowance of attempts. Only dead runs can be redriven. A workflow continues as if the
        failure had not happened: the redrive of its run also redrives its dead jobs; after that of a job's run the
        skipped jobs after it are decided again. A paused job of a workflow starts once it is resumed.

        `run_id`: the run's id: job, occurrence (UTC) and, for runs made by hand, a suffix.
        """
        return self._send(Call("POST", Call.at("runs/{run_id}/redrive", run_id=run_id)), Accepted)

    def rerun(
        self, run_id: str, from_: list[str] | tuple[str, ...], *, idempotency_key: str | None = None
    ) -> Awaitable[Run]:
        """Run a part of a workflow's run again.

        A new run of the same occurrence with the same graph: the jobs in `from` start at once, all that come after
        them follow. The others count as they ended, for all rules and for the outcome, and give their results: one
        that is dead makes the new run dead, unless it may fail. With an `Idempotency-Key` the same request is the
        same run.

        `run_id`: the run's id: job, occurrence (UTC) and, for runs made by hand, a suffix.

        `idempotency_key`: your own name for this request (a UUID, say): sent again, it does nothing again.
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

    def preview_schedule(
        self,
        schedule: str,
        *,
        timezone: str | None = None,
        dst_gap: Literal["next", "skip"] | None = None,
        dst_fold: Literal["first", "second", "both"] | None = None,
        anchor: datetime | str | None = None,
        start: datetime | str | None = None,
        end: datetime | str | None = None,
        after: datetime | str | None = None,
        count: int | None = None,
    ) -> Awaitable[Preview]:
        """See what a schedule means.

        In words, and its next occurrences with what daylight saving does to them. Nothing is kept.

        `schedule`: cron with five fields, or six with seconds first; @daily and the like; rate(5 minutes);
        at(2026-12-31T09:00:00); EventBridge's cron(...); an ISO-8601 instant; R/start/period.

        `timezone`: an IANA zone.

        `anchor`: ISO-8601 with an offset, best UTC with Z.

        `start`: ISO-8601 with an offset, best UTC with Z.

        `end`: ISO-8601 with an offset, best UTC with Z.

        `after`: ISO-8601 with an offset, best UTC with Z.
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
                    "after": after,
                    "count": count,
                },
            ),
            Preview,
        )

    def get_stage(self) -> Awaitable[Stage]:
        """Look at the stage.

        Its release and settings; whether its clock ticks, its rounds end and its lanes are worked off, and which of
        its alarms ring, each with its runbook. `duecourse doctor` looks at more, with an operator's rights. What
        cannot be read is a check with the verdict `unknown`.
        """
        return self._send(Call("GET", "stage"), Stage)

    def get_stage_metrics(self) -> Awaitable[StageMetrics]:
        """Read what CloudWatch keeps of the stage.

        Lateness and outcomes of the last 24 hours by the half hour, and the age of each lane's oldest message, of
        all tenants together, at most a minute old. CloudWatch has a value some minutes later, and none where
        nothing happened.
        """
        return self._send(Call("GET", "stage/metrics"), StageMetrics)

    def get_stats(self) -> Awaitable[Stats]:
        """See figures and limits.

        How many jobs and dead runs there are, what the limits leave, how full the lanes are.
        """
        return self._send(Call("GET", "stats"), Stats)

    def list_upcoming(
        self,
        *,
        from_: datetime | str | None = None,
        to: datetime | str | None = None,
        step: int | None = None,
        cursor: str | None = None,
    ) -> Awaitable[Upcoming]:
        """Count the runs that come due.

        From `from` on (left out: now) and before `to` (left out: 48 hours later, the most there may be), in steps
        of so many seconds (left out: 3600). A page looks at some jobs and counts theirs alone: follow
        `next_cursor`, with `from` and `to` as the first page says them, and add up what the pages say. With a step
        of a minute the largest buckets are the hot minutes. Counted is what the present schedules name from now on,
        without runs on request, backfills and the runs of a workflow's jobs. Told, too, is how many of the jobs are
        paused, are late at this moment, or do not fire.

        `from_`: only what comes at this instant or later.

        `to`: only what comes before this instant.

        `step`: seconds of a bucket.

        `cursor`: `next_cursor` of the page before; it belongs to its list and is opaque.
        """
        return self._send(
            Call("GET", "upcoming", query={"from": from_, "to": to, "step": step, "cursor": cursor}), Upcoming
        )

    def list_workflows(
        self,
        *,
        prefix: str | None = None,
        name: str | None = None,
        tag: str | None = None,
        state: Literal["ACTIVE", "PAUSED", "COMPLETED"] | None = None,
        owner: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Awaitable[AsyncPage[WorkflowSummary]]:
        """List workflows.

        The tenant's workflows without their jobs, ordered by id. A page may be short and yet have a next.

        `prefix`: only jobs whose ids begin so.

        `name`: only jobs whose name contains this text, in capitals or not.

        `tag`: only jobs with this tag.

        `state`: only jobs in this state.

        `owner`: only jobs of exactly this owner.

        `limit`: how many items a page has at most.

        `cursor`: `next_cursor` of the page before; it belongs to its list and is opaque.
        """
        return self._page(
            Call(
                "GET",
                "workflows",
                query={
                    "prefix": prefix,
                    "name": name,
                    "tag": tag,
                    "state": state,
                    "owner": owner,
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

        A workflow is a job that runs other jobs, each after those that it names. With `job` a job is created or
        replaced together with it. All that is wrong is named at once, and nothing is written then. With
        `dry_run=true` nothing is written at all: the answer is as it would be (with the ETag of what it would
        replace). Jobs are written first, the workflow last: after an error the same request goes on where it ended.
        With `If-Match` or `If-None-Match` the workflow is reserved before the first write, so that 412 has changed
        nothing; other changes of it wait. The same body twice changes nothing the second time; runs under way keep
        the jobs that they began with. What GET answers can be put back as it is. Each job that is defined here
        counts as a request, and so do 20 that are only named or let go, and each named one with a payload above 4
        KB counts as two; `dry_run` costs the same.

        `workflow_id`: the workflow's id.

        `dry_run`: write nothing; say what would be.

        `if_match`: only if the job is still at this ETag (412 otherwise), or at any with `*`.

        `if_none_match`: with `*` only if there is no such job yet.
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

        The workflow as it is kept, with its next occurrence.

        `workflow_id`: the workflow's id.
        """
        return self._send(Call("GET", Call.at("workflows/{workflow_id}", workflow_id=workflow_id)), Workflow)

    def get_workflow_run(self, workflow_id: str, instant: str) -> Awaitable[WorkflowRun]:
        """Read a run of a workflow.

        Its jobs with their states, each read at a moment of its own. The runs themselves are at /v1/runs/<id>.

        `workflow_id`: the workflow's id.

        `instant`: what the run's id has behind the workflow's: its occurrence (UTC) and, for runs made by hand, a
        suffix.
        """
        return self._send(
            Call("GET", Call.at("workflows/{workflow_id}/runs/{instant}", workflow_id=workflow_id, instant=instant)),
            WorkflowRun,
        )
