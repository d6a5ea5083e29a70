"""Instants and anchors in the form of callers: text from a command line, a line of JSON or a request."""

from __future__ import annotations

import re
from dataclasses import replace

from duecourse.domain.schedules.error import ScheduleError, shown
from duecourse.domain.schedules.instant import iso, parse_moment
from duecourse.domain.schedules.rate import Rate
from duecourse.domain.schedules.schedule import EARLIEST, LATEST, ScheduleSpec, check_spec, understand

_FRACTION = re.compile(r"[.,](\d{1,9})(?=Z|[+-]|$)", re.ASCII)
_LONGEST = 64
#: Occurrences are whole seconds, so a bound between two seconds is rounded to the second with the same meaning.
_ROUNDED_UP = ("start", "end")


def read_instant(field: str, text: str) -> int:
    """Parse an ISO-8601 instant, ``2026-03-08T07:00:00Z`` or with another offset. Returns UTC seconds.

    A fraction is rounded so that the meaning stays the same for occurrences in whole seconds. "Strictly after
    07:00:00.5" is "strictly after 07:00:00" (``after``). "From" and "before 07:00:00.5" are "from" and "before
    07:00:01" (``start``, ``end``). An ``anchor`` must be whole. Raises ScheduleError on ``field``.
    """
    if len(text) > _LONGEST:
        raise _no_instant(field, text)
    plain, up = text.strip().upper(), 0
    if fraction := _FRACTION.search(plain):
        if fraction[1].strip("0"):
            if field == "anchor":
                raise ScheduleError(field, f"{shown(text)}: a rate is in whole seconds; remove the fraction")
            up = field in _ROUNDED_UP
        plain = plain.replace(fraction[0], "")
    try:
        moment = parse_moment(plain)
    except ScheduleError as error:
        raise ScheduleError(field, error.detail) from None
    if moment is None:
        raise _no_instant(field, text)
    if moment.offset is None:
        raise ScheduleError(field, f"{shown(text)} has no offset; write it in UTC with a Z at the end")
    at = moment.wall - moment.offset + up
    if not EARLIEST <= at <= LATEST:
        bounds = f"{iso(EARLIEST)}Z to {iso(LATEST)}Z"
        raise ScheduleError(field, f"{shown(text)} is outside the supported range of {bounds}")
    return at


def counted_from(spec: ScheduleSpec, at: int) -> ScheduleSpec:
    """Return the spec with ``at`` as the anchor of a rate without anchor and start, or else the spec itself.

    Raises ScheduleError for an expression that is empty or invalid.
    """
    check_spec(spec)
    form = understand(spec.expression)
    if spec.anchor is not None or spec.start is not None:
        return spec
    return replace(spec, anchor=at) if isinstance(form, Rate) and form.start is None else spec


def _no_instant(field: str, text: str) -> ScheduleError:
    return ScheduleError(field, f"{shown(text)} is not an instant; write one such as 2026-03-08T07:00:00Z")
