"""What a task is given: one attempt of a run, as its message says."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event
from typing import Any


class TaskMessageError(ValueError):
    """A message that does not come from Duecourse."""


@dataclass(frozen=True, slots=True)
class WorkerRun:
    """One attempt of a run. `scheduled_at` and `due_at` are ISO-8601 instants (UTC).

    `cancelled` is set when the work is not wanted any more: look at it now and then, or wait on it, and stop by raising
    anything. `token` is the attempt's own: whoever has it can end the run.
    """

    run_id: str
    job_id: str
    tenant: str
    scheduled_at: str
    due_at: str | None
    attempt: int
    idempotency_key: str
    payload: Any
    token: str | None = field(default=None, repr=False)
    cancelled: Event = field(default_factory=Event, repr=False, compare=False)
    beat: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)

    def heartbeat(self) -> None:
        """Send a heartbeat now. The worker sends them by itself; this learns at once whether to go on."""
        self.beat()


def read_run(body: str) -> WorkerRun:
    """The run that a message's body (JSON) speaks of. Raises MessageError, naming what is wrong."""
    try:
        event = json.loads(body)
    except ValueError as error:
        raise TaskMessageError(f"is no JSON ({error})") from error
    if not isinstance(event, dict):
        raise TaskMessageError("is no JSON object")
    callback = event.get("callback")
    token = callback.get("token") if isinstance(callback, dict) else None
    attempt = event.get("attempt")
    if not isinstance(attempt, int) or isinstance(attempt, bool):
        raise TaskMessageError("has no whole number as attempt")
    if callback is not None and not isinstance(token, str):
        raise TaskMessageError("has a callback without a token")
    return WorkerRun(
        run_id=_text(event, "run_id"),
        job_id=_text(event, "job_id"),
        tenant=_text(event, "tenant"),
        scheduled_at=_text(event, "scheduled_at"),
        due_at=event.get("due_at"),
        attempt=attempt,
        idempotency_key=_text(event, "idempotency_key"),
        payload=event.get("payload"),
        token=token,
    )


def _text(event: dict[str, Any], name: str) -> str:
    value = event.get(name)
    if not isinstance(value, str):
        raise TaskMessageError(f"has no text as {name}")
    return value
