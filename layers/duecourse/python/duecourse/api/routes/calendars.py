"""The routes of calendars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated
from urllib.parse import unquote

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from duecourse.api.answers import Count, JobId, Millisecond, PageAnswer
from duecourse.api.api import Answer, Api, page_answer, route
from duecourse.api.bodies.definition_body import Excluded
from duecourse.api.bodies.models import LINE, Body, no_controls
from duecourse.api.bodies.validation import read_body
from duecourse.api.problems import FieldFault, Problem, invalid, shortened
from duecourse.api.query import PageCursor, PageQuery, job_page_token, read_job_page_token
from duecourse.api.request import Request, read_absent, read_expected
from duecourse.domain.ids import is_id
from duecourse.domain.instants import millisecond
from duecourse.domain.jobs.calendars import Calendar
from duecourse.domain.jobs.job import MAX_DESCRIPTION
from duecourse.domain.tenants.quota import MAX_CALENDAR_ENTRIES
from duecourse.usecases.jobs.calendars import CalendarInUseError, CalendarUnknownError
from duecourse_schedules.exclusions import ExclusionError
from duecourse_schedules.packed import MAX_CALENDAR_CHARACTERS, CalendarSizeError


class CalendarBody(Body):
    """The days that a calendar excludes. `cursor` is the `next_cursor` of the previous response."""

    exclude: Annotated[
        list[Excluded],
        Field(
            min_length=1,
            max_length=MAX_CALENDAR_ENTRIES,
            description="Dates, ranges of dates (2026-12-24/2027-01-01), windows "
            "(2026-12-01T22:00:00Z/2026-12-02T02:00:00Z) and cron expressions (* * * * SAT,SUN). If a window is "
            "written with /catch_up, one occurrence at its end replaces those in it.",
        ),
    ]
    description: Annotated[
        str,
        Field(max_length=MAX_DESCRIPTION, json_schema_extra=LINE),
        AfterValidator(no_controls),
    ] = ""
    cursor: PageCursor | None = None


class CalendarAnswer(TypedDict):
    """A calendar. Its dates are in order, with overlapping ranges merged; windows and cron expressions follow."""

    id: JobId
    description: str
    exclude: list[str]
    version: Annotated[int, Field(ge=1, description="Increases with every change.")]
    updated_at: Millisecond
    updated_by: str


class SingleCalendarAnswer(CalendarAnswer):
    """A calendar and its jobs."""

    jobs: Annotated[list[JobId], Field(description="The ids of the first 100 jobs that use the calendar.")]
    more_jobs: Annotated[bool, Field(description="Whether other jobs use the calendar as well.")]


class PutCalendarAnswer(CalendarAnswer):
    """A calendar, and the result for up to 100 of its jobs. Pass `next_cursor` to continue with the others."""

    changed: Count
    failed: Annotated[
        list[JobId],
        Field(
            description=(
                "The jobs that keep the previous exclusions: they were changed at the same time, would exceed the "
                "limit, or would have no future occurrence."
            )
        ),
    ]
    next_cursor: str | None


@route(
    "PUT",
    "/v1/calendars/<calendar_id>",
    "calendars",
    {200: PutCalendarAnswer, 201: PutCalendarAnswer},
    body=CalendarBody,
    headers=("If-Match", "If-None-Match"),
    problems=("invalid-calendar", "unknown-calendar", "busy"),
)
def put_calendar(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Create or replace a calendar.

    This request also updates the jobs that use the calendar: up to 100 jobs in one call, and each counts as a request.
    Pass `next_cursor` as `cursor`, with the same days, to continue; if the calendar has changed in between, the
    response is 412. Jobs whose schedule changes start a new generation,
    as after an edit. Repeating the request changes nothing. Index repair completes an interrupted request within a
    day.
    """
    calendar_id, body = _id_in(parameters), read_body(request, CalendarBody, kind="invalid-calendar")
    expected = replace(read_expected(request), absent=read_absent(request))
    if not is_id(calendar_id):
        fault = FieldFault("must be 1 to 64 letters (A-Z, a-z), digits, - or _", parameter="calendar_id")
        raise invalid([fault], "invalid-calendar")
    try:
        put = api.calendars.put(
            request.tenant,
            calendar_id,
            body.exclude,
            body.description,
            by=request.principal,
            expected=expected,
            after=read_job_page_token(body.cursor),
            charge=request.budget.charge,
        )
    except ExclusionError as error:
        raise invalid([FieldFault(error.detail, f"/exclude/{error.index}")], "invalid-calendar") from None
    except CalendarUnknownError:
        raise _unknown(calendar_id) from None
    except CalendarSizeError:
        detail = f"takes more than {MAX_CALENDAR_CHARACTERS} bytes in packed form; remove past entries"
        raise invalid([FieldFault(detail, "/exclude")], "invalid-calendar") from None
    following = None if put.jobs.following is None else job_page_token(put.jobs.following)
    answer: PutCalendarAnswer = {
        **_document(put.calendar),
        "changed": put.jobs.changed,
        "failed": list(put.jobs.failed),
        "next_cursor": following,
    }
    facts = {"calendar_id": calendar_id, "changed": put.jobs.changed, "failed": len(put.jobs.failed)}
    headers = _headers(put.calendar)
    if put.created:
        headers["location"] = f"/v1/calendars/{calendar_id}"
        return Answer(HTTPStatus.CREATED, "calendar_created", answer, headers, facts)
    return Answer(HTTPStatus.OK, "calendar_put", answer, headers, facts)


