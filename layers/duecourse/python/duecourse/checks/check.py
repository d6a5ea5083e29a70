"""The result of a check: a verdict, its meaning, and the first action to take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

RUNBOOKS = "docs/runbooks.md"


class CheckStatus(StrEnum):
    """The verdict of a check. `unknown` means that the check could not be done."""

    OK = "ok"
    WARNING = "warning"
    BAD = "bad"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check. `do` (the action to take) and `runbook` (a page with its anchor) are set if there is
    something to do.
    """

    name: str
    verdict: CheckStatus
    says: str
    do: str | None = None
    runbook: str | None = None


def fine(name: str, says: str) -> Check:
    """Return a check without a problem."""
    return Check(name, CheckStatus.OK, says)


def warning(name: str, says: str, do: str, runbook: str | None = None) -> Check:
    """Return a check with something to examine."""
    return Check(name, CheckStatus.WARNING, says, do, runbook)


def bad(name: str, says: str, do: str, runbook: str | None = None) -> Check:
    """Return a check with a problem that can be repaired."""
    return Check(name, CheckStatus.BAD, says, do, runbook)


RIGHTS = "check that your credentials can read it, and try again"


def unknown(
    name: str, why: str, do: str = RIGHTS, runbook: str = "docs/operations.md#permissions-for-duecourse-doctor"
) -> Check:
    """Return a check that could not be done. `why` is the text of an error."""
    return Check(name, CheckStatus.UNKNOWN, f"could not be checked: {why}", do, runbook)


def runbook(anchor: str) -> str:
    """Return the runbook section of an alarm."""
    return f"{RUNBOOKS}#{anchor}"


def exit_status(checks: Sequence[Check]) -> int:
    """Return 1 if a check is bad, otherwise 2 if one is unknown, otherwise 0. Warnings are not failures."""
    found = {check.verdict for check in checks}
    if CheckStatus.BAD in found:
        return 1
    return 2 if CheckStatus.UNKNOWN in found else 0


def span(seconds: float) -> str:
    """Return a duration as text: `40 s`, `12 min`, `3.5 h`, `2.1 days`."""
    if abs(seconds) < 120:
        return f"{seconds:.0f} s"
    if abs(seconds) < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if abs(seconds) < 172_800 else f"{seconds / 86_400:.1f} days"
