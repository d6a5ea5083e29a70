"""The gate of a concurrency key: which key a run has, how many places the key has, and the run's priority for them.

A place has a holder and a wait queue, unlike the gates that make a run wait until an instant. domain/runs/overlap.py
decides who has a place, and places.py takes it.
"""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.jobs.job import Concurrency, Job
from duecourse.domain.runs.decision import Start
from duecourse.domain.runs.rendering import concurrency_key
from duecourse.domain.runs.states import Queued, Run


def limit_of(run: Run, job: Job) -> int | None:
    """Return the limit of the run's key: the limit of its job, or else of its backfill, or of the redriven items of its
    step's run. None if it has no key. Runs of a job that keeps only its newest waiting run do not take the key of a
    backfill. An item starts for the first time when the ends of others allow it, which needs no key.
    """
    if run.is_workflow:
        return None
    if job.concurrency is not None:
        return job.concurrency.limit
    if run.name.item is not None and not run.round:
        return None
    return None if run.at_once is None or job.rule.only_newest else run.at_once


def key_of(concurrency: Concurrency, job: Job) -> str:
    """Return the key of a run. `job` has the payload of the run. Raises TemplateError."""
    return concurrency_key(concurrency.key, job.id, job.payload)


def with_priority(decision: Start, job: Job, key: str) -> Start:
    """Return the start of a run with its priority among the runs that wait for its key. A run that has started, or
    waits for this key, keeps its priority.
    """
    previous, priority = decision.continued, 0 if job.concurrency is None else job.concurrency.priority
    if previous is not None and not (isinstance(previous, Queued) and previous.key != key):
        priority = previous.wait_priority
    identity = replace(decision.run.identity, wait_priority=priority)
    return replace(decision, run=replace(decision.run, identity=identity))
