"""The occurrences of a schedule for programs: the engine of the scheduler, offline, with aware datetimes.

    from duecourse import schedules

    schedules.next("30 2 * * *", tz="Europe/Berlin")             # after now

These are the functions of the distribution duecourse-schedules, which needs no other part of the scheduler.
"""

from __future__ import annotations

from duecourse_schedules.schedules import (
    Options,
    Rules,
    ScheduleError,
    between,
    describe,
    next,  # noqa: A004 - read as schedules.next
    previous,
    upcoming,
    validate,
)

__all__ = ["Options", "Rules", "ScheduleError", "between", "describe", "next", "previous", "upcoming", "validate"]
