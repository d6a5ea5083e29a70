"""Runs that start when a run of another job has ended (`then`). Pure."""

from __future__ import annotations

import re
from typing import Any

from duecourse.domain.jobs.job import Job, ThenOn
from duecourse.domain.runs.notices import NOTIFIER
from duecourse.domain.runs.states import Cancelled, Dead, Run, Succeeded

AUTHOR = "duecourse:after"
"""The first word of the author of such a run. The id of the run before it and its place in the chain follow."""

MAX_CHAIN = 16
"""How many runs can follow one another by `then`, so that jobs cannot start each other forever."""

_AUTHOR = re.compile(rf"{AUTHOR} \S+ ([0-9]+)")


def author_of(run: Run) -> str:
    """Return the author of the runs that start after this one: `duecourse:after etl.20261121T060000Z 2`."""
    return f"{AUTHOR} {run.run_id} {place_of(run) + 1}"


def place_of(run: Run) -> int:
    """Return how many runs are before this one in its chain."""
    found = _AUTHOR.fullmatch(run.requested_by or "")
    return 0 if found is None else int(found[1])


def successors_of(run: Run, job: Job) -> list[str]:
    """Return the ids of the jobs that run after this run of the job. Nothing runs after the delivery of a notice,
    because a notice would begin a new chain.
    """
    match run:
        case Succeeded():
            ends = {ThenOn.SUCCEEDED, ThenOn.ANY}
        case Dead():
            ends = {ThenOn.DEAD, ThenOn.ANY}
        case Cancelled():
            ends = {ThenOn.ANY}
        case _:
            return []
    if run.requested_by == NOTIFIER:
        return []
    return list(dict.fromkeys(rule.job for rule in job.then if rule.on in ends))


def payload_after(run: Run, result: object) -> dict[str, Any]:
    """Return the payload of a run that starts after this one, which had this result."""
    return {
        "job_id": run.job_id,
        "run_id": run.run_id,
        "state": run.state.value,
        "result": result,
        "result_location": run.result_location if isinstance(run, Succeeded) else None,
        "error": run.error,
        "code": run.code,
    }
