"""Why a job ran at an instant, or did not: one word for programs, one sentence for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from duecourse.domain.instants import to_iso
from duecourse.domain.runs.run import (
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
    reason_of,
)


class Verdict(StrEnum):
    """FIRED to CANCELLED come from a record; the others say why there is none.

    LATE: due, and not sent to its lane yet. WAITS: for other jobs of its workflow. LOST: sent, due, without a record,
    and no message waits any more. CHANGED: the job was changed afterwards, and no data show that its former definition
    named this instant. UNCLEAR: the stored data do not decide.
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
    """`before` and `after` are the occurrences next to the instant (UTC seconds) by the job's present schedule; `facts`
    are the values in the sentence, and `run` is the record that it is based on.
    """

    verdict: Verdict
    sentence: str
    facts: Mapping[str, object] = field(default_factory=dict)
    before: int | None = None
    after: int | None = None
    run: Run | None = None


_REASONS = {
    "missed": "it was missed (not started within the job's grace), and the job skips what was missed",
    "superseded": "it was late, and a later occurrence had come due as well, which runs for both",
    "start_deadline": "it had not started by the job's start deadline",
    "overlap": "another run of the job was alive",
    "overlap_full": "another run of the job was alive, and as many as may wait in line did",
    "replaced": "a newer run of the job took its place",
    "paused": "the job was paused",
    "deleted": "the job was deleted",
    "edited": "the job's schedule was changed before it was handed to a worker",
    "skipped_on_request": "somebody asked to skip it",
    "upstream_failed": "a job before it in its workflow failed",
    "upstream_skipped": "a job before it in its workflow did not run, since it was not to",
    "not_needed": "it runs after a failure only, and no job before it in its workflow failed",
    "not_its_time": "it takes part in its workflow at other times only",
}
"""What the reasons in records mean."""

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
    """The explanation from the record that covers the instant `at` (UTC seconds): its own, or one of several
    occurrences.
    """
    verdict = _VERDICTS[run.state]
    if isinstance(run, Skipped):
        verdict = _SKIPS.get(run.reason, verdict)
    facts: dict[str, object] = {"state": run.state.value, "attempts": run.attempt}
    if (reason := reason_of(run)) is not None:
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
    return f"The record {run.name} stands for {run.count} occurrences, this one among them. "


def _told(run: Run) -> str:
    attempts = f"{run.attempt} attempt" + "s" * (run.attempt != 1)
    match run:
        case Succeeded():
            late = "" if run.lateness is None else f", {max(run.lateness, 0.0):.3g} s after it was due"
            return f"It ran and succeeded after {attempts}{late}."
        case Dead(reason="members_failed"):
            return f"Its jobs have ended; {run.error}. Redrive it, or run a part of it again, once the cause is gone."
        case Dead():
            code = "" if run.code is None else f" ({run.code})"
            return f"It was tried and is dead after {attempts}{code}; redrive it once the cause is gone."
        case Running():
            return f"It is running, attempt {run.attempt}."
        case Waiting():
            until = to_iso(int(run.deadlines.waiting_until))
            return f"Its call was made, and it waits for its callback until {until}."
        case Retrying():
            return f"Attempt {run.attempt} failed; the next one starts at {to_iso(int(run.not_before))}."
        case Cancelled():
            because = {
                "deleted": " since the job was deleted",
                "replaced": " by a newer run of the job",
                "workflow_over": " since the run of its workflow was over",
            }
            return f"It was cancelled{because.get(run.reason, '')} after {attempts}."
        case Skipped():
            by = "" if run.requested_by is None else f" ({run.requested_by})"
            return f"It did not run: {_REASONS.get(run.reason, run.reason)}{by}."
        case Queued():
            if run.waiting_since is None:
                return "It is in its lane."
            return f"It waits in line, since {to_iso(int(run.waiting_since))}: another run of the job is alive."


def in_line(found: Explanation, run: Run, line: Sequence[str]) -> Explanation:
    """The explanation with the place of a run that waits in line, and the run before it."""
    if not isinstance(run, Queued) or str(run.name) not in line:
        return found
    before = line[: line.index(str(run.name))]
    behind = {"behind": before[-1]} if before else {}
    where = f"number {len(before) + 1} in line, behind {before[-1]}" if before else "the first in line"
    return replace(
        found, sentence=f"{found.sentence} It is {where}.", facts={**found.facts, "place": len(before) + 1, **behind}
    )
