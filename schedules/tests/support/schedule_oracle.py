"""A second, slow reading of docs/schedules.md: when does an expression fire?

Written without the engine and unlike it: instants are walked one by one, ``zoneinfo`` says what the clock shows at
each, and a wall time matches when its calendar fields satisfy the text of the expression, item by item. No masks, no
segments, no arithmetic with offsets. The zone data are the same pinned ``tzdata``, through ``zoneinfo``'s own reader.
"""

import calendar
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1)
MONTH_NAMES = {name.upper(): index for index, name in enumerate(calendar.month_abbr) if name}
WEEKDAY_NAMES = {"SUN": 0, "MON": 1, "TUE": 2, "WED": 3, "THU": 4, "FRI": 5, "SAT": 6}


@cache
def zone(name: str) -> ZoneInfo:
    """The zone from the pinned ``tzdata``, past the machine's copy."""
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def wall_clock(instant: int, zone_name: str) -> datetime:
    """What the clock of a zone shows at an instant (UTC seconds), as a naive datetime."""
    return datetime.fromtimestamp(instant, zone(zone_name)).replace(tzinfo=None)


class Reading:
    """A cron expression as a predicate on wall times.

    ``Reading("0 9 * * 1")``, with seconds first when there are six fields, and years last when there are seven;
    EventBridge's as ``cron(...)``. Days in ``off`` are no working days.
    """

    def __init__(self, expression: str, off: frozenset[date] = frozenset()) -> None:
        self.off = off
        text = expression.upper()
        self.eventbridge = text.startswith("CRON(")
        fields = text.removeprefix("CRON(").removesuffix(")").split()
        if len(fields) == 5 or self.eventbridge:
            fields = ["0", *fields]
        if len(fields) == 6:
            fields = [*fields, "*"]
        self.second, self.minute, self.hour, self.day, self.month, self.weekday, self.year = fields
        self.interval = any(field.startswith("*") for field in (self.second, self.minute, self.hour))
        self._seconds = {value for value in range(60) if _named(self.second, value, 0, 59)}
        self._minutes = {value for value in range(60) if _named(self.minute, value, 0, 59)}
        self._hours = {value for value in range(24) if _named(self.hour, value, 0, 23)}
        self._known_days: dict[date, bool] = {}

    def matches(self, wall: datetime) -> bool:
        """Whether the expression names this wall time."""
        return (
            wall.minute in self._minutes
            and wall.second in self._seconds
            and wall.hour in self._hours
            and self.matches_day(wall.date())
        )

    def matches_day(self, day: date) -> bool:
        """Whether the expression names this day."""
        known = self._known_days.get(day)
        if known is None:
            known = self._known_days[day] = self._matches_day(day)
        return known

    def times(self) -> list[tuple[int, int, int]]:
        """The times of a day that it names."""
        return [(h, m, s) for h in sorted(self._hours) for m in sorted(self._minutes) for s in sorted(self._seconds)]

    def _matches_day(self, day: date) -> bool:
        if not _named(self.month, day.month, 1, 12, MONTH_NAMES):
            return False
        if not (self.year == "*" or _named(self.year, day.year, 1970, 2199)):
            return False
        by_date = any(_names_date(item, day, self.off) for item in self.day.split(","))
        by_weekday = any(self._names_weekday(item, day) for item in self.weekday.removeprefix("+").split(","))
        if self.day[0] in "*?" or self.weekday[0] in "*?+":
            return by_date and by_weekday
        return by_date or by_weekday

    def _names_weekday(self, item: str, day: date) -> bool:
        number = day.isoweekday() % 7  # SUN = 0
        if "#" in item:
            name, nth = item.split("#")
            return self._weekday(name) == number and (day.day - 1) // 7 + 1 == int(nth)
        if item == "L":
            return number == 6
        if item.endswith("L"):
            return self._weekday(item[:-1]) == number and (day + timedelta(days=7)).month != day.month
        if item.startswith("?"):
            item = "*" + item[1:]
        if self.eventbridge:
            return _named(item, number + 1, 1, 7, {name: value + 1 for name, value in WEEKDAY_NAMES.items()})
        if item.endswith("-SUN") and not item.startswith(("SUN", "0")):
            item = item.removesuffix("-SUN") + "-7"
        # Sunday answers to 0 and to 7, but * and its steps count from 0 to 6.
        values = (number,) if number or item.startswith("*") else (0, 7)
        return any(_named(item, value, 0, 7, WEEKDAY_NAMES) for value in values)

    def _weekday(self, text: str) -> int:
        if text in WEEKDAY_NAMES:
            return WEEKDAY_NAMES[text]
        return int(text) - 1 if self.eventbridge else int(text) % 7


