"""Backfill: run occurrences of the past, paced."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil

from duecourse.domain.instants import DAY_SECONDS, to_iso
from duecourse.domain.jobs.backfill import Backfill, BackfillPlan, estimated_cost, plan_backfill
from duecourse.domain.jobs.change_record import ChangeAction
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.overlap import needs_lock
from duecourse.domain.schedules import ScheduleError
from duecourse.limits import MAX_DELAY_SECONDS
from duecourse.messages import RunMessage
from duecourse.ports import Clock, Input, Inputs, JobStore, Lanes, Outgoing, Randomness, Timer, Timers
from duecourse.usecases.jobs.job_errors import KeyReusedError
from duecourse.usecases.jobs.limits import Charge, free
from duecourse.usecases.runs.run_request import KEPT_LONGER_DAYS, MAX_BY, RunRequest, message_of, requested_run


@dataclass(frozen=True, slots=True)
class BackfillEstimate:
    """The plan of a backfill and its estimated cost (USD)."""

    plan: BackfillPlan
    cost: float


@dataclass(frozen=True, slots=True)
class BackfillStarted:
    """A started backfill: `suffix` is that of its runs. `repeated`: it was started before, and nothing was sent."""

    look: BackfillEstimate
    suffix: str
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Backfills:
    """Writes the request with its author, then sends all runs: those that start soon into their lane, the others as
    timers. After a crash in between the caller repeats the request; with a key that gives the same runs at the same
    times.
    """

    jobs: JobStore
    inputs: Inputs
    lanes: Lanes
    timers: Timers
    clock: Clock
    randomness: Randomness
    limit: int
    run_retention_days: int

    def look(self, job: Job, asked: Backfill) -> BackfillEstimate:
        """The estimate without a start. Raises BackfillTooLargeError; ScheduleError if the schedule can no longer be
        compiled, or there is none.
        """
        return self._look(job, asked, self.clock.now())

    def start(self, job: Job, asked: Backfill, run_request: RunRequest, *, charge: Charge = free) -> BackfillStarted:
        """Start it. Raises as `look` does, KeyReusedError, and what `charge` raises for the number of its runs; nothing
        is written then.
        """
        now = self.clock.now()
        look = self._look(job, asked, now)
        charge(look.plan.count)
        kept = (look.plan.ends_at or int(now)) + (self.run_retention_days + KEPT_LONGER_DAYS) * DAY_SECONDS
        wanted = Input(
            suffix=run_request.suffix("b", job, self.randomness.nonce()),
            requested_at=now,
            requested_by=run_request.by[:MAX_BY],
            correlation_id=run_request.correlation_id,
            fingerprint=run_request.fingerprint(["backfill", asdict(asked)]),
            generation=job.generation,
            expires_at=kept,
            backfill=asked,
        )
        standing = self.inputs.put(job.tenant, job.id, wanted)
        if standing is not None:
            if standing.fingerprint != wanted.fingerprint:
                raise KeyReusedError(run_request.key)
            look = self._look(job, asked, standing.requested_at)
            if standing.sent:
                return BackfillStarted(look, standing.suffix, repeated=True)
        made = wanted if standing is None else standing
        span = {"from": to_iso(asked.since), "to": to_iso(asked.until)}
        self.jobs.note([run_request.record(ChangeAction.BACKFILLED, job, made, runs=look.plan.count, **span)])
        self._send(job, look.plan, made)
        if run_request.key is not None:
            self.inputs.mark_sent(job.tenant, job.id, wanted.suffix)
        return BackfillStarted(look, wanted.suffix)

    def _look(self, job: Job, asked: Backfill, now: float) -> BackfillEstimate:
        if not job.scheduled:
            raise ScheduleError("schedule", "is null, so the job has no occurrences to backfill; run it now instead")
        made = plan_backfill(job.occurrences(), asked, now=now, limit=self.limit)
        return BackfillEstimate(made, estimated_cost(made, job, locked=needs_lock(job), waits_after=MAX_DELAY_SECONDS))

    def _send(self, job: Job, made: BackfillPlan, asked: Input) -> None:
        """Send the runs. Messages that the lane does not accept become timers too, which the next tick sends."""
        now = self.clock.now()
        soon: list[Outgoing] = []
        later: list[RunMessage] = []
        for index, occurrence in enumerate(made.occurrences):
            run = requested_run(job, asked, occurrence, made.due(index))
            message = message_of(job, run, self.randomness.nonce())
            wait = max(ceil(run.due - now), 0)
            if wait > MAX_DELAY_SECONDS:
                later.append(message)
            else:
                soon.append(Outgoing(message, wait))
        accepted = self.lanes.send(soon) if soon else []
        later += [one.message for one, fine in zip(soon, accepted, strict=True) if not fine]
        self.timers.put_all([Timer(message, max(message.due, int(now))) for message in later])
