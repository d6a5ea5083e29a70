"""What answers show and requests do not set. GET's answer can be put back: such a field is ignored as it stands, and
refused by name where it says something else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from duecourse.api.answers import job_document
from duecourse.api.problems.problems import FieldFault, Problem, invalid
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.policies import JobState
from duecourse.usecases.jobs.job_view import JobView

KEPT = ("tenant", "state", "paused_by", "paused_because", "created_at", "workflow")
"""What other requests set."""

DERIVED = ("understood_as", "schedule_canonical", "next_occurrence", "updated_at", "error")
"""What follows from the rest of the body, from the time and from the last write. Ignored whatever they say: after the
first of two equal requests they differ, and the second has to be the same as the first.
"""

T = TypeVar("T")


def judged(value: Any, job_id: str | None, job: Job | None, kind: str, read: Callable[[Any], T]) -> T:
    """What `read` makes of a body without its read-only fields, over the job that stands (None: a new one). The body
    may repeat the id of the path.

    Raises Problem, of this `kind` where fields are wrong, with the faults of both.
    """
    if not isinstance(value, Mapping):
        return read(value)
    faults = _changed(value, job)
    if job_id is not None and value.get("id") not in (None, job_id):
        faults.append(FieldFault("is another id than the path's; an id cannot be changed", "/id"))
    try:
        found = read({name: each for name, each in value.items() if name not in (*KEPT, *DERIVED)})
    except Problem as problem:
        if not faults or problem.kind != kind:
            raise
        raise _refusal([*faults, *problem.faults], kind) from None
    if faults:
        raise _refusal(faults, kind)
    return found


def _refusal(faults: list[FieldFault], kind: str) -> Problem:
    return invalid(sorted(faults, key=lambda fault: fault.pointer or ""), kind)


def _changed(value: Mapping[str, Any], job: Job | None) -> list[FieldFault]:
    shown = dict.fromkeys(KEPT) if job is None else job_document(JobView(job, None))
    return [
        FieldFault(_told(shown[name], job), f"/{name}")
        for name in sorted(KEPT)
        if name in value and not _same(name, value[name], shown[name])
    ]


def _same(name: str, said: object, stands: object) -> bool:
    """A job is ACTIVE or COMPLETED by its schedule and the time; only a pause is somebody's doing."""
    by_itself = (JobState.ACTIVE.value, JobState.COMPLETED.value)
    return said == stands or (name == "state" and said in by_itself and stands in by_itself)


def _told(stands: object, job: Job | None) -> str:
    what = "a new job has none yet" if job is None else f"it is {json.dumps(stands, ensure_ascii=False)}"
    return f"read-only: {what}; leave it out"
