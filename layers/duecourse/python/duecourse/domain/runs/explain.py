"""Why a job ran at an instant, or did not: from its record if there is one, else from its definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from duecourse.domain.instants import DAY_SECONDS, to_iso
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Gone, Job, JobSnapshot
from duecourse.domain.jobs.policies import JobState
from duecourse.domain.runs.run import Run, reason_of
from duecourse.domain.runs.verdict import Explanation, Verdict, in_line, recorded
from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.exclusions import ExclusionError, excluding
from duecourse.domain.schedules.occurrences import Occurrences
from duecourse.domain.schedules.zones.dst_effect import dst_effect

SETTLED_SECONDS = 900
"""After this time an empty lane counts as empty: SQS counts approximately, and delays no message for longer."""


@dataclass(frozen=True, slots=True)
class ExplainContext:
    """Further facts. `lookahead`, `horizon` and `retention` are the stage's (s); `sent_until` is the last second of the
    occurrences that the API sent at once; `lane_kept` is how long a lane keeps a message (s), `lane_empty` whether the
    job's lane has none (None: not asked). `searched` is False if records were left unread. `line` are the ids of the
    runs that wait for the job's lock, first to last; only read for a run that waits there.
    """

    lookahead: int
    horizon: int
    retention: int
    lane_kept: int
    sent_until: int | None = None
    lane_empty: bool | None = None
    searched: bool = True
    line: Sequence[str] = ()


def explain(
    at: int, job: JobSnapshot, cursor: Cursor | None, record: Run | None, around: ExplainContext, *, now: float
) -> Explanation:
    """Why `job` ran at `at` (UTC seconds), or did not. `record` is the occurrence's own or, if there is none, the
    newest before it whose range covers it. Instants are UTC seconds.
    """
    occurrences, broken = _compiled(job)
    found = _judge(at, job, cursor, record, around, occurrences, broken, now)
    if occurrences is None or not isinstance(job, Job):
        return found
    return replace(found, before=before(occurrences, int(job.created_at), at), after=occurrences.next(at))


def before(occurrences: Occurrences, low: int, at: int) -> int | None:
    """The last occurrence after `low` and before `at` (UTC seconds); a schedule only has `next`, so the interval is
    halved.
    """

    def reaches(instant: int) -> bool:
        following = occurrences.next(instant)
        return following is not None and following < at

    if not low < at or not reaches(low):
        return None
    high = at
    while high - low > 1:
        middle = (low + high) // 2
        if reaches(middle):
            low = middle
        else:
            high = middle
    return occurrences.next(low)


def _compiled(job: JobSnapshot) -> tuple[Occurrences | None, str]:
    if not isinstance(job, Job):
        return None, ""
    try:
        return job.occurrences(), ""
    except (ScheduleError, ExclusionError) as problem:
        return None, str(problem)


def _judge(
    at: int,
    job: JobSnapshot,
    cursor: Cursor | None,
    record: Run | None,
    around: ExplainContext,
    occurrences: Occurrences | None,
    broken: str,
    now: float,
) -> Explanation:
    # A range has two ends, not its instants; the occurrences of a former schedule are not known any more.
    named = occurrences is None or occurrences.next(at - 1) == at
    if record is not None and (record.occurrence == at or named or reason_of(record) == "edited"):
        return in_line(recorded(record, at), record, around.line)
    match job:
        case None:
            return Explanation(Verdict.DELETED, "The job is gone, and no record says that it ran then.")
        case Gone(deleted_at):
            when = to_iso(int(deleted_at))
            known = "before that" if at > deleted_at else "and no record says that it ran then"
            return Explanation(Verdict.DELETED, f"The job was deleted at {when}, {known}.", {"deleted_at": when})
        case Job():
            pass
    if at <= int(job.created_at):
        created = to_iso(int(job.created_at))
        return Explanation(
            Verdict.BEFORE_CREATION, f"The job did not exist: it was created at {created}.", {"created_at": created}
        )
    if occurrences is None:
        return Explanation(Verdict.UNCLEAR, f"Its schedule is not understood any more: {broken}.")
    if named:
        return _unrecorded(at, job, cursor, around, occurrences, now)
    if at <= job.changed_at and at + around.retention <= now:
        return _expired(around)
    return _unnamed(at, job, cursor, occurrences)


def _unnamed(at: int, job: Job, cursor: Cursor | None, occurrences: Occurrences) -> Explanation:
    """Why the present schedule does not name the instant."""
    if not job.scheduled:
        return Explanation(Verdict.NOT_AN_OCCURRENCE, "The job has no schedule: it runs when it is asked to.")
    spec = job.schedule
    if spec.start is not None and at < spec.start:
        return Explanation(Verdict.BEFORE_START, f"Its window begins later, at {to_iso(spec.start)}.")
    if spec.end is not None and at >= spec.end:
        return Explanation(Verdict.AFTER_END, f"Its window ended before, at {to_iso(spec.end)}.")
    if occurrences.schedule.next(at - 1) == at:
        index = excluding(job.exclude, spec.timezone, at)
        entry = "" if index is None else job.exclude[index]
        return Explanation(Verdict.EXCLUDED, f'It is excluded by "{entry}".', {"excluded_by": entry})
    if missed := dst_effect(occurrences.schedule, at):
        instead = [to_iso(each) for each in missed.instead]
        counts = "it was dropped" if not instead else "it counts at " + " and ".join(instead)
        facts: dict[str, object] = {"wall": missed.wall, "rule": missed.rule, "instead": instead}
        rule = "for an interval" if missed.rule == "interval" else f"with dst_{missed.kind} {missed.rule}"
        match missed.kind:
            case "gap":
                return Explanation(
                    Verdict.GAP, f"The clock of {spec.timezone} jumped over {missed.wall}; {rule} {counts}.", facts
                )
            case "fold":
                return Explanation(
                    Verdict.FOLD, f"The clock of {spec.timezone} showed {missed.wall} twice; {rule} {counts}.", facts
                )
    last = cursor.last if cursor is not None else None
    if job.state is JobState.COMPLETED and (last is None or at > last) and occurrences.next(at) is None:
        ended = "" if last is None else f": its last occurrence was {to_iso(last)}"
        return Explanation(Verdict.COMPLETED, f"The job is completed{ended}.")
    return Explanation(
        Verdict.NOT_AN_OCCURRENCE, f"Its schedule ({occurrences.schedule.words}) does not name this instant."
    )


def _unrecorded(
    at: int, job: Job, cursor: Cursor | None, around: ExplainContext, occurrences: Occurrences, now: float
) -> Explanation:
    """The verdict for an instant that the present schedule names and no record covers."""
    due = occurrences.due(at)
    if due + around.retention <= now:
        return _expired(around)
    paused_at = int(job.changed_at if job.paused_at is None else job.paused_at)
    # Occurrences that came due before the pause and were not enqueued wait for its end too.
    if job.state is JobState.PAUSED and due > (paused_at if cursor is None else min(paused_at, cursor.after)):
        return _paused(at, job, now)
    if cursor is None:
        return Explanation(Verdict.UNCLEAR, "Its place in the schedule cannot be read, and there is no record.")
    if cursor.error is not None:
        return Explanation(Verdict.UNCLEAR, f"Its job was taken out of the schedule: {cursor.error}.")
    if job.state is not JobState.PAUSED and not _passed(at, due, job, cursor, around):
        return _to_come(at, due, job, cursor, around, occurrences, now)
    if due <= int(job.changed_at):  # an edit keeps what jitter makes due after it
        changed = to_iso(int(job.changed_at))
        said = f"The job was changed at {changed}, after that, and no record says that it had this occurrence before."
        return Explanation(Verdict.CHANGED, said, {"changed_at": changed})
    return _handed_over(due, job, around, now)


def _passed(at: int, due: int, job: Job, cursor: Cursor, around: ExplainContext) -> bool:
    """Whether the occurrence was sent to its lane, by a dispatcher or at once by the API."""
    if around.sent_until is not None and int(job.changed_at) < due and at <= around.sent_until:
        return True
    if cursor.occurrence is not None:
        return at < cursor.occurrence
    return cursor.last is not None and at <= cursor.last


def _to_come(
    at: int, due: int, job: Job, cursor: Cursor, around: ExplainContext, occurrences: Occurrences, now: float
) -> Explanation:
    if not _allowed(at, cursor, occurrences):
        facts: dict[str, object] = {"max_runs": job.max_runs}
        return Explanation(Verdict.MAX_RUNS, f"Its {job.max_runs} runs (max_runs) are used up before.", facts)
    if due <= now:
        said = (
            f"It has been due since {to_iso(due)} and is not handed to its lane yet; the next round of dispatch does."
        )
        return Explanation(Verdict.LATE, said, {"due": to_iso(due)})
    begin, end = to_iso(due - around.horizon), to_iso(due - around.lookahead)
    said = f"It is still to come: due at {to_iso(due)}, handed to its lane between {begin} and {end}."
    return Explanation(Verdict.FUTURE, said, {"due": to_iso(due), "enqueued_from": begin, "enqueued_by": end})


def _allowed(at: int, cursor: Cursor, occurrences: Occurrences) -> bool:
    """Whether `max_runs` allows the occurrence, counted from the cursor's position."""
    if cursor.occurrence is None:
        return False
    if cursor.remaining is None:
        return True
    each: int | None = cursor.occurrence
    for _ in range(cursor.remaining):
        if each is None or each >= at:
            return each == at
        each = occurrences.next(each)
    return False


