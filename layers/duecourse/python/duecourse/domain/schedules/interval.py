"""The shortest interval between a schedule's occurrences."""

from __future__ import annotations

from duecourse.domain.schedules.error import ScheduleError
from duecourse.domain.schedules.instant import iso
from duecourse.domain.schedules.schedule import RateSchedule, Schedule

STEPS = 1_000
"""The number of occurrences that are checked. The shortest interval of a cron expression is within one day. Its second,
minute and hour fields are the same on all its days, so that the interval is found soon.
"""


def closest(schedule: Schedule, after: int, *, limit: int, steps: int = STEPS) -> tuple[int, int] | None:
    """Return the first occurrence after `after` (UTC seconds) that follows its predecessor by less than `limit`
    seconds, with this interval. None if there is none among the first `steps`.
    """
    at = schedule.next(after)
    if isinstance(schedule, RateSchedule):
        steps = 1  # all its intervals are the same
    for _ in range(steps):
        if at is None or (following := schedule.next(at)) is None:
            return None
        if following - at < limit:
            return following, following - at
        at = following
    return None


def check_interval(schedule: Schedule, after: int, smallest: int) -> None:
    """Reject a schedule that fires more often than every `smallest` seconds. Raises ScheduleError on `schedule`."""
    found = closest(schedule, after, limit=smallest) if smallest > 1 else None
    if found is not None:
        at, distance = found
        raise ScheduleError(
            "schedule",
            f"has occurrences that are {distance} s apart (first at {iso(at)}Z), but this stage requires at least "
            f"{smallest} s; choose fewer times",
        )
