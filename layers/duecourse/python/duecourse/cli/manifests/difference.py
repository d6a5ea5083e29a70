"""The differences between two documents of a job, field by field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from duecourse.client.bodies import JobRequest, WorkflowRequest

JOB_FIELDS = tuple(name for name in JobRequest.__annotations__ if name not in ("id", "task"))
WORKFLOW_FIELDS = tuple(WorkflowRequest.__annotations__)
"""The fields of a response that a document can contain. (`task` is an abbreviation for a target.)"""

OF_THE_WORKFLOW = (
    *("schedule", "timezone", "dst_gap", "dst_fold", "anchor", "start", "end"),
    *("exclude", "calendar", "on_excluded", "jitter_seconds", "spread", "max_runs", "missed"),
    *("expect_every", "start_within_seconds", "finish_by", "on_deadline"),
)
"""The fields that a step does not have, because its workflow decides when it runs."""

SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that would change: `retry.max_attempts`."""

    field: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.field}: {shown(self.before)} -> {shown(self.after)}"


def differences(before: Mapping[str, Any], after: Mapping[str, Any], prefix: str = "") -> Iterator[Difference]:
    """Yield the fields that differ. Objects are compared field by field."""
    for name in dict.fromkeys((*after, *before)):
        one, other = before.get(name), after.get(name)
        path = f"{prefix}{name}"
        if isinstance(one, Mapping) and isinstance(other, Mapping) and one.get("type") == other.get("type"):
            yield from differences(one, other, f"{path}.")
        elif not alike(one, other):
            yield Difference(path, one, other)


def alike(one: Any, other: Any) -> bool:
    """Return whether two values are the same JSON: true is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def only(document: Mapping[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    """Return these fields of a document."""
    return {name: document[name] for name in fields if name in document}


def shown(value: Any) -> str:
    """Return a value in one line, cut if it is long."""
    text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}… ({len(text)} characters)"
