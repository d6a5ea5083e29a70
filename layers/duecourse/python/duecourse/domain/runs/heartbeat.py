"""Signs of life of a run, and how far its work is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duecourse.domain.runs.run import Running, T, Waiting

BEAT_SECONDS = 5
"""The shortest interval between two written heartbeats of a run. A deadline is later by this much, so that heartbeats
in between need not move it.
"""


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """What a program says of its work: `progress` from 0 to 1, and a `note` (empty: none any more). None: as it was."""

    progress: float | None = None
    note: str | None = None


NOTHING = ProgressReport()


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What a heartbeat writes: when it came and by when the next one must (UTC seconds; None: as it was), and its
    report.
    """

    at: float
    until: float | None
    report: ProgressReport

    def beaten(self, run: T) -> T:
        """The run after this heartbeat."""
        deadlines = run.deadlines
        if deadlines is not None and self.until is not None:
            deadlines = replace(deadlines, heartbeat_until=self.until)
        return replace(
            run,
            deadlines=deadlines,
            heartbeat_at=self.at,
            progress=run.progress if self.report.progress is None else self.report.progress,
            note=run.note if self.report.note is None else self.report.note,
        )


def decide_heartbeat(
    run: Running | Waiting, heartbeat_seconds: int | None, report: ProgressReport, *, now: float
) -> Heartbeat | None:
    """What a heartbeat of a run that is alive writes; None: nothing, since a whole interval is left of its deadline and
    its report is no news, or the last written heartbeat is younger than BEAT_SECONDS.
    """
    until = _deadline(run, heartbeat_seconds, now)
    recent = run.heartbeat_at is not None and now < run.heartbeat_at + BEAT_SECONDS
    beat = Heartbeat(now, until, report)
    news = (beat.beaten(run).progress, beat.beaten(run).note) != (run.progress, run.note)
    return beat if until is not None or (news and not recent) else None


def _deadline(run: Running | Waiting, heartbeat_seconds: int | None, now: float) -> float | None:
    """The deadline that makes sure that a whole interval is left; None if that is so, or none is wanted."""
    if run.deadlines is None or (standing := run.deadlines.heartbeat_until) is None:
        return None
    if heartbeat_seconds is None:
        return run.deadlines.waiting_until if run.deadlines.waiting_until != standing else None
    # It is never lowered: until the call returns it is later than one heartbeat interval.
    return now + heartbeat_seconds + BEAT_SECONDS if now + heartbeat_seconds > standing else None
