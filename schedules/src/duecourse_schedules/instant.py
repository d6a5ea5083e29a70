"""ISO-8601 instants, as expressions and inside ``at(...)`` and ``R/start/period``."""

from __future__ import annotations

import re
from datetime import date

from duecourse_schedules.cron.cron import DAY, EPOCH
from duecourse_schedules.error import refuse, shown

FIRST, LAST = -62_135_596_800, 253_402_300_799
"""The first and last second that :func:`iso` can format: 0001-01-01T00:00:00 and 9999-12-31T23:59:59."""

_EXTENDED = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(Z|[+-]\d\d(?::?\d\d)?)?", re.ASCII
)
_BASIC = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(?:(\d\d)(?:[.,](\d+))?)?(Z|[+-]\d\d(?:\d\d)?)?", re.ASCII)
_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", re.ASCII)


class Moment:
    """A point in time as written: wall seconds, and the offset from UTC if one was given.

    Attributes:
        wall: the written time, as wall seconds (pattern.py).
        offset: seconds east of UTC, or None if the time is in the job's zone.

    """

    __slots__ = ("offset", "wall")

    def __init__(self, wall: int, offset: int | None) -> None:
        self.wall = wall
        self.offset = offset

    @property
    def canonical(self) -> str:
        """The canonical form: in UTC with ``Z`` if an offset was written, else ``at(...)``."""
        return f"at({iso(self.wall)})" if self.offset is None else iso(self.wall - self.offset) + "Z"


def parse_moment(text: str) -> Moment | None:
    """Parse an ISO-8601 date and time, extended or basic, in upper case. Returns None for text in another format.

    Raises ScheduleError for text in this format that is invalid: a day that does not exist, or fractions of a second.
    """
    match = _EXTENDED.fullmatch(text) or _BASIC.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, offset = match.groups()
    if fraction and fraction.strip("0"):
        raise refuse(f"{shown(text)}: times are in whole seconds; remove the fraction")
    wall = _wall(text, (int(year), int(month), int(day)), int(hour), int(minute), int(second or 0))
    moment = Moment(wall, None if offset is None else _offset(text, offset))
    if not FIRST <= wall - (moment.offset or 0) <= LAST:
        raise refuse(f"{shown(text)}: the instant is not within the years 1 to 9999 in UTC; choose another one")
    return moment


def parse_at(text: str) -> Moment:
    """Parse the text between the brackets of ``at(...)``, in upper case: yyyy-mm-ddThh:mm:ss in the job's zone."""
    moment = parse_moment(text)
    if moment is None or not _AT.fullmatch(text[:19]):
        raise refuse(f"at({text}): write at(yyyy-mm-ddThh:mm:ss), such as at(2026-01-31T09:00:00)")
    if moment.offset is not None:
        raise refuse(f"at({text}): at(...) is a time in the job's timezone; for an instant write {text} alone")
    if len(text) != 19:
        raise refuse(f"at({text}): write at({text[:19]}), without a fraction")
    return moment


def iso(wall: int) -> str:
    """Format wall seconds as ``2026-01-31T09:00:00``. For an instant the caller appends ``Z``."""
    day, second = divmod(wall, DAY)
    hour, second = divmod(second, 3_600)
    minute, second = divmod(second, 60)
    return f"{date.fromordinal(day + EPOCH).isoformat()}T{hour:02}:{minute:02}:{second:02}"


def spaced(wall: int) -> str:
    """Format wall seconds in words: ``2026-01-31 09:00:00``."""
    return iso(wall).replace("T", " ")


def moment_words(moment: Moment, timezone: str) -> str:
    """Describe a single time: ``once at 2026-01-31 09:00:00, Europe/Berlin``."""
    if moment.offset is None:
        return f"once at {spaced(moment.wall)}, {timezone}"
    return f"once at {spaced(moment.wall - moment.offset)} UTC"


def _wall(text: str, day: tuple[int, int, int], hour: int, minute: int, second: int) -> int:
    if hour > 23 or minute > 59 or second > 59:
        raise refuse(f"{shown(text)}: this time of day does not exist; hours are 0 to 23, minutes and seconds 0 to 59")
    try:
        number = date(*day).toordinal() - EPOCH
    except ValueError:
        raise refuse(f"{shown(text)}: this day does not exist; write a valid date") from None
    return number * DAY + hour * 3_600 + minute * 60 + second


def _offset(text: str, offset: str) -> int:
    if offset == "Z":
        return 0
    hours, minutes = int(offset[1:3]), int(offset[-2:]) if len(offset) > 3 else 0
    if hours > 23 or minutes > 59:
        raise refuse(f"{shown(text)}: this offset from UTC does not exist; write one such as +01:00, or Z")
    seconds = hours * 3_600 + minutes * 60
    return -seconds if offset[0] == "-" else seconds