def _named(field: str, value: int, low: int, high: int, names: dict[str, int] | None = None) -> bool:
    """Whether a plain field (or one item of it) names a value."""

    def number(text: str) -> int:
        return names[text] if names and text in names else int(text)

    for item in field.split(","):
        base, _, step_text = item.partition("/")
        if base == "*":
            first, last = low, high
        elif "-" in base:
            first, last = (number(part) for part in base.split("-"))
        else:
            first = number(base)
            last = high if step_text else first
        # A range that runs backwards (EventBridge's dialect alone has them) goes round its field as round a clock.
        size = high - low + 1
        ahead, length = (value - first) % size, (last - first) % size
        inside = ahead <= length if last < first else first <= value <= last
        if inside and ahead % int(step_text or 1) == 0:
            return True
    return False


def _names_date(item: str, day: date, off: frozenset[date]) -> bool:
    if item.startswith("W#"):
        working = [other for other in _month(day) if other.isoweekday() <= 5 and other not in off]
        number = int(item[2:])
        return abs(number) <= len(working) and working[number - 1 if number > 0 else number] == day
    if item.startswith("L-") and item.endswith("W"):
        return _names_date(f"{len(_month(day)) - int(item[2:-1])}W", day, off)
    if item == "L":
        return (day + timedelta(days=1)).month != day.month
    if item.startswith("L-"):
        ahead = int(item[2:])
        return (day + timedelta(days=ahead)).month == day.month != (day + timedelta(days=ahead + 1)).month
    if item == "LW":
        return day == max(other for other in _month(day) if other.isoweekday() <= 5)
    if item.endswith("W"):
        wanted = int(item[:-1])
        if all(other.day != wanted for other in _month(day)):
            return False
        return day == min(
            (other for other in _month(day) if other.isoweekday() <= 5), key=lambda other: abs(other.day - wanted)
        )
    return _named("*" + item[1:] if item.startswith("?") else item, day.day, 1, 31)


def _month(day: date) -> list[date]:
    return [day.replace(day=number) for number in range(1, calendar.monthrange(day.year, day.month)[1] + 1)]


class Walk:
    """The clock of a zone, looked at every ``step`` seconds from ``start`` to ``end`` (UTC seconds)."""

    def __init__(self, zone_name: str, start: int, end: int, step: int) -> None:
        self.zone_name = zone_name
        self.step = step
        self.seen = [(at, wall_clock(at, zone_name)) for at in range(start, end, step)]

    def fires(self, reading: Reading, gap: str = "next", fold: str = "first") -> list[int]:
        """The instants in the walk at which the expression fires. Its times must fall on the walk's steps.

        The edges of the walk are not to be trusted: what the clock showed before it began is not known.
        """
        if reading.interval:
            return [at for at, wall in self.seen if reading.matches(wall)]
        shown: dict[datetime, list[int]] = {}
        for at, wall in self.seen:
            shown.setdefault(wall, []).append(at)
        fires: set[int] = set()
        reached = self.seen[0][1]
        for at, wall in self.seen:
            # Wall times that the clock reaches or passes for the first time at this instant.
            while reached < wall:
                reached += timedelta(seconds=self.step)
                if reading.matches(reached):
                    if reached not in shown:
                        fires.update([at] if gap == "next" else [])
                    elif fold == "first":
                        fires.add(at)
                    else:
                        fires.update(shown[reached] if fold == "both" else shown[reached][-1:])
        return sorted(fires)


@cache
def transitions(zone_name: str, first_year: int, last_year: int) -> tuple[int, ...]:
    """The instants at which the zone's offset changes, found by looking at the clock once a day, then closer."""

    def offset(at: int) -> int:
        return int((wall_clock(at, zone_name) - EPOCH).total_seconds()) - at

    found = []
    at = calendar.timegm((first_year, 1, 1, 0, 0, 0))
    end = calendar.timegm((last_year + 1, 1, 1, 0, 0, 0))
    before = offset(at)
    while at < end:
        low, high = at, at + 86_400
        after = offset(high)
        if before != after:
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(middle) == before else (low, middle)
            found.append(high)
        at, before = at + 86_400, after
    return tuple(found)


def by_days(reading: Reading, days: Iterable[date]) -> list[int]:
    """The firings in UTC on these days, in order."""
    return [
        calendar.timegm((day.year, day.month, day.day, *time))
        for day in days
        if reading.matches_day(day)
        for time in reading.times()
    ]
