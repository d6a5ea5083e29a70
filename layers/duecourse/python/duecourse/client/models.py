"""Jobs and runs as the API answers them; the whole document stays at hand in `document`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

FINAL_STATES = frozenset({"SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"})

T = TypeVar("T")


def instant(text: str | None) -> datetime | None:
    """Read an instant like `2026-11-21T06:47:00Z`; an absent one stays None."""
    if text is None:
        return None
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _required(text: str) -> datetime:
    found = instant(text)
    if found is None:
        raise ValueError("an instant is missing in the API's answer")
    return found


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the API shows it. `schedule` is None for one that runs only when it is asked to."""

    id: str
    schedule: str | None
    state: str
    next_occurrence: datetime | None
    error: str | None
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Job:
        """Read the API's answer."""
        return cls(
            id=document["id"],
            schedule=document["schedule"],
            state=document["state"],
            next_occurrence=instant(document.get("next_occurrence")),
            error=document.get("error"),
            document=document,
        )


@dataclass(frozen=True, slots=True)
class Change:
    """Who did what to a job, as the API shows it. `what` says it in a line."""

    at: datetime
    principal: str
    action: str
    what: str
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Change:
        """Read the API's answer."""
        said = [_difference(change) for change in document["changes"]]
        said += [f"{name} {_value(value)}" for name, value in document["facts"].items()]
        return cls(
            at=_required(document["at"]),
            principal=document["principal"],
            action=document["action"],
            what="; ".join(said),
            document=document,
        )


def _difference(change: Mapping[str, Any]) -> str:
    """`timeout_seconds 30 -> 60`; the name alone of a field whose values are not shown."""
    name: str = change["field"]
    return f"{name} {_value(change['before'])} -> {_value(change['after'])}" if "before" in change else name


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Run:
    """A run as the API shows it."""

    id: str
    job_id: str
    state: str
    reason: str | None
    occurrence: datetime
    due: datetime
    lateness_seconds: float | None
    attempts: int
    max_attempts: int
    error: str | None
    count: int
    document: Mapping[str, Any]
    code: str | None = None
    cancel_requested: bool = False

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Run:
        """Read the API's answer."""
        occurrence = _required(document["occurrence"])
        error = document.get("error")
        return cls(
            id=document["id"],
            job_id=document["job_id"],
            state=document["state"],
            reason=document.get("reason"),
            occurrence=occurrence,
            due=instant(document.get("due")) or occurrence,
            lateness_seconds=document.get("lateness_seconds"),
            attempts=document.get("attempts") or 0,
            max_attempts=document.get("max_attempts") or 0,
            error=None if error is None else str(error),
            count=document.get("count") or 1,
            document=document,
            code=document.get("code"),
            cancel_requested=bool(document.get("cancel_requested")),
        )

    @property
    def is_final(self) -> bool:
        """Whether the run can no longer change by itself."""
        return self.state in FINAL_STATES


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What a heartbeat is answered: whether the attempt should end, and by when the next one is due.

    `answered_at` is the API's own time, so that `seconds_left` does not depend on this machine's clock.
    """

    state: str
    cancel_requested: bool
    reason: str | None
    heartbeat_until: datetime | None
    waiting_until: datetime | None
    answered_at: datetime

    @property
    def seconds_left(self) -> float | None:
        """How long until the next heartbeat is due; None where the job asks for none."""
        return None if self.heartbeat_until is None else (self.heartbeat_until - self.answered_at).total_seconds()

    @classmethod
    def from_document(cls, document: Mapping[str, Any], answered_at: datetime | None = None) -> Heartbeat:
        """Read the API's answer; it was given now unless `answered_at` is known."""
        return cls(
            answered_at=datetime.now(UTC) if answered_at is None else answered_at,
            state=document["state"],
            cancel_requested=bool(document.get("cancel_requested")),
            reason=document.get("reason"),
            heartbeat_until=instant(document.get("heartbeat_until")),
            waiting_until=instant(document.get("waiting_until")),
        )


@dataclass(frozen=True, slots=True)
class Redriven:
    """How many dead runs were redriven, how many were refused, and whether more of them remain (from `next_cursor`)."""

    redriven: int
    refused: int
    more: bool
    next_cursor: str | None
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Redriven:
        """Read the API's answer."""
        return cls(
            redriven=document["redriven"],
            refused=document.get("refused", 0),
            more=bool(document.get("more")),
            next_cursor=document.get("next_cursor"),
            document=document,
        )


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list, and the cursor of the next one."""

    items: tuple[T, ...]
    next_cursor: str | None
