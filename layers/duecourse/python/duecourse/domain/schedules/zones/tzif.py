"""Zone data from the pinned ``tzdata`` package (PyPI), never from the machine.

``zoneinfo`` prefers the system's copy, which differs from machine to machine; here a Lambda, a laptop and a test agree.
The TZif files (RFC 9636) are read directly: the engine needs the list of changes, which ``zoneinfo`` does not expose.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from struct import calcsize, unpack_from

import tzdata  # type: ignore[import-untyped]

from duecourse.domain.schedules.error import ScheduleError, shown

#: Version of the zone data in use, as on PyPI; recorded with every cursor.
TZDATA_VERSION: str = tzdata.__version__

_ROOT = Path(tzdata.__file__).parent
_HEADER = ">4sc15x6L"


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Every name that ``tzdata`` knows, links such as ``US/Eastern`` included."""
    return frozenset((_ROOT / "zones").read_text("ascii").split())


def read_zone(name: str) -> tuple[list[int], list[int], str]:
    """The changes of a zone: when (UTC seconds), the offset after each (seconds east), and the rule after the last.

    The first list is one shorter than the second: the second begins with the offset before any change.
    Raises ScheduleError for an unknown name. Only names from the package's own list are ever opened, so that no name
    can point elsewhere in the file system.
    """
    if name not in zone_names():
        raise ScheduleError("timezone", f"{shown(name)} is not the name of an IANA time zone{_suggestion(name)}")
    return parse_tzif((_ROOT / "zoneinfo" / name).read_bytes())


def parse_tzif(data: bytes) -> tuple[list[int], list[int], str]:
    """Read a TZif file of version 2 or later (RFC 9636, section 3); the result is as for ``read_zone``."""
    magic, version, utc_count, std_count, leap_count, time_count, type_count, char_count = unpack_from(_HEADER, data)
    if magic != b"TZif" or version < b"2":
        raise ValueError("not a TZif file of version 2 or later")
    # Skip the first block, which holds the same in 32 bits; then read the header of the 64-bit block.
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


def _suggestion(name: str) -> str:
    """``; did you mean ...?`` with the nearest names, or a hint at how names look."""
    near = near_names(name)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return "; write one such as UTC, Europe/Berlin or America/New_York"


def near_names(name: str, count: int = 3) -> list[str]:
    """Up to ``count`` names that look like this one: the same letters first, then by shared pairs of letters."""
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
    """Dice's coefficient of two sets, 0 to 1."""
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0
