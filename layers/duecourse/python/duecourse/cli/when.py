"""Parses the times that people write (`today`, `02:30`, `3h`), and formats times for people."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import UTC, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
FORMS = "today, yesterday 09:00, 15m, 3h, 2d (ago), 02:30, 2026-11-21, 2026-11-21 02:30, or ISO-8601 with an offset"
_INSTANT = re.compile(r"\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?Z")
NIGHT_BEGINS, NIGHT_ENDS = time(18), time(8)


def instant_of(text: str, zone: tzinfo, now: datetime) -> datetime:
    """Return the past instant that a text means at `now`. Times of day and dates are in `zone`.

    Raises ValueError with the valid forms.
    """
    here = now.astimezone(zone)
    midnight = here.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    if text in ("now", "today", "yesterday"):
        return {"now": now, "today": midnight, "yesterday": midnight - timedelta(days=1)}[text]
    if (ago := re.fullmatch(r"(\d{1,6})([smhd])", text)) is not None:
        return now - timedelta(**{UNITS[ago[2]]: int(ago[1])})
    try:
        if clock := re.fullmatch(r"(today |yesterday )?(\d{1,2}:\d{2}(?::\d{2})?)", text):
            at = time.fromisoformat(clock[2].zfill(5 if clock[2].count(":") == 1 else 8))
            before = datetime.combine(here.date() - timedelta(days=1), at, zone)
            found = datetime.combine(here.date(), at, zone)
            return before if clock[1] == "yesterday " or (not clock[1] and found > now) else found
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a time; write {FORMS}") from None
    return found if found.tzinfo else found.replace(tzinfo=zone)


def coming(text: str, zone: tzinfo, now: datetime) -> datetime:
    """Return the future instant that a text means at `now`: a time of day is the next one, in `zone`. Raises ValueError
    for a text that is not a future instant.
    """
    forms = "write 06:00, 2026-11-21, 2026-11-21 06:00, or ISO-8601 with an offset"
    if not re.match(r"\d{4}-|\d{1,2}:", text):
        raise ValueError(f"{text!r} is not a time; {forms}")
    found = instant_of(text, zone, now)
    if re.match(r"\d{1,2}:", text):
        found = datetime.combine(found.date() + timedelta(days=1), found.time(), zone)
    if found <= now:
        raise ValueError(f"{text!r} is in the past; {forms}")
    return found


def duration_of(text: str) -> timedelta:
    """Return the duration of `90s`, `15m`, `2h` or `3d`. Raises ValueError."""
    found = re.fullmatch(r"(\d{1,8})([smhd])", text)
    if found is None:
        raise ValueError(f"{text!r} is not a duration; write 90s, 15m, 2h or 3d")
    return timedelta(**{UNITS[found[2]]: int(found[1])})


def last_night(zone: tzinfo, now: datetime) -> tuple[datetime, datetime]:
    """Return the night that ended last, from 18:00 of the day before to 08:00 in this time zone. Between midnight and
    08:00 it is the night in progress, until now. `tests/fixtures/nights.json` has examples, also for the console.
    """
    today = now.astimezone(zone).date()
    begin = datetime.combine(today - timedelta(days=1), NIGHT_BEGINS, zone)
    return begin, min(datetime.combine(today, NIGHT_ENDS, zone), now)


def moment(value: datetime | None, zone: tzinfo = UTC) -> str:
    """Return an instant for people: `2026-11-21 03:00:00Z`, in another time zone `2026-11-21 04:00:00+01:00`."""
    if value is None:
        return "-"
    text = value.astimezone(zone).isoformat(sep=" ", timespec="seconds")
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


def zoned(text: str, zone: tzinfo) -> str:
    """Return a sentence of the API, whose instants are in UTC (`2026-11-21T03:00:00Z`), with these in a time zone."""

    def shown(found: re.Match[str]) -> str:
        try:
            return moment(datetime.fromisoformat(found[0]), zone)
        except (ValueError, OverflowError):  # a note can have any text
            return found[0]

    return _INSTANT.sub(shown, text)


def relative(value: datetime, now: datetime) -> str:
    """Return the distance to an instant: in the largest unit of which it has at least two, and in the next smaller
    unit.

    Examples: `3 h 5 min ago`, `in 119 min`.
    """
    seconds = (value - now).total_seconds()
    size = abs(seconds)
    for unit, length, part, smaller in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "", 60)):
        if size >= 2 * length:
            rest = size % length // smaller
            said = f"{size // length:.0f} {unit}" + (f" {rest:.0f} {part}" if rest else "")
            break
    else:
        said = f"{size:.0f} s"
    return f"in {said}" if seconds > 0 else f"{said} ago"


def zone_of(name: str | None) -> tzinfo:
    """Return the time zone of a job, or UTC if this machine does not know it."""
    try:
        return ZoneInfo(name or "UTC")
    except (KeyError, ValueError, OSError):
        return UTC


def local_zone() -> tzinfo:
    """Return the time zone of this machine's clock, from TZ or /etc/localtime, or else its current offset from UTC."""
    linked = os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
    with suppress(KeyError, ValueError, OSError):
        return ZoneInfo(os.environ.get("TZ", "").removeprefix(":") or linked)
    return datetime.now(UTC).astimezone().tzinfo or UTC
