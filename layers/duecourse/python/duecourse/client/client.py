"""A small client for the HTTP API.

with Client("https://abc.execute-api.eu-central-1.amazonaws.com") as duecourse:
    duecourse.create_job({"schedule": "0 9 * * 1", "target": {"type": "http", "url": "https://..."}})
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

from duecourse.client.api_call import TIMEOUT_SECONDS, ApiCaller, ApiError, ApiUnreachableError, understood
from duecourse.client.models import Change, Heartbeat, Job, Page, Redriven, Run
from duecourse.client.workflow_models import Workflow, WorkflowRun

__all__ = ["TIMEOUT_SECONDS", "ApiError", "ApiUnreachableError", "Client"]

T = TypeVar("T")


class Client(ApiCaller):
    """Calls one Duecourse API. Every method raises ApiError or ApiUnreachableError when it cannot answer."""

    def health(self) -> Mapping[str, Any]:
        """What the API says of itself: `{"status": "ok"}`."""
        return self.call("GET", "health")

    # --- jobs

    def create_job(self, job: Mapping[str, Any]) -> Job:
        """Create a job from its document."""
        return understood(self.send("POST", "jobs", json=job), Job.from_document)

    def get_job(self, job_id: str) -> Job:
        """One job."""
        return understood(self.send("GET", _job(job_id)), Job.from_document)

    def list_jobs(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Job]:
        """One page of jobs."""
        return understood(self.send("GET", "jobs", params=_given(limit=limit, cursor=cursor)), _jobs)

    def all_jobs(self) -> Iterator[Job]:
        """All jobs, page after page."""
        page = self.list_jobs()
        yield from page.items
        while page.next_cursor:
            page = self.list_jobs(cursor=page.next_cursor)
            yield from page.items

    def delete_job(self, job_id: str) -> None:
        """Delete a job; runs that have not started will not."""
        self.call("DELETE", _job(job_id))

    def pause_job(self, job_id: str) -> Job:
        """Stop firing; what is running goes on."""
        return understood(self.send("POST", f"{_job(job_id)}/pause"), Job.from_document)

    def resume_job(self, job_id: str, *, catch_up: bool = False) -> Job:
        """Go on firing. `catch_up`: treat what the pause covered as missed, by the job's policy, not as skipped."""
        return understood(self.send("POST", f"{_job(job_id)}/resume", json={"catch_up": catch_up}), Job.from_document)

    def job_history(self, job_id: str, *, limit: int | None = None, cursor: str | None = None) -> Page[Change]:
        """One page of who changed a job and what, newest first; that of a deleted job, too."""
        params = _given(limit=limit, cursor=cursor)
        return understood(self.send("GET", f"{_job(job_id)}/history", params=params), _changes)

    # --- runs

    def runs(self, job_id: str, *, limit: int | None = None, cursor: str | None = None) -> Page[Run]:
        """One page of a job's runs, newest first."""
        return understood(self.send("GET", f"{_job(job_id)}/runs", params=_given(limit=limit, cursor=cursor)), _runs)

    def run(self, run_id: str) -> Run:
        """One run; a result that is too large to be in it lies at its document's `result_url` for some minutes."""
        return understood(self.send("GET", _run(run_id)), Run.from_document)

    def cancel(self, run_id: str) -> Run:
        """Ask for a run's end; the run as it was when the worker was told."""
        return understood(self.send("POST", f"{_run(run_id)}/cancel"), _accepted)

    def redrive(self, run_id: str) -> Run:
        """Give a DEAD run a fresh allowance of attempts; the run as it was when the worker was told."""
        return understood(self.send("POST", f"{_run(run_id)}/redrive"), _accepted)

    def dead_letters(
        self, job_id: str | None = None, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[Run]:
        """One page of dead runs, of one job or of all, those that died last first."""
        return understood(
            self.send("GET", "dead-letters", params=_given(job_id=job_id, limit=limit, cursor=cursor)), _runs
        )

    def redrive_dead_letters(
        self,
        job_id: str | None = None,
        *,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Redriven:
        """Redrive up to `limit` dead runs, those that died from `since` on and before `until` (ISO-8601 instants)."""
        body = _said(job_id=job_id, since=since, until=until, limit=limit, cursor=cursor)
        return understood(self.send("POST", "dead-letters/redrive", json=body), Redriven.from_document)

    # --- workflows

    def put_workflow(self, workflow_id: str, workflow: Mapping[str, Any], *, dry_run: bool = False) -> Workflow:
        """Create or replace a workflow; with `dry_run` nothing is written."""
        params = {"dry_run": "true"} if dry_run else None
        answer = self.send("PUT", _workflow(workflow_id), json=workflow, params=params)
        return understood(answer, Workflow.from_document)

    def get_workflow(self, workflow_id: str) -> Workflow:
        """One workflow."""
        return understood(self.send("GET", _workflow(workflow_id)), Workflow.from_document)

    def list_workflows(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Workflow]:
        """One page of workflows, without their jobs. A page may be short and yet have a next."""
        return understood(self.send("GET", "workflows", params=_given(limit=limit, cursor=cursor)), _workflows)

    def workflow_run(self, run_id: str) -> WorkflowRun:
        """A run of a workflow with the state of each of its jobs."""
        workflow_id, _, instant = run_id.partition(".")
        answer = self.send("GET", f"{_workflow(workflow_id)}/runs/{quote(instant, safe='')}")
        return understood(answer, WorkflowRun.from_document)

    def rerun(self, run_id: str, jobs: Sequence[str], *, key: str | None = None) -> Run:
        """Run these jobs of a workflow's run again, and all that come after them; the new run. The same `key` twice is
        one run.
        """
        answer = self.send("POST", f"{_run(run_id)}/rerun", json={"from": list(jobs)}, key=key)
        return understood(answer, Run.from_document)

    # --- for whoever works on a run: authorised by the attempt's callback token alone

    def heartbeat(self, run_id: str, token: str) -> Heartbeat:
        """Say that the attempt is being worked on, and learn whether it should end. ApiError 409: it is over."""
        answer = self.send("POST", f"{_run(run_id)}/heartbeat", token=token)
        return understood(answer, lambda document: Heartbeat.from_document(document, answer.at))

    def complete(self, run_id: str, token: str, result: Any = None) -> Run:
        """Report success with a result (JSON, up to 200 KB)."""
        return understood(
            self.send("POST", f"{_run(run_id)}/complete", json={"result": result}, token=token), _accepted
        )

    def fail(
        self,
        run_id: str,
        token: str,
        error: str,
        *,
        code: str | None = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
    ) -> Run:
        """Report failure. `code` is what the job's retry rules name; `retryable=False` forbids another attempt;
        `retry_after` asks that it come no sooner (seconds).
        """
        body = _said(error=error, code=code, retryable=retryable, retry_after=retry_after)
        return understood(self.send("POST", f"{_run(run_id)}/fail", json=body, token=token), _accepted)


def _job(job_id: str) -> str:
    return f"jobs/{quote(job_id, safe='')}"


def _workflow(workflow_id: str) -> str:
    return f"workflows/{quote(workflow_id, safe='')}"


def _run(run_id: str) -> str:
    return f"runs/{quote(run_id, safe='')}"


def _said(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _given(**parameters: str | int | None) -> dict[str, str]:
    return {name: str(value) for name, value in _said(**parameters).items()}


def _page(read: Callable[[Mapping[str, Any]], T]) -> Callable[[Mapping[str, Any]], Page[T]]:
    """What reads a page whose items `read` reads."""
    return lambda answer: Page(tuple(read(item) for item in answer["items"]), answer.get("next_cursor"))


_jobs, _changes, _runs = _page(Job.from_document), _page(Change.from_document), _page(Run.from_document)
_workflows = _page(Workflow.from_document)


def _accepted(answer: Mapping[str, Any]) -> Run:
    return Run.from_document(answer["run"])
