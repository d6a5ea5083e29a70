"""Explains why a job ran or did not run at an instant.

The explanation is based on the run's record if there is one, and otherwise on the job's definition. It has one word for
programs and one sentence for people. For an occurrence that a pause skipped, the record refers to the pause, and the
job's changes contain the caller who paused it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from duecourse.domain.instants import DAY_SECONDS, to_iso
from duecourse.domain.jobs.calendars import CalendarDays, PlannedPause
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.document import ChangeAction, ChangeRecord
from duecourse.domain.jobs.job import TIMED_GATES, Job, JobSnapshot, JobState, Tombstone
from duecourse.domain.jobs.pause import after_pause
from duecourse.domain.runs.states import (
    Cancelled,
    Dead,
    Queued,
    Retrying,
    Run,
    Running,
    RunState,
    Skipped,
    Succeeded,
    Waiting,
)
from duecourse_schedules import ScheduleError, compile_schedule
from duecourse_schedules.exclusions import ExclusionError, excluding
from duecourse_schedules.instant import iso
from duecourse_schedules.schedule import Occurrences, moved_from, moved_to
from duecourse_schedules.zones.dst_effect import dst_effect


class Verdict(StrEnum):
    """The verdicts from FIRED to CANCELLED are based on a record; the others explain why there is no record.

    LATE: due, and not enqueued yet. WAITS: waits for other steps of its workflow. LOST: enqueued and due, but without a
    record and without a message. CHANGED: the job was changed later, and no stored data show whether its earlier
    definition had this occurrence. UNCLEAR: the stored data are not sufficient for a verdict.
    """

    FIRED = "fired"
    RUNNING = "running"
    QUEUED = "queued"
    SKIPPED = "skipped"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    DELETED = "deleted"
    NOT_AN_OCCURRENCE = "not_an_occurrence"
    EXCLUDED = "excluded"
    GAP = "gap"
    FOLD = "fold"
    BEFORE_START = "before_start"
    AFTER_END = "after_end"
    BEFORE_CREATION = "before_creation"
    MAX_RUNS = "max_runs"
    COMPLETED = "completed"
    FUTURE = "future"
    LATE = "late"
    WAITS = "waits"
    LOST = "lost"
    EXPIRED = "expired"
    CHANGED = "changed"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Explanation:
    """A verdict with its sentence. `facts` are the values in the sentence, and `run` is the record on which it is
    based. `before` and `after` are the occurrences nearest to the instant (UTC seconds), according to the job's current
    schedule.
    """

    verdict: Verdict
    sentence: str
    facts: Mapping[str, object] = field(default_factory=dict)
    before: int | None = None
    after: int | None = None
    run: Run | None = None


_REASONS = {
    "missed": "it was missed (not started within the job's grace period, for example because of an outage of the "
    "stage), and the job skips missed occurrences",
    "superseded": "it was late, and the run of a later occurrence that was also due covers it",
    "start_deadline": "it had not started by the job's start deadline",
    "overlap": "another run of the job was active",
    "overlap_full": "another run of the job was active, and the wait queue was full",
    "replaced": "a newer run of the job replaced it",
    "paused": "the job was paused",
    "deleted": "the job was deleted",
    "edited": "the job's schedule changed before a worker received it",
    "skipped_on_request": "it was skipped on request",
    "upstream_failed": "an upstream step of its workflow failed",
    "upstream_skipped": "an upstream step of its workflow was skipped",
    "not_needed": "it runs only after a failure, and no upstream step of its workflow failed",
    "not_its_time": "it is not part of this occurrence of its workflow",
}
"""The phrases for the reasons in records."""

_VERDICTS = {
    RunState.QUEUED: Verdict.QUEUED,
    RunState.RUNNING: Verdict.RUNNING,
    RunState.WAITING: Verdict.RUNNING,
    RunState.RETRYING: Verdict.RUNNING,
    RunState.SUCCEEDED: Verdict.FIRED,
    RunState.DEAD: Verdict.FIRED,
    RunState.CANCELLED: Verdict.CANCELLED,
    RunState.SKIPPED: Verdict.SKIPPED,
}
_SKIPS = {"paused": Verdict.PAUSED, "deleted": Verdict.DELETED}


def recorded(run: Run, at: int) -> Explanation:
    """Return the explanation from the record that covers the instant `at` (UTC seconds). The record belongs to this
    occurrence alone or covers several occurrences.
    """
    verdict = _VERDICTS[run.state]
    if isinstance(run, Skipped):
        verdict = _SKIPS.get(run.reason, verdict)
    facts: dict[str, object] = {"state": run.state.value, "attempts": run.attempt}
    if (reason := run.reason) is not None:
        facts["reason"] = reason
    if run.code is not None:
        facts["code"] = run.code
    if run.requested_by is not None:
        facts["by"] = run.requested_by
    if run.count > 1:
        facts["count"] = run.count
    return Explanation(verdict, _standing_for(run, at) + _told(run), facts, run=run)


def _standing_for(run: Run, at: int) -> str:
    if run.occurrence == at:
        return ""
    return f"The record {run.name} covers {run.count} occurrences, including this one. "


def _length(seconds: float) -> str:
    """Return a duration as text in a suitable unit: `5 ms`, `1.2 s`, `119 s`, `3 min`, `26 h`."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def _told(run: Run) -> str:
    attempts = f"{run.attempt} attempt" + "s" * (run.attempt != 1)
    match run:
        case Succeeded():
            late = "" if run.lateness is None else f", {_length(max(run.lateness, 0.0))} after it was due"
            return f"It ran and succeeded after {attempts}{late}."
        case Dead(reason="steps_failed"):
            return f"Its steps have ended; {run.error}. Correct the cause, then redrive it or rerun a part of it."
        case Dead():
            code = "" if run.code is None else f" ({run.code})"
            return f"It is dead after {attempts}{code}. Correct the cause, then redrive it."
        case Running():
            return f"It is running, attempt {run.attempt}."
        case Waiting():
            until = to_iso(int(run.deadlines.waiting_until))
            return f"Its target was called, and it waits for the callback until {until}."
        case Retrying():
            wait = (
                "" if run.wait is None else f"; it waits for the {TIMED_GATES[run.wait.gate]} of the key {run.wait.key}"
            )
            return f"Attempt {run.attempt} failed; the next one starts at {to_iso(int(run.not_before))}{wait}."
        case Cancelled():
            because = {
                "deleted": " because the job was deleted",
                "replaced": " by a newer run of the job",
                "deadline": " because it missed a deadline of its job",
                "workflow_over": " because the run of its workflow had ended",
            }
            return f"It was cancelled after {attempts}{because.get(run.reason, '')}."
        case Skipped():
            by = "" if run.requested_by is None else f" ({run.requested_by})"
            return f"It did not run: {_REASONS.get(run.reason, run.reason)}{by}."
        case Queued():
            if run.rescheduled:
                return f"It was rescheduled: it is due at {to_iso(run.due)}."
            if run.waiting_since is None:
                return "It is in the queue of its lane."
            if run.wait is not None and run.not_before is not None:
                until = to_iso(int(run.not_before))
                return f"It waits for the {TIMED_GATES[run.wait.gate]} of the key {run.wait.key} until {until}."
            what = "of the job" if run.key is None else f"with the concurrency key {run.key}"
            return (
                f"It has been in the wait queue since {to_iso(int(run.waiting_since))}: it waits for the end of an "
                f"active run {what}."
            )


