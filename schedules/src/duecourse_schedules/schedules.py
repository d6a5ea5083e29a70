"""The occurrences of a schedule for programs: the engine of the scheduler, offline, with aware datetimes.

    from duecourse_schedules import schedules

    schedules.next("30 2 * * *", tz="Europe/Berlin")             # after now
    list(schedules.upcoming("rate(5 minutes)", after=noon, count=3))

docs/schedules.md describes the expressions, the rules of daylight saving time, and the options, which are those of a
job. Results are in whole seconds in the requested time zone. Instants must be aware datetimes. Every invalid argument
raises ScheduleError, a ValueError with the field and a valid alternative. The only dependency is the package
tzdata.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice, takewhile
from typing import Literal, TypedDict, Unpack
from zoneinfo import ZoneInfo

from duecourse_schedules import ScheduleError, ScheduleSpec
from duecourse_schedules.exclusions import ExclusionError
from duecourse_schedules.schedule import EARLIEST, Occurrences, counted_from, joined, occurrences_of

__all__ = ["Options", "Rules", "ScheduleError", "between", "describe", "next", "previous", "upcoming", "validate"]

Expressions = str | Sequence[str]
"""One schedule, or a list of several, as in a job."""

Find = Callable[[int], int | None]
"""Returns the first occurrence after an instant, both in UTC seconds."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)


class Rules(TypedDict, total=False):
    """The options of a job in addition to its schedule, time zone and window. docs/schedules.md describes them."""

    dst_gap: Literal["next", "skip"]
    dst_fold: Literal["first", "second", "both"]
    exclude: Sequence[str]
    """Instants, dates, ranges of dates, windows and cron expressions, as in a job: ``["2026-12-24/2027-01-02"]``."""
    on_excluded: Literal["skip", "previous", "next"]
    anchor: datetime | None
    """The instant from which a rate counts. The default is ``start``; without it, the instant after which occurrences
    are requested.
    """


class Options(Rules, total=False):
    """The rules and the window: start <= occurrence < end."""

    start: datetime | None
    end: datetime | None


def next(  # noqa: A001 - read as schedules.next
    expr: Expressions, *, tz: str = "UTC", after: datetime | None = None, **options: Unpack[Options]
) -> datetime | None:
    """Return the first occurrence strictly after ``after`` (default: now), or None if there is none. Raises
    ScheduleError.
    """
    return builtins.next(upcoming(expr, tz=tz, after=after, **options), None)


def upcoming(
    expr: Expressions,
    *,
    tz: str = "UTC",
    after: datetime | None = None,
    count: int | None = None,
    **options: Unpack[Options],
) -> Iterator[datetime]:
    """Return an iterator over the occurrences strictly after ``after`` (default: now), in order: at most ``count``, or
    all without it.

    Raises ScheduleError immediately, before the first occurrence is requested.
    """
    since = _seconds("after", after or datetime.now(UTC))
    find = _occurrences(counted_from(_spec(expr, tz, options), since), options).next
    return islice(_each(find, since, ZoneInfo(tz)), count)


def between(
    expr: Expressions, start: datetime, end: datetime, *, tz: str = "UTC", **rules: Unpack[Rules]
) -> Iterator[datetime]:
    """Return an iterator over the occurrences of a window, start <= occurrence < end. Raises ScheduleError immediately,
    before the first occurrence is requested.
    """
    _seconds("end", end)
    found = upcoming(expr, tz=tz, after=_at(EARLIEST, UTC), start=start, **rules)
    return takewhile(lambda at: at < end, found)


def previous(
    expr: Expressions, *, tz: str = "UTC", before: datetime | None = None, **options: Unpack[Options]
) -> datetime | None:
    """Return the last occurrence strictly before ``before`` (default: now), or None if there is none.

    Raises ScheduleError. A rate needs its ``anchor`` or ``start``.
    """
    until = _seconds("before", before or datetime.now(UTC), up=True)
    spec = _spec(expr, tz, options)
    counted_from(spec, until)  # rejects an empty expression
    found = _last_before(_occurrences(spec, options).next, until)
    return None if found is None else _at(found, ZoneInfo(tz))


def describe(expr: Expressions, *, tz: str = "UTC", **options: Unpack[Options]) -> str:
    """Return the meaning of an expression in English: ``at 09:00 on Monday, America/New_York``.
    Raises ScheduleError.
    """
    spec = counted_from(_spec(expr, tz, options), _seconds("after", datetime.now(UTC)))
    return _occurrences(spec, options).schedule.words


def validate(expr: Expressions, tz: str = "UTC", **options: Unpack[Options]) -> None:
    """Raise ScheduleError for an expression that no job may have: it is invalid, or has no occurrence from now on."""
    if next(expr, tz=tz, **options) is None:
        raise ScheduleError("schedule", "has no occurrence in the future; choose a schedule with a future occurrence")


def _spec(expr: Expressions, tz: str, options: Options) -> ScheduleSpec:
    def instant(field: str, value: datetime | None) -> int | None:
        return None if value is None else _seconds(field, value, up=field != "anchor")

    return ScheduleSpec(
        joined(expr),
        tz,
        options.get("dst_gap", "next"),
        options.get("dst_fold", "first"),
        instant("anchor", options.get("anchor")),
        instant("start", options.get("start")),
        instant("end", options.get("end")),
        options.get("on_excluded", "skip"),
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
    """Return the last occurrence before `until`. The search goes back twice as far at each step, and then halves the
    interval that contains the occurrence.
    """

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
    """Return an instant in UTC seconds. A fraction is rounded so that the meaning is the same for occurrences in whole
    seconds.
    """
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
