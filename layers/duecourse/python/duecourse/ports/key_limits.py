"""Stored limits of concurrency keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from duecourse.domain.runs.overlap import KeyLimit


@dataclass(frozen=True, slots=True)
class KeyLimitPage:
    """Limits, ordered by key. `following` continues after the last one."""

    items: tuple[KeyLimit, ...]
    following: str | None


class KeyLimits(Protocol):
    """Limits of keys. A stored limit replaces the limits of the jobs with the same key."""

    def get(self, tenant: str, key: str) -> KeyLimit | None:
        """Return the limit of a key; None if there is none. Strongly consistent."""

    def page(self, tenant: str, *, limit: int, after: str | None) -> KeyLimitPage:
        """Return a page of the tenant's limits, beginning after a key. May be stale."""

    def put(self, limit: KeyLimit) -> bool:
        """Write the limit unconditionally. Return whether there was none before."""

    def delete(self, tenant: str, key: str) -> bool:
        """Delete the limit. Return whether there was one."""
