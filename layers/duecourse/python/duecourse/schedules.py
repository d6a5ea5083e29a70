"""When a schedule fires, for programs: the scheduler's own engine, offline, with aware datetimes.

    from duecourse import schedules

    schedules.next("30 2 * * *", tz="Europe/Berlin")             # after now
    list(schedules.upcoming("rate(5 minutes)", after=noon, count=3))

docs/schedules.md has the forms, the rules of daylight saving, and the options, which are a job's. Results are whole
seconds in the zone asked for. An instant that is given must be an aware datetime. Whatever is wrong is a ScheduleError,
a ValueError that names the field and says what to write instead. Needs nothing but the package tzdata.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice, takewhile
from typing import Literal, TypedDict, Unpack
from zoneinfo import ZoneInfo

from duecourse.domain.schedules import ScheduleError, ScheduleSpec
from duecourse.domain.schedules.occurrences import ExclusionError, Occurrences, occurrences_of
from duecourse.domain.schedules.parsed_input import counted_from
from duecourse.domain.schedules.schedule import EARLIEST

__all__ = ["Options", "Rules", "ScheduleError", "between", "describe", "next", "previous", "upcoming", "validate"]

Find = Callable[[int], int | None]
"""The first occurrence after an instant, both in UTC seconds."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)


class Rules(TypedDict, total=False):
    """A job's options beside its schedule, zone and window; docs/schedules.md has what they mean."""

    dst_gap: Literal["next", "skip"]
    dst_fold: Literal["first", "second", "both"]
    exclude: Sequence[str]
    """Instants, dates and ranges of dates, as a job has them: ``["2026-12-24/2027-01-02"]``."""
    anchor: datetime | None
    """From when a rate counts: without it from ``start``, and without that from the instant that one looks from."""


class Options(Rules, total=False):
    """The rules, and the window: start <= occurrence < end."""

    start: datetime | None
    end: datetime | None


def next(  # noqa: A001 - read as schedules.next
    expr: str, *, tz: str = "UTC", after: datetime | None = None, **options: Unpack[Options]
) -> datetime | None:
    """The first occurrence strictly after ``after`` (now), None where none is left. Raises ScheduleError."""
    return builtins.next(upcoming(expr, tz=tz, after=after, **options), None)


def upcoming(
    expr: str, *, tz: str = "UTC", after: datetime | None = None, count: int | None = None, **options: Unpack[Options]
) -> Iterator[datetime]:
    """The occurrences strictly after ``after`` (now) in order, lazily: at most ``count``, else all that are left.

    Raises ScheduleError, at once.
    """
    since = _seconds("after", after or datetime.now(UTC))
    find = _occurrences(counted_from(_spec(expr, tz, options), since), options).next
    return islice(_each(find, since, ZoneInfo(tz)), count)


def between(
    expr: str, start: datetime, end: datetime, *, tz: str = "UTC", **rules: Unpack[Rules]
) -> Iterator[datetime]:
    """The occurrences of a window, start <= occurrence < end, lazily. Raises ScheduleError, at once."""
    _seconds("end", end)
    found = upcoming(expr, tz=tz, after=_at(EARLIEST, UTC), start=start, **rules)
    return takewhile(lambda at: at < end, found)


def previous(
    expr: str, *, tz: str = "UTC", before: datetime | None = None, **options: Unpack[Options]
) -> datetime | None:
    """The last occurrence strictly before ``before`` (now), None where there is none.

    Raises ScheduleError; a rate needs its ``anchor`` or ``start``.
    """
    until = _seconds("before", before or datetime.now(UTC), up=True)
    spec = _spec(expr, tz, options)
    counted_from(spec, until)  # rejects an expression that is empty
    found = _last_before(_occurrences(spec, options).next, until)
    return None if found is None else _at(found, ZoneInfo(tz))


def describe(expr: str, *, tz: str = "UTC", **options: Unpack[Options]) -> str:
    """What was understood, in English: ``at 09:00 on Monday, America/New_York``. Raises ScheduleError."""
    spec = counted_from(_spec(expr, tz, options), _seconds("after", datetime.now(UTC)))
    return _occurrences(spec, options).schedule.words


def validate(expr: str, tz: str = "UTC", **options: Unpack[Options]) -> None:
    """Raises ScheduleError for what no job may have: what is not understood, and what has no occurrence from now on."""
    if next(expr, tz=tz, **options) is None:
        raise ScheduleError("schedule", "has no occurrence in the future; choose a schedule with a future occurrence")


def _spec(expr: str, tz: str, options: Options) -> ScheduleSpec:
    def instant(field: str, value: datetime | None) -> int | None:
        return None if value is None else _seconds(field, value, up=field != "anchor")

    return ScheduleSpec(
        expr,
        tz,
        options.get("dst_gap", "next"),
        options.get("dst_fold", "first"),
        instant("anchor", options.get("anchor")),
        instant("start", options.get("start")),
        instant("end", options.get("end")),
    )


def _occurrences(spec: ScheduleSpec, options: Rules) -> Occurrences:
    try:
        return occurrences_of("", "", spec, exclude=tuple(options.get("exclude", ())))
    except ExclusionError as problem:
        raise ScheduleError("exclude", problem.detail) from None


def _each(find: Find, after: int, zone: tzinfo) -> Iterator[datetime]:
    at = find(after)
    while at is not None:
        yield _at(at, zone)
        at = find(at)


def _last_before(find: Find, until: int) -> int | None:
    """Looks back twice as far at each step, then halves the distance in which the last occurrence lies."""

    def followed(at: int) -> bool:
        found = find(at)
        return found is not None and found < until

    low = high = until - 1
    step = 1
    while not followed(low):
        if low <= EARLIEST:
            return None
        high, low, step = low, max(EARLIEST, low - step), 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if followed(middle) else (low, middle)
    return find(low)


def _seconds(field: str, value: object, *, up: bool = False) -> int:
    """UTC seconds; a fraction is rounded so that the meaning stays the same for occurrences in whole seconds."""
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise ScheduleError(
            field, f"{value!r} is not an instant; pass a datetime with a time zone, such as datetime.now(UTC)"
        )
    seconds, fraction = divmod(value - _EPOCH, _SECOND)
    if fraction and field == "anchor":
        raise ScheduleError(field, f"{value!r}: a rate is in whole seconds; remove the fraction")
    return seconds + (1 if fraction and up else 0)


def _at(seconds: int, zone: tzinfo) -> datetime:
    return (_EPOCH + timedelta(seconds=seconds)).astimezone(zone)
