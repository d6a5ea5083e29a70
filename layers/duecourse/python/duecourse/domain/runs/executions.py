"""Runs that wait for the end of work in another AWS service (`completion: end`). Pure."""

from __future__ import annotations

from duecourse.domain.runs.states import Cancelled, Dead, Deadlines, Retrying, Run
from duecourse.domain.targets.targets import Execution

CHECK_SECONDS = 3600
"""How often an execution is read in case its event was lost (seconds)."""


def execution_of(run: Run) -> Execution | None:
    """Return the execution that the last attempt of a run has started; None if the run follows none."""
    callback = run.callback
    return None if callback is None or callback.execution is None else Execution.parse(callback.execution)


def execution_to_stop(run: Run) -> Execution | None:
    """Return the execution of a run that no longer waits for its end, if it may still be active: the run was cancelled
    or was too slow, or its program reported a failure.
    """
    return execution_of(run) if isinstance(run, Cancelled | Retrying | Dead) else None


def check_at(deadlines: Deadlines, now: float) -> float:
    """Return when an execution is read again (UTC seconds), at the latest at the next deadline of its run."""
    return min(deadlines.next, now + CHECK_SECONDS)
