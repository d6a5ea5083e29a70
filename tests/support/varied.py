"""Copies of records and messages with other fields."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

from duecourse.domain.runs.decision import StartRequest
from duecourse.domain.runs.run import Run
from duecourse.domain.runs.run_identity import RunIdentity
from duecourse.messages import RunMessage

T = TypeVar("T", Run, RunMessage, StartRequest)
IDENTITY = tuple(field.name for field in fields(RunIdentity))


def varied(of: T, **changes: Any) -> T:
    """The same with other fields; those of its identity may be among them."""
    identity = {name: changes.pop(name) for name in IDENTITY if name in changes}
    return replace(of, identity=replace(of.identity, **identity), **changes)