def in_wait_queue(found: Explanation, run: Run, waiting: Sequence[str]) -> Explanation:
    """Return the explanation, with the run's position in the wait queue and the run ahead of it if it waits there. The
    next attempt of a retrying or redriven run may wait there too.
    """
    if run.run_id not in waiting:
        return found
    before = waiting[: waiting.index(run.run_id)]
    behind = {"behind": before[-1]} if before else {}
    queue = "wait queue" if isinstance(run, Queued) or run.key is None else f"wait queue of the key {run.key}"
    where = f"number {len(before) + 1} in the {queue}, behind {before[-1]}" if before else f"first in the {queue}"
    who = "It" if isinstance(run, Queued) else "Its next attempt"
    return replace(
        found, sentence=f"{found.sentence} {who} is {where}.", facts={**found.facts, "place": len(before) + 1, **behind}
    )


def with_notes(found: Explanation, around: ExplainContext) -> Explanation:
    """Return `found`, with what the gates say for which the run waits."""
    for sentence, facts in around.said:
        found = replace(found, sentence=f"{found.sentence} {sentence}", facts={**found.facts, **facts})
    return found


def pause_over(changes: Iterable[ChangeRecord], at: int) -> ChangeRecord | None:
    """Return the pause that skipped the occurrence at `at` (UTC seconds). `changes` are a job's last changes, newest
    first.

    It is the last pause before the occurrence, or the first one after it: a pause also skips occurrences that were due
    and not enqueued yet. None if the changes do not reach back to `at`.
    """
    found = None
    for change in changes:
        if change.action == ChangeAction.PAUSED:
            found = change
        if change.at <= at and found is not None:
            return found
    return None


