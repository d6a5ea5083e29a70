"""The days of calendar files and of public holidays, as exclusions of a calendar (the extra duecourse[calendars])."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from types import ModuleType
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from duecourse.cli.imports.calendar_events import TooManyError, days_of_events
from duecourse.cli.terminal import CliError, UsageError, plain
from duecourse.domain.tenants.quota import MAX_CALENDAR_ENTRIES

MAX_YEARS = 20
MAX_FILE_BYTES, MAX_LINES, MAX_COMPONENTS, MAX_DATES = 5_000_000, 20_000, 2_000, 5_000
"""The maximum size of a calendar file. It is parsed in a few seconds; a calendar has far fewer days."""
_FOLDED = re.compile(rb"\r?\n[ \t]")


def country_days(country: str, subdivision: str | None, years: str) -> list[str]:
    """Return the public holidays of a country for years such as `2026-2028`. Raises UsageError."""
    holidays = _package("holidays")
    try:
        found = holidays.country_holidays(country.upper(), subdiv=subdivision, years=years_of(years))
    except NotImplementedError as error:  # what `holidays` raises for a country or subdivision that it does not know
        codes = holidays.list_supported_countries()
        if country.upper() not in codes:
            raise UsageError(f"--country: {country!r} is not the code of a known country; {_code(country)}") from error
        raise UsageError(f"--subdivision: {error}") from error
    return sorted(day.isoformat() for day in found)


def _code(country: str) -> str:
    """Return the remedy for a text that is not a country code: the code of the country with this name."""
    from holidays.registry import COUNTRIES

    wanted = re.sub(r"[^a-z]", "", country.lower())
    codes = (code for name, (_, code, *_) in COUNTRIES.items() if name.replace("_", "") == wanted)
    return f"write {next(codes, 'two letters, such as DE')}"


def years_of(text: str) -> list[int]:
    """Return the years of `2026` or `2026-2028`. Raises UsageError."""
    match = re.fullmatch(r"([0-9]{4})(?:-([0-9]{4}))?", text)
    if match is None:
        raise UsageError("--years: write one year or a range, such as 2026-2028")
    first, last = int(match[1]), int(match[2] or match[1])
    if not first <= last < first + MAX_YEARS:
        raise UsageError(f"--years: write the earlier year first, and at most {MAX_YEARS} years")
    return list(range(first, last + 1))


def file_days(data: bytes, *, zone: str | None = None, today: date | None = None) -> tuple[list[str], list[str]]:
    """Return the days of the events of an iCalendar file, and the names of the events that cannot be imported, with the
    reason. `zone`: the time zone of times in UTC (default: that of the file). See `days_of_events`. Raises CliError.
    """
    icalendar = _package("icalendar")
    _check_size(data)
    try:
        calendar = icalendar.Calendar.from_ical(data)
        events = calendar.walk("VEVENT")
        own = str(calendar.get("X-WR-TIMEZONE", ""))
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError) as error:
        raise CliError(plain(f"the file is not a valid iCalendar file: {error}")) from error
    used = _zone(own) if zone is None else _zone(zone)
    if zone is not None and used is None:
        raise UsageError(plain(f"--timezone: {zone!r} is not an IANA time zone; write for example Europe/Berlin"))
    try:
        return days_of_events(events, used, today)
    except TooManyError as error:
        remedy = "export a shorter period, or divide the events between several calendars"
        raise CliError(f"the events have more than {MAX_CALENDAR_ENTRIES} entries, the maximum; {remedy}") from error


def _check_size(data: bytes) -> None:
    """Raise CliError for a file that takes a long time to parse."""
    lines = () if len(data) > MAX_FILE_BYTES else _FOLDED.sub(b"", data).splitlines()
    components = sum(line[:6].upper() == b"BEGIN:" for line in lines)
    dates = sum(line.count(b",") for line in lines if line[:6].upper() in (b"RDATE:", b"RDATE;", b"EXDATE"))
    for found, most, what in (
        (len(data), MAX_FILE_BYTES, "bytes"),
        (len(lines), MAX_LINES, "lines"),
        (components, MAX_COMPONENTS, "events"),
        (dates, MAX_DATES, "dates of events that repeat"),
    ):
        if found > most:
            raise CliError(f"the file has more than {most:,} {what}; export a shorter period")


def _zone(name: str) -> ZoneInfo | None:
    """Return a time zone, or None if it is unknown."""
    try:
        return ZoneInfo(name) if name else None
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return None


def with_weekends(days: Iterable[str]) -> list[str]:
    """Return the exclusions with all Saturdays and Sundays."""
    return [*days, "* * * * SAT,SUN"]


def _package(name: str) -> ModuleType:
    from importlib import import_module

    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        remedy = "install it with: pip install 'duecourse[calendars]'"
        raise CliError(f"the package {name} is not installed; {remedy}") from error
