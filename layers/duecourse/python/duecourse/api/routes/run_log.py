"""The route that reads the log of a run."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from duecourse.api.answers import Millisecond
from duecourse.api.api import Answer, Api, route
from duecourse.api.bodies.models import refuse
from duecourse.api.query import Parameter, Query
from duecourse.api.request import Request
from duecourse.api.routes.runs import run_id_in
from duecourse.domain.instants import millisecond
from duecourse.domain.runs.logs import POSITION_PATTERN, LogSource, Position

_MAX_ATTEMPT = 999_999_999
"""The greatest number of an attempt in a callback token."""


def _attempt(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) >= 1):
        raise refuse(f"must be the number of an attempt, from 1 to {_MAX_ATTEMPT}")
    return int(text)


def _position(text: str) -> Position:
    try:
        return Position.parse(text)
    except ValueError:
        raise refuse("must be the value of after of the previous response; remove it to start again") from None


ATTEMPT = Parameter(
    component="LogAttempt",
    description="Only the log of this attempt.",
    schema={"type": "integer", "minimum": 1, "maximum": _MAX_ATTEMPT},
    example=1,
    read=_attempt,
)
AFTER = Parameter(
    component="LogAfter",
    description="`after` of the previous response: only what follows it.",
    schema={"type": "string", "minLength": 1, "maxLength": 256, "pattern": f"^{POSITION_PATTERN}$"},
    example="1:work.1.1.42",
    read=_position,
)


class RunLogQuery(Query):
    """The part of a run's log to read."""

    attempt: Annotated[int | None, ATTEMPT] = None
    after: Annotated[Position | None, AFTER] = None


class LogTextAnswer(TypedDict):
    """A part of the log of an attempt."""

    attempt: Annotated[int, Field(ge=1)]
    source: Annotated[
        LogSource,
        Field(
            description="`call`: the end of the log of a Lambda function. `work`: the program that works on the run."
        ),
    ]
    written_at: Millisecond
    text: str


class RunLogAnswer(TypedDict):
    """A page of the log of a run."""

    texts: list[LogTextAnswer]
    after: Annotated[str | None, Field(description="Send it to read what follows. Null if nothing was read.")]
    more: Annotated[bool, Field(description="Whether more is stored already.")]
    open: Annotated[bool, Field(description="Whether lines may still be added.")]


@route("GET", "/v1/runs/<run_id>/log", "runs", {200: RunLogAnswer}, query=RunLogQuery)
def get_run_log(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Read the log of a run.

    Returns up to four portions (64 KB each) of the log, oldest attempt first. To continue, send `after`. The log is
    complete when `more` and `open` are false. `open` is false when the run has ended more than 30 seconds ago.
    """
    query, run_id = RunLogQuery.of(request), run_id_in(parameters)
    run = api.runs.get(request.tenant, run_id)
    page = api.log_reader.page(run, query.attempt, query.after)
    body = RunLogAnswer(
        texts=[
            LogTextAnswer(
                attempt=each.portion.attempt,
                source=each.portion.source,
                written_at=millisecond(each.written_at),
                text=each.text,
            )
            for each in page.texts
        ],
        after=None if page.after is None else str(page.after),
        more=page.more,
        open=page.open,
    )
    return Answer(HTTPStatus.OK, "log_read", body, facts={"run_id": run_id, "items": len(page.texts)})