def with_pause(found: Explanation, pause: ChangeRecord) -> Explanation:
    """Return the explanation with the time, the caller and the reason of the pause."""
    since = to_iso(int(pause.at))
    note = next((change.get("after") for change in pause.changes if change["field"] == "paused_because"), None)
    because = "" if note is None else f" ({note})"
    facts = {"since": since, "by": pause.principal} | ({} if note is None else {"note": note})
    return replace(
        found,
        sentence=f"{found.sentence} It had been paused since {since} by {pause.principal}{because}.",
        facts={**found.facts, **facts},
    )


Said = tuple[str, Mapping[str, object]]
"""A sentence for an explanation, and its facts."""

SETTLED_SECONDS = 900
"""After this time (seconds) an empty lane counts as empty. SQS counts messages approximately and delays a message for
at most this long.
"""


@dataclass(frozen=True, slots=True)
class ExplainContext:
    """Further facts for an explanation.

    - `lookahead`, `horizon`, `retention`: settings of the stage (seconds).
    - `lane_kept`: how long a lane keeps a message (seconds).
    - `sent_until`: the last second of the occurrences that the API sent directly.
    - `lane_empty`: whether the job's lane has no messages (None: unknown).
    - `searched`: False if some records were not read.
    - `wait_queue`: the ids of the runs in the wait queue of the job, or of its key, first to last. Only read for a run
      that may wait there.
    - `said`: what the gates say for which the run waits.
    """

    lookahead: int
    horizon: int
    retention: int
    lane_kept: int
    sent_until: int | None = None
    lane_empty: bool | None = None
    searched: bool = True
    wait_queue: Sequence[str] = ()
    said: Sequence[Said] = ()


def explain(
    at: int, job: JobSnapshot, cursor: Cursor | None, record: Run | None, around: ExplainContext, *, now: float
) -> Explanation:
    """Explain why `job` ran, or did not run, at `at` (UTC seconds).

    `record` is the record of the occurrence or, if there is none, the newest earlier record whose range covers it.
    """
    occurrences, broken = _compiled(job)
    try:
        return _explained(at, job, cursor, record, around, occurrences, broken, now)
    except ScheduleError as problem:  # its next occurrence cannot be found
        return _judge(at, job, cursor, record, around, None, str(problem), now)


def _explained(
    at: int,
    job: JobSnapshot,
    cursor: Cursor | None,
    record: Run | None,
    around: ExplainContext,
    occurrences: Occurrences | None,
    broken: str,
    now: float,
) -> Explanation:
    found = _judge(at, job, cursor, record, around, occurrences, broken, now)
    if occurrences is None or not isinstance(job, Job):
        return found
    if occurrences.next(at - 1) == at and (wall := moved_from(occurrences.schedule, at)) is not None:
        said = f"{found.sentence} It moved here from {iso(wall)} ({job.schedule.timezone}), an excluded day."
        found = replace(found, sentence=said, facts={**found.facts, "moved_from": iso(wall)})
    elif (off := occurrences.exclusions) is not None and (first := off.replaced_by(occurrences.schedule, at)):
        said = f"{found.sentence} It replaces the occurrences that a window excluded, from {to_iso(first)} on."
        found = replace(found, sentence=said, facts={**found.facts, "moved_from": to_iso(first)})
    return replace(found, before=before(occurrences, int(job.created_at), at), after=occurrences.next(at))


