"""The instants at which wall times happen: the DST rules of docs/schedules.md.

Definitions. wall(t) is what the zone's clock shows at instant t. A wall time w that the clock jumps over is in a *gap*;
one that it shows twice is in a *fold*.

- An interval expression fires at every t whose wall(t) matches.
- A fixed expression fires for each matching w at the first t with wall(t) >= w. This gives the moment after a gap
  (whatever its size), the first pass of a fold, and one firing for several times in one gap. ``dst_gap=skip`` drops the
  w that the clock never shows; ``dst_fold=second`` takes the last t with wall(t) = w, ``both`` takes every one.

Within a segment of constant offset both kinds are a plain shift, so each segment becomes a *piece*: the instants in it
at which a plain match fires, and the gap that its beginning closes.
"""

from __future__ import annotations

from functools import lru_cache

from duecourse.domain.schedules.cron.pattern import HORIZON_YEARS, Pattern
from duecourse.domain.schedules.zones.zone import NEVER_AFTER, NEVER_BEFORE, Zone, cycles_beyond, load_zone

_HORIZON = HORIZON_YEARS * 366 * 86_400
#: Segments on either side that can share wall times with one: no two changes of a zone undo each other faster.
_NEIGHBOURS = 3
#: More than any clock was ever away from UTC.
_FARTHEST = 2 * 86_400

#: low, high: plain matches fire at low <= t < high with wall time t + offset.
#: gap: matches from this wall time on, before low + offset, fire at low together; low + offset where there is no gap.
Piece = tuple[int, int, int, int]


class Timeline:
    """The pieces of one zone under one set of rules.

    Attributes:
        zone: the zone.
        fixed: fixed or interval rules.
        skip, fold: the rules in force; an interval always skips gaps and counts both passes of a fold.

    """

    __slots__ = ("_pieces", "fixed", "fold", "skip", "zone")

    def __init__(self, zone: Zone, fixed: bool, gap: str, fold: str) -> None:
        self.zone = zone
        self.fixed = fixed
        self.skip = gap == "skip" or not fixed
        self.fold = fold if fixed else "both"
        self._pieces: dict[int, Piece] = {}

    def piece(self, index: int) -> Piece:
        """The piece of the zone's segment ``index`` (known to the zone, with those after it)."""
        piece = self._pieces.get(index)
        if piece is None:
            piece = self._pieces[index] = self._make(index)
        return piece

    def reached(self, index: int) -> int:
        """The highest wall time, exclusive, that the clock has shown before segment ``index``."""
        zone = self.zone
        return max(
            (zone.starts[i + 1] + zone.offsets[i] for i in range(max(0, index - _NEIGHBOURS), index)),
            default=NEVER_BEFORE,
        )

    def _make(self, index: int) -> Piece:
        zone = self.zone
        low, high, offset = zone.starts[index], zone.end(index), zone.offsets[index]
        reached = self.reached(index)
        if index and reached < low + offset:
            return low, self._cut(index, high), offset, low + offset if self.skip else reached
        if self.fold == "first":
            low = max(low, reached - offset)
        return low, self._cut(index, high), offset, low + offset

    def _cut(self, index: int, high: int) -> int:
        """Where the piece ends: under ``second`` before the wall times that a later segment shows again."""
        if self.fold == "second":
            zone = self.zone
            for later in range(index + 1, min(index + _NEIGHBOURS, len(zone.starts))):
                high = min(high, zone.starts[later] + zone.offsets[later] - zone.offsets[index])
        return high

    def instants(self, wall: int) -> tuple[int, ...]:
        """When a single wall time happens: once, twice (``both``), or never (``skip``)."""
        beyond = cycles_beyond(wall + _FARTHEST)
        wall -= beyond
        found = set()
        # The clock shows this wall time, or jumps over it, within the largest offset from the same time in UTC.
        for index in range(self.zone.index(wall - _FARTHEST), self.zone.index(wall + _FARTHEST) + 1):
            low, high, offset, gap = self.piece(index)
            if low <= wall - offset < high:
                found.add(wall - offset + beyond)
            elif gap <= wall < low + offset:
                found.add(low + beyond)
        return tuple(sorted(found))

    def next(self, pattern: Pattern, after: int) -> tuple[int, Piece] | None:
        """The first firing of a pattern after an instant (before FAR) and its piece; None past the horizon."""
        zone = self.zone
        at = after + 1
        limit = at + _HORIZON
        index = zone.index(at)
        asked, answer = 0, -1  # the last search: nothing matches from wall time ``asked`` until ``answer``
        while True:
            piece = self.piece(index)
            low, high, offset, gap = piece
            wall = at + offset if at > low else gap
            if not asked <= wall <= answer:
                found = pattern.first_from(wall)
                if found is None:
                    return None
                asked, answer = wall, found
            if answer - offset < high:
                return max(answer - offset, low), piece
            at = zone.end(index)
            if at == NEVER_AFTER or (pattern.endless and at > limit):
                return None
            index += 1
            if at > asked + _FARTHEST:
                # From here on no clock goes back before ``asked``: the segments up to ``answer`` hold no match.
                index = max(index, zone.index(answer - _FARTHEST))
                at = zone.starts[index]
            zone.index(at)


@lru_cache(maxsize=2_048)
def load_timeline(zone: str, fixed: bool, gap: str, fold: str) -> Timeline:
    """The timeline of a zone by name, shared by all expressions. Raises ScheduleError on ``timezone``."""
    return Timeline(load_zone(zone), fixed, gap, fold)
