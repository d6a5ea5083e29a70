"""Copies of records and messages with other fields."""

from dataclasses import MISSING, fields, replace
from typing import Any, TypeVar

from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.decision import StartRequest
from duecourse.domain.runs.states import STATES, Attempts, Callback, Deadlines, Failure, Record, Run, RunState
from duecourse.messages import RunMessage

T = TypeVar("T", RunMessage, StartRequest, Run)
IDENTITY = tuple(field.name for field in fields(RunIdentity))


def varied(of: T, **changes: Any) -> T:
    """The same with other fields; those of its identity may be among them, and of a run its state and deadlines."""
    if isinstance(of, Record):
        varied_run: T = _varied_run(of, **changes)
        return varied_run
    identity = {name: changes.pop(name) for name in IDENTITY if name in changes}
    return replace(of, identity=replace(of.identity, **identity), **changes)


PARTS: dict[str, type] = {"attempts": Attempts, "callback": Callback, "failure": Failure, "deadlines": Deadlines}
FLAT = {part: tuple(each.name for each in fields(kind)) for part, kind in PARTS.items()}
"""The fields of a record's parts, which tests give beside its other fields."""


def record(state: RunState, identity: RunIdentity, lane: Lane = Lane.NORMAL, **given: Any) -> Run:
    """A run in a state, with the fields of its parts among its fields. What the state must have and is not given is
    made up. What an attempt leaves in a record is left out if the run has made none or cannot have made one.
    """
    kind, due = STATES[state], float(identity.due)
    must = {field.name: field.default is MISSING for field in fields(kind)}
    flat = {part: {name: given.pop(name) for name in FLAT[part] if name in given} for part in PARTS}
    said = ({name: value for name, value in each.items() if value is not None} for each in flat.values())
    attempts, callback, failure, deadlines = said
    if callback:
        attempts.setdefault("callback", Callback(**{"callback_hash": "0" * 64} | callback))
    if must.get("attempts") or ("attempts" in must and attempts.get("attempt", 0) > 0):
        started = {"attempt": 1, "started_at": due} | attempts
        given.setdefault("attempts", Attempts(**{"first_started_at": started["started_at"]} | started))
    if failure and "failure" in must:
        given.setdefault("failure", Failure(**{"error": ""} | failure))
    if "deadlines" in must and ("waiting_until" in deadlines or must["deadlines"]):
        given.setdefault("deadlines", Deadlines(**{"waiting_until": due + 3600} | deadlines))
    elif deadlines:
        raise TypeError(f"a {state} run has no {next(iter(deadlines))}")
    made_up = {"finished_at": due + 1, "lease_until": due + 120, "not_before": due + 10, "reason": "by a test"}
    own: dict[str, Any] = {"lane": lane} | {name: value for name, value in made_up.items() if must.get(name)}
    own |= {name: value for name, value in given.items() if value is not None or must.get(name) is False}
    return kind(identity, **own)


def _varied_run(of: Any, state: RunState | None = None, **changes: Any) -> Any:
    """Of the fields of its state those are left that the other state has too."""
    identity = {name: changes.pop(name) for name in IDENTITY if name in changes}
    to = of.state if state is None else state
    has = {field.name for field in fields(STATES[to])}
    flat: dict[str, Any] = {}
    for part in PARTS:
        if (standing := getattr(of, part)) is not None and part not in changes and (part in has or part == "callback"):
            flat |= {name: getattr(standing, name) for name in FLAT[part]}
    flat.pop("callback", None)
    kept = {
        field.name: getattr(of, field.name) for field in fields(of) if field.name in has and field.name not in PARTS
    }
    whose = replace(changes.pop("identity", kept.pop("identity")), **identity)
    return record(to, whose, **kept | flat | changes)
