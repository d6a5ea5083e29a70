"""Runs that start when a run of another job has ended (`then`). Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from duecourse.domain.jobs.job import Job, ThenOn
from duecourse.domain.runs.notices import NOTIFIER
from duecourse.domain.runs.states import Cancelled, Dead, Run, Succeeded

AUTHOR = "duecourse:after"
"""The first word of the author of such a run. The id of the run before it, its place in the chain, and the number of
runs that may follow it are the other words.
"""

MAX_CHAIN = 16
"""How many runs can follow one another by `then`, so that jobs cannot start each other forever."""

MAX_FOLLOWING = 1_000
"""How many runs can follow one run altogether, so that jobs that start several others do not multiply."""

_AUTHOR = re.compile(rf"{AUTHOR} \S+ ([0-9]+) ([0-9]+)")


@dataclass(frozen=True, slots=True)
class Chain:
    """The place of a run among those that follow one another: how many are before it, and how many may follow it."""

    place: int = 0
    following: int = MAX_FOLLOWING


def chain_of(run: Run) -> Chain:
    """Return the place of a run, which its author has."""
    found = _AUTHOR.fullmatch(run.requested_by or "")
    return Chain() if found is None else Chain(int(found[1]), int(found[2]))


def chain_after(run: Run, successors: int) -> Chain | None:
    """Return the place of each of so many runs that follow a run: they share the number of runs that may follow it.
    None if so many may not follow it.
    """
    chain = chain_of(run)
    left = chain.following - successors
    return None if left < 0 or chain.place >= MAX_CHAIN else Chain(chain.place + 1, left // max(successors, 1))


def author_of(run: Run, chain: Chain) -> str:
    """Return the author of a run that starts after `run`: `duecourse:after etl.20261121T060000Z 2 499`."""
    return f"{AUTHOR} {run.run_id} {chain.place} {chain.following}"


def successors_of(run: Run, job: Job) -> list[str]:
    """Return the ids of the jobs that run after this run of the job. Nothing runs after the delivery of a notice or
    after a step, because these runs do not belong to a chain; a workflow starts other jobs when its own run has ended.
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
    if run.requested_by == NOTIFIER or run.is_step:
        return []
    return list(dict.fromkeys(rule.job for rule in job.then if rule.on in ends))


def payload_after(run: Run, result: object) -> dict[str, Any]:
    """Return the payload of a run that starts after this one, which had this result."""
    return {
        "job_id": run.job_id,
        "run_id": run.run_id,
        "state": run.state.value,
        "result": result,
        "result_bytes": run.result_bytes if isinstance(run, Succeeded) else None,
        "result_location": run.result_location if isinstance(run, Succeeded) else None,
        "error": run.error,
        "code": run.code,
    }
