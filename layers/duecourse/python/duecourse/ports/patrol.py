"""What a patrol reads and mends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from duecourse.domain.cursor import Cursor
from duecourse.domain.patrol import Seen


@dataclass(frozen=True, slots=True)
class PatrolPage:
    """Some of what stands in the jobs table; `following` goes on after it (None: that was all)."""

    seen: Sequence[Seen]
    following: str | None


@dataclass(frozen=True, slots=True)
class Patrolled:
    """How far a patrol is: begun and finished when (UTC seconds; None: not yet), where it goes on (`start`, None: at
    the beginning), and what it has counted. `version` grows with each write.
    """

    begun_at: float
    finished_at: float | None = None
    start: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    version: int = 1


class PatrolStore(Protocol):
    """Every cursor and timer, whether or not it is in the due index."""

    def page(self, start: str | None) -> PatrolPage:
        """The next page of all there is. May be stale."""

    def place(self, seen: Seen, slot: str, cursor: Cursor | None = None) -> bool:
        """Put an entry into a slot, standing at `cursor`'s occurrence where one is given; False, and nothing written,
        when it does not stand exactly as it was seen any more.
        """

    def patrolled(self) -> Patrolled | None:
        """How far the last patrol came; None before the first. Strongly consistent."""

    def save(self, patrolled: Patrolled) -> bool:
        """Write it over the version before its own; False when another patrol has written meanwhile."""
