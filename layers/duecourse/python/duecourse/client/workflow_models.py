"""Workflows and their runs as the API answers them; the whole document stays at hand in `document`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from duecourse.client.models import FINAL_STATES, instant


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow as the API shows it. `created` and `changed` are ids of jobs, as its PUT says
    them; `jobs` is empty in a list.
    """

    id: str
    state: str
    schedule: str | None
    next_occurrence: datetime | None
    jobs: Mapping[str, Mapping[str, Any]]
    created: tuple[str, ...]
    changed: tuple[str, ...]
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Workflow:
        """Read the API's answer: a workflow, one of a list (without its jobs), or what came of a PUT."""
        return cls(
            id=document["id"],
            state=document["state"],
            schedule=document["schedule"],
            next_occurrence=instant(document.get("next_occurrence")),
            jobs=document.get("jobs", {}),
            created=tuple(document.get("created", ())),
            changed=tuple(document.get("changed", ())),
            document=document,
        )


@dataclass(frozen=True, slots=True)
class WorkflowJob:
    """A job in a run of its workflow: the state of its run, or WAITS, DUE or LEFT where it has none."""

    id: str
    state: str
    reason: str | None
    run: str | None
    given: bool
    waits_for: tuple[str, ...]
    attempts: int
    error: str | None


@dataclass(frozen=True, slots=True)
class WorkflowRun:
    """A run of a workflow with the state of each of its jobs."""

    id: str
    state: str
    reason: str | None
    error: str | None
    deadline: datetime | None
    rerun_of: str | None
    counts: Mapping[str, int]
    jobs: tuple[WorkflowJob, ...]
    document: Mapping[str, Any]

    @property
    def is_final(self) -> bool:
        """Whether it has ended."""
        return self.state in FINAL_STATES

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> WorkflowRun:
        """Read the API's answer."""
        return cls(
            id=document["run"],
            state=document["state"],
            reason=document.get("reason"),
            error=document.get("error"),
            deadline=instant(document.get("deadline")),
            rerun_of=document.get("rerun_of"),
            counts=document["counts"],
            jobs=tuple(_workflow_job(job) for job in document["jobs"]),
            document=document,
        )


def _workflow_job(document: Mapping[str, Any]) -> WorkflowJob:
    return WorkflowJob(
        id=document["id"],
        state=document["state"],
        reason=document.get("reason"),
        run=document.get("run"),
        given=document.get("given", False),
        waits_for=tuple(document.get("waits_for", ())),
        attempts=document.get("attempts", 0),
        error=document.get("error"),
    )
