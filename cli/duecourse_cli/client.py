"""A small client for the HTTP API.

with Client("https://abc.execute-api.eu-central-1.amazonaws.com") as duecourse:
    duecourse.create_job({"schedule": "0 9 * * 1", "target": {"type": "http", "url": "https://..."}})
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from duecourse_cli.models import Job, Page, Run

TIMEOUT_SECONDS = 30.0


class ApiUnreachableError(Exception):
    """Nothing answers at the API's address."""


class ApiError(Exception):
    """The API refused; `problem` is its problem document (RFC 9457)."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.problem = problem
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        title = self.problem.get("title") or httpx.codes.get_reason_phrase(self.status) or "refused"
        detail = self.problem.get("detail") or self.problem.get("message") or self.problem.get("errorMessage")
        faults = self.problem.get("errors")
        told = [_fault(fault) for fault in (faults if isinstance(faults, list) else ()) if isinstance(fault, Mapping)]
        return " - ".join(str(part) for part in (f"{self.status} {title}", detail, *told) if part)


def _fault(fault: Mapping[str, Any]) -> str:
    """One entry of `errors`: where, and what is wrong there."""
    where = str(fault.get("pointer") or fault.get("parameter") or fault.get("header") or "").removeprefix("/")
    return ": ".join(part for part in (where, str(fault.get("detail") or "")) if part)


class Client:
    """Calls one Duecourse API. Every method raises ApiError or ApiUnreachableError when it cannot answer."""

    def __init__(
        self,
        api: str,
        *,
        auth: httpx.Auth | None = None,
        timeout: float = TIMEOUT_SECONDS,
        transport: httpx.BaseTransport | None = None,
        trust_env: bool = True,
    ) -> None:
        self.api = api.rstrip("/")
        self._http = httpx.Client(auth=auth, timeout=timeout, transport=transport, trust_env=trust_env)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def health(self) -> Mapping[str, Any]:
        """What the API says of itself: `{"status": "ok"}`."""
        return self._call("GET", "health")

    def create_job(self, job: Mapping[str, Any]) -> Job:
        """Create a job from its document."""
        return Job.from_document(self._call("POST", "jobs", json=job))

    def get_job(self, job_id: str) -> Job:
        """One job."""
        return Job.from_document(self._call("GET", f"jobs/{quote(job_id, safe='')}"))

    def list_jobs(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Job]:
        """One page of jobs."""
        answer = self._call("GET", "jobs", params=_page_params(limit, cursor))
        return Page(tuple(Job.from_document(item) for item in answer["items"]), answer.get("next_cursor"))

    def delete_job(self, job_id: str) -> None:
        """Delete a job; runs that have not started will not."""
        self._call("DELETE", f"jobs/{quote(job_id, safe='')}")

    def runs(self, job_id: str, *, limit: int | None = None, cursor: str | None = None) -> Page[Run]:
        """One page of a job's runs, newest first."""
        answer = self._call("GET", f"jobs/{quote(job_id, safe='')}/runs", params=_page_params(limit, cursor))
        return Page(tuple(Run.from_document(item) for item in answer["items"]), answer.get("next_cursor"))

    def all_jobs(self) -> Iterator[Job]:
        """All jobs, page after page."""
        page = self.list_jobs()
        yield from page.items
        while page.next_cursor:
            page = self.list_jobs(cursor=page.next_cursor)
            yield from page.items

    def _call(
        self, method: str, path: str, *, params: dict[str, str] | None = None, json: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        try:
            answer = self._http.request(method, f"{self.api}/v1/{path}", params=params, json=json)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise ApiUnreachableError(
                f"nothing answers at {self.api} ({str(error) or type(error).__name__})"
            ) from error
        document = _document(answer)
        if answer.is_success:
            return document
        raise ApiError(answer.status_code, document)


def _page_params(limit: int | None, cursor: str | None) -> dict[str, str]:
    given = {"limit": None if limit is None else str(limit), "cursor": cursor}
    return {name: value for name, value in given.items() if value is not None}


def _document(answer: httpx.Response) -> Mapping[str, Any]:
    if not answer.content:
        return {}
    try:
        document = answer.json()
    except ValueError:
        document = None
    if isinstance(document, dict):
        return document
    text = " ".join(answer.text.split())[:200]
    return {"title": httpx.codes.get_reason_phrase(answer.status_code), "status": answer.status_code, "detail": text}
