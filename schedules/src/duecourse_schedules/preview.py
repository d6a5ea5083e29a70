"""The next occurrences in readable form: in UTC, on the wall clock, in words, and with the effect of the DST rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Literal

from duecourse_schedules.exclusions import Entry, Exclusions
from duecourse_schedules.instant import iso
from duecourse_schedules.schedule import (
    AtSchedule,
    Schedule,
    ScheduleSpec,
    UnionSchedule,
    WallSchedule,
    compile_schedule,
    counted_from,
    excluded_schedule,
    moved_from,
)
from duecourse_schedules.zones.zone import FAR, TZDATA_VERSION, Timeline, load_timeline

Mark = Literal["moved", "dropped", "repeated", "excluded", "shifted"]

#: Named times of one gap are counted up to this number (an expression with seconds can have 3,600 in an hour).
COUNTED = 1_000
#: Dropped times are listed up to this number. A schedule whose times are always in a gap has one per year and no
#: occurrence.
MAX_DROPPED = 100
#: Excluded days are listed up to this number.
MAX_EXCLUDED = 100
#: How far dropped times are listed if no occurrence is left: the same range in which occurrences were searched.
_HORIZON = 50 * 366 * 86_400

_Named = Callable[[int], int | None]


@dataclass(frozen=True, slots=True)
class PreviewEntry:
    """One occurrence, or the times of one gap that were dropped.

    Attributes:
        instant: UTC seconds; None if dropped.
        wall: the time on the zone's clock, ``2026-03-08T03:00:00``; for dropped times the first of them.
        offset: seconds east of UTC at that instant; None if dropped.
        mark: ``moved``: the expression matches a time in a gap, and this is the moment after the gap.
            ``dropped``: the clock never shows the named time, so there is no occurrence.
            ``repeated``: the clock shows this time again, and the job fires again.
            ``excluded``: the first occurrence of excluded days, or an excluded instant; the job does not fire.
            ``shifted``: the occurrence moved here from an excluded day, or replaces the occurrences of a window.
            None: no rule applies.
        named: the (first) wall time in the gap that the expression names, if moved; the wall time on the excluded day,
            or the first one in the window, if shifted.
        count: the number of named times in the gap that this entry covers, up to COUNTED; 1 for all others.

    """

    instant: int | None
    wall: str
    offset: int | None
    mark: Mark | None = None
    named: str | None = None
    count: int = 1


def preview(
    spec: ScheduleSpec, after: int, count: int = 10, until: int | None = None, exclude: tuple[Entry, ...] = ()
) -> tuple[PreviewEntry, ...]:
    """Return the first ``count`` occurrences after ``after`` (exclusive) and before ``until`` (exclusive), in
    chronological order.

    Instants are UTC seconds. Dropped times are listed in order between the occurrences, at most MAX_DROPPED of them.
    Dropped times and excluded days do not count towards ``count``; each range of excluded days has one entry. Raises
    ScheduleError like ``compile_schedule``, and ExclusionError.
    """
    schedule, exclusions = excluded_schedule(spec, exclude)
    view = _Views(schedule) if isinstance(schedule, UnionSchedule) else _View(schedule)
    entries: list[PreviewEntry] = []
    dropped = excluded = 0
    at = after if spec.start is None else max(after, spec.start - 1)
    ends = [end for end in (until, spec.end) if end is not None]
    listed = 0
    while listed < count:
        found = schedule.next(at)
        if found is not None and until is not None and found >= until:
            found = None
        caught = None if exclusions is None else exclusions.replacement(schedule, at, found)
        if caught is not None and until is not None and caught[1] >= until:
            caught = None
        following = found if caught is None else caught[1]
        # If no occurrence is left, times that are dropped before the end of the window are still listed.
        limit = following if following is not None else min([at + _HORIZON, *(end - 1 for end in ends)])
        for entry in view.dropped(at, limit):
            if dropped < MAX_DROPPED:
                entries.append(entry)
            dropped += 1
        if exclusions is not None and caught is not None:
            entries.append(_replacing(*caught, exclusions))
            listed, at = listed + 1, caught[1]
            continue
        if found is None:
            break
        if exclusions is not None and (resume := exclusions.skip(found)) is not None:
            excluded += 1
            if excluded <= MAX_EXCLUDED and resume < found + _HORIZON:
                entries.append(replace(view.occurrence(found), mark="excluded", named=None, count=1))
                at = resume
                continue
            # The search for the next occurrence has a limit.
            found = exclusions.first(schedule, at)
            if found is None:
                break
            at = found - 1
            continue
        entries.append(view.occurrence(found))
        listed += 1
        at = found
    return tuple(entries)


def _replacing(first: int, at: int, exclusions: Exclusions) -> PreviewEntry:
    """Return the entry of an occurrence at `at` that replaces the occurrences of a window. `first` is the first of
    them.
    """
    offset, was = exclusions.zone.offset(at), exclusions.zone.offset(first)
    return PreviewEntry(at, iso(at + offset), offset, "shifted", iso(first + was))


class _View:
    """A schedule together with the clock of its zone."""

    def __init__(self, schedule: Schedule) -> None:
        spec = schedule.spec
        self._schedule = schedule
        self._named: _Named
        if isinstance(schedule, WallSchedule):
            self.timeline: Timeline = schedule.timeline
            self._named = schedule.pattern.first_from
        else:
            self.timeline = load_timeline(spec.timezone, True, spec.dst_gap, spec.dst_fold)
            wall = schedule.moment.wall if isinstance(schedule, AtSchedule) and schedule.moment.offset is None else None
            # No DST rule applies to a rate or an instant with an offset, since they do not contain a wall time.
            self._named = lambda low: wall if wall is not None and wall >= low else None
        self.local = isinstance(schedule, WallSchedule) or self._named(-(10**15)) is not None
        self._asked, self._answer = 0, -1

    def dropped(self, after: int, through: int) -> Iterator[PreviewEntry]:
        """Yield the dropped times of the gaps that close in (after, through], one entry per gap."""
        if not (self.local and self.timeline.skip) or through >= FAR or through <= after:
            return
        zone = self.timeline.zone
        last = zone.index(through)
        for index in range(zone.index(after) + 1, last + 1):
            times = self._in_gap(index)
            if times:
                yield PreviewEntry(None, iso(times[0]), None, "dropped", None, len(times))

    def occurrence(self, at: int) -> PreviewEntry:
        """Return the entry of an occurrence."""
        zone = self.timeline.zone
        offset = zone.offset(at)
        shown = iso(at + offset)
        if self.local and at < FAR:
            index = zone.index(at)
            if not self.timeline.skip and at == zone.starts[index]:
                times = self._in_gap(index)
                if times:
                    return PreviewEntry(at, shown, offset, "moved", iso(times[0]), len(times))
            if self.timeline.fold == "both" and at + offset < self.timeline.reached(index):
                return PreviewEntry(at, shown, offset, "repeated")
        if (origin := moved_from(self._schedule, at)) is not None:
            return PreviewEntry(at, shown, offset, "shifted", iso(origin))
        return PreviewEntry(at, shown, offset)

    def _in_gap(self, index: int) -> list[int]:
        """Return the matching wall times in the gap that a segment's beginning closes, at most COUNTED."""
        zone = self.timeline.zone
        low, high = self.timeline.reached(index), zone.starts[index] + zone.offsets[index]
        times: list[int] = []
        while low < high and len(times) < COUNTED:
            # Most gaps lie between two named times, so that one search is valid for all of them.
            if not self._asked <= low <= self._answer:
                found = self._named(low)
                self._asked, self._answer = low, 10**15 if found is None else found
            if self._answer >= high:
                break
            times.append(self._answer)
            low = self._answer + 1
        return times


