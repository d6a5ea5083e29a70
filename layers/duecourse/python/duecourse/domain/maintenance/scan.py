"""The position of a scan of the jobs table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a scan continues (`start`, None: at the beginning), whether it is finished, and its counts. `version` is
    that of the next write; it grows with each.
    """

    start: str | None = None
    done: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)
    version: int = 1


@dataclass(frozen=True, slots=True)
class RepairPass(Position):
    """One scan of the whole table, begun at `begun_at` (UTC seconds)."""

    begun_at: float
