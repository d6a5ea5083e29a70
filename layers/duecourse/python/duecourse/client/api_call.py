"""One request to the HTTP API, and what can come of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

TIMEOUT_SECONDS = 30.0
NOT_OURS = "this is no answer of Duecourse's; is it the API's address?"

T = TypeVar("T")


class ApiUnreachableError(Exception):
    """Nothing answers at the API's address."""


class ApiError(Exception):
    """The API refused; `problem` is its problem document (RFC 9457), `retry_after` its wish for when to ask again.

    With a `status` of success it was no refusal, but no answer of Duecourse's either.
    """

    def __init__(self, status: int, problem: Mapping[str, Any], retry_after: float | None = None) -> None:
        """`retry_after` in seconds."""
        self.status = status
        self.problem = problem
        self.retry_after = retry_after
        super().__init__(self._sentence())

    @property
    def by_duecourse(self) -> bool:
        """Whether Duecourse itself refused, rather than a gateway or an authorizer before it."""
        return str(self.problem.get("type") or "").startswith("/problems/")

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


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """A document with its status (200 to 299), and when the API says that it answered (None where it does not)."""

    status: int
    document: Mapping[str, Any]
    at: datetime | None


class ApiCaller:
    """Sends requests to one API. Safe to share between threads."""

    def __init__(
        self,
        api: str,
        *,
        auth: httpx.Auth | None = None,
        timeout: float = TIMEOUT_SECONDS,
        transport: httpx.BaseTransport | None = None,
        trust_env: bool = True,
    ) -> None:
        """`auth` says who calls (`signing.Bearer`, `signing.SigV4`), `timeout` in seconds."""
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

    def call(self, method: str, path: str, **more: Any) -> Mapping[str, Any]:
        """The document of the answer to one request, as `send` gets it."""
        return self.send(method, path, **more).document

    def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        json: Mapping[str, Any] | None = None,
        token: str | None = None,
        key: str | None = None,
    ) -> ApiAnswer:
        """The answer to one request. With a run's `token` it is authorised by that alone and never signed. The same
        request with the same `key` is done once.

        Raises ApiError, ApiUnreachableError; TypeError or ValueError where `json` is none.
        """
        url = f"{self.api}/v1/{path}"
        headers = None if key is None else {"Idempotency-Key": key}
        try:
            if token is None:
                answer = self._http.request(method, url, params=params, json=json, headers=headers)
            else:
                bearer = {"Authorization": f"Bearer {token}"}
                answer = self._http.request(method, url, params=params, json=json, headers=bearer, auth=None)
        except (httpx.RequestError, httpx.InvalidURL) as error:
            raise ApiUnreachableError(
                f"nothing answers at {self.api} ({str(error) or type(error).__name__})"
            ) from error
        document = _document(answer)
        if not answer.is_success:
            problem = _problem(answer.status_code, _beginning(answer)) if document is None else document
            raise ApiError(answer.status_code, problem, _seconds(answer.headers.get("Retry-After")))
        if document is None:
            raise ApiError(answer.status_code, _problem(answer.status_code, f"{NOT_OURS} ({_beginning(answer)})"))
        return ApiAnswer(answer.status_code, document, _date(answer.headers.get("Date")))


def understood(answer: ApiAnswer, read: Callable[[Mapping[str, Any]], T]) -> T:
    """What `read` makes of a document. Raises ApiError where it is not such a one."""
    try:
        return read(answer.document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        told = f"{NOT_OURS} ({type(error).__name__}: {error})"
        raise ApiError(answer.status, _problem(answer.status, told)) from error


def _problem(status: int, detail: str) -> Mapping[str, Any]:
    """What a problem document would have said."""
    return {"title": httpx.codes.get_reason_phrase(status), "status": status, "detail": detail}


def _document(answer: httpx.Response) -> Mapping[str, Any] | None:
    """The JSON object; an empty one where nothing was said, None for anything else."""
    if not answer.content:
        return {}
    try:
        document = answer.json()
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _beginning(answer: httpx.Response) -> str:
    return " ".join(answer.text.split())[:200]


def _seconds(text: str | None) -> float | None:
    """Duecourse says `Retry-After` in whole seconds; a date, which others may send, is not waited for."""
    return float(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else None


def _date(text: str | None) -> datetime | None:
    try:
        found = None if text is None else parsedate_to_datetime(text)
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None
