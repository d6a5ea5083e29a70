"""Short ways to ask the schedule engine, for tests that read as sentences."""

from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from duecourse_schedules import Schedule, ScheduleError, ScheduleSpec, compile_schedule
from duecourse_schedules.instant import iso
from duecourse_schedules.schedule import read_instant
from schedules.tests.support.schedule_oracle import EPOCH, wall_clock


def utc(text: str) -> int:
    """``2026-03-08 07:00`` (UTC) in epoch seconds."""
    return int(datetime.fromisoformat(text + "+00:00").timestamp())


def from_iso(text: str) -> int:
    """``2026-03-08T07:00:00Z`` in epoch seconds."""
    return read_instant("after", text)


def to_iso(at: int) -> str:
    """Epoch seconds as ``2026-03-08T07:00:00Z``."""
    return f"{iso(at)}Z"


def schedule(expression: str, timezone: str = "UTC", **more: Any) -> Schedule:
    """The compiled schedule of an expression."""
    return compile_schedule(ScheduleSpec(expression, timezone, **more))


def instants(expression: str, timezone: str = "UTC", *, after: str, count: int = 3, **more: Any) -> list[str]:
    """The next occurrences after an instant in UTC, as ``2026-03-08 07:00`` in UTC; fewer when they run out."""
    found = islice(schedule(expression, timezone, **more).upcoming(utc(after)), count)
    return [_plain(EPOCH + timedelta(seconds=at)) for at in found]


def local(expression: str, timezone: str = "UTC", *, after: str, count: int = 3, **more: Any) -> list[str]:
    """The same on the wall clock of the zone, with ``b`` behind the second pass of a repeated time."""
    found = islice(schedule(expression, timezone, **more).upcoming(utc(after)), count)
    shown = []
    for at in found:
        wall = wall_clock(at, timezone)
        again = any(wall_clock(at - back, timezone) == wall for back in (1_800, 3_600, 7_200))
        shown.append(_plain(wall) + ("b" if again else ""))
    return shown


def refusal(expression: str, timezone: str = "UTC", **more: Any) -> ScheduleError:
    """The error with which a spec is refused; fails when it is accepted."""
    try:
        accepted = compile_schedule(ScheduleSpec(expression, timezone, **more))
    except ScheduleError as error:
        return error
    raise AssertionError(f"{expression!r} was accepted: {accepted.words}")


def _plain(moment: datetime) -> str:
    return moment.isoformat(" ", "seconds" if moment.second else "minutes")
