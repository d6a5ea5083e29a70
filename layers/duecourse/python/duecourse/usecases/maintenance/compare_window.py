"""Compares a job's occurrences in an audited window with its records. Writes nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.policies import JobState
from duecourse.domain.maintenance.audit import Turn, audited_from, compare, few
from duecourse.domain.runs.coverage import OccurrenceRange, Recorded, between
from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.exclusions import ExclusionError
from duecourse.domain.schedules.occurrences import Occurrences
from duecourse.ports import RunStore
from duecourse.usecases.jobs.job_view import since_when
from duecourse.usecases.report import in_words
from duecourse.usecases.unreadable import UNREADABLE

PIECE_SECONDS = 6 * 3600
"""The length of the pieces in which a window is compared: a job that fires each second has 21,600 records in one."""


@dataclass(frozen=True, slots=True)
class ComparedJob:
    """The comparison of a job's window; `served` is the latest due time of a run that its lane has started."""

    job: Job
    expected: int = 0
    missing: tuple[OccurrenceRange, ...] = ()
    doubled: tuple[OccurrenceRange, ...] = ()
    served: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class CompareWindow:
    """Compares jobs; may be called concurrently."""

    runs: RunStore

    def __call__(self, job: Job, turn: Turn) -> ComparedJob:
        """Compare one job. An item that cannot be read is reported in `error` and does not affect other jobs."""
        try:
            occurrences = job.occurrences()
            low, end = audited_from(job, since_when(job, occurrences), turn.low), turn.high
            if job.state is JobState.COMPLETED:  # its schedule is over: nothing is due since
                end = min(end, int(job.updated_at))
            found = ComparedJob(job)
            while low is not None and low < end and (first := occurrences.next(low)) is not None:
                high = min(low + PIECE_SECONDS, end)
                if first <= high:
                    found = self._piece(found, occurrences, low, high)
                low = max(high, min(first - 1, end))
        except (ScheduleError, ExclusionError):
            return ComparedJob(job)  # it does not fire: its cursor is quarantined
        except UNREADABLE as problem:
            return ComparedJob(job, error=in_words(problem))
        return replace(found, doubled=tuple(few(found.doubled)))

    def _piece(self, found: ComparedJob, occurrences: Occurrences, low: int, high: int) -> ComparedJob:
        """Add one piece. If a catch-up in it reaches beyond its end, the records there are read too."""
        job = found.job
        records = self._records(job, low, high)
        beyond = max((record.through for record in records if record.ran), default=high)
        ahead = self._records(job, high, beyond) if beyond > high else []
        made = compare(between(occurrences, low, high), records)
        twice = compare(between(occurrences, low, beyond), records + ahead) if ahead else made
        served = [record.due for record in records if record.ran and record.lane is job.lane]
        return replace(
            found,
            expected=found.expected + made.expected,
            missing=found.missing + made.missing,
            doubled=found.doubled + twice.doubled,
            served=max([found.served, *served]),
        )

    def _records(self, job: Job, low: int, high: int) -> list[Recorded]:
        return self.runs.between(job.tenant, job.id, low, high, strongly=False)
