"""Runs that wait for the end of work in another AWS service (`completion: end`). Pure."""

from __future__ import annotations

from duecourse.domain.runs.states import Cancelled, Dead, Deadlines, Retrying, Run
from duecourse.domain.targets.targets import Execution

CHECK_SECONDS = 3600
"""How often an execution is read in case its event was lost (seconds)."""

_TOO_SLOW = frozenset({"callback.timeout", "callback.heartbeat"})
"""The codes of failures after which an execution may still be active."""


def execution_of(run: Run) -> Execution | None:
    """Return the execution that the last attempt of a run has started; None if the run follows none."""
    callback = run.callback
    return None if callback is None or callback.execution is None else Execution.parse(callback.execution)


def execution_to_stop(run: Run) -> Execution | None:
    """Return the execution of a run that no longer waits for its end: it was cancelled, or was too slow."""
    if isinstance(run, Cancelled) or (isinstance(run, Retrying | Dead) and run.code in _TOO_SLOW):
        return execution_of(run)
    return None


def check_at(deadlines: Deadlines, now: float) -> float:
    """Return when an execution is read again (UTC seconds), at the latest at the next deadline of its run."""
    return min(deadlines.next, now + CHECK_SECONDS)
