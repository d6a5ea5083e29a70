"""Time zones: their data, and the instants at which wall times happen.

The zone data come from the pinned ``tzdata`` package (PyPI), never from the machine. ``zoneinfo`` prefers the system's
copy, which differs between machines; with the package, a Lambda, a laptop and a test agree. The TZif files (RFC 9636)
are read directly: the engine needs the list of changes, which ``zoneinfo`` does not expose. A TZif file ends with the
rule for the years after its last listed change (POSIX TZ, extended by RFC 9636).

The instants follow the DST rules of docs/schedules.md. Definitions: wall(t) is the time that the zone's clock shows at
instant t. A wall time w that the clock jumps over is in a *gap*. A wall time that the clock shows twice is in a *fold*.

- An interval expression fires at every t for which wall(t) matches.
- A fixed expression fires for each matching w at the first t with wall(t) >= w. This gives the moment after a gap (of
  any size), the first pass of a fold, and one firing for several times in one gap. ``dst_gap=skip`` drops every w that
  the clock never shows. ``dst_fold=second`` takes the last t with wall(t) = w, ``both`` takes every one.

Within a segment of constant offset both kinds are a plain shift, so each segment becomes a *piece*: the instants in it
at which a plain match fires, and the gap that its beginning closes.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from pathlib import Path
from struct import calcsize, unpack_from
from threading import Lock

import tzdata  # type: ignore[import-untyped]

from duecourse_schedules.cron.cron import DAY, EPOCH, digits, length_of
from duecourse_schedules.cron.pattern import HORIZON_YEARS, Pattern
from duecourse_schedules.error import ScheduleError, shown


class YearlyRule:
    """Two changes per year between a standard and a summer offset, such as ``EST5EDT,M3.2.0,M11.1.0``."""

    __slots__ = ("_begin", "_end", "_known", "standard", "summer")

    def __init__(self, text: str) -> None:
        names, *changes = text.split(",")
        reader = _Reader(names)
        reader.name()
        self.standard = -reader.seconds()
        self.summer = self.standard
        self._begin = self._end = _Date("M1.1.0")
        self._known: dict[tuple[int, int], list[tuple[int, int]]] = {}
        if changes:
            reader.name()
            self.summer = -reader.seconds() if reader.more() else self.standard + 3_600
            self._begin, self._end = _Date(changes[0]), _Date(changes[1])

    def changes(self, year: int) -> list[tuple[int, int]]:
        """Return a year's changes in chronological order: (UTC seconds, offset after the change in seconds east)."""
        if self.standard == self.summer:
            return []
        january = date(year, 1, 1).toordinal() - EPOCH
        # Years of the same length that begin on the same weekday have the same rule: 14 kinds in total.
        kind = (january % 7, length_of(year, 2))
        known = self._known.get(kind)
        if known is None:
            begin = self._begin.wall(year) - self.standard
            end = self._end.wall(year) - self.summer
            known = sorted([(begin - january * DAY, self.summer), (end - january * DAY, self.standard)])
            self._known[kind] = known
        return [(january * DAY + after, offset) for after, offset in known]


class _Date:
    """The time of a yearly change, on the wall clock before the change: ``Mm.w.d``, ``Jn`` or ``n``, then ``/time``."""

    __slots__ = ("_day", "_kind", "_month", "_time", "_week")

    def __init__(self, text: str) -> None:
        when, _, time = text.partition("/")
        self._time = _Reader(time).seconds() if time else 7_200
        self._month = self._week = 0
        self._kind = when[0] if when[0] in "MJ" else ""
        if self._kind == "M":
            self._month, self._week, self._day = (int(part) for part in when[1:].split("."))
        else:
            self._day = int(when.lstrip("J"))

    def wall(self, year: int) -> int:
        """Return the wall second of the change in this year."""
        if self._kind == "M":
            first = date(year, self._month, 1).toordinal()
            day = (self._day - first) % 7 + 7 * (self._week - 1)
            if day >= length_of(year, self._month):
                day -= 7  # week 5 means the last week
            number = first + day - EPOCH
        else:
            number = date(year, 1, 1).toordinal() - EPOCH + self._day
            if self._kind == "J":  # counted from 1, without February 29
                number -= 1 if self._day < 60 or length_of(year, 2) == 28 else 0
        return number * DAY + self._time


