"""Skips the next occurrences by writing their records before they are due."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from duecourse.domain.ids import RunIdentity
from duecourse.domain.instants import DAY_SECONDS, to_iso
from duecourse.domain.jobs.cursor import Cursor, Row
from duecourse.domain.jobs.document import ChangeAction
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.pause import given_back
from duecourse.domain.runs.states import Run, Skipped, is_written_as
from duecourse.ports import Input
from duecourse.usecases.jobs.job_errors import JobChangedError, JobUnreadableError
from duecourse.usecases.runs.requests import Requests, RunRequest

SKIPPED = "skipped_on_request"
MAX_SKIPPED = 100
MAX_PASSED = 1000
"""The maximum number of occurrences that are passed over because they have a record (started or already skipped)."""


class NothingToSkipError(Exception):
    """There is no future occurrence without a record."""


@dataclass(frozen=True, slots=True)
class SkipNext(Requests):
    """Skips occurrences. Their enqueued messages stay in their lane, where the worker finds the record. The first
    writer wins, whether it is the worker or the request. A request with an idempotency key is stored first: if it is
    repeated, it searches from the same instant and finds the records that it wrote.
    """

    def skip(self, job: Job, count: int, request: RunRequest) -> list[Run]:
        """Skip the next `count` occurrences, or fewer if there are no more. Return their records, oldest first.

        Raises NothingToSkipError if there is no occurrence to skip, KeyReusedError, and JobUnreadableError if the
        cursor cannot be read. Raises JobChangedError if the job's cursor has another generation, or if the job was
        changed since the request was first sent. Raises ScheduleError for a schedule that can no longer be compiled.
        """
        cursor = self.parts.jobs.get_cursor(job.tenant, job.id)
        if cursor is None and self.parts.jobs.get(job.tenant, job.id) == job:
            raise JobUnreadableError(job.id)
        if cursor is None or cursor.generation != job.generation:
            raise JobChangedError(job.id)
        now = self.parts.clock.now()
        asked = self._asked(job, cursor, count, request, now)
        skipped: list[Run] = []
        for record in self._records(job, cursor, asked, now, MAX_PASSED + count):
            if self._written(record, job) if record.due > now else self._found(record):
                skipped.append(record)
            if len(skipped) == count:
                break
        if not skipped:
            raise NothingToSkipError(job.id)
        # It is only known now which occurrences were skipped. Each of these records also contains the author.
        span = {"runs": len(skipped), "from": to_iso(skipped[0].occurrence), "to": to_iso(skipped[-1].occurrence)}
        self.parts.jobs.note([request.record(ChangeAction.SKIPPED_NEXT, job, asked, **span)])
        return skipped

    def _asked(self, job: Job, cursor: Cursor, count: int, request: RunRequest, now: float) -> Input:
        """Return the request as it was first sent. It is stored only if it has a key, which allows a repetition, and if
        there is an occurrence to skip. Raises NothingToSkipError.
        """
        said = ["skip", count]
        wanted = self.wanted(request, job, said, now=now, last=int(now), letter="s")
        if request.key is None:
            return wanted
        asked = self.standing(request, "s", job, said)
        if asked is None:
            records = self._records(job, cursor, wanted, now, MAX_PASSED + count)
            if not any(self._is_free(record, job) for record in records if record.due > now):
                raise NothingToSkipError(job.id)
            asked = self.put(request, job, wanted) or wanted
        if asked.generation != job.generation:
            raise JobChangedError(job.id)
        return asked

    def _records(self, job: Job, cursor: Cursor, asked: Input, now: float, limit: int) -> Iterator[Run]:
        """Yield the records that would skip the next occurrences, at most `limit`, oldest first. A pause that ends
        without a catch-up skips the occurrences before its end in any case.
        """
        end, begin = cursor.resume, int(asked.requested_at)
        after = begin if end is None or end.catch_up else max(begin, end.at - 1)
        row = Row.after(job.occurrences(), after, given_back(cursor, asked.requested_at))
        for _ in range(limit):
            if row.at is None:
                return
            yield self._record(job, cursor, row.at, row.occurrences.due(row.at), asked, now)
            row.step()

    def _is_free(self, record: Run, job: Job) -> bool:
        """Return whether the occurrence has no record of this job, so that `_written` would write one."""
        found = self.parts.runs.get(record.tenant, record.job_id, record.name.local)
        return found is None or found.generation < job.created_generation

    def _found(self, record: Run) -> bool:
        """Return whether the same request skipped the occurrence before it was due."""
        found = self.parts.runs.get(record.tenant, record.job_id, record.name.local)
        return found is not None and is_written_as(record, found)

    def _written(self, record: Run, job: Job) -> bool:
        """Write the record, overwriting a record of a deleted job with the same id. Return whether it was written."""
        conflict = self.parts.runs.write(record, None)
        if conflict is not None and conflict.found is not None and conflict.found.generation < job.created_generation:
            conflict = self.parts.runs.write(record, conflict.found)
        if conflict is not None:
            return False
        self.parts.run_counts.add_skipped([record])
        return True

    def _record(self, job: Job, cursor: Cursor, occurrence: int, due: int, asked: Input, now: float) -> Run:
        return Skipped(
            RunIdentity(
                job.tenant,
                job.id,
                occurrence,
                due,
                cursor.generation,
                requested_by=asked.requested_by,
                correlation_id=asked.correlation_id,
            ),
            lane=job.lane,
            reason=SKIPPED,
            attempts_allowed=job.attempts_allowed,
            fencing_token=f"skip/{asked.suffix}",
            # The retention counts from the due time: until then the record prevents the occurrence from running.
            expires_at=int(max(now, due)) + self.parts.settings.run_retention_days * DAY_SECONDS,
        )
