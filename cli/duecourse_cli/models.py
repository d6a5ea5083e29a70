"""Jobs and runs as the API answers them; the whole document stays at hand in `document`."""

from __future__ import annotations

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
    """A job as the API shows it."""

    id: str
    schedule: str
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
        )

    @property
    def is_final(self) -> bool:
        """Whether the run can no longer change by itself."""
        return self.state in FINAL_STATES


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list, and the cursor of the next one."""

    items: tuple[T, ...]
    next_cursor: str | None
