"""A job's occurrences: its schedule without the excluded times, each with the time at which it is due."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

from duecourse.domain.schedules import Schedule, ScheduleSpec, compile_schedule
from duecourse.domain.schedules.exclusions import Exclusions, compile_exclusions

MAX_JITTER_SECONDS = 3600
"""The largest jitter; an occurrence never reaches the next one."""


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Nominal times (`next`) and effective ones (`due`), both UTC seconds and pure functions of the job."""

    schedule: Schedule
    owner: str
    jitter_seconds: int
    exclusions: Exclusions | None

    def next(self, after: int) -> int | None:
        """The first occurrence strictly after `after` that is not excluded; None when none is left."""
        at = self.schedule.next(after)
        if self.exclusions is None:
            return at
        while at is not None and (resume := self.exclusions.skip(at)) is not None:
            at = self.schedule.next(resume)
        return at

    def due(self, occurrence: int) -> int:
        """When an occurrence is due: its nominal time plus jitter, which stays before the next occurrence.

        The jitter is a hash of job and occurrence: the same wherever and however often it is computed.
        """
        if self.jitter_seconds == 0:
            return occurrence
        following = self.next(occurrence)
        room = self.jitter_seconds if following is None else min(self.jitter_seconds, following - occurrence - 1)
        digest = blake2b(f"{self.owner}@{occurrence}".encode(), digest_size=8).digest()
        return occurrence + int.from_bytes(digest) % (room + 1)


@dataclass(frozen=True, slots=True)
class OccurrenceRules:
    """The fields of a job that determine its occurrences. A catch-up's message contains them, since it may outlive the
    definition.
    """

    schedule: ScheduleSpec
    exclude: tuple[str, ...] = ()
    jitter_seconds: int = 0


def occurrences_of(
    tenant: str, job_id: str, spec: ScheduleSpec, *, exclude: tuple[str, ...] = (), jitter_seconds: int = 0
) -> Occurrences:
    """Compile. Raises ScheduleError, and ExclusionError for an entry of `exclude` that is not understood."""
    return Occurrences(
        compile_schedule(spec),
        f"{tenant}#{job_id}",
        jitter_seconds,
        compile_exclusions(exclude, spec.timezone) if exclude else None,
    )
