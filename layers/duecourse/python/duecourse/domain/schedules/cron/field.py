"""One field of a cron expression: its items expanded into the set of values they name.

A set of values is an int with one bit per value: bit 5 of the minute field is minute 5.
"""

from __future__ import annotations

from duecourse.domain.schedules.error import ScheduleError, refuse, shown

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


class Field:
    """What one field may hold: its name in messages, its lowest and highest number, its names.

    Attributes:
        size: how many different values there are; no step may be larger (for the day of week 7: 0 and 7 are one day).

    """

    __slots__ = ("high", "low", "name", "names", "size")

    def __init__(self, name: str, low: int, high: int, names: dict[str, int] | None = None, size: int = 0) -> None:
        self.name = name
        self.low = low
        self.high = high
        self.names = names or {}
        self.size = size or high - low + 1

    def error(self, item: str, reason: str) -> ScheduleError:
        """A refusal that names the field and the item."""
        return refuse(f"{self.name} {shown(item)}: {reason}")

    def number(self, text: str, item: str) -> int:
        """One value, a number or a name in upper case. Raises ScheduleError when it is neither or out of range."""
        if text in self.names:
            return self.names[text]
        if not digits(text):
            raise self.error(item, self._hint(text))
        value = int(text)
        if not self.low <= value <= self.high:
            raise self.error(item, f"{value} is out of range, {self.name} goes from {self.low} to {self.high}")
        return value

    def values(self, item: str, wraps: bool = False) -> int:
        """The values of one item (``*``, ``a``, ``a-b``, ``*/s``, ``a-b/s``, ``a/s``), as a set of bits.

        ``a/s`` runs from a to the highest value. With ``wraps`` a reversed range continues at the lowest value, and so
        does its step; without, only ranges that end with SUN (``FRI-SUN``) may wrap. Any other reversed range, step 0
        and steps larger than the number of values are refused (docs/schedules.md).
        """
        base, slash, step_text = item.partition("/")
        step = self._step(step_text, item) if slash else 1
        if base == "*":
            low, high = self.low, self.low + self.size - 1
        elif "-" in base:
            low, high = self._range(base, item, wraps)
        else:
            low = self.number(base, item)
            high = self.high if slash else low
        bits = 0
        for value in range(low, high + 1, step):
            bits |= 1 << self.low + (value - self.low) % self.size
        return bits

    def _range(self, base: str, item: str, wraps: bool) -> tuple[int, int]:
        """First and last value; if the range wraps, the last is above the highest value of the field."""
        low_text, _, high_text = base.partition("-")
        low, high = self.number(low_text, item), self.number(high_text, item)
        if low <= high:
            return low, high
        if wraps or high_text == DAYS[0]:
            return low, high + self.size
        remedy = f"write {low}-{self.high},{self.low}-{high} for both parts"
        if self is YEAR:
            remedy = "years do not wrap, write the earlier one first"
        raise self.error(item, f"the range runs backwards; {remedy}")

    def _step(self, text: str, item: str) -> int:
        if not digits(text):
            raise self.error(item, "the step after / must be a whole number")
        step = int(text)
        if step == 0:
            raise self.error(item, "a step of 0 never moves; the smallest step is 1")
        if step > self.size:
            raise self.error(item, f"a step of {step} is larger than the {self.size} values of the {self.name}")
        return step

    def _hint(self, text: str) -> str:
        if not text:
            return "a value is missing"
        if text == "?":
            return "? stands only in the two day fields (six fields have the seconds first; a year goes into cron(...))"
        if text == "H":
            return "H (a hashed value) is not supported; write the value, and use jitter to spread jobs"
        if text == "R":
            return "R (a random value) is not supported; write the value, and use jitter to spread jobs"
        if self.names:
            return f"not a number or one of {', '.join(self.names)}"
        return "not a number, range, list or step"


def digits(text: str) -> bool:
    """Whether the text is a short run of ASCII digits (``str.isdigit`` alone also takes superscripts)."""
    return 0 < len(text) <= 4 and text.isascii() and text.isdigit()


def members(bits: int) -> list[int]:
    """The values of a set in rising order."""
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found


def lowest(bits: int) -> int:
    """The lowest value of a set that has one."""
    return (bits & -bits).bit_length() - 1


_MONTH_NAMES = {name: index + 1 for index, name in enumerate(MONTHS)}

SECOND = Field("second", 0, 59)
MINUTE = Field("minute", 0, 59)
HOUR = Field("hour", 0, 23)
DAY_OF_MONTH = Field("day of month", 1, 31)
MONTH = Field("month", 1, 12, _MONTH_NAMES)
DAY_OF_WEEK = Field("day of week", 0, 7, {name: index for index, name in enumerate(DAYS)}, size=7)
#: EventBridge counts its days from SUN = 1.
EVENTBRIDGE_DAY_OF_WEEK = Field("day of week", 1, 7, {name: index + 1 for index, name in enumerate(DAYS)})
YEAR = Field("year", 1970, 2199)
