"""The days of the events of an iCalendar file (RFC 5545): one-off events, further dates (RDATE), yearly events, and
their excluded, changed and cancelled occurrences. All work is bounded before it is done.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from typing import Any

from duecourse.domain.tenants.quota import MAX_CALENDAR_ENTRIES

FIRST_YEAR, LAST_YEAR = 1970, 2199
"""The years of a cron expression."""

_DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)
_READ = ("DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE", "EXRULE", "RECURRENCE-ID", "STATUS", "UID")
"""The properties that decide on the days of an event."""

_MIXED = "mixes dates, times, and times without a time zone"
_UNSUPPORTED = "repeats in a way that is not supported"
_OUTSIDE = "is outside the years 1 to 9999"


class TooManyError(ValueError):
    """The events have more days than a calendar can have entries."""


class _NotExactError(ValueError):
    """The reason why an event cannot be represented."""


@dataclass(frozen=True, slots=True)
class _Occurrence:
    """One occurrence of an event: its start as written, and its first and last day."""

    start: date
    first: date
    last: date

    @property
    def entry(self) -> str:
        first, last = self.first.isoformat(), self.last.isoformat()
        return first if first == last else f"{first}/{last}"


def days_of_events(events: Sequence[Any], zone: tzinfo | None, today: date | None) -> tuple[list[str], list[str]]:
    """Return the exclusions of events of the package icalendar, and the names of the events that cannot be represented,
    with the reason. `zone`: the time zone of times in UTC. `today`: yearly events that start later have their first
    year in their expression. Raises TooManyError.
    """
    found, left = dict[str, None](), list[str]()
    changes: dict[str, list[Any]] = {}
    masters: list[Any] = []
    for event in events:
        changes.setdefault(str(event["UID"]), []).append(event) if _is_change(event) else masters.append(event)
    cancelled = {str(each["UID"]) for each in masters if "UID" in each and _is_cancelled(each)}
    cancelled -= {str(each["UID"]) for each in masters if "UID" in each and not _is_cancelled(each)}

    def add(event: Any, days: Callable[[], Iterable[str]]) -> None:
        try:
            _check(event)
            if not _is_cancelled(event):
                _put(found, days())
        except TooManyError:
            raise
        except OverflowError:
            left.append(_reason(event, _OUTSIDE))
        except _NotExactError as error:
            left.append(_reason(event, str(error)))
        except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
            left.append(_reason(event, f"cannot be read: {error}"))

    changed = {uid: list(_changed(each)) for uid, each in changes.items()}
    for event in masters:
        own = changed.get(str(event["UID"]), []) if "UID" in event else []
        add(event, lambda event=event, own=own: _days(event, own, zone, today))  # type: ignore[misc]
    for uid, each in changes.items():
        for event in each:
            if uid not in cancelled:
                add(event, lambda event=event: [_occurrence(event, zone).entry])  # type: ignore[misc]
    return list(found), left


def _put(found: dict[str, None], days: Iterable[str]) -> None:
    """Add the entries of one event, all or none. Raises TooManyError."""
    own: dict[str, None] = {}
    for each in days:
        own[each] = None
        if len(own) + len(found) > MAX_CALENDAR_ENTRIES and len(own.keys() | found.keys()) > MAX_CALENDAR_ENTRIES:
            raise TooManyError
    found |= own


def _is_change(event: Any) -> bool:
    """Return whether an event is the changed occurrence of another one."""
    return "RECURRENCE-ID" in event and "UID" in event


def _changed(changes: Iterable[Any]) -> Iterator[date]:
    """Yield the starts of the changed occurrences. Invalid ones are reported with their event."""
    for event in changes:
        with suppress(ValueError, AttributeError):
            start = event["RECURRENCE-ID"].dt
            if isinstance(start, date):
                yield start


def _is_cancelled(event: Any) -> bool:
    return str(event.get("STATUS", "")).strip().upper() == "CANCELLED"


def _reason(event: Any, reason: str) -> str:
    return f"{event.get('SUMMARY', 'an event without a name')}: {reason}"


def _check(event: Any) -> None:
    """Raise _NotExactError if a property that decides on the days is invalid or missing."""
    for name, _ in getattr(event, "errors", ()):
        if name is None or str(name).upper() in _READ:
            raise _NotExactError(f"{name or 'a line'} is invalid")
    if "DTSTART" not in event:
        raise _NotExactError("has no DTSTART")
    if _is_change(event) and event["RECURRENCE-ID"].params.get("RANGE"):
        raise _NotExactError("changes all later occurrences (RANGE=THISANDFUTURE), which is not supported")


def _days(event: Any, changed: Sequence[date], zone: tzinfo | None, today: date | None) -> Iterator[str]:
    """Yield the exclusions of an event. `changed`: the starts of the occurrences with a change, which are omitted."""
    first = _occurrence(event, zone)
    excluded = [each.dt for value in _values(event, "EXDATE") for each in value.dts]
    excluded += changed
    omitted = _Omitted(tuple(each[0] if isinstance(each, tuple) else each for each in excluded), zone)
    rules = _values(event, "RRULE")
    if len(rules) > 1 or "EXRULE" in event:
        raise _NotExactError(_UNSUPPORTED)
    if rules:
        yield from _yearly(rules[0], first, omitted, today)
    elif first not in omitted:
        yield first.entry
    length = _end(event) - first.start
    for value in _values(event, "RDATE"):
        for each in value.dts:
            start, end = each.dt if isinstance(each.dt, tuple) else (each.dt, None)
            if isinstance(start, datetime) is not isinstance(first.start, datetime):
                raise _NotExactError(_MIXED)
            end = start + length if end is None else start + end if isinstance(end, timedelta) else end
            found = _spanned(start, end, zone)
            if found not in omitted:
                yield found.entry


def _values(event: Any, name: str) -> list[Any]:
    """Return the values of a property that can occur several times."""
    value = event.get(name, [])
    return value if isinstance(value, list) else [value]


class _Omitted:
    """The starts of the occurrences that are excluded or changed. Two times are compared as instants; otherwise, the
    first day of the occurrence counts.
    """

    def __init__(self, starts: Sequence[date], zone: tzinfo | None) -> None:
        self._times = {each for each in starts if isinstance(each, datetime)}
        self._days = dict[bool | None, set[date]]()
        for each in starts:
            self._days.setdefault(_has_zone(each), set()).add(_date(each, zone))

    @property
    def years(self) -> set[int]:
        """The years in which occurrences can start."""
        return {day.year + by for days in self._days.values() for day in days for by in (-1, 0, 1)}

    def __contains__(self, occurrence: _Occurrence) -> bool:
        start = occurrence.start
        if isinstance(start, datetime) and start in self._times:
            return True
        kind = _has_zone(start)
        others = (days for other, days in self._days.items() if other is not kind or kind is None)
        return any(occurrence.first in days for days in others)


def _has_zone(at: date) -> bool | None:
    """Return whether a time has a time zone. None for a date."""
    return at.utcoffset() is not None if isinstance(at, datetime) else None


def _end(event: Any) -> date:
    """Return the end of an event, which is exclusive."""
    begin: date = event["DTSTART"].dt
    if "DTEND" in event:
        end: date = event["DTEND"].dt
        return end
    if "DURATION" in event:
        lasts: timedelta = event["DURATION"].dt
        return begin + lasts
    return begin if isinstance(begin, datetime) else begin + _DAY


def _occurrence(event: Any, zone: tzinfo | None) -> _Occurrence:
    """Return the first occurrence of an event."""
    return _spanned(event["DTSTART"].dt, _end(event), zone)


def _spanned(begin: date, end: date, zone: tzinfo | None) -> _Occurrence:
    """Return the days that an occurrence touches. Whole days in UTC without a known zone are those of a calendar whose
    midnights are nearest: programs write a day of Berlin as 23:00Z to 23:00Z.
    """
    if not isinstance(begin, datetime) or not isinstance(end, datetime):
        if isinstance(begin, datetime) or isinstance(end, datetime):
            raise _NotExactError(_MIXED)
        if end < begin:
            raise _NotExactError("ends before it starts")
        return _Occurrence(begin, begin, max(begin, end - _DAY))
    if (begin.utcoffset() is None) is not (end.utcoffset() is None):
        raise _NotExactError(_MIXED)
    length = end - begin
    if length < timedelta():
        raise _NotExactError("ends before it starts")
    whole = round(length / _DAY)
    if _is_utc(begin) and zone is None and whole and abs(length - whole * _DAY) <= _HOUR:
        first = (begin + _DAY / 2).date()
        return _Occurrence(begin, first, first + (whole - 1) * _DAY)
    shown = begin.astimezone(zone) if _is_utc(begin) and zone is not None else begin
    last = end if shown.tzinfo is None else end.astimezone(shown.tzinfo)
    touched = (last - timedelta(seconds=1)).date() if end > begin else shown.date()
    return _Occurrence(begin, shown.date(), max(shown.date(), touched))


def _is_utc(at: datetime) -> bool:
    return at.tzinfo is not None and str(at.tzinfo) in ("UTC", "Etc/UTC")


def _date(at: date, zone: tzinfo | None) -> date:
    """Return the day of a date or time."""
    if not isinstance(at, datetime):
        return at
    return (at.astimezone(zone) if _is_utc(at) and zone is not None else at).date()


def _yearly(rule: Any, first: _Occurrence, omitted: _Omitted, today: date | None) -> Iterator[str]:
    """Yield cron expressions of an event that repeats each year on the same date."""
    fields = {str(name).upper(): values for name, values in rule.items()}
    interval, count, until = (_single(fields.pop(name, None)) for name in ("INTERVAL", "COUNT", "UNTIL"))
    start = _date(first.start, None)
    same = {"FREQ": ["YEARLY"], "BYMONTH": [start.month], "BYMONTHDAY": [start.day]}
    if any(fields[name] != same.get(name) for name in fields.keys() - {"WKST"}) or "FREQ" not in fields:
        raise _NotExactError(_UNSUPPORTED)
    if start != first.first:
        raise _NotExactError("repeats each year in UTC, so its date in another time zone can change")
    segments = list(_months(first))
    interval = 1 if interval is None else interval
    if not isinstance(interval, int) or interval < 1 or (count is not None and count < 1):
        raise _NotExactError("RRULE is invalid")
    years = _years(start, interval, count, until)
    gone = {year for year in omitted.years.intersection(years) if _moved(first, year) in omitted}
    if not gone and interval == 1 and count is None and until is None and (today is None or start.year <= today.year):
        yield from (f"* * {days} {month} *" for days, month, _ in segments)
        return
    for days, month, later in segments:
        kept = [year + later for year in years if year not in gone]
        if shown := _ranges([year for year in kept if FIRST_YEAR <= year <= LAST_YEAR], interval):
            yield f"0 * * {days} {month} * {shown}"


def _single(values: Any) -> Any:
    """Return the value of a part of a rule that has one."""
    return values[0] if isinstance(values, list) and values else values


def _years(start: date, interval: int, count: int | None, until: date | None) -> list[int]:
    """Return the years of a yearly date, up to LAST_YEAR."""
    leap = (start.month, start.day) == (2, 29)
    found = [year for year in range(start.year, LAST_YEAR + 1, interval) if not leap or calendar.isleap(year)]
    found = found if count is None else found[:count]
    if until is None:
        return found
    last = _date(until, None)
    return [year for year in found if (year, start.month, start.day) <= (last.year, last.month, last.day)]


def _moved(first: _Occurrence, year: int) -> _Occurrence:
    return _Occurrence(first.start.replace(year=year), first.first.replace(year=year), first.last)


def _months(occurrence: _Occurrence) -> Iterator[tuple[str, int, int]]:
    """Yield the days of an occurrence in each month: the field for days, the month, and the number of years after the
    first day. Raises _NotExactError if they differ from year to year.
    """
    first, last = occurrence.first, occurrence.last
    if (last - first).days >= 365:
        raise _NotExactError("lasts a year or longer, and repeats each year")
    day = first
    while day <= last:
        end = min(last, date(day.year, day.month, calendar.monthrange(day.year, day.month)[1]))
        if day.month == 2 and last > end:
            raise _NotExactError("repeats each year across the end of February, whose length differs")
        yield f"{day.day}" if day == end else f"{day.day}-{end.day}", day.month, day.year - first.year
        day = end + _DAY


def _ranges(years: Sequence[int], interval: int) -> str:
    """Return years as a field of a cron expression."""
    parts: list[list[int]] = []
    for year in years:
        if parts and year == parts[-1][-1] + interval:
            parts[-1].append(year)
        else:
            parts.append([year])
    step = "" if interval == 1 else f"/{interval}"
    return ",".join(f"{part[0]}-{part[-1]}{step}" if len(part) > 1 else f"{part[0]}" for part in parts)