def before(occurrences: Occurrences, low: int, at: int) -> int | None:
    """Return the last occurrence after `low` and before `at` (UTC seconds). Uses bisection, since a schedule only has
    `next`.
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
    # A record stores only the two ends of its range, and the occurrences of an earlier schedule are no longer known.
    named = occurrences is None or occurrences.next(at - 1) == at
    if record is not None and (record.occurrence == at or named or record.reason == "edited"):
        return with_notes(in_wait_queue(recorded(record, at), record, around.wait_queue), around)
    match job:
        case None:
            return Explanation(Verdict.DELETED, "The job does not exist, and there is no record of this occurrence.")
        case Tombstone(deleted_at):
            when = to_iso(int(deleted_at))
            known = "before this instant" if at > deleted_at else "and there is no record of this occurrence"
            return Explanation(Verdict.DELETED, f"The job was deleted at {when}, {known}.", {"deleted_at": when})
        case Job():
            pass
    if at <= int(job.created_at):
        created = to_iso(int(job.created_at))
        return Explanation(
            Verdict.BEFORE_CREATION, f"The job did not exist: it was created at {created}.", {"created_at": created}
        )
    if occurrences is None:
        return Explanation(Verdict.UNCLEAR, f"Its schedule is no longer valid: {broken}.")
    if named:
        return _unrecorded(at, job, cursor, around, occurrences, now)
    if at <= job.changed_at and at + around.retention <= now:
        return _expired(around)
    return _unnamed(at, job, cursor, occurrences)


def _unnamed(at: int, job: Job, cursor: Cursor | None, occurrences: Occurrences) -> Explanation:
    """Explain why the current schedule does not contain the instant."""
    if not job.scheduled:
        return Explanation(Verdict.NOT_AN_OCCURRENCE, "The job has no schedule: it runs only on demand.")
    spec = job.schedule
    if spec.start is not None and at < spec.start:
        return Explanation(Verdict.BEFORE_START, f"Its schedule starts later, at {to_iso(spec.start)}.")
    if spec.end is not None and at >= spec.end:
        return Explanation(Verdict.AFTER_END, f"Its schedule ended earlier, at {to_iso(spec.end)}.")
    if (wall := moved_to(occurrences.schedule, at)) is not None:
        entry = _excluded_by(job, at)
        said = f'It is excluded by "{entry}" and moved to {iso(wall)} ({spec.timezone}).'
        return Explanation(Verdict.EXCLUDED, said, {"excluded_by": entry, "moved_to": iso(wall)})
    if compile_schedule(spec).next(at - 1) == at and (entry := _excluded_by(job, at)):
        by = {"excluded_by": entry}
        off = occurrences.exclusions
        if off is not None and (at_end := off.replaced_at(at)) is not None:
            said = f'It is excluded by "{entry}" and replaced by the occurrence at {to_iso(at_end)}.'
            return Explanation(Verdict.EXCLUDED, said, by | {"moved_to": to_iso(at_end)})
        return Explanation(Verdict.EXCLUDED, f'It is excluded by "{entry}".', by)
    if missed := dst_effect(occurrences.schedule, at):
        instead = [to_iso(each) for each in missed.instead]
        counts = "the occurrence is dropped" if not instead else "the occurrence is at " + " and ".join(instead)
        facts: dict[str, object] = {"wall": missed.wall, "rule": missed.rule, "instead": instead}
        rule = "for an interval," if missed.rule == "interval" else f"with dst_{missed.kind} {missed.rule},"
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
        Verdict.NOT_AN_OCCURRENCE, f"Its schedule ({occurrences.schedule.words}) has no occurrence at this instant."
    )


def _excluded_by(job: Job, at: int) -> str:
    index = excluding(job.exclude, job.schedule.timezone, at)
    if index is None:
        return ""
    match job.exclude[index]:
        case PlannedPause() as pause:
            return f"planned pause: {pause.window}"
        case CalendarDays(exclude=days) as calendar:
            inner = excluding(days, job.schedule.timezone, at)
            return f"calendar {calendar.id}" if inner is None else f"calendar {calendar.id}: {days[inner]}"
        case str() as entry:
            return entry


def _unrecorded(
    at: int, job: Job, cursor: Cursor | None, around: ExplainContext, occurrences: Occurrences, now: float
) -> Explanation:
    """Explain an instant that the current schedule contains and no record covers."""
    due = occurrences.due(at)
    if due + around.retention <= now:
        return _expired(around)
    paused_at = int(job.changed_at if job.paused_at is None else job.paused_at)
    # Occurrences that came due before the pause and were not enqueued also wait for its end.
    if job.state is JobState.PAUSED and due > (paused_at if cursor is None else min(paused_at, cursor.after)):
        if cursor is None or cursor.resume is None or due < cursor.resume.at:
            return _paused(at, job, now)
        found = _to_come(at, due, job, after_pause(cursor, job.paused_at), around, occurrences, now)
        end = to_iso(cursor.resume.at)
        return replace(
            found, sentence=f"{found.sentence} The job is paused until {end}.", facts={**found.facts, "until": end}
        )
    if cursor is None:
        return Explanation(Verdict.UNCLEAR, "Its cursor cannot be read, and there is no record.")
    if cursor.error is not None:
        return Explanation(Verdict.UNCLEAR, f"Its cursor is quarantined: {cursor.error}.")
    if job.state is not JobState.PAUSED and not _passed(at, due, job, cursor, around):
        return _to_come(at, due, job, cursor, around, occurrences, now)
    if due <= int(job.changed_at):  # an edit keeps occurrences that are due after it because of jitter
        changed = to_iso(int(job.changed_at))
        said = (
            f"The job was changed later, at {changed}, and no record shows that it had this occurrence before "
            "the change."
        )
        return Explanation(Verdict.CHANGED, said, {"changed_at": changed})
    return _handed_over(due, job, around, now)


def _passed(at: int, due: int, job: Job, cursor: Cursor, around: ExplainContext) -> bool:
    """Return whether a dispatcher or the API sent the occurrence to its lane."""
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
        return Explanation(
            Verdict.MAX_RUNS, f"Its limit of {job.max_runs} runs (max_runs) is reached before this occurrence.", facts
        )
    if due <= now:
        said = f"It has been due since {to_iso(due)} and is not enqueued yet; the next dispatch round enqueues it."
        return Explanation(Verdict.LATE, said, {"due": to_iso(due)})
    begin, end = to_iso(due - around.horizon), to_iso(due - around.lookahead)
    said = f"It is in the future: it is due at {to_iso(due)} and is enqueued between {begin} and {end}."
    return Explanation(Verdict.FUTURE, said, {"due": to_iso(due), "enqueued_from": begin, "enqueued_by": end})


def _allowed(at: int, cursor: Cursor, occurrences: Occurrences) -> bool:
    """Return whether `max_runs` allows the occurrence, counted from the cursor's position."""
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
        said = f"It is enqueued and delayed until it is due, at {to_iso(due)}."
        return Explanation(Verdict.QUEUED, said, facts)
    if not around.searched:
        return Explanation(
            Verdict.UNCLEAR, "It was enqueued; its record was not found among the first records after it."
        )
    drained = around.lane_empty is True and due + SETTLED_SECONDS < now
    if due + around.lane_kept <= now or drained:
        said = (
            f"It was due at {to_iso(due)} and was enqueued, but its lane is empty and it has no record. Check "
            "the audit's findings."
        )
        return Explanation(Verdict.LOST, said, facts)
    return Explanation(Verdict.QUEUED, f"It has been due since {to_iso(due)} and waits for a worker.", facts)


def _paused(at: int, job: Job, now: float) -> Explanation:
    since = None if job.paused_at is None else to_iso(int(job.paused_at))
    until = None if job.paused_until is None else to_iso(job.paused_until)
    facts = {"since": since, "until": until, "by": job.paused_by, "note": job.paused_because}
    end = "" if until is None else f" until {until}"
    by = "" if job.paused_by is None else f" by {job.paused_by}"
    note = "" if job.paused_because is None else f" ({job.paused_because})"
    what = "It did not run" if at <= now else "It will not run unless the job is resumed before then"
    said = f"{what}: the job has been paused since {since or 'its last change'}{end}{by}{note}."
    return Explanation(Verdict.PAUSED, said, {name: value for name, value in facts.items() if value is not None})


def _expired(around: ExplainContext) -> Explanation:
    days = around.retention // DAY_SECONDS
    return Explanation(Verdict.EXPIRED, f"Records are kept for {days} days, and this occurrence is older.")
