"""What follows from a record that is written: the next message, the notice, the freed lock, the job's completion.

Every step may be repeated: a redelivered message on a record that is already past goes through here again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from duecourse.domain.job import Job, JobSnapshot
from duecourse.domain.overlap import LINED
from duecourse.domain.run import Run, RunState
from duecourse.messages import RunMessage
from duecourse.ports import Clock, Death, JobStore, Notices, Randomness, RunStore
from duecourse.usecases.announce import Announcements
from duecourse.usecases.complete import complete_if_ended
from duecourse.usecases.failing_jobs import FailingJobs
from duecourse.usecases.hand import Delivery, Forwarder
from duecourse.usecases.line import Line
from duecourse.usecases.overlap import Overlaps
from duecourse.usecases.report import Report, in_words

DEAD_VISIBILITY_SECONDS = 1
"""A dead run's message is failed until SQS itself moves it: only so does the console's redrive know its source."""


@dataclass(frozen=True, slots=True)
class Aftermath:
    """Does what follows from a run's record."""

    jobs: JobStore
    runs: RunStore
    notices: Notices
    announcements: Announcements
    failing: FailingJobs
    clock: Clock
    randomness: Randomness
    overlaps: Overlaps
    line: Line
    forwarder: Forwarder

    def follow(self, run: Run, job: JobSnapshot, message: RunMessage, delivery: Delivery, report: Report) -> bool:
        """Whether the message may be deleted now. `job` may be as old as the attempt."""
        match run.state:
            case RunState.RETRYING:
                self._tell(run, job, delivery, report)
                return self._retry(run, message, report)
            case RunState.SUCCEEDED | RunState.CANCELLED | RunState.SKIPPED:
                self._end(run, job, report)
                self._tell(run, job, delivery, report)
                return True
            case RunState.DEAD:
                self._end(run, job, report)
                self._notify(run, job, delivery, report)
                self._consider(job, report)
                self.forwarder.postpone(delivery, DEAD_VISIBILITY_SECONDS)
                return False
            case RunState.RUNNING | RunState.WAITING | RunState.QUEUED:
                return True  # another message carries it on: its own, its callback, its deadline or a call
            case other:
                assert_never(other)

    def leave_line(self, run: Run | RunMessage, report: Report) -> None:
        """A run that will not wait any more leaves its line; who is behind it finds out whether it is his turn."""
        self.line.leave(run)
        self.line.call_next(run, report)

    def _retry(self, run: Run, message: RunMessage, report: Report) -> bool:
        not_before = run.not_before if run.not_before is not None else self.clock.now()
        following = message.to_start(run.attempt + 1, nonce=self.randomness.nonce(), not_before=not_before)
        sent = self.forwarder.send(following, not_before)
        if not sent:
            report.add("send_refused", alarming=True, reason="the next attempt's message")
        return sent

    def _end(self, run: Run, job: JobSnapshot, report: Report) -> None:
        """Free the lock, call the next in line, and complete the job if this was its last run."""
        if not isinstance(job, Job):
            return
        if self.overlaps.release(job, run) and job.overlap in LINED:
            self.line.call_next(run, report)
        if self._ends(job) and complete_if_ended(self.jobs, self.runs, job.tenant, job.id, at=self.clock.now()):
            report.add("job_completed", tenant=job.tenant, job_id=job.id)

    def _ends(self, job: Job) -> bool:
        """Whether the job may have nothing left to come; its cursor knows for certain."""
        return job.max_runs is not None or job.following(int(self.clock.now())) is None

    def _notify(self, run: Run, job: JobSnapshot, delivery: Delivery, report: Report) -> None:
        if run.notified:
            return
        died_at = run.finished_at if run.finished_at is not None else self.clock.now()
        self.notices.death(Death(run, died_at))
        self._tell(run, job, delivery, report)
        self.runs.write(replace(run, notified=True), run)
        report.counts["DeathsAnnounced"] += 1
        report.add("death_announced", alarming=True, code=run.code, error=run.error)

    def _consider(self, job: JobSnapshot, report: Report) -> None:
        """Pause a job that keeps failing. Each delivery of a dead run's message looks, as often as it is received: what
        fails here is done by the next one, and nothing is announced again for it.
        """
        if not isinstance(job, Job):
            return
        try:
            self.failing.consider(job, report)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the run is dead and announced
            error = in_words(problem)
            report.counts["PausesFailed"] += 1
            report.add("job_not_paused", alarming=True, tenant=job.tenant, job_id=job.id, reason=error)

    def _tell(self, run: Run, job: JobSnapshot, delivery: Delivery, report: Report) -> None:
        """Copies of a message are common (the API sends what the tick sends too): only the one that wrote tells."""
        if isinstance(job, Job) and run.message_id == delivery.message_id:
            self.announcements.tell(run, job, report)
