"""Maps rejections of use cases to problem documents, in one place for all routes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from duecourse.api.api import out_of_reach
from duecourse.api.problems import (
    FieldFault,
    Problem,
    invalid,
    later,
    pointer,
    shortened,
    unknown_job,
    unknown_workflow,
)
from duecourse.api.request import IDEMPOTENCY_KEY as HEADER
from duecourse.domain.jobs.backfill import AtOnceError, BackfillTooLargeError
from duecourse.domain.runs.states import RunState
from duecourse.ports import (
    DefinitionUnreadableError,
    GraphMissingError,
    JobQuotaError,
    KeyUsedError,
    StoreBusyError,
    TasksUnavailableError,
)
from duecourse.usecases.jobs.job_errors import (
    IdempotencyKeyExpiredError,
    JobChangedError,
    JobExistsError,
    JobReachError,
    JobUnknownError,
    JobUnreadableError,
    JobVersionError,
    KeyReusedError,
    NoPingExpectedError,
    PauseEndError,
    ShadowJobError,
)
from duecourse.usecases.jobs.membership import StepError
from duecourse.usecases.runs.commands import (
    AttemptOverError,
    BadTokenError,
    JobGoneError,
    NotDeadError,
    NothingToRedriveError,
    NotWaitingError,
    RunStateError,
)
from duecourse.usecases.runs.lists import RunUnknownError
from duecourse.usecases.runs.operations import OperationReplacedError
from duecourse.usecases.runs.requests import LaneUnavailableError
from duecourse.usecases.runs.rerun import NoStepError, RunNotEndedError
from duecourse.usecases.runs.rescheduling import NotDelayedError
from duecourse.usecases.runs.skip_next import NothingToSkipError
from duecourse.usecases.tenants import RunQuotaError
from duecourse.usecases.workflows.manage import NoWorkflowError, WorkflowInvalidError
from duecourse.usecases.workflows.workflows import NoWorkflowRunError
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError

SHOWN = 10
"""The maximum number of jobs that a problem names."""

_UNCHANGED = re.compile(r"(; n|\. N)othing was changed\.")


class StateProblem(Problem):
    """409: the run's state does not allow this request. The response contains the state (`state`)."""

    def __init__(self, kind: str, detail: str, state: RunState) -> None:
        super().__init__(kind, detail)
        self.state = state

    def document(self, request_id: str) -> dict[str, Any]:
        """Return the response's body."""
        return super().document(request_id) | {"state": self.state.value}


def refusal(error: Exception, job_quota: int, path: Mapping[str, str], kinds: Sequence[str]) -> Problem | None:
    """Return the Problem of a rejection by a use case; None if the error is not a rejection. `path` has the id of the
    job or run. `kinds` are the route's own kinds of problem. An invalid schedule is the caller's error only if they
    contain `invalid-job`.
    """
    if isinstance(error, Problem):
        return error
    problem = (
        _of_job(error, path)
        or _of_creation(error, job_quota)
        or _of_schedule(error)
        or _of_run(error)
        or _of_workflow(error)
    )
    return None if problem is not None and problem.kind == "invalid-job" and problem.kind not in kinds else problem


def partly_done(problem: Problem, written: Sequence[str]) -> Problem:
    """Return the problem of a request that changed the jobs `written` before it was rejected."""
    shown = ", ".join(sorted(written)[:SHOWN]) + (f" and {len(written) - SHOWN} others" if len(written) > SHOWN else "")
    why = _UNCHANGED.sub(".", problem.detail)
    detail = f"{why} These jobs were changed before: {shown}. Send the same request again; it continues."
    return Problem(problem.kind, detail, faults=problem.faults, headers=problem.headers)


def busy() -> Problem:
    """Return 503 for a valid request that the stage cannot process now."""
    return later("busy", "Too many writes are in progress; nothing was changed. Try again in a few seconds.")


def bad_token() -> Problem:
    """Return the same response for every invalid token, so that responses do not reveal which runs exist."""
    return Problem(
        "bad-token",
        "This request requires the callback token of the run's current attempt, as Authorization: "
        "Bearer <token>. If you have the token of an earlier attempt, stop working: another attempt has started.",
        headers={"www-authenticate": "Bearer"},
    )


