"""The requests about calendars."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from benchmarks.requests.cases import FAT, Case, Event, compact, get
from tests.support.api_events import api_event

if TYPE_CHECKING:
    from benchmarks.requests.measure import Desk

CALENDARS = 100
USERS = 100
"""The jobs that one request changes."""

MOST_DAYS = [f"{2027 + number // 12}-{1 + number % 12:02}-15" for number in range(120)]


def calendars() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the paths and bodies of the calendars, of which the first has users."""
    for number in range(CALENDARS):
        yield f"/v1/calendars/calendar-{number:03}", {"exclude": MOST_DAYS, "description": "d" * 500}


def user(number: int) -> dict[str, Any]:
    """Return a job of 40 KB that uses the first calendar."""
    return FAT | {"id": f"user-{number:03}", "schedule": "0 3 * * *", "calendar": "calendar-000"}


def of_calendars() -> Iterator[Case]:
    """Yield the requests that write, read, list and delete."""
    yield Case("PUT /v1/calendars/{calendar_id}", "changed days for 100 jobs of 40 KB", _put)
    yield get("GET /v1/calendars", "100 calendars of 120 days", limit="100")
    yield get("GET /v1/calendars/{calendar_id}", "a calendar that 100 jobs of 40 KB use", "/v1/calendars/calendar-000")
    yield Case("DELETE /v1/calendars/{calendar_id}", "120 days", _delete, 204)


def _put(desk: Desk) -> Event:
    days = [*MOST_DAYS[:100], f"2050-01-{1 + next(desk.numbers) % 28:02}"]
    return compact("PUT", "/v1/calendars/calendar-000", {"exclude": days})


def _delete(desk: Desk) -> Event:
    path = f"/v1/calendars/unused-{next(desk.numbers)}"
    desk.send(path, {"exclude": MOST_DAYS}, "PUT")
    return api_event("DELETE", path, content_type=None)
