"""Reschedules delayed runs: changes the time and the payload of a requested run that has not started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any

from duecourse.domain.instants import DAY_SECONDS, to_iso
from duecourse.domain.jobs.cursor import bucket_of
from duecourse.domain.jobs.document import ChangeAction, asked
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.states import Final, Queued, Run, is_rescheduled, is_written_as
from duecourse.domain.runs.transitions import binds_nobody
from duecourse.limits import LOST_RACES
from duecourse.ports import AwsError, Outgoing, StoreBusyError
from duecourse.usecases.jobs.view import AT_ONCE_SECONDS
from duecourse.usecases.runs.commands import JobGoneError, RunEndedError, RunStateError
from duecourse.usecases.runs.lists import Runs
from duecourse.usecases.runs.requests import (
    KEPT_LONGER_DAYS,
    Later,
    Manual,
    OwnPayload,
    can_change,
    check_time,
    message_of,
    start_timers,
)

if TYPE_CHECKING:
    from duecourse.settings import LaneSettings
    from duecourse.stores.table import Write
    from duecourse.usecases.parts import Parts


class NotDelayedError(RunStateError):
    """The run was not requested for a time, or it has come due."""


@dataclass(frozen=True, slots=True)
class Unstarted:
    """A requested run that has not started, its job, and its record. It has one only if it was rescheduled before, or
    if the record is that of a deleted job with the same id.
    """

    run: Queued
    job: Job
    record: Run | None


@dataclass(frozen=True, slots=True)
class Rescheduling:
    """Reschedules runs. A rescheduled run has a record, so that a message that was sent for its earlier time does not
    start it.
    """

    parts: Parts[LaneSettings]
    runs: Runs
    manual: Manual

    def unstarted(self, tenant: str, run_id: str) -> Unstarted:
        """Return a run that can be rescheduled. Raises RunUnknownError, RunEndedError, NotDelayedError or
        JobGoneError.
        """
        run = self.runs.get(tenant, run_id)
        record = self.parts.runs.get(tenant, run.job_id, run.name.local)
        if record is not None and is_rescheduled(record):
            run = record
        if isinstance(run, Final):
            raise RunEndedError(run)
        requested = run.suffix.startswith(".m") and run.workflow is None
        # Otherwise its message may start it at this moment.
        unstarted = can_change(run, self.parts.clock.now())
        if not isinstance(run, Queued) or run.waiting_since is not None or not requested or not unstarted:
            raise NotDelayedError(run)
        job = self.parts.jobs.get(tenant, run.job_id)
        if job is None or run.generation < job.created_generation:
            raise JobGoneError(run)
        if record is not None and record != run and not binds_nobody(job, record):
            raise NotDelayedError(record)
        return Unstarted(run, job, record)

    def __call__(self, found: Unstarted, by: str, payload: OwnPayload | None, later: Later | None) -> Queued:
        """Give the run another time, or another payload, or both, and return it as it is stored.

        Raises ScheduleError (for `at`) for a time that has passed or is too far ahead, RunQuotaError if the hour of the
        new time is full, or the errors of `unstarted` if the run has come due in the meantime. Nothing is changed then.
        """
        now, tenant, quota = self.parts.clock.now(), found.job.tenant, self.manual.quota
        to = None if later is None else later.due(now)
        if to is not None:
            check_time(to, now)
        for _ in range(LOST_RACES):
            before, due = found.run.due, found.run.due if to is None else to
            # A run that is due soon may not have been counted.
            counted = bucket_of(due) == bucket_of(before) and (due == before or before > now + AT_ONCE_SECONDS)
            counts = due > now + AT_ONCE_SECONDS and not counted
            if counts and (full := quota.refusal(tenant, due)) is not None:
                raise full
            if (run := self._written(found, by, payload, due, now)) is not None:
                if counts:
                    quota.count(tenant, due)
                if due <= now + AT_ONCE_SECONDS:
                    # The timer may be found late. If this message is not accepted, the run starts by its timer.
                    message = message_of(found.job, run, self.parts.randomness.nonce())
                    self.parts.lanes.send([Outgoing(message, max(ceil(due - now), 0))])
                return run
            found = self.unstarted(tenant, found.run.run_id)
        raise StoreBusyError("the record of the run")

    def _written(self, found: Unstarted, by: str, payload: OwnPayload | None, due: int, now: float) -> Queued | None:
        """Write the rescheduled run and return it; None if its record has changed."""
        job, nonce = found.job, self.parts.randomness.nonce
        own = found.run.own_payload or payload is not None
        token, expires_at = nonce(), max(due, int(now)) + self.parts.settings.run_retention_days * DAY_SECONDS
        run = replace(
            found.run,
            identity=replace(found.run.identity, due=due, own_payload=own),
            lane=job.lane,
            attempts_allowed=job.attempts_allowed,
            fencing_token=f"reschedule/{token}",
            expires_at=expires_at,
            rescheduled=True,
        )
        facts = {"run_id": run.run_id, "due": to_iso(due), "payload_changed": payload is not None}
        change = asked(ChangeAction.RESCHEDULED, (run.tenant, run.job_id), by, now, token, None, **facts)
        start, *checks = start_timers(job, run, nonce)
        # For the same time, its deadlines are being checked already.
        timers = [self.parts.timers.write_of(each) for each in (start, *(checks if due != found.run.due else ()))]
        written = self._is_written(
            run,
            [self.parts.runs.put(run, found.record), *timers],
            payload=None if payload is None else (payload.payload,),
            expires_at=expires_at + KEPT_LONGER_DAYS * DAY_SECONDS,
            change=change,
        )
        return run if written else None

    def _is_written(self, run: Queued, writes: Sequence[Write], **request: Any) -> bool:
        """Return whether the transaction was executed, also if its response was lost."""
        try:
            if self.parts.delayed_runs.reschedule(run, writes, **request):
                return True
        except AwsError:
            if not self._stands(run):
                raise
            return True
        return self._stands(run)

    def _stands(self, run: Queued) -> bool:
        standing = self.parts.runs.get(run.tenant, run.job_id, run.name.local)
        return standing is not None and is_written_as(run, standing)