def _handed_over(due: int, job: Job, around: ExplainContext, now: float) -> Explanation:
    facts: dict[str, object] = {"due": to_iso(due), "lane": job.lane.value}
    if due > now:
        said = f"It is handed to its lane and held back until it is due, at {to_iso(due)}."
        return Explanation(Verdict.QUEUED, said, facts)
    if not around.searched:
        return Explanation(Verdict.UNCLEAR, "It was handed to its lane; too many records lie between to find its own.")
    drained = around.lane_empty is True and due + SETTLED_SECONDS < now
    if due + around.lane_kept <= now or drained:
        said = (
            f"It was due at {to_iso(due)} and handed to its lane, but nothing waits there and no record exists: look."
        )
        return Explanation(Verdict.LOST, said, facts)
    return Explanation(Verdict.QUEUED, f"It has been due since {to_iso(due)} and waits for a worker.", facts)


def _paused(at: int, job: Job, now: float) -> Explanation:
    since = None if job.paused_at is None else to_iso(int(job.paused_at))
    facts = {"since": since, "by": job.paused_by, "note": job.paused_because}
    by = "" if job.paused_by is None else f" by {job.paused_by}"
    note = "" if job.paused_because is None else f" ({job.paused_because})"
    what = "It did not run" if at <= now else "It will not run unless the job is resumed before"
    said = f"{what}: the job has been paused since {since or 'its last change'}{by}{note}."
    return Explanation(Verdict.PAUSED, said, {name: value for name, value in facts.items() if value is not None})


def _expired(around: ExplainContext) -> Explanation:
    days = around.retention // DAY_SECONDS
    return Explanation(Verdict.EXPIRED, f"Records are kept for {days} days; what happened then is not known any more.")
