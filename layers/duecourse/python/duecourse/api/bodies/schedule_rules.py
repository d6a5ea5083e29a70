"""What the schedule engine says of the fields that make a posted job's schedule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from duecourse.api.problems.problems import FieldFault
from duecourse.domain.schedules import ScheduleError, ScheduleSpec
from duecourse.domain.schedules.exclusions import ExclusionError
from duecourse.domain.schedules.parsed_input import read_instant

ALWAYS = "* * * * *"

CheckSchedule = Callable[[ScheduleSpec, tuple[str, ...]], None]
"""Raises ScheduleError or ExclusionError for a schedule (and what it excludes) that no job may have."""


def schedule_faults(
    value: Mapping[str, Any], known: Mapping[str | None, FieldFault], check: CheckSchedule
) -> Iterator[FieldFault]:
    """What is wrong with them, as far as each can be looked at: those with `known` faults are left out."""
    if "/schedule" in known:
        return

    def usable(name: str, default: str) -> str:
        given = value.get(name)
        return given if isinstance(given, str) and f"/{name}" not in known else default

    def instant(name: str) -> int | None:
        given = usable(name, "")
        return read_instant(name, given) if given else None

    excluded = value.get("exclude")
    usable_exclude = isinstance(excluded, list) and not any((place or "").startswith("/exclude") for place in known)
    exclude = tuple(str(entry) for entry in excluded or ()) if usable_exclude else ()
    gap, fold = usable("dst_gap", "next"), usable("dst_fold", "first")
    expression = value.get("schedule") or ""  # null: none
    spec = ScheduleSpec(
        expression, usable("timezone", "UTC"), gap, fold, instant("anchor"), instant("start"), instant("end")
    )
    try:
        check(spec, exclude)
    except ExclusionError as problem:
        yield FieldFault(problem.detail, f"/exclude/{problem.index}")
    except ScheduleError as problem:
        yield FieldFault(problem.detail, f"/{problem.field}")
        # The engine stops at the first fault; what it has not looked at then is asked about by itself.
        if problem.field == "timezone":
            yield from schedule_faults({"schedule": spec.expression}, {}, check)
        elif problem.field == "schedule" and spec.timezone != "UTC":
            yield from schedule_faults({"schedule": ALWAYS, "timezone": spec.timezone}, {}, check)
