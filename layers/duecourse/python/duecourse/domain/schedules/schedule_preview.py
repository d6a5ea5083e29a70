"""A schedule in words with its next occurrences, as the command line and the HTTP API show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from duecourse.domain.schedules.compile import compile_schedule
from duecourse.domain.schedules.instant import iso
from duecourse.domain.schedules.parsed_input import counted_from
from duecourse.domain.schedules.preview import PreviewEntry, preview
from duecourse.domain.schedules.spec import ScheduleSpec
from duecourse.domain.schedules.zones.tzif import TZDATA_VERSION


@dataclass(frozen=True, slots=True)
class SchedulePreview:
    """A schedule seen from one instant.

    Attributes:
        words: the schedule in English, ``at 09:00 on Monday, America/New_York``.
        canonical: the expression in one spelling per meaning.
        entries: the next occurrences, and the times that a DST rule dropped in between.

    """

    words: str
    canonical: str
    entries: tuple[PreviewEntry, ...]

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "understood_as": self.words,
            "canonical": self.canonical,
            "occurrences": [_document(entry) for entry in self.entries],
            "tzdata": TZDATA_VERSION,
        }


def preview_schedule(spec: ScheduleSpec, after: int, count: int) -> SchedulePreview:
    """The first ``count`` occurrences strictly after ``after``. A rate with neither anchor nor start counts from there.

    Raises ScheduleError.
    """
    spec = counted_from(spec, after)
    schedule = compile_schedule(spec)
    return SchedulePreview(schedule.words, schedule.canonical, preview(spec, after, count))


def offset_text(seconds: int) -> str:
    """An offset from UTC as ISO-8601 writes it: ``-04:00``, with seconds where a zone once had them."""
    hours, rest = divmod(abs(seconds), 3_600)
    minutes, rest = divmod(rest, 60)
    return f"{'-' if seconds < 0 else '+'}{hours:02}:{minutes:02}" + (f":{rest:02}" if rest else "")


def _document(entry: PreviewEntry) -> dict[str, Any]:
    return {
        "at": None if entry.instant is None else iso(entry.instant) + "Z",
        "wall": entry.wall + ("" if entry.offset is None else offset_text(entry.offset)),
        "mark": entry.mark,
        "named": entry.named,
        "count": entry.count,
    }
