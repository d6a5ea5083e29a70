"""The attempts of a run. Its record describes the last one; of those before it, which did not succeed, it keeps a list
(`Run.earlier`). So a run that succeeds at its first attempt has nothing in it.
"""

from __future__ import annotations

from duecourse.domain.runs.attempt import Attempt, AttemptOutcome
from duecourse.domain.runs.run import (
    Cancelled,
    Dead,
    Queued,
    Retrying,
    Run,
    Running,
    Skipped,
    Succeeded,
    Waiting,
    finished_at,
)

MAX_ATTEMPTS = 20
"""Attempts that are shown of a run, the last ones."""

MAX_ERROR = 200
"""Characters of an error in the list; the run's own error is longer."""

LOST = "lost"
"""Code of an attempt whose worker vanished."""

LOST_ERROR = "the worker vanished during the attempt"


def attempts_of(run: Run) -> tuple[Attempt, ...]:
    """The attempts of a run, oldest first, MAX_ATTEMPTS at most. Missing are those for which the record had no room."""
    if run.attempt == 0 or _is_listed(run):
        return run.earlier
    return (*run.earlier, _last(run))[-MAX_ATTEMPTS:]


def earlier_than_next(run: Run) -> tuple[Attempt, ...]:
    """`Run.earlier` once the present attempt is over and the record no longer describes it."""
    if run.attempt == 0 or _is_listed(run):
        return run.earlier
    last = _last(run)
    if last.outcome is None:  # it is taken over: its worker never wrote its end
        last = Attempt(last.number, last.started_at, None, AttemptOutcome.LOST, LOST_ERROR, LOST)
    return (*run.earlier, last)[-MAX_ATTEMPTS:]


def _is_listed(run: Run) -> bool:
    return bool(run.earlier) and run.earlier[-1].number == run.attempt


def _last(run: Run) -> Attempt:
    """The attempt that the record describes."""

    def ended(outcome: AttemptOutcome, error: str | None = None, code: str | None = None) -> Attempt:
        return Attempt(run.attempt, run.started_at, finished_at(run), outcome, error and error[:MAX_ERROR], code)

    match run:
        case Succeeded():
            return ended(AttemptOutcome.SUCCEEDED)
        case Cancelled() | Skipped():
            return ended(AttemptOutcome.CANCELLED)
        case Retrying() | Dead():
            outcome = AttemptOutcome.LOST if run.code == LOST else AttemptOutcome.FAILED
            return ended(outcome, run.error, run.code)
        case Queued() | Running() | Waiting():
            return Attempt(run.attempt, run.started_at, None, None)
