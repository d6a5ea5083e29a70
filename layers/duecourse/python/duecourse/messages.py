"""What travels through the lanes. Fields are only ever added: old and new functions run side by side."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import orjson

from duecourse.domain.ids import RunName
from duecourse.domain.job import Lane


class MessageError(ValueError):
    """A message body that this version cannot read."""


@dataclass(frozen=True, slots=True)
class RunMessage:
    """Asks a worker to start attempt `attempt` of a run, not before `not_before`. Instants are UTC seconds.

    `nonce` is drawn anew at each send: a dead run's nonce under another message id is a redrive.
    `caught_up_at` is set when the run stands for missed occurrences: the dispatcher's time.
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

    @property
    def name(self) -> RunName:
        """The run it is about."""
        return RunName(self.job_id, self.occurrence, self.suffix)

    def to_json(self) -> str:
        """The message body; defaults are left out."""
        body = {key: value for key, value in asdict(self).items() if value not in (None, "")}
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
    """The message of a body. Unknown fields are ignored. Raises MessageError for what is no run message."""
    try:
        raw: dict[str, Any] = orjson.loads(body)
        return RunMessage(
            tenant=str(raw["tenant"]),
            job_id=str(raw["job_id"]),
            occurrence=int(raw["occurrence"]),
            due=int(raw["due"]),
            generation=int(raw["generation"]),
            lane=Lane(raw["lane"]),
            not_before=float(raw["not_before"]),
            nonce=str(raw["nonce"]),
            attempt=int(raw.get("attempt", 1)),
            suffix=str(raw.get("suffix", "")),
            count=int(raw.get("count", 1)),
            through=raw.get("through"),
            caught_up_at=raw.get("caught_up_at"),
        )
    except (KeyError, TypeError, ValueError) as problem:
        raise MessageError(f"not a run message: {problem!r}") from problem
