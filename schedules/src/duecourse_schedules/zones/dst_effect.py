"""Times that an expression matches but that are not occurrences because of DST: in a gap, or in the other pass of
a fold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from duecourse_schedules.instant import iso
from duecourse_schedules.schedule import AtSchedule, Schedule, UnionSchedule, WallSchedule
from duecourse_schedules.zones.zone import FAR, Timeline, load_timeline


@dataclass(frozen=True, slots=True)
class DstEffect:
    """The effect of a DST rule on a named time.

    `wall` is the named time, ``2026-03-08T02:30:00``. `rule` is the value of ``dst_gap`` or ``dst_fold`` that applied,
    or ``interval``: such expressions follow the clock, regardless of these fields. `instead` are the instants (UTC
    seconds) at which the time counts; empty if it is dropped.
    """

    kind: Literal["gap", "fold"]
    wall: str
    rule: str
    instead: tuple[int, ...]


def dst_effect(schedule: Schedule, at: int) -> DstEffect | None:
    """Return why a time that the expression matches is not an occurrence because of daylight saving time, or None.

    `at` is the instant of that time. If the clock skips the time, `at` is just after the gap.
    """
    if isinstance(schedule, UnionSchedule):
        return next((found for part in schedule.parts if (found := dst_effect(part, at)) is not None), None)
    timeline = _timeline(schedule)
    if timeline is None or at >= FAR:
        return None
    zone = timeline.zone
    index = zone.index(at)
    if index:
        begin = zone.starts[index]
        jumped = at + zone.offsets[index - 1]
        if timeline.reached(index) <= jumped < begin + zone.offsets[index] and _names(schedule, jumped):
            rule = schedule.spec.dst_gap if timeline.fixed else "interval"
            return DstEffect("gap", iso(jumped), rule, () if timeline.skip else (begin,))
    shown = at + zone.offsets[index]
    if _names(schedule, shown):
        return DstEffect("fold", iso(shown), timeline.fold, timeline.instants(shown))
    return None


def _timeline(schedule: Schedule) -> Timeline | None:
    spec = schedule.spec
    match schedule:
        case WallSchedule():
            return schedule.timeline
        case AtSchedule() if schedule.moment.offset is None:
            return load_timeline(spec.timezone, True, spec.dst_gap, spec.dst_fold)
        case _:
            return None


def _names(schedule: Schedule, wall: int) -> bool:
    match schedule:
        case WallSchedule():
            return schedule.pattern.first_from(wall) == wall
        case AtSchedule():
            return schedule.moment.wall == wall
        case _:
            return False