class _Views:
    """Several schedules together with the clock of their zone."""

    def __init__(self, schedule: UnionSchedule) -> None:
        self._schedule = schedule
        self._views = {part: _View(part) for part in schedule.parts}

    def dropped(self, after: int, through: int) -> Iterator[PreviewEntry]:
        """Yield the dropped times of the gaps that close in (after, through], one entry per schedule and gap."""
        found = [entry for view in self._views.values() for entry in view.dropped(after, through)]
        yield from sorted(found, key=attrgetter("wall"))

    def occurrence(self, at: int) -> PreviewEntry:
        """Return the entry of an occurrence. No rule applies if one of the schedules has this occurrence without a
        rule.
        """
        entries = [self._views[part].occurrence(at) for part in self._schedule.at(at)]
        return next((entry for entry in entries if entry.mark is None), entries[0])


@dataclass(frozen=True, slots=True)
class SchedulePreview:
    """A schedule as seen from one instant.

    Attributes:
        words: the schedule in English, ``at 09:00 on Monday, America/New_York``.
        canonical: the schedule in canonical form, a list if there are several.
        entries: the next occurrences, and the times that a DST rule dropped between them.

    """

    words: str
    canonical: str | list[str] | None
    entries: tuple[PreviewEntry, ...]

    def document(self) -> dict[str, Any]:
        """Return the preview as JSON."""
        return {
            "understood_as": self.words,
            "canonical": self.canonical,
            "occurrences": [_document(entry) for entry in self.entries],
            "tzdata": TZDATA_VERSION,
        }


def preview_schedule(spec: ScheduleSpec, after: int, count: int, exclude: tuple[Entry, ...] = ()) -> SchedulePreview:
    """Return the first ``count`` occurrences strictly after ``after``. A rate without anchor and start counts from
    ``after``.

    Raises ScheduleError and ExclusionError.
    """
    spec = counted_from(spec, after)
    schedule = compile_schedule(spec)
    return SchedulePreview(schedule.words, schedule.canonical_document, preview(spec, after, count, exclude=exclude))


def offset_text(seconds: int) -> str:
    """Format an offset from UTC as in ISO-8601: ``-04:00``, with seconds for historical offsets of some zones."""
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
