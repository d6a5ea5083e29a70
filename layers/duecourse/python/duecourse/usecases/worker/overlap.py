"""The overlap lock of a job: held from a run's first start to its final state."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.policies import Lane
from duecourse.domain.jobs.seats import calls_are_over
from duecourse.domain.runs.decision import Start
from duecourse.domain.runs.overlap import (
    Await,
    LinePosition,
    Lock,
    LockRequest,
    TakeOver,
    Wait,
    Yield,
    called_until,
    decide_lock,
    decide_turn,
    last_rank_before,
    latest,
    needs_lock,
    rank_of_start,
)
from duecourse.domain.runs.recreated import own_job
from duecourse.domain.runs.run import Final, Queued, Run
from duecourse.messages import RunMessage
from duecourse.ports import Clock, Conflict, Lines, RunStore

MAX_TAKE_OVERS = 4


@dataclass(frozen=True, slots=True)
class Held:
    """This run may start. `called_until`: until when calls of earlier runs began that may still be at work."""

    called_until: float | None = None


LockResult = Held | Yield | Await | Wait | Conflict
"""The result of a request for the lock. A Conflict means that the record of the run is already past this start."""


@dataclass(frozen=True, slots=True)
class Overlaps:
    """Takes and releases locks; jobs that allow overlap, and one-off jobs, need none."""

    runs: RunStore
    lines: Lines
    clock: Clock

    def take(self, job: Job, start: Start, lease_until: float, *, again: bool = False) -> LockResult:
        """Take the lock for a start, if necessary from a holder that is final or lost. Idempotent for the holder, but a
        late message does not take it from a later start of its run. `again`: it has waited for the holder to begin.
        """
        run, previous = start.run, start.previous
        if not needs_lock(job):
            return Held()
        fresh = isinstance(previous, Queued | None)
        # A run that has begun before (a retry, a redrive) goes before those in line.
        turn = decide_turn(job, position_of(run), **self._ends(job)) if fresh else None
        if turn is not None:
            return turn
        wanted = Lock(run.name.local, lease_until, rank_of_start(run, previous))
        if isinstance(previous, Final):
            wanted = self._after(wanted, previous)
        return self._take(job, wanted, LockRequest(run.name.local, job.overlap, fresh, again), previous)

    def full_at(self, job: Job) -> int | None:
        """How many runs may wait in the line (`queue_limit`), if that many do; else None."""
        limit = job.queue_limit
        return limit if limit is not None and self.lines.length(job.tenant, job.id, limit=limit) >= limit else None

    def is_free(self, job: Job) -> bool:
        """Whether the lock is free."""
        return self.runs.locked(job.tenant, job.id) is None

    def release(self, job: Job, run: Run) -> bool:
        """Release the lock if `run`, by this final record, holds it; whether it is free now. A redrive may have taken
        it meanwhile: its lock is not released.
        """
        if not needs_lock(job):
            return False
        free = self._after(Lock("", self.clock.now()), run)
        noted = None if free.called_until is None else free
        return self.runs.unlock(job.tenant, job.id, run.name.local, through=last_rank_before(run), free=noted)

    def _after(self, wanted: Lock, run: Run | None, held: Lock | None = None) -> Lock:
        """The lock after this run, or after the one that held it, with the calls of them that may be at work."""
        now, earlier = self.clock.now(), None if held is None else held.called_until
        lane = Lane.LONG if run is None or run.is_workflow else run.lane  # its members are in any lane
        until = latest(wanted.called_until, earlier, None if run is None else called_until(run, now))
        return replace(wanted, called_until=None if calls_are_over(until, lane, now) else until)

    def _ends(self, job: Job) -> dict[str, LinePosition | None]:
        """The first place of the line, or the last one if only the newest run runs."""
        rule = job.overlap.rule
        if not rule.waits:
            return {"first": None, "last": None}
        found = [position_of(each) for each in self.lines.waiting(job.tenant, job.id, limit=1, newest=rule.only_newest)]
        end = found[0] if found else None
        return {"first": None, "last": end} if rule.only_newest else {"first": end, "last": None}

    def _take(self, job: Job, wanted: Lock, asks: LockRequest, record: Run | None) -> LockResult:
        previous: Lock | None = None
        for _ in range(MAX_TAKE_OVERS):
            held = self.runs.lock(job.tenant, job.id, wanted, previous)
            if held is None:
                return Held(wanted.called_until)
            if not held.holder:  # free; calls of earlier runs may be at work
                previous, wanted = held, self._after(wanted, None, held)
                continue
            holder = self.runs.get(job.tenant, job.id, held.holder)
            now = self.clock.now()
            if held.holder == wanted.holder:
                if holder != record:
                    return Conflict(holder)
                # Taken before for this start, or left by a run of the same name, whose job and record were deleted.
                previous, wanted = held, self._after(wanted, None, held)
                continue
            if holder is not None and own_job(job, holder) is None:
                # The lock of a deleted job of the same id, whose runs do not count.
                previous, wanted = held, self._after(wanted, holder, held)
                continue
            match decide_lock(held, holder, asks, now=now):
                case TakeOver(previous_lock):
                    previous, wanted = previous_lock, self._after(wanted, holder, held)
                case decision:
                    return decision
        return Wait("its holder changes again and again")


def position_of(run: Run | RunMessage) -> LinePosition:
    """A run's place in its job's line."""
    return LinePosition(run.due, run.name.local)
