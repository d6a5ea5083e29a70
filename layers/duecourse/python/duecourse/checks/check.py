"""What a look at one thing came to: a verdict, what it means, and what to do first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

RUNBOOKS = "docs/runbooks.md"


class CheckStatus(StrEnum):
    """`unknown`: it could not be checked."""

    OK = "ok"
    WARNING = "warning"
    BAD = "bad"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Check:
    """`do` and `runbook` (a page with its anchor) are there where something is to be done."""

    name: str
    verdict: CheckStatus
    says: str
    do: str | None = None
    runbook: str | None = None


def fine(name: str, says: str) -> Check:
    """Nothing to do."""
    return Check(name, CheckStatus.OK, says)


def warning(name: str, says: str, do: str, runbook: str | None = None) -> Check:
    """Something to look at."""
    return Check(name, CheckStatus.WARNING, says, do, runbook)


def bad(name: str, says: str, do: str, runbook: str | None = None) -> Check:
    """A problem that can be repaired."""
    return Check(name, CheckStatus.BAD, says, do, runbook)


RIGHTS = "check that your credentials can read it, and try again"


def unknown(name: str, why: str, do: str = RIGHTS, runbook: str = "docs/operations.md#rights-of-the-doctor") -> Check:
    """It could not be looked at; `why` is an error's text."""
    return Check(name, CheckStatus.UNKNOWN, f"could not be checked: {why}", do, runbook)


def runbook(anchor: str) -> str:
    """The runbook section of an alarm."""
    return f"{RUNBOOKS}#{anchor}"


def exit_status(checks: Sequence[Check]) -> int:
    """1 where something is bad, else 2 where something could not be looked at, else 0: warnings are no failure."""
    found = {check.verdict for check in checks}
    if CheckStatus.BAD in found:
        return 1
    return 2 if CheckStatus.UNKNOWN in found else 0


def span(seconds: float) -> str:
    """A length of time as people say it: `40 s`, `12 min`, `3.5 h`, `2.1 days`."""
    if abs(seconds) < 120:
        return f"{seconds:.0f} s"
    if abs(seconds) < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if abs(seconds) < 172_800 else f"{seconds / 86_400:.1f} days"
