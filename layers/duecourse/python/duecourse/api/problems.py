"""Problem documents (RFC 9457): the error, its location and the remedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from duecourse.domain.ids import is_id
from duecourse.ports import NoAnswerError, ServiceError

KINDS: Mapping[HTTPStatus, tuple[str, ...]] = {
    HTTPStatus.BAD_REQUEST: ("malformed-body", "bad-parameter", "bad-header"),
    HTTPStatus.UNAUTHORIZED: ("not-authenticated", "bad-token", "bad-key", "bad-signature"),
    HTTPStatus.FORBIDDEN: (
        "scope-missing", "bad-tenant", "not-operator", "tenant-suspended", "tenant-erased", "job-quota", "run-quota",
        "key-quota", "operation-quota",
    ),
    HTTPStatus.NOT_FOUND: (
        "unknown-path", "unknown-job", "unknown-run", "unknown-workflow", "unknown-calendar",
        "unknown-limit", "unknown-key", "unknown-operation",
    ),
    HTTPStatus.METHOD_NOT_ALLOWED: ("unknown-method",),
    HTTPStatus.CONFLICT: (
        "job-exists", "job-changed", "job-unreadable", "idempotency-key-expired", "nothing-to-skip", "no-ping-expected",
        "attempt-over", "run-ended", "not-dead", "not-waiting", "not-delayed", "nothing-to-redrive", "job-deleted",
        "is-workflow", "in-workflow", "workflow-conflict", "graph-missing", "no-workflow-run", "run-not-ended",
        "calendar-in-use", "no-place", "operation-ended", "is-shadow", "not-shadow", "shadow-not-agreed",
        "too-many-pings",
    ),
    HTTPStatus.PRECONDITION_FAILED: ("etag-mismatch",),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ("body-too-large",),
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: ("unsupported-content-type",),
    HTTPStatus.UNPROCESSABLE_ENTITY: (
        "invalid-job", "invalid-batch", "invalid-command", "invalid-resume", "invalid-preview", "invalid-workflow",
        "invalid-calendar", "invalid-limit", "invalid-key",
        "idempotency-key-reused", "backfill-too-large", "successes-unlisted",
    ),
    HTTPStatus.TOO_MANY_REQUESTS: ("too-many-requests",),
    HTTPStatus.INTERNAL_SERVER_ERROR: ("internal",),
    HTTPStatus.SERVICE_UNAVAILABLE: ("unavailable", "busy", "lane-unavailable", "tasks-unavailable"),
}  # fmt: skip
"""Every kind of problem, by its status. The names are stable: programs compare them."""

STATUS = {kind: status for status, kinds in KINDS.items() for kind in kinds}

RETRY_SECONDS = 5
"""The seconds to wait before the next try after a 503."""

MAX_FAULTS = 50
"""The maximum number of faults in a response."""

MAX_POINTER = 200
"""The maximum number of characters of a pointer in a response. The caller controls the length of its last part."""


@dataclass(frozen=True, slots=True)
class FieldFault:
    """One fault of a request: `pointer` (RFC 6901) into the body, or the name of a query `parameter` or `header`."""

    detail: str
    pointer: str | None = None
    parameter: str | None = None
    header: str | None = None

    def document(self) -> dict[str, str]:
        """Return the fault as an item of the response's `errors`."""
        where = {"pointer": self.pointer, "parameter": self.parameter, "header": self.header}
        return {name: shortened(place) for name, place in where.items() if place is not None} | {"detail": self.detail}


class Problem(Exception):
    """The error response to a rejected request."""

    def __init__(
        self,
        kind: str,
        detail: str,
        *,
        faults: Sequence[FieldFault] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`kind` is one of KINDS (the last part of `type`). `detail` explains the error to people."""
        super().__init__(detail)
        self.status = STATUS[kind]
        self.kind = kind
        self.detail = detail
        self.faults = tuple(faults)
        self.headers = dict(headers or {})

    def document(self, request_id: str) -> dict[str, Any]:
        """Return the response's body."""
        detail = self.detail
        if len(self.faults) > MAX_FAULTS:
            detail += f" The first {MAX_FAULTS} of {len(self.faults)} errors are listed."
        return {
            "type": f"/problems/{self.kind}",
            "title": phrase(self.status),
            "status": int(self.status),
            "detail": detail,
            "errors": [fault.document() for fault in self.faults[:MAX_FAULTS]],
            "request_id": request_id,
        }


def phrase(status: int) -> str:
    """Return the name of a status in RFC 9110. Python 3.13 changed two of its names; this function returns the same
    names in every version.
    """
    renamed = {413: "Content Too Large", 422: "Unprocessable Content"}
    return renamed.get(status) or HTTPStatus(status).phrase


def pointer(path: Sequence[str | int]) -> str:
    """Return a JSON pointer, such as `/retry/max_attempts`."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def invalid(faults: Sequence[FieldFault], kind: str = "invalid-job") -> Problem:
    """Return the problem for a body that is valid JSON but has invalid fields."""
    count = "One field is" if len(faults) == 1 else f"{len(faults)} fields are"
    return Problem(kind, f"{count} invalid; nothing was changed.", faults=faults)


def later(kind: str, detail: str, seconds: int = RETRY_SECONDS) -> Problem:
    """Return the problem for a temporary condition, with the time until the next try."""
    return Problem(kind, detail, headers={"retry-after": str(seconds)})


def malformed(detail: str) -> Problem:
    """Return the problem for a body that is not a JSON document."""
    return Problem("malformed-body", detail)


def bad_parameter(name: str, detail: str) -> Problem:
    """Return the problem for an invalid query parameter."""
    fault = FieldFault(detail, parameter=name)
    sentence = f"The query parameter {shortened(name)} {detail}."
    return Problem("bad-parameter", sentence, faults=[fault])


def bad_header(name: str, detail: str) -> Problem:
    """Return the problem for an invalid request header."""
    return Problem("bad-header", f"The header {name} {detail}.", faults=[FieldFault(detail, header=name)])


def unknown_job(job_id: str) -> Problem:
    """Return the problem for a job that does not exist."""
    return Problem("unknown-job", f'There is no job "{shortened(job_id)}"{_form(job_id)}.')


def unknown_workflow(workflow_id: str) -> Problem:
    """Return the problem for a workflow that does not exist."""
    return Problem("unknown-workflow", f'There is no workflow "{shortened(workflow_id)}"{_form(workflow_id)}.')


def _form(job_id: str) -> str:
    """Return the form of an id if this is none. PUT gets this answer too, although it could create the job."""
    return "" if is_id(job_id) else "; an id has 1 to 64 letters (A-Z, a-z), digits, - or _"


def internal() -> Problem:
    """Return the problem for an internal error. It does not reveal the cause."""
    return Problem(
        "internal",
        "An internal error occurred. Try again; if the problem continues, report the request id.",
    )


def shortened(text: str) -> str:
    """Return the text, truncated if it is too long for a response."""
    return text if len(text) <= MAX_POINTER else text[: MAX_POINTER - 1] + "…"


def unavailable(error: Exception) -> Problem | None:
    """Return 503 for a temporary error, or None for any other error, which is a defect. Error messages of AWS are not
    returned.
    """
    if not isinstance(error, NoAnswerError) and not (isinstance(error, ServiceError) and error.temporary):
        return None
    detail = "A required service is too busy or does not respond. Try again in a few seconds."
    return later("unavailable", detail)