def _of_job(error: Exception, path: Mapping[str, str]) -> Problem | None:
    match error:
        case JobUnknownError() if "workflow_id" in path:
            return unknown_workflow(unquote(path["workflow_id"]))
        case JobUnknownError():
            return unknown_job(str(error))
        case JobReachError():
            return out_of_reach(error)
        case JobVersionError():
            return _version(error)
        case JobChangedError() | KeyUsedError():
            return Problem("job-changed", "Another request changed the job at the same time; try again.")
        case JobUnreadableError():
            return Problem(
                "job-unreadable",
                "The job's cursor cannot be read, so the job cannot be changed. "
                "Delete the job and create it again, or contact the operator. Nothing was changed.",
            )
        case DefinitionUnreadableError() if "run_id" not in path:  # a worker's request is repeated after a 500
            detail = "This release cannot read the job, because a newer release wrote it or it is damaged."
            return Problem("job-unreadable", f"{detail} Contact the operator, who can deploy that release again.")
        case ShadowJobError():
            remedy = "compare it (duecourse shadow report), and then promote it (duecourse shadow promote)"
            return Problem("is-shadow", f"{error} is a shadow of another scheduler, so it stays paused; {remedy}.")
        case StoreBusyError():
            return busy()
        case TasksUnavailableError():
            detail = "The registered tasks are temporarily unavailable; nothing was changed."
            return later("tasks-unavailable", f"{detail} Try again in a few seconds.")
    return None


def _of_creation(error: Exception, job_quota: int) -> Problem | None:
    match error:
        case JobExistsError():
            fault = FieldFault("is taken; choose another id, or change that job (jobs edit, jobs patch, apply)", "/id")
            return Problem("job-exists", f'A job "{error}" already exists.', faults=[fault])
        case KeyReusedError():
            detail = "was used for a request with another body; send a new key with a new request"
            return _key("idempotency-key-reused", detail)
        case IdempotencyKeyExpiredError():
            detail = f'created the job "{error}", which was deleted later; send a new key to create it again'
            return _key("idempotency-key-expired", detail)
        case OperationReplacedError():
            detail = f"created the operation {error}, which has ended and is not kept; send a new key to create another"
            return _key("idempotency-key-expired", detail)
        case JobQuotaError():
            full = f"The quota of {job_quota} jobs that have not ended (job_quota) is reached"
            return Problem("job-quota", f"{full}; delete some jobs, or ask the operator for a larger quota.")
        case RunQuotaError(hour=hour, quota=quota):
            full = (
                f"The quota of {quota} delayed runs that are due in the hour {hour} (delayed_runs_per_hour) is reached"
            )
            return Problem("run-quota", f"{full}; choose another time, or ask the operator for a larger quota.")
    return None


def _of_schedule(error: Exception) -> Problem | None:
    match error:
        case ExclusionError():
            return invalid([FieldFault(error.detail, f"/exclude/{error.index}")])
        case ScheduleError():
            return invalid([FieldFault(error.detail, error.pointer)])
        case BackfillTooLargeError():
            return _too_large(error)
        case AtOnceError():
            return invalid([FieldFault(str(error), "/at_once")], "invalid-command")
        case PauseEndError():
            return invalid([FieldFault(str(error), f"/{error.field}")], "invalid-command")
        case NothingToSkipError():
            detail = "The job has no future occurrence to skip; check its schedule, its end and max_runs."
            return Problem("nothing-to-skip", detail)
        case NoPingExpectedError():
            return Problem("no-ping-expected", f"The job {error} does not expect pings; set its field expect_every.")
    return None


def _of_run(error: Exception) -> Problem | None:
    match error:
        case RunUnknownError():
            return Problem("unknown-run", f'There is no run "{shortened(str(error))}".')
        case BadTokenError():
            return bad_token()
        case RunStateError():
            return _state(error)
        case LaneUnavailableError():
            names = f"only {', '.join(error.started)} was started"
            effect = names if error.started else "no run is affected, even if the job's history has the request"
            return later("lane-unavailable", f"The queue did not accept the message; {effect}. Repeat the request.")
    return None


