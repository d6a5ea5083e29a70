"""What travels through the lanes. Fields are only ever added: old and new functions run side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, asdict, dataclass, fields, replace
from typing import Any, cast

import orjson

from duecourse.domain.ids import RunName
from duecourse.domain.job import Lane

LATEST = 253_402_300_799
"""The last second that has a name (9999-12-31T23:59:59Z)."""


class MessageError(ValueError):
    """A message body that this version cannot read."""


@dataclass(frozen=True, slots=True)
class RunMessage:
    """Asks a worker to start attempt `attempt` of a run, not before `not_before`. Instants are UTC seconds.

    `nonce` is drawn anew at each send: a dead run's nonce under another message id is a redrive.
    `caught_up_at` is set when the run stands for missed occurrences: the dispatcher's time.
    `final`: nothing comes after this occurrence, whatever the schedule says (`max_runs`).
    """

    tenant: str
    job_id: str
    occurrence: int
    due: int
    generation: int
    lane: Lane
    not_before: float
    nonce: str
    attempt: int = 1
    suffix: str = ""
    count: int = 1
    through: int | None = None
    caught_up_at: float | None = None
    final: bool = False

    @property
    def name(self) -> RunName:
        """The run it is about."""
        return RunName(self.job_id, self.occurrence, self.suffix)

    def to_json(self) -> str:
        """The message body; what is empty is left out."""
        body = {
            key: value
            for key, value in asdict(self).items()
            if value is not None and value != "" and value is not False
        }
        return orjson.dumps(body).decode()

    def again(self, *, nonce: str, not_before: float | None = None, attempt: int | None = None) -> RunMessage:
        """A fresh copy to send instead of this one."""
        return replace(
            self,
            nonce=nonce,
            not_before=self.not_before if not_before is None else not_before,
            attempt=self.attempt if attempt is None else attempt,
        )


def read_run_message(body: str) -> RunMessage:
    """The message of a body. Unknown fields are ignored. Raises MessageError, naming the field, for what is no run
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
    return RunMessage(**values | {"lane": Lane(values["lane"]), "not_before": float(values["not_before"])})


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return _is_whole(value) and cast(int, value) >= 1


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, float) or _is_whole(value)


def _is_instant(value: object) -> bool:
    """What lies outside cannot be named, not even in the log line that would tell of it."""
    return _is_whole(value) and 0 <= cast(int, value) <= LATEST


def _is_lane(value: object) -> bool:
    return value in list(Lane)


_TEXT = (_is_text, "text")
_COUNT = (_is_count, "a whole number from 1")
_INSTANT = (_is_instant, "whole UTC seconds")
_NUMBER = (_is_number, "UTC seconds")

_FIELDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "tenant": _TEXT,
    "job_id": _TEXT,
    "occurrence": _INSTANT,
    "due": _INSTANT,
    "generation": (_is_whole, "a whole number"),
    "lane": (_is_lane, "one of " + ", ".join(Lane)),
    "not_before": _NUMBER,
    "nonce": _TEXT,
    "attempt": _COUNT,
    "suffix": _TEXT,
    "count": _COUNT,
    "through": _INSTANT,
    "caught_up_at": _NUMBER,
    "final": (_is_flag, "true or false"),
}
_REQUIRED = frozenset(field.name for field in fields(RunMessage) if field.default is MISSING)
