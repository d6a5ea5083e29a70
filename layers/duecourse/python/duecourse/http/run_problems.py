"""What is refused about runs."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from duecourse.domain.run import RunState
from duecourse.http.problems import MAX_POINTER, Fault, Problem
from duecourse.usecases.callbacks import AttemptOverError
from duecourse.usecases.commands import JobGoneError, NotDeadError, RunStateError

LANE_RETRY_SECONDS = 5


class StateProblem(Problem):
    """409: that cannot be asked of a run in this state, which the answer names (`state`)."""

    def __init__(self, kind: str, detail: str, state: RunState) -> None:
        super().__init__(HTTPStatus.CONFLICT, kind, detail)
        self.state = state

    def document(self, request_id: str) -> dict[str, Any]:
        """The answer's body."""
        return super().document(request_id) | {"state": self.state.value}


def unknown_run(run_id: str) -> Problem:
    """A run that is not there."""
    shown = run_id if len(run_id) <= MAX_POINTER else run_id[: MAX_POINTER - 1] + "…"
    return Problem(HTTPStatus.NOT_FOUND, "unknown-run", f'There is no run "{shown}".')


def bad_token() -> Problem:
    """One answer for every token that opens nothing, so that nobody learns from it which runs there are."""
    return Problem(
        HTTPStatus.UNAUTHORIZED,
        "bad-token",
        "This needs the token that the target was given with the run's present attempt, as Authorization: Bearer "
        "<token>. Whoever works with an earlier attempt's token may stop: another attempt has begun.",
        headers={"www-authenticate": "Bearer"},
    )


def wrong_state(error: RunStateError) -> Problem:
    """A run in another state than is needed."""
    run = error.run
    match error:
        case AttemptOverError():
            detail = f"Attempt {run.attempt} of {run.name} is over; the run is {run.state}. Stop working on it."
            return StateProblem("attempt-over", detail, run.state)
        case NotDeadError():
            return StateProblem("not-dead", f"{run.name} is {run.state}; only dead runs are redriven.", run.state)
        case JobGoneError():
            detail = f"The job of {run.name} was deleted; nothing says any more what to call."
            return StateProblem("job-deleted", detail, run.state)
        case _:
            return StateProblem("run-ended", f"{run.name} has ended: it is {run.state}.", run.state)


def lane_unavailable() -> Problem:
    """The queue did not take the message."""
    return Problem(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "lane-unavailable",
        "The queue took nothing; nothing was changed. Try again in some seconds.",
        headers={"retry-after": str(LANE_RETRY_SECONDS)},
    )


def bad_body(faults: Sequence[Fault]) -> Problem:
    """A body that was understood and cannot be acted upon."""
    count = "One field is" if len(faults) == 1 else f"{len(faults)} fields are"
    return Problem(
        HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-command", f"{count} wrong; nothing was changed.", faults=faults
    )
