"""Creates many jobs in few transactions."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from duecourse.domain.jobs.pause import PauseChange
from duecourse.domain.tenants.seats import placed
from duecourse.ports import Creation, JobQuotaError, KeyUsedError, Refusal, SeatsChangedError, StoreBusyError
from duecourse.usecases.jobs.change import Created, Draft, Jobs, RequestKey
from duecourse.usecases.jobs.job_errors import JobExistsError
from duecourse.usecases.jobs.view import JobView, changed_view
from duecourse.usecases.tenants import SEAT_TRIES

MAX_WRITES = 90
"""The maximum number of writes of jobs in a transaction. A transaction can have 100 writes; the others are for the
quota and for the seats of each lane.
"""

WRITES = 6
"""The maximum number of writes of a job, not counting one for each tag and two for each calendar: the definition, its
payload, the cursor, the record of the change, the caller's key and the check for a deletion.
"""

Asked = tuple[Draft, RequestKey | None]
Numbered = tuple[int, Creation]
JobOutcome = Created | JobView | Exception
"""The new job, the job that an earlier request with the same key created, or the error."""


def job_of(outcome: JobOutcome) -> Created | JobView:
    """Return the job. Raises the error if there is no job."""
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


@dataclass(frozen=True, slots=True)
class JobBatch:
    """Creates jobs of one tenant, several in one transaction. Each job has a separate outcome: a transaction that is
    rejected because of one job is repeated without it. No transaction begins after `until` (UTC seconds).
    """

    jobs: Jobs
    until: float

    def create(
        self, asked: Sequence[Asked], correlation_id: str | None = None, *, by: str | None = None
    ) -> list[JobOutcome]:
        """Return the outcome of each job: the result or the error of `Jobs.create_once`. Raises the errors of the first
        read.
        """
        if not asked:
            return []
        outcomes: dict[int, JobOutcome] = {}
        written: dict[int, PauseChange] = {}
        for group in _groups(self._new(asked, outcomes, by)):
            written |= self._written(group, asked, outcomes)
        ready = [
            (changed_view(made.job, made.cursor), made.cursor, self.jobs.soon(made.cursor)) for made in written.values()
        ]
        outcomes |= zip(written, self.jobs.send_all(ready, correlation_id), strict=True)
        return [outcomes[index] for index in range(len(asked))]

    def _new(self, asked: Sequence[Asked], outcomes: dict[int, JobOutcome], by: str | None) -> Iterator[Numbered]:
        """Yield the items to write for each job."""
        ids = [draft.id for draft, _ in asked if draft.id is not None]
        gone = self.jobs.parts.jobs.gone_among(asked[0][0].tenant, ids) if ids else {}
        now = self.jobs.parts.clock.now()
        for index, (draft, key) in enumerate(asked):
            try:
                creation = self.jobs.creation(draft, now, gone.get(draft.id or ""), key, by)
            except Exception as error:  # noqa: BLE001 - it is the outcome of this job
                outcomes[index] = error
            else:
                yield index, creation

    def _written(
        self, group: list[Numbered], asked: Sequence[Asked], outcomes: dict[int, JobOutcome]
    ) -> dict[int, PauseChange]:
        """Return the jobs of a group that were written. Add the outcomes of the others to `outcomes`."""
        parts, left = deque([group]), SEAT_TRIES
        written: dict[int, PauseChange] = {}
        while parts:
            part = parts.popleft()
            try:
                refused, made = self._write([creation for _, creation in part], seats=left > 1)
            except SeatsChangedError:
                left -= 1
                parts.appendleft(part)
            except JobQuotaError as full:
                if full.left:
                    parts.extendleft([part[full.left :], part[: full.left]])
                else:
                    outcomes |= {index: full for index, _ in part}
            except Exception as error:  # noqa: BLE001 - it is the outcome of these jobs
                outcomes |= {index: error for index, _ in part}
            else:
                outcomes |= {part[at][0]: self._refused(*asked[part[at][0]], why) for at, why in refused.items()}
                rest = [one for at, one in enumerate(part) if at not in refused]
                if not refused:
                    written |= {index: change for (index, _), change in zip(part, made, strict=True)}
                elif rest:
                    parts.appendleft(rest)
        return written

    def _write(self, creations: Sequence[Creation], *, seats: bool) -> tuple[dict[int, Refusal], list[PauseChange]]:
        """Write all jobs, with the free `seats`, or nothing. Return the reasons for a rejection and the jobs to be
        written. Raises the errors of `JobStore.create_all`, and StoreBusyError if no time is left.
        """
        jobs = self.jobs
        if jobs.parts.clock.now() > self.until:
            raise StoreBusyError("no time is left")
        taken, seated = jobs.seating.for_all([each.job for each in creations]) if seats else ([], set[str]())
        changes = [placed(PauseChange(each.job, each.cursor), seated=each.job.id in seated) for each in creations]
        new = [replace(each, job=made.job, cursor=made.cursor) for each, made in zip(creations, changes, strict=True)]
        return dict(jobs.parts.jobs.create_all(new, taken)), changes

    def _refused(self, draft: Draft, key: RequestKey | None, why: Refusal) -> JobOutcome:
        match why:
            case Refusal.KEY_USED if key is not None:
                try:
                    return self.jobs.repeated(draft.tenant, key) or KeyUsedError()
                except Exception as error:  # noqa: BLE001 - it is the outcome of this job
                    return error
            case Refusal.TAKEN:
                return JobExistsError(draft.id or "")
            case _:
                return StoreBusyError(f"{draft.id} was created and deleted by another request at the same time")


def _groups(new: Iterable[Numbered]) -> Iterator[list[Numbered]]:
    """Yield groups of jobs, in order, that one transaction can write: not too many, and no id twice."""
    group: list[Numbered] = []
    ids, writes = set[str](), 0
    for index, creation in new:
        more = WRITES + len(set(creation.job.tags)) + 2 * len(creation.job.calendars)
        if creation.job.id in ids or writes + more > MAX_WRITES:
            yield group
            group, ids, writes = [], set[str](), 0
        group.append((index, creation))
        ids.add(creation.job.id)
        writes += more
    if group:
        yield group
