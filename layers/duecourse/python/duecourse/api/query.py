"""Query parameters and page tokens.

Each route with query parameters has a model of them. The route reads them with this model, and the OpenAPI document is
generated from it.

A page has a maximum number of items and a start. A page token (`cursor` and `next_cursor` in the API) is opaque to
callers and contains its kind and version.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError, ValidationInfo
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_plain_validator_function

from duecourse.api.bodies.definition_body import read_job_id
from duecourse.api.bodies.models import LINE, refuse, write_json
from duecourse.api.problems import Problem, bad_parameter
from duecourse.api.request import Request
from duecourse.domain.documents import LATEST
from duecourse.domain.ids import ID_PATTERN, is_id, parse_run_id
from duecourse.domain.jobs.job import TAG_PATTERN
from duecourse.domain.runs.rendering import CONCURRENCY_KEY_PATTERN
from duecourse.domain.runs.states import RunState
from duecourse.ports import StateMark
from duecourse_schedules import ScheduleError
from duecourse_schedules.schedule import read_instant

DEFAULT_LIMIT = 50
MAX_LIMIT = 100

MAX_ERROR_TEXT = 200
"""The maximum number of characters of the search text for errors."""

LINE_PATTERN = r"[^\u0000-\u001f\u007f-\u009f\ud800-\udfff]{1,%d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """Annotates a field of a model with the function that reads its text. `component` is the parameter's name in the
    OpenAPI document, which contains the description.

    `read` raises `refuse(…)` for an invalid text.
    """

    component: str
    description: str
    schema: Mapping[str, Any]
    example: Any
    read: Callable[[str], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema that validates the text with `read`."""
        del source, handler
        return no_info_plain_validator_function(self.read)


class Query(BaseModel):
    """The base class of the models of query parameters. It has no parameters itself. Each field of a model is a text,
    or has a Parameter that reads it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)

    @classmethod
    def parameters(cls) -> Mapping[str, tuple[Parameter, bool]]:
        """Return the parameters by name, and whether each is required."""
        return {
            field.alias or name: (
                next(each for each in field.metadata if isinstance(each, Parameter)),
                field.is_required(),
            )
            for name, field in cls.model_fields.items()
        }

    @classmethod
    def of(cls, request: Request) -> Self:
        """Return the parameters of a request. Raises Problem (400), also for an unknown parameter, so that a misspelt
        one is not ignored.
        """
        given, known = request.query or {}, cls.parameters()
        for name in given:
            if name not in known:
                raise bad_parameter(name, f"is not known; {_listed(list(known))}")
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            name = str(first["loc"][0])
            raise bad_parameter(name, first["msg"]) from None


def _listed(names: Sequence[str]) -> str:
    match names:
        case []:
            return "this route has no parameters"
        case [name]:
            return f"the only parameter is {name}"
        case _:
            return f"the parameters are {', '.join(names)}"


def number_parameter(
    component: str, description: str, low: int, high: int, default: int, example: int, noun: str = "a whole number"
) -> Parameter:
    """Return a parameter that is a whole number."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= 6 and low <= int(text) <= high):
            raise refuse(f"must be {noun} from {low} to {high}")
        return int(text)

    schema = {"type": "integer", "minimum": low, "maximum": high, "default": default}
    return Parameter(component=component, description=description, schema=schema, example=example, read=read)


def flag_parameter(component: str, description: str) -> Parameter:
    """Return a parameter that is `true` or `false`."""

    def read(text: str) -> bool:
        if text not in ("true", "false"):
            raise refuse("must be true or false")
        return text == "true"

    schema = {"type": "string", "enum": ["true", "false"]}
    return Parameter(component=component, description=description, schema=schema, example="true", read=read)


