"""A job's window as an audit sees it: what its definition names there, compared with its records. It writes nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duecourse.domain.audit import Gap, Recorded, Turn, audited_from, few, reconcile
from duecourse.domain.exclusions import ExclusionError
from duecourse.domain.job import Job, JobState
from duecourse.domain.occurrences import Occurrences
from duecourse.domain.schedule import ScheduleError
from duecourse.ports import RunStore
from duecourse.usecases.history import between
from duecourse.usecases.job_view import since_when
from duecourse.usecases.judging import PIECE_SECONDS
from duecourse.usecases.report import in_words
from duecourse.usecases.unreadable import UNREADABLE


@dataclass(frozen=True, slots=True)
class Looked:
    """What there is in a job's window; `served` is the latest due time of a run that its lane has started."""

    job: Job
    expected: int = 0
    missing: tuple[Gap, ...] = ()
    doubled: tuple[Gap, ...] = ()
    served: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Looker:
    """Looks at one job after the other, or at several side by side."""

    runs: RunStore

    def __call__(self, job: Job, turn: Turn) -> Looked:
        """What one job holds keeps nobody from the others: it is said in `error`."""
        try:
            occurrences = job.occurrences()
            low, end = audited_from(job, since_when(job, occurrences), turn.low), turn.high
            if job.state is JobState.COMPLETED:  # its runs were used up, or its end has come: nothing is due since
                end = min(end, int(job.updated_at))
            found = Looked(job)
            while low is not None and low < end and (first := occurrences.next(low)) is not None:
                high = min(low + PIECE_SECONDS, end)
                if first <= high:
                    found = self._piece(found, occurrences, low, high)
                low = max(high, min(first - 1, end))
        except (ScheduleError, ExclusionError):
            return Looked(job)  # it does not fire: its cursor is set aside
        except UNREADABLE as problem:
            return Looked(job, error=in_words(problem))
        return replace(found, doubled=tuple(few(found.doubled)))

    def _piece(self, found: Looked, occurrences: Occurrences, low: int, high: int) -> Looked:
        """One piece more. Where a catch-up of it reaches beyond, what ran there by itself is looked at, too."""
        job = found.job
        records = self._records(job, low, high)
        beyond = max((record.through for record in records if record.ran), default=high)
        ahead = self._records(job, high, beyond) if beyond > high else []
        made = reconcile(between(occurrences, low, high), records)
        twice = reconcile(between(occurrences, low, beyond), records + ahead) if ahead else made
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