@route("GET", "/v1/calendars", "calendars", {200: PageAnswer[CalendarAnswer]}, query=PageQuery)
def list_calendars(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """List calendars.

    Lists the calendars of the tenant, ordered by id.
    """
    query = PageQuery.of(request)
    page = api.calendars.page(request.tenant, limit=query.limit, after=read_job_page_token(query.cursor))
    cursor = None if page.following is None else job_page_token(page.following)
    return page_answer("calendars_listed", [_document(each) for each in page.items], cursor, {})


@route("GET", "/v1/calendars/<calendar_id>", "calendars", {200: SingleCalendarAnswer}, problems=("unknown-calendar",))
def get_calendar(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Read a calendar.

    Returns the calendar and the jobs that use it.
    """
    calendar_id = _id_in(parameters)
    try:
        calendar = api.calendars.get(request.tenant, calendar_id)
    except CalendarUnknownError:
        raise _unknown(calendar_id) from None
    jobs, following = api.calendars.users(request.tenant, calendar_id)
    more = following is not None
    answer: SingleCalendarAnswer = {**_document(calendar), "jobs": list(jobs), "more_jobs": more}
    return Answer(HTTPStatus.OK, "calendar_read", answer, _headers(calendar), {"calendar_id": calendar_id})


@route(
    "DELETE",
    "/v1/calendars/<calendar_id>",
    "calendars",
    {204: None},
    headers=("If-Match",),
    problems=("unknown-calendar", "calendar-in-use", "busy"),
)
def delete_calendar(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Delete a calendar.

    A calendar that jobs use is not deleted (409).
    """
    calendar_id, expected = _id_in(parameters), read_expected(request)
    try:
        api.calendars.delete(request.tenant, calendar_id, expected)
    except CalendarUnknownError:
        raise _unknown(calendar_id) from None
    except CalendarInUseError as error:
        jobs = ", ".join(error.jobs[:10]) + (" and others" if len(error.jobs) > 10 else "")
        detail = f"{calendar_id} is used by {jobs}; remove calendar from these jobs first"
        raise Problem("calendar-in-use", f"{detail}. Nothing was changed.") from None
    return Answer(HTTPStatus.NO_CONTENT, "calendar_deleted", facts={"calendar_id": calendar_id})


def _id_in(parameters: Mapping[str, str]) -> str:
    return unquote(parameters["calendar_id"])


def _unknown(calendar_id: str) -> Problem:
    return Problem("unknown-calendar", f'There is no calendar "{shortened(calendar_id)}".')


def _headers(calendar: Calendar) -> dict[str, str]:
    return {"etag": f'"{calendar.tag}"'}


def _document(calendar: Calendar) -> CalendarAnswer:
    return {
        "id": calendar.id,
        "description": calendar.description,
        "exclude": list(calendar.exclude),
        "version": calendar.version,
        "updated_at": millisecond(calendar.updated_at),
        "updated_by": calendar.updated_by,
    }