def choice_parameter(component: str, description: str, kind: type[StrEnum], example: str) -> Parameter:
    """Return a parameter that is one word of an enumeration."""

    def read(text: str) -> StrEnum:
        if text not in tuple(kind):
            raise refuse(f"must be one of {', '.join(kind)}")
        return kind(text)

    schema = {"type": "string", "enum": list(kind)}
    return Parameter(component=component, description=description, schema=schema, example=example, read=read)


def line_parameter(component: str, description: str, most: int, example: str) -> Parameter:
    """Return a parameter that is a text of one line with at most `most` characters."""

    def read(text: str) -> str:
        if re.fullmatch(LINE_PATTERN % most, text) is None:
            raise refuse(f"must have 1 to {most} characters and no control characters or line breaks")
        return text

    schema = {"type": "string", "minLength": 1, "maxLength": most, **LINE}
    return Parameter(component=component, description=description, schema=schema, example=example, read=read)


def read_time(text: str) -> int:
    """Return an instant as UTC seconds."""
    try:
        return read_instant("instant", text)
    except ScheduleError as error:
        raise refuse(f"is not valid: {error.detail}") from None


INSTANT = {
    "type": "string",
    "minLength": 1,
    "maxLength": 64,
    "description": "ISO-8601 with an offset, preferably UTC with Z.",
}


def instant_parameter(component: str, description: str, example: str) -> Parameter:
    """Return a parameter that is an instant."""
    return Parameter(component=component, description=description, schema=INSTANT, example=example, read=read_time)


def after(field: str, name: str) -> AfterValidator:
    """Return the annotation of an instant that must be later than `field`. `name` is that field's query parameter."""

    def check(value: int | None, info: ValidationInfo) -> int | None:
        first = info.data.get(field)
        if value is not None and first is not None and first >= value:
            raise refuse(f"must be later than {name}")
        return value

    return AfterValidator(check)


def job_parameter(component: str, description: str) -> Parameter:
    """Return a parameter that is a job's id."""
    schema = {"type": "string", "pattern": f"^{ID_PATTERN}$"}
    return Parameter(component=component, description=description, schema=schema, example="nightly", read=read_job_id)


def jobs_parameter(component: str, description: str, most: int) -> Parameter:
    """Return a parameter that is a list of at most `most` ids of jobs."""

    def read(text: str) -> tuple[str, ...]:
        ids = tuple(text.split(","))  # API Gateway joins the values of a repeated parameter with commas
        if len(ids) > most:
            raise refuse(f"must have at most {most} ids")
        return tuple(map(read_job_id, ids))

    schema = {"type": "string", "pattern": f"^{ID_PATTERN}(,{ID_PATTERN}){{0,{most - 1}}}$"}
    return Parameter(component=component, description=description, schema=schema, example="nightly,hourly", read=read)


def _tag(text: str) -> str:
    if re.fullmatch(TAG_PATTERN, text) is None:
        raise refuse("must be one tag: 1 to 64 letters (A-Z, a-z), digits or _ . : / = + @ -")
    return text


def tag_parameter(component: str, description: str) -> Parameter:
    """Return a parameter that is a tag."""
    schema = {"type": "string", "pattern": f"^{TAG_PATTERN}$"}
    return Parameter(component=component, description=description, schema=schema, example="billing", read=_tag)


def _states(text: str) -> tuple[RunState, ...]:
    names = text.split(",")  # API Gateway joins the values of a repeated parameter with commas
    if not set(names) <= set(RunState):
        raise refuse(f"must be one or more of {', '.join(RunState)}, separated by commas")
    return tuple(state for state in RunState if state in names)


_STATES = "|".join(RunState)

