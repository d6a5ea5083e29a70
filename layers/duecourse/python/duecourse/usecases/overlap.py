"""The overlap lock of a job: held from a run's first start to its final state."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from duecourse.domain.job import Job, Overlap
from duecourse.domain.overlap import Await, Lock, Seize, Yield, decide_lock
from duecourse.domain.run import Run
from duecourse.ports import Clock, RunStore

MAX_SEIZES = 4


class Grip(Enum):
    """HELD: this run may start. TAKEN: another run of the job is alive. AWAIT: ask again in a moment."""

    HELD = "held"
    TAKEN = "taken"
    AWAIT = "await"


@dataclass(frozen=True, slots=True)
class Overlaps:
    """Takes and releases locks; jobs that allow overlap, and one-off jobs, need none."""

    runs: RunStore
    clock: Clock

    def take(self, job: Job, run: Run, lease_until: float) -> Grip:
        """Take the lock for `run`, from a holder that is final or gone if need be. Idempotent for its holder."""
        if not needs_lock(job):
            return Grip.HELD
        wanted = Lock(run.name.local, lease_until)
        previous: Lock | None = None
        for _ in range(MAX_SEIZES):
            held = self.runs.lock(job.tenant, job.id, wanted, previous)
            if held is None:
                return Grip.HELD
            if not held.holder:
                continue
            holder = self.runs.get(job.tenant, job.id, held.holder)
            match decide_lock(held, holder, now=self.clock.now()):
                case Yield():
                    return Grip.TAKEN
                case Await():
                    return Grip.AWAIT
                case Seize(previous_lock):
                    previous = previous_lock
        return Grip.AWAIT

    def release(self, job: Job, run: Run) -> None:
        """Release the lock if `run` holds it."""
        if needs_lock(job):
            self.runs.unlock(job.tenant, job.id, run.name.local)


def needs_lock(job: Job) -> bool:
    """Only recurring jobs that forbid overlap take a lock."""
    return job.overlap is Overlap.SKIP and job.recurring
