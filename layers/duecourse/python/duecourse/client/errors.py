"""The errors of calls: error responses of the API by kind, and an unreachable API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

NOT_OURS = "the response is not from Duecourse; check the address of the API"


class ApiUnreachableError(Exception):
    """The API cannot be reached."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One invalid field, parameter or header: its location (`target/url`) and the error."""

    where: str
    detail: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.detail) if part)


class ApiError(Exception):
    """A rejected request. `problem` is its problem document (RFC 9457), `retry_after` the seconds to wait before the
    next try.

    If `status` is a success, the response is not from Duecourse.
    """

    def __init__(self, status: int, problem: Mapping[str, Any], retry_after: float | None = None) -> None:
        """`retry_after` is in seconds."""
        self.status = status
        self.problem = problem
        self.retry_after = retry_after
        super().__init__(self._sentence())

    @classmethod
    def of(cls, status: int, problem: Mapping[str, Any], retry_after: float | None = None) -> ApiError:
        """Return the error for a status, as an instance of the subclass for this status."""
        kind = KINDS.get(status, UnavailableError if status >= httpx.codes.INTERNAL_SERVER_ERROR else ApiError)
        return kind(status, problem, retry_after)

    @property
    def by_duecourse(self) -> bool:
        """Whether Duecourse itself rejected the request, rather than a gateway or an authorizer in front of it."""
        return str(self.problem.get("type") or "").startswith("/problems/")

    @property
    def type(self) -> str:
        """The kind of problem, such as `unknown-job`; "" if the response is not from Duecourse."""
        return str(self.problem.get("type") or "").removeprefix("/problems/") if self.by_duecourse else ""

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The invalid fields, parameters and headers; empty for other errors."""
        found = self.problem.get("errors")
        entries = [entry for entry in (found if isinstance(found, list) else ()) if isinstance(entry, Mapping)]
        return tuple(_fault(entry) for entry in entries)

    def _sentence(self) -> str:
        title = self.problem.get("title") or httpx.codes.get_reason_phrase(self.status) or "refused"
        detail = self.problem.get("detail") or self.problem.get("message") or self.problem.get("errorMessage")
        said = str(detail or "").lower()
        faults = (fault for fault in self.faults if not fault.detail or fault.detail.lower() not in said)
        parts = (f"{self.status} {title}", "" if said == str(title).lower() else detail, *faults)
        return " - ".join(str(part) for part in parts if part)


class InvalidError(ApiError):
    """400, 422: the request is invalid; `faults` lists the errors."""


class UnauthorizedError(ApiError):
    """401: the token is missing, or the stage does not accept it."""


class ForbiddenError(ApiError):
    """403: the caller does not have the scope, or the stage does not allow the request."""


class NotFoundError(ApiError):
    """404: there is no such job, run or workflow."""


class ConflictError(ApiError):
    """409: the current state does not allow the request."""


class PreconditionError(ApiError):
    """412: the job has changed since it was read; read it again."""


class TooManyRequestsError(ApiError):
    """429: the request exceeds the tenant's limit; retry after `retry_after` seconds."""


class UnavailableError(ApiError):
    """5xx: the stage could not respond; retry the same request."""


KINDS: Mapping[int, type[ApiError]] = {
    400: InvalidError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    412: PreconditionError,
    422: InvalidError,
    429: TooManyRequestsError,
}


def problem_of(status: int, detail: str) -> Mapping[str, Any]:
    """Return the problem document for a response that has none."""
    return {"title": httpx.codes.get_reason_phrase(status), "status": status, "detail": detail}


def _fault(entry: Mapping[str, Any]) -> Fault:
    where = str(entry.get("pointer") or entry.get("parameter") or entry.get("header") or "").removeprefix("/")
    return Fault(where, str(entry.get("detail") or ""))
