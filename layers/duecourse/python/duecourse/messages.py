"""The messages in the lanes. Fields are only added, since old and new functions run at the same time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from enum import StrEnum
from operator import attrgetter
from typing import Any

import orjson

from duecourse.domain.documents import ANYTHING, COUNT, FLAG, INSTANT, NUMBER, PAIRS, SECONDS, TEXT, WHOLE
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.identity import OfRun, RunIdentity
from duecourse.domain.runs.states import Run
from duecourse.domain.schedules import ScheduleSpec
from duecourse.domain.schedules.occurrences import OccurrenceRules

_SAID = frozenset({"result", "retryable"})
"""Fields that are sent even if they are empty or false, since these are meaningful values."""

MAX_REPLACED = 20
"""The most messages that a copy names. One suffices unless records repeatedly cannot be read."""


class MessageError(ValueError):
    """A message body that this version cannot read."""


class MessageKind(StrEnum):
    """What a message requests of its worker. START an attempt; all others are about a run whose attempt was started:
    check whether its DEADLINE has passed, COMPLETE or FAIL it by its callback, CANCEL it, REDRIVE it, or EVALUATE a
    workflow's run: check whether its steps have ended.
    """

    START = "start"
    DEADLINE = "deadline"
    COMPLETE = "complete"
    FAIL = "fail"
    CANCEL = "cancel"
    REDRIVE = "redrive"
    EVALUATE = "evaluate"


@dataclass(frozen=True, slots=True)
class RunMessage(OfRun):
    """Requests a worker to start attempt `attempt` of a run, not before `not_before`. Instants are UTC seconds.

    In other kinds `attempt` is the attempt that they are about: `result` belongs to COMPLETE, `error`, `code`,
    `retryable` and `retry_after` to FAIL, `reason` to CANCEL.

    `nonce` is new at each send: a dead run's nonce under another message id is a redrive. `caught_up_at` is set if the
    run covers missed occurrences: the dispatcher's time. `waited`: the run has waited in the wait queue and its turn
    has come. `watch`: the message is the watch of the line in which that run waited, with this nonce.
    `deadline_message_id` belongs to DEADLINE: the name of the message in its run's record. `final`: no occurrence
    follows this one, whatever the schedule names (`max_runs`). `following` is when the next occurrence is due. `rules`
    are set if the run covers several missed occurrences: the rules that named them. `unstarted` belongs to REDRIVE: the
    run died before its first attempt (`attempt` cannot say so: it counts from 1). `replaces` are ids and nonces of the
    messages that this one replaces, the newest last: it continues what they began. `bulk`: it goes into the bulk queue
    of its lane (domain.tenants.seats).
    """

    identity: RunIdentity
    lane: Lane
    not_before: float
    nonce: str
    attempt: int = 1
    caught_up_at: float | None = None
    final: bool = False
    kind: MessageKind = MessageKind.START
    result: Any = None
    error: str | None = None
    code: str | None = None
    retryable: bool | None = None
    retry_after: float | None = None
    reason: str | None = None
    unstarted: bool = False
    waited: bool = False
    following: int | None = None
    rules: OccurrenceRules | None = None
    replaces: tuple[tuple[str, str], ...] = ()
    watch: str | None = None
    deadline_message_id: str | None = None
    bulk: bool = False

    def to_json(self) -> str:
        """The message body, without empty fields."""
        body = {
            name: value
            for name, read in _READ.items()
            if (value := read(self)) is not None and (name in _SAID or not _is_empty(value))
        }
        if self.kind is MessageKind.START:
            del body["kind"]  # most messages are starts
        return orjson.dumps(body).decode()

    def to_start(self, attempt: int, *, nonce: str, not_before: float) -> RunMessage:
        """The message that starts a later attempt of the same run, whatever this message's kind is."""
        return RunMessage(
            self.identity,
            self.lane,
            not_before,
            nonce,
            attempt,
            caught_up_at=self.caught_up_at,
            rules=self.rules,
            final=self.final,
            bulk=self.bulk,
        )

    @property
    def starts(self) -> int:
        """The attempt that it requests, if it requests one: a redrive names the attempt that died."""
        return self.attempt + (self.kind is MessageKind.REDRIVE and not self.unstarted)

    def again(self, *, nonce: str, not_before: float | None = None, instead_of: str | None = None) -> RunMessage:
        """A copy with a new nonce; `instead_of` is the id under which this message was received, if the copy replaces
        it.
        """
        replaced = () if instead_of is None else ((instead_of, self.nonce),)
        return replace(
            self,
            nonce=nonce,
            not_before=self.not_before if not_before is None else not_before,
            replaces=(*self.replaces, *replaced)[-MAX_REPLACED:],
        )


