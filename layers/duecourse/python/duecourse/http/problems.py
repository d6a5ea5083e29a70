"""Problem documents (RFC 9457): what is wrong, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

MAX_FAULTS = 50
"""Faults told at once; a document that is all wrong needs no longer answer."""

MAX_POINTER = 200
"""Characters of a pointer that are echoed: its last part may be as long as the caller likes."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: `pointer` (RFC 6901) into the body, or the name of a query `parameter` or `header`."""

    detail: str
    pointer: str | None = None
    parameter: str | None = None
    header: str | None = None

    def document(self) -> dict[str, str]:
        """As it stands in the answer's `errors`."""
        where = {"pointer": self.pointer, "parameter": self.parameter, "header": self.header}
        return {name: _short(place) for name, place in where.items() if place is not None} | {"detail": self.detail}


class Problem(Exception):
    """A request that is refused."""

    def __init__(
        self,
        status: HTTPStatus,
        kind: str,
        detail: str,
        *,
        faults: Sequence[Fault] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`kind` is the stable name that programs compare (the last part of `type`), `detail` is for people."""
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.faults = tuple(faults)
        self.headers = dict(headers or {})

    def document(self, request_id: str) -> dict[str, Any]:
        """The answer's body."""
        detail = self.detail
        if len(self.faults) > MAX_FAULTS:
            detail += f" The first {MAX_FAULTS} of {len(self.faults)} errors are listed."
        return {
            "type": f"/problems/{self.kind}",
            "title": self.status.phrase,
            "status": int(self.status),
            "detail": detail,
            "errors": [fault.document() for fault in self.faults[:MAX_FAULTS]],
            "request_id": request_id,
        }


def pointer(path: Sequence[str | int]) -> str:
    """`/retry/max_attempts`: a JSON pointer."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def invalid(faults: Sequence[Fault]) -> Problem:
    """A body that was understood and does not make a job."""
    count = "One field is" if len(faults) == 1 else f"{len(faults)} fields are"
    detail = f"{count} wrong; nothing was changed."
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-job", detail, faults=faults)


def malformed(detail: str) -> Problem:
    """A body that is no JSON document."""
    return Problem(HTTPStatus.BAD_REQUEST, "malformed-body", detail)


def bad_parameter(name: str, detail: str) -> Problem:
    """A query parameter that is not understood."""
    fault = Fault(detail, parameter=name)
    sentence = f"The query parameter {_short(name)} {detail}."
    return Problem(HTTPStatus.BAD_REQUEST, "bad-parameter", sentence, faults=[fault])


def bad_header(name: str, detail: str) -> Problem:
    """A request header that is not understood."""
    return Problem(
        HTTPStatus.BAD_REQUEST, "bad-header", f"The header {name} {detail}.", faults=[Fault(detail, header=name)]
    )


def unknown_job(job_id: str) -> Problem:
    """A job that is not there."""
    return Problem(HTTPStatus.NOT_FOUND, "unknown-job", f'There is no job "{_short(job_id)}".')


def internal() -> Problem:
    """A fault of our own, of which nothing is told."""
    return Problem(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "internal",
        "Something went wrong on our side. Try again, and name the request id if it goes on.",
    )


def _short(text: str) -> str:
    return text if len(text) <= MAX_POINTER else text[: MAX_POINTER - 1] + "…"