RUN_STATE = Parameter(
    component="RunState",
    description="Only runs in these states; separate them by commas, or repeat the parameter.",
    schema={"type": "string", "pattern": f"^({_STATES})(,({_STATES}))*$"},
    example="DEAD,RETRYING",
    read=_states,
)
RUN_TAG = tag_parameter("RunTag", "Only runs of jobs that currently have this tag.")
RUN_ERROR = line_parameter(
    "RunError",
    "Only runs with an error that contains this text (not case-sensitive).",
    MAX_ERROR_TEXT,
    "connection refused",
)
CAUGHT_UP = flag_parameter(
    "CaughtUp", "Only catch-up runs, whose occurrences were missed or covered by a pause with `catch_up`."
)
DISCARDED = flag_parameter("Discarded", "Only discarded runs. By default, they are excluded.")
SINCE = instant_parameter("Since", "Only runs that entered their state at this time or later.", "2026-11-21T00:00:00Z")
UNTIL = instant_parameter("Until", "Only runs that entered their state before this time.", "2026-11-22T00:00:00Z")
FROM = instant_parameter("From", "Only items at this instant or later.", "2026-11-21T00:00:00Z")
TO = instant_parameter("To", "Only items before this instant.", "2026-11-22T00:00:00Z")
LIMIT = number_parameter("Limit", "The maximum number of items of a page.", 1, MAX_LIMIT, DEFAULT_LIMIT, 20)
CURSOR = Parameter(
    component="Cursor",
    description="`next_cursor` of the previous page of the same list. It is opaque.",
    schema={"type": "string", "minLength": 1, "maxLength": 768},
    example="MWo6bmlnaHRseQ",
    read=str,
)


class PageQuery(Query):
    """The query parameters of every list."""

    limit: Annotated[int, LIMIT] = DEFAULT_LIMIT
    cursor: Annotated[str | None, CURSOR] = None


def page_cursor(read: Callable[[str], object]) -> AfterValidator:
    """Return the annotation of a `cursor` in a body, which `read` can read."""

    def check(text: str) -> str:
        try:
            read(text)
        except Problem:
            remedy = "use next_cursor of the previous response, or remove it"
            raise refuse(f"is not a cursor of this list; {remedy}") from None
        return text

    return AfterValidator(check)


MAX_ANSWER_BYTES = 4 * 1024 * 1024
"""The maximum size of a page. Lambda responses can have 6 MB (quota "Invocation payload", synchronous); the difference
is for quoting and headers.
"""

_JOBS = "1j:"
_RUNS = "1r:"
_PAGE_STATES = "1s:"
_CHANGES = "1c:"
_KEYS = "1k:"
_CHANGE = re.compile(r"[0-9]{13}#[A-Za-z0-9_./-]{1,128}")


def job_page_token(last: str) -> str:
    """Return the token of the page after the job `last`."""
    return _sealed(_JOBS + last)


def read_job_page_token(sealed: str | None) -> str | None:
    """Return the id of the last job before the page, or None for the first page."""
    text = _opened(sealed, _JOBS)
    if text is not None and not is_id(text):
        raise _bad_page_token()
    return text


PageCursor = Annotated[str, page_cursor(read_job_page_token)]
"""The `cursor` in the body of a request about many jobs."""


def upcoming_page_token(last: str | StateMark) -> str:
    """Return the token of the page of upcoming runs after a job or a delayed run."""
    return job_page_token(last) if isinstance(last, str) else state_page_token(last)


def read_upcoming_page_token(sealed: str | None) -> str | StateMark | None:
    """Return the id of the last job, or the mark of the last delayed run, before the page; None for the first page."""
    if sealed is None or _unsealed(sealed, _PAGE_STATES) is None:
        return read_job_page_token(sealed)
    mark = read_state_page_token(sealed)
    if mark is None or not mark.delayed:
        raise _bad_page_token()
    return mark


def key_page_token(last: str) -> str:
    """Return the token of the page after the concurrency key `last`."""
    return _sealed(_KEYS + last)


def read_key_page_token(sealed: str | None) -> str | None:
    """Return the last concurrency key before the page, or None for the first page."""
    text = _opened(sealed, _KEYS)
    if text is not None and re.fullmatch(CONCURRENCY_KEY_PATTERN, text) is None:
        raise _bad_page_token()
    return text


