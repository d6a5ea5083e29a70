"""Checks whether every occurrence of a closed window has a record. Expected occurrences are compared with records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Job, JobState, Lane
from duecourse.domain.maintenance.index import Position
from duecourse.domain.runs.coverage import OccurrenceRange, Recorded
from duecourse.domain.runs.decision import STEPS_FAILED
from duecourse.domain.runs.explain import Verdict
from duecourse.domain.runs.states import Run, Succeeded, Waiting
from duecourse.domain.workflows.graph import Step, StepOutcome, ref_within
from duecourse.domain.workflows.view import Pending, StepView, WorkflowRunView
from duecourse_schedules.schedule import MAX_JITTER_SECONDS

HOUR_SECONDS = 3600

CLOSED_SECONDS = MAX_JITTER_SECONDS + 2 * HOUR_SECONDS
"""The minimum age of an occurrence that is audited, in seconds. Jitter and spread may delay it by an hour together. Two
hours after that, it has started, or its dead letter has been reconciled.
"""

SERVED_SECONDS = HOUR_SECONDS
"""If a lane has started a run that was due this many seconds later than another run, the lane no longer contains the
other run.
"""

STALLED_SECONDS = HOUR_SECONDS
"""A step of a workflow is not checked until this time (seconds) after it was due or its last attempt ended."""

MAX_TURN_SECONDS = DAY_SECONDS
"""The longest window of one turn, in seconds. After an outage of the audit its windows are audited day by day, so that
each turn can be finished.
"""

MAX_RANGES = 25
"""The maximum number of ranges reported for one job at a time. More ranges are reported as one."""

UNDECIDED = frozenset({Verdict.QUEUED, Verdict.LATE})
"""Verdicts that are not final: the occurrence may still get a record."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison of `expected` occurrences with records. `missing` occurrences have no record;
    `doubled` occurrences ran twice.
    """

    expected: int
    missing: tuple[OccurrenceRange, ...]
    doubled: tuple[OccurrenceRange, ...]


def compare(expected: Iterable[int], records: Sequence[Recorded]) -> Comparison:
    """Compare occurrences (ascending) with the records.

    An occurrence is missing if no record covers it. It is doubled if the records of two runs that ran cover it (its own
    record and that of a catch-up, or those of two catch-ups). A run has one record, regardless of its attempts and
    messages.
    """
    rest = sorted(records, key=lambda record: record.occurrence)
    position, reached, count = 0, float("-inf"), 0
    ran: list[int] = []
    missing, doubled = list[OccurrenceRange](), list[OccurrenceRange]()
    was_missing = was_doubled = False
    for at in expected:
        count += 1
        while position < len(rest) and rest[position].occurrence <= at:
            record = rest[position]
            reached = max(reached, record.through)
            ran += [record.through] if record.ran else []
            position += 1
        ran = [through for through in ran if through >= at]
        if reached < at:
            _put(missing, at, joins=was_missing)
        if len(ran) > 1:
            _put(doubled, at, joins=was_doubled)
        was_missing, was_doubled = reached < at, len(ran) > 1
    return Comparison(count, tuple(missing), tuple(doubled))


def _put(ranges: list[OccurrenceRange], at: int, *, joins: bool) -> None:
    """If the occurrence `joins` the last range, extend that range by it; otherwise start another range."""
    if joins:
        ranges[-1] = replace(ranges[-1], last=at, count=ranges[-1].count + 1)
    else:
        ranges.append(OccurrenceRange(at, at, 1))


def audited_from(job: Job, since: int, low: int) -> int | None:
    """Return the instant (UTC seconds, exclusive) from which a job's occurrences can be derived, in a window that
    begins after `low`.

    Earlier occurrences belong to a definition that is not kept. `since` is the start of the current definition. None
    for a paused job, whose last change is the pause, and for a job of a suspended tenant, whose occurrences are still
    to come.
    """
    return None if job.state is JobState.PAUSED or job.suspended_at is not None else max(low, since)


@dataclass(frozen=True, slots=True)
class Turn(Position):
    """One audit of one of the `segments` of the jobs table, over the occurrences after `low` and up to `high`
    (UTC seconds).
    """

    segment: int
    segments: int
    low: int
    high: int


def next_turn(turns: Sequence[Turn], segments: int, *, now: float, kept_seconds: int) -> Turn | None:
    """Return the next audit: an unfinished turn, otherwise the segment whose window closed first. None if no audit is
    due.

    Segment s has its turn in each hour (UTC) whose number is s modulo `segments`. Its window ends CLOSED_SECONDS before
    that hour and begins where its last one ended. After a long interruption it is audited in turns of MAX_TURN_SECONDS.
    Records are kept for `kept_seconds`, which bounds how far a window reaches back.
    """
    ours = {turn.segment: turn for turn in turns if turn.segments == segments and turn.segment < segments}
    oldest = int(now) - kept_seconds + DAY_SECONDS
    unfinished = [turn for turn in ours.values() if not turn.done]
    if unfinished:
        turn = min(unfinished, key=lambda turn: (turn.high, turn.segment))
        return replace(turn, low=min(max(turn.low, oldest), turn.high), version=turn.version + 1)
    hour = int(now) // HOUR_SECONDS
    # After a change of the number of segments, a segment continues where the slowest of the old segments was.
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


def grouped(ranges: Iterable[OccurrenceRange], seconds: int) -> list[list[OccurrenceRange]]:
    """Return ranges (ascending) in groups. Each group spans at most `seconds`, or is a single longer range."""
    groups: list[list[OccurrenceRange]] = []
    for each in ranges:
        if groups and each.last - groups[-1][0].first <= seconds:
            groups[-1].append(each)
        else:
            groups.append([each])
    return groups


def few(ranges: Sequence[OccurrenceRange]) -> list[OccurrenceRange]:
    """Return the ranges (ascending), or one range that spans all if there are more than MAX_RANGES."""
    if len(ranges) <= MAX_RANGES:
        return list(ranges)
    last, count = max(each.last for each in ranges), sum(each.count for each in ranges)
    return [OccurrenceRange(ranges[0].first, last, count)]


def joined(known: Iterable[OccurrenceRange], more: Iterable[OccurrenceRange]) -> tuple[OccurrenceRange, ...]:
    """Return both lists of ranges as one. Overlapping ranges are merged, and the number of ranges is limited by
    `few`.
    """
    ranges: list[OccurrenceRange] = []
    for each in sorted({*known, *more}, key=lambda each: (each.first, each.last)):
        if ranges and each.first <= ranges[-1].last:
            above = ranges[-1]
            ranges[-1] = OccurrenceRange(above.first, max(above.last, each.last), max(above.count, each.count))
        else:
            ranges.append(each)
    return tuple(few(ranges))


def held_back(due: int, served: Mapping[Lane, int], lane: Lane) -> bool:
    """Return whether a lane that is not empty may still contain a message that came due at `due`. `served` has the
    latest due time (UTC seconds) of the runs known to have started, by lane.
    """
    return due + SERVED_SECONDS >= served.get(lane, 0)


def has_steps(run: Run) -> bool:
    """Return whether the run is a workflow's run that waits for its steps or was ended by them. The items of a step
    are the steps of its run. A run that was cancelled, or whose deadline has passed, may have steps that never started.
    """
    if ref_within(run) is None:
        return False
    return isinstance(run, Waiting | Succeeded) or run.reason == STEPS_FAILED


def stalled(view: WorkflowRunView, *, now: float) -> list[tuple[Step, int]]:
    """Return the steps of a run (for which `has_steps` is true) that have made no progress for STALLED_SECONDS, and
    since when (UTC seconds).

    A step makes no progress if it was due (or the workflow's run has ended) and it has no record of an active run, or
    if it has ended and has no record.
    """
    found: list[tuple[Step, int]] = []
    for each in view.steps:
        turn = view.due(each)
        if each.step.carried_over is None and turn is not None and _incomplete(view.run, each):
            own = None if each.run is None else each.run.finished_at
            since = turn if own is None else max(turn, int(own))
            if since + STALLED_SECONDS <= now:
                found.append((each.step, since))
    return found


def _incomplete(of: Run, each: StepView) -> bool:
    match each.progress:
        case StepOutcome.SUCCEEDED | StepOutcome.FAILED:
            return each.run is None
        case Pending.DUE | Pending.LEFT:
            # A skipped step stays skipped if an upstream step is redriven after the workflow's success.
            return each.run is None or (each.run.state.final and not isinstance(of, Succeeded))
        case _:
            return False
