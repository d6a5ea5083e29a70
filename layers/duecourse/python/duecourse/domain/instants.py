"""Instants: UTC epoch seconds internally, ISO-8601 with `Z` externally."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import overload

DAY_SECONDS = 86_400
"""The seconds of a UTC day. Leap seconds are ignored."""

CLOCKS_DIFFER_SECONDS = 10
"""The maximum difference between two clocks, in seconds: each may be wrong by five seconds."""

HOLD_SECONDS = 1.0
"""A worker holds a message that arrives up to this many seconds early until it is due."""


def to_iso(seconds: float) -> str:
    """Format an instant: `2026-11-21T06:47:00Z`. A fraction is kept to the millisecond (`…:00.250Z`). Whole seconds
    have no fraction.
    """
    moment = datetime.fromtimestamp(seconds, UTC)
    whole = moment.microsecond < 1000
    return moment.isoformat(timespec="seconds" if whole else "milliseconds").replace("+00:00", "Z")


@overload
def millisecond(instant: float) -> str: ...


@overload
def millisecond(instant: float | None) -> str | None: ...


def millisecond(instant: float | None) -> str | None:
    """Format an instant (UTC seconds), always with milliseconds. Returns None for None."""
    if instant is None:
        return None
    return datetime.fromtimestamp(instant, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_iso(text: str) -> float:
    """Parse the form of :func:`to_iso`. Raises ValueError for text that is not an instant with a zone."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; write it as UTC with a trailing Z")
    return moment.timestamp()
