"""Who paused a job, told beside an occurrence that its pause skipped, whose record names the pause alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.change_record import ChangeAction, ChangeRecord
from duecourse.domain.runs.verdict import Explanation


def pause_over(changes: Iterable[ChangeRecord], at: int) -> ChangeRecord | None:
    """The pause that skipped the occurrence at `at` (UTC seconds), among a job's last changes, newest first: the last
    one before it, or the first one after, since a pause also skips what was due and not enqueued yet. None where the
    changes do not reach back to then.
    """
    found = None
    for change in changes:
        if change.action == ChangeAction.PAUSED:
            found = change
        if change.at <= at and found is not None:
            return found
    return None


def with_pause(found: Explanation, pause: ChangeRecord) -> Explanation:
    """The explanation with since when the job was paused, by whom and why."""
    since = to_iso(int(pause.at))
    note = next((change.get("after") for change in pause.changes if change["field"] == "paused_because"), None)
    because = "" if note is None else f" ({note})"
    facts = {"since": since, "by": pause.principal} | ({} if note is None else {"note": note})
    return replace(
        found,
        sentence=f"{found.sentence} It had been paused since {since} by {pause.principal}{because}.",
        facts={**found.facts, **facts},
    )
