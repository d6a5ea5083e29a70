"""Calendars of tenants."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.jobs.calendars import Calendar


@dataclass(frozen=True, slots=True)
class CalendarPage:
    """Calendars, ordered by id. `following` continues after the last calendar."""

    items: tuple[Calendar, ...]
    following: str | None
