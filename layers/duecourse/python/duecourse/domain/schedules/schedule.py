"""A compiled schedule: computes its next occurrence and describes itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Literal

from duecourse.domain.schedules.cron.canonical import canonical_cron
from duecourse.domain.schedules.cron.cron import Cron
from duecourse.domain.schedules.cron.pattern import Pattern
from duecourse.domain.schedules.instant import Moment
from duecourse.domain.schedules.rate import Rate
from duecourse.domain.schedules.spec import ScheduleSpec
from duecourse.domain.schedules.words import cron_words, moment_words, rate_words
from duecourse.domain.schedules.zones.timeline import Piece, Timeline
from duecourse.domain.schedules.zones.zone import FAR, cycles_beyond

#: The instants a date can name, less two days on either side for the offset of a zone.
EARLIEST = -62_135_424_000
LATEST = 253_402_127_999

Kind = Literal["at", "cron", "rate", "none"]


class Schedule(ABC):
    """A compiled schedule; made by ``compile_schedule``.

    ``next`` is a pure function of the spec, ``after`` and the tzdata version (docs/schedules.md). What an instance
    caches between calls only saves work; threads may share it.

    Attributes:
        spec: what it was made from.
        kind: ``at``, ``cron``, ``rate`` or ``none``.

    """

    __slots__ = ("_end", "_start", "spec")
    kind: Kind

    def __init__(self, spec: ScheduleSpec) -> None:
        self.spec = spec
        # The window as bounds of the search: occurrences are after _start and before _end.
        self._start = EARLIEST if spec.start is None else max(EARLIEST, spec.start - 1)
        self._end = LATEST + 1 if spec.end is None else min(LATEST + 1, spec.end)

    @abstractmethod
    def next(self, after: int) -> int | None:
        """The first occurrence strictly after ``after``, in UTC seconds; None when there is none in the window.

        The work is bounded: days are searched 50 years ahead, or up to the last named year.
        """

    def upcoming(self, after: int) -> Iterator[int]:
        """The occurrences strictly after ``after`` in rising order, lazily; endless unless the window or the expression
        ends them.
        """
        at = self.next(after)
        while at is not None:
            yield at
            at = self.next(at)

    @property
    @abstractmethod
    def canonical(self) -> str:
        """The expression in one spelling per meaning; compiles to the same schedule."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What was understood, in English: ``at 09:00 on Monday, America/New_York``."""

    @property
    def recurring(self) -> bool:
        """Whether its job may run more than once; overlap can matter only then."""
        return True


class CronSchedule(Schedule):
    """A cron expression on the clock of a zone."""

    __slots__ = ("_first_from", "_pattern", "_piece", "cron", "timeline")
    kind: Kind = "cron"

    def __init__(self, spec: ScheduleSpec, cron: Cron, pattern: Pattern, timeline: Timeline) -> None:
        super().__init__(spec)
        self.cron = cron
        self.timeline = timeline
        self._pattern = pattern
        self._first_from = pattern.first_from
        self._piece: Piece = (0, 0, 0, 0)

    @property
    def pattern(self) -> Pattern:
        """Its times as wall seconds, before any rule of a zone."""
        return self._pattern

    def next(self, after: int) -> int | None:
        """See Schedule."""
        if after < self._start:
            after = self._start
        low, high, offset, _ = self._piece
        if low <= after < high:
            # Nearly always: the same constant offset as in the last call, so a plain shift.
            wall = self._first_from(after + offset + 1)
            if wall is not None and wall < high + offset:
                at = wall - offset
                return at if at < self._end else None
        return self._next_across(after)

    def _next_across(self, after: int) -> int | None:
        """The same if the answer may be after a change of the zone's offset."""
        if after >= LATEST:
            return None
        beyond = cycles_beyond(after)
        if beyond and not self._pattern.endless:
            return None
        found = self.timeline.next(self._pattern, after - beyond)
        if found is None:
            return None
        at, (low, high, offset, gap) = found
        if not beyond:
            self._piece = (low, min(high, FAR), offset, gap)
        at += beyond
        return at if at < self._end else None

    @property
    def canonical(self) -> str:
        """See Schedule."""
        return canonical_cron(self.cron)

    @property
    def words(self) -> str:
        """See Schedule."""
        return f"{cron_words(self.cron)}, {self.spec.timezone}"


class AtSchedule(Schedule):
    """A single time, or two where ``dst_fold=both`` repeats it."""

    __slots__ = ("_instants", "moment")
    kind: Kind = "at"

    def __init__(self, spec: ScheduleSpec, moment: Moment, instants: tuple[int, ...]) -> None:
        super().__init__(spec)
        self.moment = moment
        self._instants = tuple(at for at in instants if self._start < at < self._end)

    def next(self, after: int) -> int | None:
        """See Schedule."""
        for at in self._instants:
            if at > after:
                return at
        return None

    @property
    def canonical(self) -> str:
        """See Schedule."""
        return self.moment.canonical

    @property
    def words(self) -> str:
        """See Schedule."""
        return moment_words(self.moment, self.spec.timezone)

    @property
    def recurring(self) -> bool:
        """Always False, even when a fold shows its time twice."""
        return False


class RateSchedule(Schedule):
    """anchor + k x interval, k >= 0, in elapsed time."""

    __slots__ = ("anchor", "last", "rate")
    kind: Kind = "rate"

    def __init__(self, spec: ScheduleSpec, rate: Rate, anchor: int) -> None:
        super().__init__(spec)
        self.rate = rate
        self.anchor = anchor
        self.last = LATEST if rate.count is None else anchor + (rate.count - 1) * rate.seconds

    def next(self, after: int) -> int | None:
        """See Schedule."""
        if after < self._start:
            after = self._start
        anchor, step = self.anchor, self.rate.seconds
        at = anchor if after < anchor else after + step - (after - anchor) % step
        return at if at < self._end and at <= self.last else None

    @property
    def canonical(self) -> str:
        """See Schedule."""
        return self.rate.canonical

    @property
    def words(self) -> str:
        """See Schedule."""
        return rate_words(self.rate, self.anchor)

    @property
    def recurring(self) -> bool:
        """All but ``R1/start/period``."""
        return self.rate.count != 1


class NoSchedule(Schedule):
    """Of a job that runs only when it is asked to, as often as it is."""

    __slots__ = ()
    kind: Kind = "none"

    def next(self, after: int) -> int | None:
        """Never one."""
        del after
        return None

    @property
    def canonical(self) -> str:
        """See Schedule."""
        return ""

    @property
    def words(self) -> str:
        """See Schedule."""
        return "only when asked to run"
