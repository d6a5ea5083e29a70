"""Formats previews of schedules for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from duecourse_schedules.instant import iso
from duecourse_schedules.preview import COUNTED, PreviewEntry, SchedulePreview, offset_text, preview
from duecourse_schedules.schedule import ScheduleSpec


def preview_text(shown: SchedulePreview, spec: ScheduleSpec, after: int) -> str:
    """Return the interpretation of the schedule, and a table: UTC, wall clock (in another zone),
    effect of a rule.
    """
    zone = spec.timezone
    canonical = [shown.canonical] if isinstance(shown.canonical, str) else shown.canonical or ()
    head = f"understood as  {shown.words}\ncanonical      {'; '.join(canonical)}\n"
    if all(entry.instant is None or entry.mark == "excluded" for entry in shown.entries):
        head += f"\nno occurrence after {iso(after)}Z\n"
    if not shown.entries:
        return head.rstrip("\n")
    rows = [("UTC", zone, ""), *(_row(entry, zone) for entry in with_counts(shown.entries, spec))]
    columns = [column for place, column in enumerate(zip(*rows, strict=True)) if zone != "UTC" or place != 1]
    widths = [max(map(len, column)) for column in columns]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in zip(*columns, strict=True))
    return "\n".join([head, *lines])


def _row(entry: PreviewEntry, zone: str) -> tuple[str, str, str]:
    at = "-" if entry.instant is None else _spaced(iso(entry.instant)) + "Z"
    offset = "" if entry.offset is None else f" {offset_text(entry.offset)}"
    return at, _spaced(entry.wall) + offset, mark_text(entry) or _pass(entry, zone)


def with_counts(entries: Sequence[PreviewEntry], spec: ScheduleSpec) -> list[PreviewEntry]:
    """Return the entries of a preview of this schedule. The first entry of excluded days counts all their occurrences
    before the next entry, up to COUNTED.
    """
    ends = [*(entry.instant for entry in entries[1:]), None]
    return [
        replace(entry, count=1 + len(preview(spec, entry.instant, COUNTED - 1, end)))
        if entry.mark == "excluded" and entry.instant is not None and end is not None
        else entry
        for entry, end in zip(entries, ends, strict=True)
    ]


def mark_text(entry: PreviewEntry) -> str:
    """Return the mark of an entry, such as ``moved from 02:30``. It has the date if the gap includes midnight, and the
    number of other occurrences in the gap or on excluded days.
    """
    mark: str = "moved" if entry.mark == "shifted" else entry.mark or ""
    if entry.named is not None:
        day, _, time = entry.named.partition("T")
        time = time.removesuffix(":00") if time.count(":") == 2 else time
        mark += f" from {time}" if day == entry.wall[:10] else f" from {day} {time}"
    if entry.count > 1:
        mark += f" and {entry.count - 1} {'or more' if entry.count == COUNTED else 'more'}"
    return mark


def _pass(entry: PreviewEntry, zone: str) -> str:
    """Return whether an occurrence is the first or the second at a time that the clock shows twice."""
    if entry.offset is None:
        return ""
    wall = datetime.fromisoformat(entry.wall).replace(tzinfo=ZoneInfo(zone))
    first, second = ((at.utcoffset() or timedelta()).total_seconds() for at in (wall, wall.replace(fold=1)))
    if first <= second:  # the clock shows it once
        return ""
    return "first of two" if entry.offset == first else "second of two"


def _spaced(text: str) -> str:
    return text.replace("T", " ")