def message_about(run: Run, kind: MessageKind, *, now: float, nonce: str, **said: Any) -> RunMessage:
    """A message about a run's present attempt, for now. `said` are the fields of that kind."""
    return RunMessage(
        run.identity,
        run.lane,
        now,
        nonce,
        max(run.attempt, 1),  # of a queued run nothing has started: its first
        kind=kind,
        unstarted=kind is MessageKind.REDRIVE and run.attempt == 0,
        **said,
    )


def _is_empty(value: object) -> bool:
    return value is False or value in ("", ())


def read_run_message(body: str) -> RunMessage:
    """Parse a message body. Unknown fields are ignored. Raises MessageError, which names the field, if it is not a run
    message.
    """
    try:
        raw = orjson.loads(body)
    except ValueError as problem:
        raise MessageError(f"not a run message: no JSON ({problem})") from problem
    if not isinstance(raw, dict):
        raise MessageError("not a run message: no JSON object")
    values: dict[str, Any] = {}
    for name, (reads, wants) in _FIELDS.items():
        value = raw.get(name)
        if value is not None:
            if not reads(value):
                raise MessageError(f"not a run message: {name} is {str(value)[:40]!r}, wants {wants}")
            values[name] = value
        elif name in _REQUIRED:
            raise MessageError(f"not a run message: {name} is missing")
    values["kind"] = MessageKind(values.get("kind", MessageKind.START))
    if "rules" in values:
        values["rules"] = _rules(values["rules"])
    values["replaces"] = tuple((message_id, nonce) for message_id, nonce in values.get("replaces", ()))
    values |= {"lane": Lane(values["lane"]), "not_before": float(values["not_before"])}
    return RunMessage(RunIdentity(**{name: values.pop(name) for name in _IDENTITY & values.keys()}), **values)


def _rules(raw: dict[str, Any]) -> OccurrenceRules:
    """Parse rules; fields of later versions are ignored."""
    spec = {
        field.name: raw["schedule"].get(field.name) for field in fields(ScheduleSpec) if field.name in raw["schedule"]
    }
    return OccurrenceRules(ScheduleSpec(**spec), tuple(raw.get("exclude", ())), raw.get("jitter_seconds", 0))


def _are_rules(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("schedule"), dict) and "expression" in value["schedule"]


def _is_lane(value: object) -> bool:
    return value in list(Lane)


def _is_kind(value: object) -> bool:
    return value in list(MessageKind)


_FIELDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "tenant": TEXT,
    "job_id": TEXT,
    "occurrence": INSTANT,
    "due": INSTANT,
    "generation": WHOLE,
    "lane": (_is_lane, "one of " + ", ".join(Lane)),
    "not_before": NUMBER,
    "nonce": TEXT,
    "attempt": COUNT,
    "suffix": TEXT,
    "count": COUNT,
    "through": INSTANT,
    "caught_up_at": NUMBER,
    "final": FLAG,
    "kind": (_is_kind, "one of " + ", ".join(MessageKind)),
    "result": ANYTHING,
    "error": TEXT,
    "code": TEXT,
    "retryable": FLAG,
    "retry_after": SECONDS,
    "reason": TEXT,
    "own_payload": FLAG,
    "requested_by": TEXT,
    "correlation_id": TEXT,
    "workflow": TEXT,
    "unstarted": FLAG,
    "waited": FLAG,
    "following": INSTANT,
    "rules": (_are_rules, "the rules of a schedule"),
    "replaces": PAIRS,
    "watch": TEXT,
    "deadline_message_id": TEXT,
    "bulk": FLAG,
}
_IDENTITY = frozenset(field.name for field in fields(RunIdentity))
_READ = {name: attrgetter(f"identity.{name}" if name in _IDENTITY else name) for name in _FIELDS}
_REQUIRED = _FIELDS.keys() & {
    field.name for field in (*fields(RunIdentity), *fields(RunMessage)) if field.default is MISSING
}