def _of_workflow(error: Exception) -> Problem | None:
    match error:
        case WorkflowInvalidError():
            kind = "workflow-conflict" if all(fault.conflict for fault in error.faults) else "invalid-workflow"
            return invalid([FieldFault(fault.detail, pointer(fault.path)) for fault in error.faults], kind)
        case NoWorkflowError():
            detail = f'"{error}" is a job that is not a workflow; choose another id, or delete that job first'
            return Problem("workflow-conflict", f"{detail}. Nothing was changed.")
        case StepError():
            remedy = f"remove it from the workflow first, with PUT /v1/workflows/{error.workflow}"
            return Problem("in-workflow", f"{error.job_id} is a step of the workflow {error.workflow}; {remedy}.")
        case GraphMissingError():
            return Problem(
                "graph-missing",
                "The stored graph of the workflow has expired; create the workflow again with PUT /v1/workflows/<id>.",
            )
        case NoWorkflowRunError():
            run = error.run
            detail = f"{run.name} is not a run of a workflow, or has not started: it is {run.state}."
            return StateProblem("no-workflow-run", detail, run.state)
        case NoStepError():
            faults = [
                FieldFault(f"{name} is not a step of this run", f"/from/{at}") for at, name in error.names.items()
            ]
            return invalid(faults, "invalid-command")
    return None


def _version(error: JobVersionError) -> Problem:
    """Return 412: the job or calendar has a different version than the caller expects."""
    if error.version is None:
        detail = f"The {error.kind} does not exist, so If-Match cannot match; remove If-Match to create it"
        header = "if-match"
    else:
        detail = f'The {error.kind} now has the version "{error.version}"; read it again and repeat the change'
        header = "if-none-match" if error.absent else "if-match"
    return Problem("etag-mismatch", f"{detail}. Nothing was changed.", faults=[FieldFault(detail, header=header)])


def _key(kind: str, detail: str) -> Problem:
    return Problem(kind, f"The Idempotency-Key {detail}.", faults=[FieldFault(detail, header=HEADER)])


def _too_large(error: BackfillTooLargeError) -> Problem:
    count = f"more than {error.count}" if error.at_least else str(error.count)
    detail = f"The range has {count} occurrences; at most {error.limit} can be backfilled at once"
    fault = FieldFault(
        f"gives a range of {count} occurrences; at most {error.limit} are allowed: choose a shorter range", "/to"
    )
    return Problem("backfill-too-large", f"{detail}. Nothing was started.", faults=[fault])


def _state(error: RunStateError) -> Problem:
    run = error.run
    match error:
        case AttemptOverError():
            detail = f"Attempt {run.attempt} of {run.name} has ended; the run is {run.state}. Stop working on it."
            return StateProblem("attempt-over", detail, run.state)
        case NotDeadError():
            return StateProblem(
                "not-dead", f"{run.name} is {run.state}; only dead runs can be redriven or discarded.", run.state
            )
        case NotWaitingError():
            waits = "the run of a workflow" if run.is_workflow else run.state
            detail = f"{run.name} is {waits}; only runs that wait for a callback can be marked as succeeded."
            return StateProblem("not-waiting", detail, run.state)
        case NotDelayedError():
            detail = f"{run.name} is {run.state}; only a requested run that has not come due can be rescheduled."
            return StateProblem("not-delayed", f"{detail} Nothing was changed.", run.state)
        case NothingToRedriveError(failed=failed):
            detail = (
                f"No failed step of {run.name} is dead in this run: {', '.join(failed)}. Rerun it from these steps."
            )
            return StateProblem("nothing-to-redrive", detail, run.state)
        case RunNotEndedError() if run.state.final:
            detail = (
                f"{run.name} continues, because a step of it was redriven. Wait until it ends, or cancel the "
                "run of the step."
            )
            return StateProblem("run-not-ended", detail, run.state)
        case RunNotEndedError():
            detail = f"{run.name} has not ended: it is {run.state}. Cancel it, or redrive its dead steps."
            return StateProblem("run-not-ended", detail, run.state)
        case JobGoneError():
            detail = f"The job of {run.name} was deleted, so its target is no longer known."
            return StateProblem("job-deleted", detail, run.state)
        case _:
            return StateProblem("run-ended", f"{run.name} has ended: it is {run.state}.", run.state)