def run_page_token(job_id: str, last: str) -> str:
    """Return the token of the page before the run with the local name `last`."""
    return _sealed(f"{_RUNS}{job_id}.{last}")


def read_run_page_token(sealed: str | None, job_id: str) -> str | None:
    """Return the local name of the run before which the page starts."""
    text = _opened(sealed, _RUNS)
    try:
        name = None if text is None else parse_run_id(text)
    except ValueError:
        raise _bad_page_token() from None
    if name is not None and name.job_id != job_id:
        raise bad_parameter("cursor", "belongs to another job; start without a cursor")
    return None if name is None else name.local


_DELAYED = "DELAYED"
"""Replaces the state in the token of a page after a delayed run."""


def state_page_token(mark: StateMark) -> str:
    """Return the token of the page after the run at this mark."""
    name = _DELAYED if mark.delayed else mark.state
    return _sealed(f"{_PAGE_STATES}{name}:{mark.partition}:{mark.at!r}:{mark.run_id}")


def read_state_page_token(sealed: str | None) -> StateMark | None:
    """Return the mark after which the page starts."""
    text = _opened(sealed, _PAGE_STATES)
    if text is None:
        return None
    name, _, rest = text.partition(":")
    number, _, rest = rest.partition(":")
    if name not in {*RunState.__members__, _DELAYED} or re.fullmatch("0|[1-9][0-9]{0,3}", number) is None:
        raise _bad_page_token()
    if name == _DELAYED:
        return replace(_mark(rest, RunState.QUEUED, int(number)), delayed=True)
    return _mark(rest, RunState(name), int(number))


def _mark(text: str, state: RunState, partition: int) -> StateMark:
    at, _, run_id = text.partition(":")
    try:
        since = float(at)
        parse_run_id(run_id)
    except ValueError:
        raise _bad_page_token() from None
    # Accept only numbers that this module writes into tokens. DynamoDB rejects others, for example positive numbers
    # below 1e-130.
    if repr(since) != at or not (1 <= since <= LATEST or at == "0.0"):
        raise _bad_page_token()
    return StateMark(since, run_id, state, partition)


def fitting(items: Sequence[Mapping[str, Any]]) -> int:
    """Return how many of the first items fit into one response, at least one."""
    room = MAX_ANSWER_BYTES
    for count, item in enumerate(items):
        room -= len(write_json(item)) * 2  # the response is quoted once more by Lambda
        if room < 0 and count:
            return count
    return len(items)


def change_page_token(job_id: str, last: str) -> str:
    """Return the token of the page before the change at the place `last` in the job's history."""
    return _sealed(f"{_CHANGES}{job_id}.{last}")


def read_change_page_token(sealed: str | None, job_id: str) -> str | None:
    """Return the position in the job's history that the page token contains; the page starts with the change before
    it.
    """
    text = _opened(sealed, _CHANGES)
    if text is None:
        return None
    owner, _, place = text.partition(".")
    if owner != job_id:
        raise bad_parameter("cursor", "belongs to another job; start without a cursor")
    if _CHANGE.fullmatch(place) is None:
        raise _bad_page_token()
    return place


def _sealed(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _opened(sealed: str | None, kind: str) -> str | None:
    if sealed is None:
        return None
    text = _unsealed(sealed, kind)
    if text is None:
        raise _bad_page_token()
    return text


def _unsealed(sealed: str, kind: str) -> str | None:
    try:
        text = urlsafe_b64decode(sealed.encode("ascii") + b"=" * (-len(sealed) % 4)).decode("ascii")
    except ValueError:
        return None
    return text.removeprefix(kind) if text.startswith(kind) and _sealed(text) == sealed else None


def _bad_page_token() -> Exception:
    return bad_parameter(
        "cursor", "is not a cursor of this list; use next_cursor of the previous page, or start without a cursor"
    )
