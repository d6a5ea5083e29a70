"""Whether every occurrence of a closed window has its record: what should have been, and what there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.job import Job, JobState, Lane
from duecourse.domain.occurrences import MAX_JITTER_SECONDS
from duecourse.domain.verdict import Verdict

HOUR_SECONDS = 3600

CLOSED_SECONDS = MAX_JITTER_SECONDS + 2 * HOUR_SECONDS
"""How old an occurrence is before it is audited: jitter may put it off by an hour, and two hours later it has started
or somebody has been told (dead letters are swept every five minutes).
"""

SERVED_SECONDS = HOUR_SECONDS
"""A lane that has started a run which came due this much later is not holding an older one back."""


MAX_TURN_SECONDS = DAY_SECONDS
"""After an outage of the audit its windows are made up for day by day, each of which can be finished."""

MAX_ROWS = 25
"""Rows told of one job at a time; what is more than that is told as one."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a record of the schedule's own (nobody asked for it by hand) says: it stands for the occurrences from
    `occurrence` through `through` (UTC seconds), was `due` then, and `ran` where an attempt was made. `caught_up`: it
    was enqueued because it was missed.
    """

    occurrence: int
    through: int
    due: int
    lane: Lane
    ran: bool
    caught_up: bool = False


@dataclass(frozen=True, slots=True)
class Gap:
    """A row of `count` occurrences from `first` through `last` (UTC seconds) that follow each other; one of many rows
    (see `few`) has others between them.
    """

    first: int
    last: int
    count: int


@dataclass(frozen=True, slots=True)
class Reconciled:
    """`expected` occurrences were looked at; `missing` have no record, `doubled` were run twice."""

    expected: int
    missing: tuple[Gap, ...]
    doubled: tuple[Gap, ...]


def reconcile(expected: Iterable[int], records: Sequence[Recorded]) -> Reconciled:
    """Compare occurrences (ascending) with the records.

    Missing: no record stands for it. Doubled: two records that ran stand for it (its own and a catch-up's, or two
    catch-ups'), so its work was done twice; a run has one record whatever its attempts and messages.
    """
    rest = sorted(records, key=lambda record: record.occurrence)
    position, reached, count = 0, float("-inf"), 0
    ran: list[int] = []
    missing, doubled = _Rows(), _Rows()
    for at in expected:
        count += 1
        while position < len(rest) and rest[position].occurrence <= at:
            record = rest[position]
            reached = max(reached, record.through)
            ran += [record.through] if record.ran else []
            position += 1
        ran = [through for through in ran if through >= at]
        missing.put(at, within=reached < at)
        doubled.put(at, within=len(ran) > 1)
    return Reconciled(count, missing.ended(), doubled.ended())


class _Rows:
    """Neighbours joined."""

    def __init__(self) -> None:
        self._done: list[Gap] = []
        self._open: Gap | None = None

    def put(self, at: int, *, within: bool) -> None:
        """The next occurrence, and whether it belongs to a row."""
        if within:
            standing = self._open or Gap(at, at, 0)
            self._open = replace(standing, last=at, count=standing.count + 1)
        elif self._open is not None:
            self._done.append(self._open)
            self._open = None

    def ended(self) -> tuple[Gap, ...]:
        """All rows."""
        return tuple(self._done if self._open is None else [*self._done, self._open])


def audited_from(job: Job, since: int, low: int) -> int | None:
    """From where on (UTC seconds, exclusive) a job's occurrences can be derived in a window that begins after `low`:
    what came due before its last change belongs to a definition that is not kept, `since` is where its present one
    begins. None for a job that is paused: its change is the pause.
    """
    return None if job.state is JobState.PAUSED else max(low, since)


@dataclass(frozen=True, slots=True)
class Turn:
    """One audit of one of `segments` segments of the jobs table, over the occurrences after `low` and up to `high` (UTC
    seconds). `start` is where it goes on (None: at the beginning), `done` that it is finished; `counts` is what it has
    counted, `version` grows with each write.
    """

    segment: int
    segments: int
    low: int
    high: int
    start: str | None = None
    done: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)
    version: int = 1


def next_turn(turns: Sequence[Turn], segments: int, *, now: float, kept_seconds: int) -> Turn | None:
    """What to audit now, None if nothing: an unfinished turn, else the segment whose window closed first.

    Segment s has its turn in each hour (UTC) whose number is s modulo `segments`; its window ends CLOSED_SECONDS before
    that hour and begins where its last one ended, however long ago that was: what was missed is made up for in turns
    of LONGEST_TURN_SECONDS. Records are kept for `kept_seconds`, which bounds how far a window reaches back.
    """
    ours = {turn.segment: turn for turn in turns if turn.segments == segments and turn.segment < segments}
    oldest = int(now) - kept_seconds + DAY_SECONDS
    unfinished = [turn for turn in ours.values() if not turn.done]
    if unfinished:
        turn = min(unfinished, key=lambda turn: (turn.high, turn.segment))
        return replace(turn, low=min(max(turn.low, oldest), turn.high), version=turn.version + 1)
    hour = int(now) // HOUR_SECONDS
    # A stage that has another number of segments since goes on where the slowest of the old ones was.
    others = [turn for turn in turns if turn.segments != segments]
    before = min((turn.high if turn.done else turn.low for turn in others), default=None)
    due: list[Turn] = []
    for segment in range(segments):
        high = (hour - (hour - segment) % segments) * HOUR_SECONDS - CLOSED_SECONDS
        last = ours.get(segment)
        if last is None:
            low = high - segments * HOUR_SECONDS if before is None else min(before, high)
            due.append(_bounded(Turn(segment, segments, max(low, oldest), high)))
        elif last.high < high:
            due.append(_bounded(Turn(segment, segments, max(last.high, oldest), high, version=last.version + 1)))
    return min(due, key=lambda turn: (turn.high, turn.segment), default=None)


def _bounded(turn: Turn) -> Turn:
    return replace(turn, high=max(turn.low, min(turn.high, turn.low + MAX_TURN_SECONDS)))


def together(gaps: Iterable[Gap], seconds: int) -> list[list[Gap]]:
    """Rows (ascending) in groups, each of which spans `seconds` at most, or is one longer row."""
    groups: list[list[Gap]] = []
    for gap in gaps:
        if groups and gap.last - groups[-1][0].first <= seconds:
            groups[-1].append(gap)
        else:
            groups.append([gap])
    return groups


def few(gaps: Sequence[Gap]) -> list[Gap]:
    """The rows (ascending); one that spans all where there are more than MOST_ROWS."""
    if len(gaps) <= MAX_ROWS:
        return list(gaps)
    return [Gap(gaps[0].first, max(gap.last for gap in gaps), sum(gap.count for gap in gaps))]


def joined(known: Iterable[Gap], more: Iterable[Gap]) -> tuple[Gap, ...]:
    """Rows of two origins, those that overlap as one, and few in all."""
    rows: list[Gap] = []
    for gap in sorted({*known, *more}, key=lambda gap: (gap.first, gap.last)):
        if rows and gap.first <= rows[-1].last:
            above = rows[-1]
            rows[-1] = Gap(above.first, max(above.last, gap.last), max(above.count, gap.count))
        else:
            rows.append(gap)
    return tuple(few(rows))


def held_back(due: int, served: Mapping[Lane, int], lane: Lane) -> bool:
    """Whether a lane that is not empty may still hold a message that came due at `due`; `served` has for each lane the
    latest due time (UTC seconds) of what is known to have started.
    """
    return due + SERVED_SECONDS >= served.get(lane, 0)


OPEN = frozenset({Verdict.QUEUED, Verdict.LATE})
"""Verdicts that are not final: it may have its record yet."""
