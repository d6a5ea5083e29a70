"""The occurrences of a schedule that change with other time zone data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise, takewhile
from operator import gt

from duecourse_schedules.cron.cron import DAY
from duecourse_schedules.exclusions import Entry
from duecourse_schedules.schedule import (
    Occurrences,
    RateSchedule,
    Schedule,
    ScheduleSpec,
    UnionSchedule,
    excluded_schedule,
)
from duecourse_schedules.zones.zone import Zone, ZoneSource

MAX_COMPARED = 10_000
"""The maximum number of occurrences that are computed with each version of the data. An hourly schedule has 8,784 a
year.
"""

_MARGIN = 2 * DAY
"""Occurrences farther than this (seconds) from every time at which the clocks differ are unchanged: a time in a gap or
a fold happens within hours.
"""


@dataclass(frozen=True, slots=True)
class ChangedOccurrences:
    """The difference between the occurrences of a schedule with old and with new zone data. Instants are UTC seconds.

    - `old`, `new`: the first changed occurrence. `old` is None if it is added, `new` is None if it is removed.
    - `count`: the number of changed occurrences; at least this number if not `complete`.
    """

    old: int | None
    new: int | None
    count: int
    complete: bool


def changed_occurrences(
    spec: ScheduleSpec, exclude: tuple[Entry, ...], old: ZoneSource, new: ZoneSource, *, after: int, until: int
) -> ChangedOccurrences:
    """Compare the occurrences of a schedule with old and new zone data, after < occurrence < until (UTC seconds).

    Only the times near those at which the clocks differ are searched. Raises ScheduleError or ExclusionError if the
    schedule is not valid with one of the two versions, for example because its zone is missing.
    """
    (was, was_excluded), (becomes, excluded) = (excluded_schedule(spec, exclude, zones) for zones in (old, new))
    spans = [(after, until)]
    if _anchors(was) == _anchors(becomes):
        spans = _spans(old(spec.timezone), new(spec.timezone), after, until)
    olds = list(islice(_within(Occurrences(was, "", 0, was_excluded), spans), MAX_COMPARED))
    news = list(islice(_within(Occurrences(becomes, "", 0, excluded), spans), MAX_COMPARED))
    complete = max(len(olds), len(news)) < MAX_COMPARED
    if not complete:  # compare both up to the same instant
        last = min(each[-1] for each in (olds, news) if len(each) == MAX_COMPARED)
        olds, news = ([at for at in each if at <= last] for each in (olds, news))
    before, now = set(olds), set(news)
    removed, added = [at for at in olds if at not in now], [at for at in news if at not in before]
    one, other = (each[0] if each else None for each in (removed, added))
    if one is not None and other is not None and any(min(one, other) < at < max(one, other) for at in before & now):
        # An unchanged occurrence is between them, so one did not move to the other.
        one, other = (one, None) if one < other else (None, other)
    return ChangedOccurrences(one, other, max(len(removed), len(added)), complete)


def _anchors(schedule: Schedule) -> list[int]:
    """Return the starting points of the rates. If one is a local time, its zone determines all occurrences."""
    parts = schedule.parts if isinstance(schedule, UnionSchedule) else (schedule,)
    return [part.anchor for part in parts if isinstance(part, RateSchedule)]


def _spans(old: Zone, new: Zone, after: int, until: int) -> list[tuple[int, int]]:
    """Return the times between `after` and `until`, in order, at which occurrences may differ."""
    for zone in (old, new):
        zone.index(until)  # extends the list of its changes
    cuts = sorted({after, *(at for zone in (old, new) for at in zone.starts if after < at < until), until})
    spans = list[tuple[int, int]]()
    for begin, end in pairwise(cuts):
        if old.offset(begin) != new.offset(begin):
            low, high = max(after, begin - _MARGIN), min(until, end + _MARGIN)
            if spans and low <= spans[-1][1]:
                low = spans.pop()[0]
            spans.append((low, high))
    return spans


def _within(occurrences: Occurrences, spans: list[tuple[int, int]]) -> Iterator[int]:
    for begin, end in spans:
        yield from takewhile(partial(gt, end), _following(occurrences, begin))


def _following(occurrences: Occurrences, after: int) -> Iterator[int]:
    at = occurrences.next(after)
    while at is not None:
        yield at
        at = occurrences.next(at)