class _Reader:
    """Reads names and signed times from left to right."""

    __slots__ = ("_at", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def more(self) -> bool:
        return self._at < len(self._text)

    def name(self) -> None:
        """Skip an abbreviation: ``EST`` or ``<+0330>``."""
        if self._text[self._at] == "<":
            self._at = self._text.index(">", self._at) + 1
            return
        while self.more() and self._text[self._at].isalpha():
            self._at += 1

    def seconds(self) -> int:
        """Read ``[+-]h[h[h]][:mm[:ss]]`` and return seconds."""
        sign = 1
        if self._text[self._at] in "+-":
            sign = -1 if self._text[self._at] == "-" else 1
            self._at += 1
        start = self._at
        while self.more() and (self._text[self._at] == ":" or digits(self._text[self._at])):
            self._at += 1
        hours, minutes, seconds = (*(int(part) for part in self._text[start : self._at].split(":")), 0, 0)[:3]
        return sign * (hours * 3_600 + minutes * 60 + seconds)


#: The version of the zone data in use, as on PyPI. It is recorded with every cursor.
TZDATA_VERSION: str = tzdata.__version__

_ROOT = Path(tzdata.__file__).parent
_HEADER = ">4sc15x6L"


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Return every name in ``tzdata``, including links such as ``US/Eastern``."""
    return frozenset((_ROOT / "zones").read_text("ascii").split())


def read_zone(name: str) -> tuple[list[int], list[int], str]:
    """Read the changes of a zone: their times (UTC seconds), the offset after each (seconds east), and the rule after
    the last.

    The first list is one shorter than the second: the second begins with the offset before any change. Raises
    ScheduleError for an unknown name. Only names from the package's list are opened, so that no name can point
    elsewhere in the file system.
    """
    if name not in zone_names():
        raise ScheduleError("timezone", f"{shown(name)} is not the name of an IANA time zone{_suggestion(name)}")
    return parse_tzif((_ROOT / "zoneinfo" / name).read_bytes())


def parse_tzif(data: bytes) -> tuple[list[int], list[int], str]:
    """Parse a TZif file of version 2 or later (RFC 9636, section 3). The result is the same as for ``read_zone``."""
    magic, version, utc_count, std_count, leap_count, time_count, type_count, char_count = unpack_from(_HEADER, data)
    if magic != b"TZif" or version < b"2":
        raise ValueError("not a TZif file of version 2 or later")
    # Skip the first block, which has the same content in 32 bits. Then read the header of the 64-bit block.
    at = calcsize(_HEADER) + time_count * 5 + type_count * 6 + char_count + leap_count * 8 + std_count + utc_count
    _, _, utc_count, std_count, leap_count, time_count, type_count, char_count = unpack_from(_HEADER, data, at)
    at += calcsize(_HEADER)
    times = list(unpack_from(f">{time_count}q", data, at))
    at += time_count * 8
    types = unpack_from(f">{time_count}B", data, at)
    at += time_count
    offsets = [unpack_from(">l", data, at + index * 6)[0] for index in range(type_count)]
    at += type_count * 6 + char_count + leap_count * 12 + std_count + utc_count
    rule = data[at:].strip(b"\n").decode("ascii")
    return times, [offsets[0], *(offsets[index] for index in types)], rule


_OFFSET = re.compile(r"(?:Etc/)?(?:UTC|GMT)?\s*([+-])\s*(\d{1,2})(?::?([0-5]\d))?", re.ASCII | re.IGNORECASE)


def _suggestion(name: str) -> str:
    """Return ``; did you mean ...?`` with the zone of an offset, the zone of a name of Windows, or the nearest names.
    Without any of them, return a hint about the form of names.
    """
    from duecourse_schedules.zones.windows import iana_zone

    if offset := _OFFSET.fullmatch(name.strip()):
        return _of_offset(*offset.groups())
    if zone := iana_zone(name):
        return f"; did you mean {zone}? It is the IANA zone of this name of Windows"
    near = near_names(name)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return "; write one such as UTC, Europe/Berlin or America/New_York"


def _of_offset(sign: str, hours: str, minutes: str | None) -> str:
    """Return ``; did you mean ...?`` for a fixed offset, which has a zone only if it is a whole number of hours."""
    hour, city = int(hours), "write the zone of a city"
    if hour == 0 and not int(minutes or 0):
        return "; did you mean UTC?"
    zone = f"Etc/GMT{'-' if sign == '+' else '+'}{hour}"
    if int(minutes or 0) or zone not in zone_names():
        return f"; no zone has this fixed offset; {city}"
    return (
        f"; did you mean {zone}? It is UTC{sign}{hour}: the sign in its name is reversed. If its clocks change, {city}"
    )


def near_names(name: str, count: int = 3) -> list[str]:
    """Return up to ``count`` similar names: first the names with the same letters, then the names with the most pairs
    of letters in common.
    """
    wanted = _folded(name)
    if not 2 <= len(wanted) <= 64:
        return []
    pairs = _pairs(wanted)
    scored = []
    for known in zone_names():
        folded = _folded(known)
        city = folded.rpartition("/")[2]
        if folded == wanted:
            score = 2.0
        elif city == wanted.rpartition("/")[2]:
            score = 1.5
        else:
            score = max(_alike(pairs, _pairs(folded)), _alike(pairs, _pairs(city)))
        if score > 0.6:
            scored.append((-score, known))
    best = sorted(scored)[:count]
    return [known for score, known in best if score < -1 or best[0][0] > -2]


def _folded(name: str) -> str:
    return name.lower().replace(" ", "_").replace("-", "_")


def _pairs(text: str) -> set[str]:
    return {text[index : index + 2] for index in range(len(text) - 1)}


def _alike(one: set[str], other: set[str]) -> float:
    """Return Dice's coefficient of two sets, 0 to 1."""
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0


_HORIZON = HORIZON_YEARS * 366 * 86_400
#: Segments on either side that can share wall times with a segment: zones do not undo changes faster.
_NEIGHBOURS = 3
#: A larger offset from UTC than that of any clock in history.
_FARTHEST = 2 * 86_400

#: low, high: plain matches fire at low <= t < high with wall time t + offset. gap: matches from this wall time on and
#: before low + offset fire together at low. It is low + offset if there is no gap.
Piece = tuple[int, int, int, int]


class Timeline:
    """The pieces of one zone under one set of rules.

    Attributes:
        zone: the zone.
        fixed: whether the rules are those of fixed expressions, not of interval expressions.
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
        """Return the piece of the zone's segment ``index``. The segment and the next two (if any) must already be
        known.
        """
        piece = self._pieces.get(index)
        if piece is None:
            piece = self._pieces[index] = self._make(index)
        return piece

    def reached(self, index: int) -> int:
        """Return the highest wall time, exclusive, that the clock has shown before segment ``index``."""
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
        """Return the end of the piece. With ``second`` it is before the wall times that a later segment shows again."""
        if self.fold == "second":
            zone = self.zone
            for later in range(index + 1, min(index + _NEIGHBOURS, len(zone.starts))):
                high = min(high, zone.starts[later] + zone.offsets[later] - zone.offsets[index])
        return high

    def instants(self, wall: int) -> tuple[int, ...]:
        """Return the instants at which a wall time happens: one, two (``both``), or none (``skip``)."""
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

    def several(self, pattern: Pattern, after: int) -> list[int]:
        """Return the first instants after `after` (before FAR) at which a pattern fires, in order: those that are found
        with little work, which may be none.
        """
        index, starts = self.zone.index(after + 1), self.zone.starts
        low, high, offset, gap = self.piece(index)
        first = wall = after + 1 + offset if after >= low else gap
        walls = pattern.several_from(first)
        count, found = len(walls), list[int]()
        while count and first <= wall <= walls[-1]:
            begin = bisect_left(walls, wall)
            end = bisect_left(walls, high + offset, begin)
            if begin < end and walls[begin] < low + offset:
                found.append(low)  # all wall times in a gap are the same instant
                begin = bisect_right(walls, low + offset, begin, end)
            found += [each - offset for each in walls[begin:end]]
            index += 1
            if end == count or index == len(starts):
                break
            if index not in self._pieces:
                self.zone.index(starts[index])
            low, high, offset, wall = self.piece(index)
        return found

    def next(self, pattern: Pattern, after: int) -> int | None:
        """Return the first instant after `after` (before FAR) at which a pattern fires. Return None if there is none
        before the horizon.
        """
        zone = self.zone
        at = after + 1
        limit = at + _HORIZON
        index = zone.index(at)
        asked, answer = 0, -1  # the last search: no match from wall time ``asked`` until ``answer``
        while True:
            low, high, offset, gap = self.piece(index)
            wall = at + offset if at > low else gap
            if not asked <= wall <= answer:
                found = pattern.first_from(wall)
                if found is None:
                    return None
                asked, answer = wall, found
            if answer - offset < high:
                return max(answer - offset, low)
            at = zone.end(index)
            if at == NEVER_AFTER or (pattern.endless and at > limit):
                return None
            index += 1
            if at > asked + _FARTHEST:
                # From here on no clock returns to a time before ``asked``: the segments up to ``answer`` contain no
                # match.
                index = max(index, zone.index(answer - _FARTHEST))
                at = zone.starts[index]
            zone.index(at)


#: Before and after all instants, far outside the range of dates.
NEVER_BEFORE = -(10**15)
NEVER_AFTER = 10**15

#: The Gregorian calendar, including weekdays, repeats after 400 years, and so do yearly rules. Instants beyond FAR
#: (2500-01-01) are looked up whole cycles earlier, where no zone has listed changes, instead of adding segments.
FAR = 16_725_225_600
CYCLE = 146_097 * DAY


def cycles_beyond(at: int) -> int:
    """Return the seconds (whole cycles) to subtract from an instant so that it is before FAR, usually 0."""
    return 0 if at < FAR else ((at - FAR) // CYCLE + 1) * CYCLE


class Zone:
    """The offsets of one IANA zone over time.

    Segment i lasts from ``starts[i]`` to ``starts[i + 1]`` (UTC seconds), and its clock shows UTC + ``offsets[i]``.
    The listed changes come first. The following years are added from the zone's yearly rule when they are needed.

    Attributes:
        name: the IANA name.
        starts, offsets: the segments known so far, in ascending order; the lists only grow.

    """

    __slots__ = ("_known_until", "_listed_until", "_lock", "_rule", "_year", "name", "offsets", "starts")

    def __init__(self, name: str, times: list[int], offsets: list[int], rule: str) -> None:
        self.name = name
        self.starts = [NEVER_BEFORE]
        self.offsets = [offsets[0]]
        self._lock = Lock()
        for at, offset in zip(times, offsets[1:], strict=True):
            self._add(at, offset)
        # Without a comma the rule only repeats the last offset.
        yearly = YearlyRule(rule) if "," in rule else None
        self._rule = yearly if yearly and yearly.changes(1970) else None
        # All listed changes count, even a last one without an effect (Macquarie stayed on summer time in 2010).
        self._listed_until = times[-1] if times else NEVER_BEFORE
        self._year = _year_of(times[-1]) if times else 1970
        # Segments that begin before this instant have a known end, and the two segments after each are known.
        self._known_until = NEVER_BEFORE if self._rule else NEVER_AFTER

    def _add(self, at: int, offset: int) -> None:
        # Changes of only the name or the summer flag do not move the clock.
        if offset != self.offsets[-1]:
            self.offsets.append(offset)  # added before its start: a reader that finds the start finds the offset
            self.starts.append(at)

    def index(self, at: int) -> int:
        """Return the segment of this instant. It and the next two segments (if any) are then known."""
        if at >= self._known_until:
            self._extend(at)
        return bisect_right(self.starts, at) - 1

    def end(self, index: int) -> int:
        """Return the instant at which a segment ends, NEVER_AFTER for the last."""
        return self.starts[index + 1] if index + 1 < len(self.starts) else NEVER_AFTER

    def offset(self, at: int) -> int:
        """Return the offset at this instant, in seconds east of UTC."""
        return self.offsets[self.index(at - cycles_beyond(at))]

    def wall(self, at: int) -> int:
        """Return the time that the zone's clock shows at this instant, in wall seconds (pattern.py)."""
        return at + self.offset(at)

    def _extend(self, at: int) -> None:
        """Add the changes of later years until at least three are after this instant (before FAR)."""
        rule = self._rule
        if rule is None:
            return
        with self._lock:
            starts = self.starts
            until = _year_of(at) + 5
            while self._year <= until or len(starts) < 4 or starts[-3] <= at:
                for change, offset in rule.changes(self._year):
                    if change > self._listed_until:
                        self._add(change, offset)
                self._year += 1
            self._known_until = starts[-3]


def _year_of(at: int) -> int:
    return date.fromordinal(min(max(at // DAY + EPOCH, 1), 3_000_000)).year


@lru_cache(maxsize=1_024)
def load_zone(name: str) -> Zone:
    """Return the zone of this name, from the pinned ``tzdata``. Raises ScheduleError on ``timezone`` for an unknown
    name.
    """
    return Zone(name, *read_zone(name))


ZoneSource = Callable[[str], Zone]
"""Returns the zone of a name. Raises ScheduleError on ``timezone``."""


@lru_cache(maxsize=2_048)
def load_timeline(zone: str, fixed: bool, gap: str, fold: str, zones: ZoneSource = load_zone) -> Timeline:
    """Return the timeline of a zone by name, shared by all expressions. Raises ScheduleError on ``timezone``."""
    return Timeline(zones(zone), fixed, gap, fold)
