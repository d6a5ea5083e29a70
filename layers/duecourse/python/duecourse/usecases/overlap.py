"""The overlap lock of a job: held from a run's first start to its final state."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.job import Job, Overlap
from duecourse.domain.overlap import (
    FRESH_SECONDS,
    Await,
    Lock,
    Seize,
    Wait,
    Waiter,
    Yield,
    decide_line,
    decide_lock,
)
from duecourse.domain.run import Run
from duecourse.domain.start import own_job
from duecourse.ports import Clock, RunStore, Waiters

MAX_SEIZES = 4

IN_LINE = (Overlap.QUEUE, Overlap.REPLACE)
"""The policies whose runs wait for one another."""


@dataclass(frozen=True, slots=True)
class Held:
    """This run may start."""


Grip = Held | Yield | Await | Wait
"""What became of asking for the lock."""


@dataclass(frozen=True, slots=True)
class Overlaps:
    """Takes and releases locks; jobs that allow overlap, and one-off jobs, need none."""

    runs: RunStore
    waiters: Waiters
    clock: Clock

    def take(self, job: Job, run: Run, lease_until: float) -> Grip:
        """Take the lock for `run`, from a holder that is final or gone if need be. Idempotent for its holder."""
        if not needs_lock(job):
            return Held()
        grip = self._in_turn(job, run, lease_until)
        if isinstance(grip, Wait):
            newest = job.overlap is Overlap.REPLACE
            waiter = Waiter(run.name.local, self.clock.now() + FRESH_SECONDS)
            self.waiters.step_up(job.tenant, job.id, waiter, newest=newest, now=self.clock.now())
        return grip

    def release(self, job: Job, run: Run) -> None:
        """Release the lock if `run` holds it."""
        if needs_lock(job):
            self.runs.unlock(job.tenant, job.id, run.name.local)

    def _in_turn(self, job: Job, run: Run, lease_until: float) -> Grip:
        mine = run.name.local
        # A run that has had its turn (a retry, a redrive) goes before those that have not.
        line = job.overlap in IN_LINE and run.attempt <= 1
        front = self.waiters.front(job.tenant, job.id) if line else None
        behind = decide_line(front, mine, job.overlap, due=run.due, now=self.clock.now())
        if behind is not None:
            return behind
        grip = self._take(job, run, lease_until)
        if isinstance(grip, Held) and front is not None and front.name == mine:
            self.waiters.leave(job.tenant, job.id, mine)
        return grip

    def _take(self, job: Job, run: Run, lease_until: float) -> Grip:
        wanted = Lock(run.name.local, lease_until)
        previous: Lock | None = None
        for _ in range(MAX_SEIZES):
            held = self.runs.lock(job.tenant, job.id, wanted, previous)
            if held is None:
                return Held()
            if not held.holder:
                continue
            holder = self.runs.get(job.tenant, job.id, held.holder)
            now = self.clock.now()
            if holder is not None and own_job(job, holder) is None:
                previous = held  # of a namesake that was deleted: another job, whose runs do not count
                continue
            decision = decide_lock(held, holder, now=now, mine=wanted.holder, due=run.due, policy=job.overlap)
            match decision:
                case Seize(previous_lock):
                    previous = previous_lock
                case Yield() | Await() | Wait():
                    return decision
        return Await(self.clock.now() + 2, "its holder changes again and again")


def needs_lock(job: Job) -> bool:
    """Only recurring jobs that forbid overlap take a lock."""
    return job.overlap is not Overlap.ALLOW and job.recurring
