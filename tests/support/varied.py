"""Copies of records and messages with other fields."""

from dataclasses import MISSING, fields, replace
from typing import Any, TypeVar

from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.decision import StartRequest
from duecourse.domain.runs.states import STATES, Alive, Deadlines, Record, Run, RunState
from duecourse.messages import RunMessage

T = TypeVar("T", RunMessage, StartRequest, Run)
IDENTITY = tuple(field.name for field in fields(RunIdentity))
DEADLINES = tuple(field.name for field in fields(Deadlines))


def varied(of: T, **changes: Any) -> T:
    """The same with other fields; those of its identity may be among them, and of a run its state and deadlines."""
    if isinstance(of, Record):
        varied_run: T = _varied_run(of, **changes)
        return varied_run
    identity = {name: changes.pop(name) for name in IDENTITY if name in changes}
    return replace(of, identity=replace(of.identity, **identity), **changes)


def record(state: RunState, identity: RunIdentity, lane: Lane = Lane.NORMAL, **given: Any) -> Run:
    """A run in a state, with its deadlines among its fields. What the state must have and is not given is made up."""
    deadlines = {name: given.pop(name) for name in DEADLINES if name in given}
    kind, due = STATES[state], float(identity.due)
    needed = [field.name for field in fields(kind) if field.default is MISSING]
    made_up = {
        "started_at": due,
        "finished_at": due + 1,
        "lease_until": due + 120,
        "not_before": due + 10,
        "reason": "by a test",
    }
    has = {field.name for field in fields(kind)}
    own: dict[str, Any] = {name: made_up[name] for name in needed if name in made_up}
    own |= {name: value for name, value in given.items() if value is not None or (name in has and name not in needed)}
    if issubclass(kind, Alive) and (deadlines.get("waiting_until") is not None or "deadlines" in needed):
        own.setdefault("deadlines", Deadlines(**{"waiting_until": due + 3600, **deadlines}))
        deadlines = {}
    if foreign := [name for name, value in deadlines.items() if value is not None]:
        raise TypeError(f"a {state} run has no {foreign[0]}")
    return kind(identity, **{"lane": lane} | own)


def _varied_run(of: Any, state: RunState | None = None, **changes: Any) -> Any:
    """Of the fields of its state those are left that the other state has too."""
    identity = {name: changes.pop(name) for name in IDENTITY if name in changes}
    to = of.state if state is None else state
    has = {field.name for field in fields(STATES[to])}
    kept = {field.name: getattr(of, field.name) for field in fields(of) if field.name in has}
    deadlines = kept.pop("deadlines", None)
    flat = {} if deadlines is None else {name: getattr(deadlines, name) for name in DEADLINES}
    whose = replace(changes.pop("identity", kept.pop("identity")), **identity)
    return record(to, whose, **kept | flat | changes)
