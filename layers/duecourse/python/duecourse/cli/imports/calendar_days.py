"""The days of calendar files and of public holidays, as exclusions of a calendar (the extra duecourse[calendars])."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from types import ModuleType
from typing import Any

from duecourse.cli.terminal import CliError, UsageError

MAX_YEARS = 20


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


def file_days(data: bytes) -> tuple[list[str], list[str]]:
    """Return the days of the events of an iCalendar file (RFC 5545), and the names of events that repeat in a way that
    is not supported. An event that repeats each year becomes a cron expression. Raises CliError.
    """
    icalendar = _package("icalendar")
    try:
        calendar = icalendar.Calendar.from_ical(data)
        events = [event for event in calendar.walk("VEVENT") if str(event.get("STATUS", "")) != "CANCELLED"]
        days, left = list[str](), list[str]()
        for event in events:
            rule = event.get("RRULE")
            if rule is None:
                days.append(_range(*_span(event)))
            elif (yearly := list(_yearly(rule, *_span(event)))) != []:
                days += yearly
            else:
                left.append(str(event.get("SUMMARY", "without a name")))
    except (ValueError, KeyError, IndexError) as error:
        raise CliError(f"the file is not a valid iCalendar file: {error}") from error
    return list(dict.fromkeys(days)), left


def _span(event: Any) -> tuple[date, date]:
    """Return the first and the last day of an event. The end of an event is exclusive."""
    begin = event["DTSTART"].dt
    if "DTEND" in event:
        end = event["DTEND"].dt
    else:
        whole = timedelta(days=1) if not isinstance(begin, datetime) else timedelta()
        end = begin + (event["DURATION"].dt if "DURATION" in event else whole)
    if isinstance(end, datetime) and end > begin:
        end -= timedelta(seconds=1)
    elif not isinstance(end, datetime):
        end -= timedelta(days=1)
    first, last = (at.date() if isinstance(at, datetime) else at for at in (begin, end))
    return first, max(first, last)


def _range(first: date, last: date) -> str:
    return first.isoformat() if first == last else f"{first.isoformat()}/{last.isoformat()}"


def _yearly(rule: Any, first: date, last: date) -> Iterator[str]:
    """Yield cron expressions of an event that repeats each year on the same date without an end."""
    plain = {name.upper(): values for name, values in rule.items()}
    if plain.pop("FREQ", None) != ["YEARLY"] or plain.pop("INTERVAL", [1]) != [1] or plain.keys() - {"WKST"}:
        return
    day = first
    while day <= last:
        yield f"* * {day.day} {day.month} *"
        day += timedelta(days=1)


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
