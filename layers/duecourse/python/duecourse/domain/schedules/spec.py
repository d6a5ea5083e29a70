"""The fields of a job about its times, before they are parsed."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.schedules.error import ScheduleError

GAPS = ("next", "skip")
FOLDS = ("first", "second", "both")


@dataclass(frozen=True, slots=True)
class ScheduleSpec:
    """The fields of a job about its times. Instants are UTC epoch seconds (int).

    Attributes:
        expression: the schedule as the user wrote it: cron, ``@daily`` and so on, ``cron(...)``, ``rate(...)``,
            ``at(...)``, an ISO-8601 instant, or ``R/start/period``. Empty: no schedule, so no occurrences.
        timezone: an IANA name; fixed and interval expressions are read on this zone's wall clock.
        dst_gap: what happens to a fixed time that the clock jumps over: ``next`` fires at the moment after the gap,
            ``skip`` drops it. Interval expressions never fire in a gap, whatever is set here.
        dst_fold: which pass counts when the clock shows a fixed time twice: ``first``, ``second`` or ``both``.
            Interval expressions count both passes, whatever is set here.
        anchor: the instant from which a rate counts; default ``start``; one of the two is required. Ignored by every
            other form (``R/start/period`` names its own start).
        start: start <= occurrence.
        end: occurrence < end.

    """

    expression: str
    timezone: str = "UTC"
    dst_gap: str = "next"
    dst_fold: str = "first"
    anchor: int | None = None
    start: int | None = None
    end: int | None = None


def check_spec(spec: ScheduleSpec) -> None:
    """Refuse values that no expression could make sense of. Raises ScheduleError naming the field."""
    if not isinstance(spec.expression, str):
        raise ScheduleError("schedule", "must be text, such as 0 9 * * 1 or rate(5 minutes)")
    if not isinstance(spec.timezone, str):
        raise ScheduleError("timezone", "must be the name of an IANA time zone, such as Europe/Berlin")
    if spec.dst_gap not in GAPS:
        raise ScheduleError("dst_gap", "must be next (fire at the moment after the gap) or skip")
    if spec.dst_fold not in FOLDS:
        raise ScheduleError("dst_fold", "must be first, second or both: which pass of a repeated hour counts")
    for field, value in (("anchor", spec.anchor), ("start", spec.start), ("end", spec.end)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise ScheduleError(field, "must be an instant in whole UTC seconds")
    if spec.start is not None and spec.end is not None and spec.end <= spec.start:
        raise ScheduleError("end", "must be later than start: the window is start <= occurrence < end")
