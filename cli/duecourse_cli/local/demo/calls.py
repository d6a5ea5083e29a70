"""What the receiver has seen: the calls of runs, and the notices of topics."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from duecourse_cli.models import instant


@dataclass(frozen=True, slots=True)
class ReceivedCall:
    """One call of a target, at the moment it arrived."""

    run_id: str
    job_id: str
    scheduled_at: datetime | None
    attempt: int
    arrived_at: datetime
    status: int

    @classmethod
    def from_headers(cls, headers: Mapping[str, str], arrived_at: datetime, status: int) -> ReceivedCall:
        """Read what Duecourse says in the headers of each call."""
        attempt = headers.get("X-Duecourse-Attempt", "")
        return cls(
            run_id=headers.get("X-Duecourse-Run-Id", ""),
            job_id=headers.get("X-Duecourse-Job-Id", ""),
            scheduled_at=instant(headers.get("X-Duecourse-Scheduled-At")),
            attempt=int(attempt) if attempt.isdigit() else 0,
            arrived_at=arrived_at,
            status=status,
        )

    @property
    def succeeded(self) -> bool:
        """Whether the target answered well."""
        return self.status < 400

    @property
    def lateness_seconds(self) -> float | None:
        """How long after its instant the call arrived; negative if it came early."""
        return None if self.scheduled_at is None else (self.arrived_at - self.scheduled_at).total_seconds()


class CallLog:
    """Calls and notices, written by the receiver's threads and read by the demo's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: list[ReceivedCall] = []
        self._notices: list[Mapping[str, Any]] = []

    def add_call(self, call: ReceivedCall) -> None:
        """A target was called."""
        with self._lock:
            self._calls.append(call)

    def add_notice(self, notice: Mapping[str, Any]) -> None:
        """A topic delivered this."""
        with self._lock:
            self._notices.append(notice)

    @property
    def calls(self) -> tuple[ReceivedCall, ...]:
        """All calls so far."""
        with self._lock:
            return tuple(self._calls)

    @property
    def notices(self) -> tuple[Mapping[str, Any], ...]:
        """All notices so far."""
        with self._lock:
            return tuple(self._notices)

    def of_run(self, run_id: str) -> tuple[ReceivedCall, ...]:
        """The calls of one run."""
        return tuple(call for call in self.calls if call.run_id == run_id)
