"""The side effects of a written record: the next message, the notice, the release of the lock, the completion of the
job.

Every step is idempotent: a redelivered message repeats the steps of a record that was already written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, assert_never

from duecourse.domain.ids import key_queue
from duecourse.domain.instants import CLOCKS_DIFFER_SECONDS
from duecourse.domain.jobs.document import ChangeAction, changed
from duecourse.domain.jobs.job import Job, JobSnapshot, JobState, NoticeCause
from duecourse.domain.jobs.pause import pause
from duecourse.domain.runs.decision import MissedDeadline
from duecourse.domain.runs.executions import execution_to_stop
from duecourse.domain.runs.notices import NOTIFIER
from duecourse.domain.runs.overlap import wait_queue_of
from duecourse.domain.runs.states import (
    Cancelled,
    Dead,
    Final,
    Queued,
    Retrying,
    Run,
    Running,
    Skipped,
    Succeeded,
    Waiting,
    deaths_in_a_row,
)
from duecourse.gates.places import Overlaps
from duecourse.limits import LOST_RACES
from duecourse.messages import Evaluate, RunMessage
from duecourse.ports import DeadlineNotification, FailureNotification, Notifier
from duecourse.usecases.announce import Announcements
from duecourse.usecases.complete import complete_if_ended
from duecourse.usecases.dispatch.claim import Skipping, settled
from duecourse.usecases.forwarder import Forwarder
from duecourse.usecases.report import Report, format_error
from duecourse.usecases.worker.call import FINISH_MARGIN_SECONDS
from duecourse.usecases.worker.wait_queue import WaitQueue
from duecourse.usecases.worker.work_item import Disposition, WorkItem
from duecourse.usecases.workflows.workflows import Workflows

if TYPE_CHECKING:
    from duecourse.settings import TableSettings
    from duecourse.usecases.parts import Parts
    from duecourse.usecases.worker.executions import FollowedExecutions

PAGE = 50
MAX_READ = 1000
"""The maximum number of records read: there may be many skipped runs between the dead ones."""


@dataclass(frozen=True, slots=True)
class FailingJobs:
    """Pauses jobs that keep failing. It counts dead runs from the records, so a repeated call does not count a run
    twice.
    """

    parts: Parts[TableSettings]
    skipping: Skipping
    announcements: Announcements

    def mark(self, job: Job, run_id: str | None) -> None:
        """Record the run with which the job began to fail, or that it has recovered (None). If other requests keep
        changing the job, the mark is not changed: a notice of recovery may then be missing or repeated.
        """
        for _ in range(LOST_RACES):
            found = self.parts.jobs.get(job.tenant, job.id)
            if found is None or (found.failing is None) == (run_id is None):
                return
            cursor = self.parts.jobs.get_cursor(job.tenant, job.id)
            marked = replace(found, failing=run_id, revision=found.revision + 1, created_by=None)
            if cursor is not None and self.parts.jobs.change(found, cursor, marked, cursor):
                return

    def consider(self, job: Job, report: Report) -> None:
        """Pause the job if its policy requires it and enough of its runs in a row have died since its last change."""
        limit = job.pause_on_failure
        if limit is None:
            return
        recent = self._recent(job, limit * 2)
        for _ in range(LOST_RACES):
            # The job is read before its cursor: if the job changes in between, its condition fails.
            found = self.parts.jobs.get(job.tenant, job.id)
            if found is None or found.state is JobState.COMPLETED or found.pause_on_failure is None:
                return
            cursor = self.parts.jobs.get_cursor(job.tenant, job.id)
            if cursor is not None and settled(self.parts.jobs, self.skipping, found, cursor, self.parts.clock.now()):
                continue
            if found.state is not JobState.ACTIVE:
                return
            deaths = deaths_in_a_row(recent, since=found.changed_at)
            if deaths < found.pause_on_failure or cursor is None:
                return
            because = f"{deaths} runs in a row died"
            change = pause(found, cursor, now=self.parts.clock.now(), because=because)
            record = changed(ChangeAction.PAUSED, found, change.job, None)
            if self.parts.jobs.change(found, cursor, change.job, change.cursor, record=record):
                report.counts["JobsPaused"] += 1
                report.add("job_paused", alarming=True, tenant=job.tenant, job_id=job.id, reason=because)
                self.announcements.publish_pause(change.job, because, report)
                return
        report.counts["PausesFailed"] += 1
        report.add(
            "job_not_paused", alarming=True, tenant=job.tenant, job_id=job.id, reason="the job changed in the meantime"
        )

    def _recent(self, job: Job, wanted: int) -> list[Run]:
        """Return the newest records, enough to include `wanted` runs that have succeeded or died. Runs may not end in
        the order in which they began.
        """
        recent: list[Run] = []
        spoke = 0
        while spoke < wanted and len(recent) < MAX_READ:
            before = recent[-1].name.local if recent else None
            page = self.parts.runs.page(job.tenant, job.id, limit=PAGE, before=before)
            recent += page
            spoke += sum(isinstance(run, Succeeded | Dead) for run in page)
            if len(page) < PAGE:
                break
        return recent


class SuccessorStarter(Protocol):
    """Starts the runs that follow the run of another job."""

    def start(self, run: Run, job: Job, report: Report) -> None:
        """Start the runs that follow an ended run of the job. Raises if one could not be started."""


DEAD_VISIBILITY_SECONDS = 1
"""A dead run's message is failed with this visibility until SQS moves it to the dead-letter queue. Only a message moved
by SQS can be redriven in the console, since SQS then knows its source.
"""


@dataclass(frozen=True, slots=True)
class SideEffects:
    """Performs the side effects of a run's record."""

    parts: Parts[TableSettings]
    notices: Notifier
    announcements: Announcements
    failing: FailingJobs
    overlaps: Overlaps
    wait_queue: WaitQueue
    forwarder: Forwarder
    workflows: Workflows
    successors: Callable[[], SuccessorStarter]
    executions: Callable[[], FollowedExecutions] | None = None
    """The executions whose end runs wait for. None for a function that may not stop them."""

    def perform(self, item: WorkItem, run: Run, job: JobSnapshot) -> Disposition:
        """Perform the side effects and return the disposition of the message. `job` may be as old as the attempt."""
        if run.workflow is not None and isinstance(run, Final) and not run.notified:  # `notified` is written after this
            self.workflows.ended(run, item.report)
        match run:
            case Retrying():
                self._stop_execution(run, item.report)
                self._publish(item, run, job)
                self._give_key_back(item, run, job)
                return self._send_next_attempt(item, run)
            case Succeeded() | Cancelled() | Skipped():
                if isinstance(run, Cancelled):
                    self._stop_execution(run, item.report)
                self._give_key_back(item, run, job)
                self._end(run, job, item.report)
                self._publish(item, run, job)
                if isinstance(run, Succeeded) and isinstance(job, Job) and job.failing is not None:
                    self.failing.mark(job, None)
                return Disposition.ACK
            case Dead():
                if not run.notified:  # else a delivery on its way to the dead-letter queue: they are many
                    self._stop_execution(run, item.report)
                    self._give_key_back(item, run, job)
                    self._end(run, job, item.report)
                    self._notify(item, run, job)
                self._pause_failing(job, item.report)
                if isinstance(item.message.command, Evaluate) and self._carried_by_another(item, run):
                    return Disposition.ACK
                self.forwarder.postpone(item.received.receipt, DEAD_VISIBILITY_SECONDS)
                return Disposition.RETAIN
            case Running() | Waiting() | Queued():
                # Another message carries the run: its own, its callback's, its deadline's or its start from the wait
                # queue.
                return Disposition.ACK
            case other:
                assert_never(other)

    def leave_wait_queue(
        self, message: RunMessage, run: Run | None, report: Report, *, waited: Queued | None = None
    ) -> None:
        """Remove the run of a message from its wait queue if, according to its record `run`, it no longer waits. Then
        start the next run. No run is started if the message removes nothing and was not sent by the wait queue.
        `waited` is the run's previous record, which names the key for which the run waited.
        """
        others = self.wait_queue.received(message)
        queues = {message.wait_queue} if waited is None else {message.wait_queue, wait_queue_of(waited)}
        for queue in sorted(queues):
            left = self.wait_queue.leave(message, run, queue, waited=waited)
            if left or (others == 0 and queue == message.wait_queue):
                self.wait_queue.call_next(message.tenant, queue, report)

    def _stop_execution(self, run: Run, report: Report) -> None:
        """Stop an execution that its run no longer waits for, before another run or attempt starts."""
        execution = execution_to_stop(run)
        if execution is not None and self.executions is not None:
            self.executions().stop(execution, run, report)
        elif execution is not None:
            report.counts["ExecutionsNotStopped"] += 1
            error = "this function may not stop executions"
            of = {"tenant": run.tenant, "run_id": run.run_id, "execution": execution.id}
            report.add("execution_not_stopped", alarming=True, error=error, **of)

    def _carried_by_another(self, item: WorkItem, run: Run) -> bool:
        """Return whether another message is the dead letter of a workflow's run that an evaluation made dead. If there
        is none yet, send one, because another delivery of this evaluation may find fewer ends and delete the message.
        """
        if run.message_id != item.received.message_id:
            return True
        if item.message.replaces:
            return False
        copy = item.message.again(nonce=self.parts.randomness.nonce(), instead_of=item.received.message_id)
        return self.forwarder.send(copy, self.parts.clock.now())

    def _send_next_attempt(self, item: WorkItem, run: Retrying) -> Disposition:
        nonce = self.parts.randomness.nonce()
        following = item.message.to_start(run.attempt + 1, nonce=nonce, not_before=run.not_before)
        if self.forwarder.send(following, run.not_before):
            return Disposition.ACK
        item.report.add("send_refused", alarming=True, reason="the next attempt's message")
        return Disposition.RETAIN

    def _give_key_back(self, item: WorkItem, run: Run, job: JobSnapshot) -> None:
        """Start the next run in the wait queue of the run's key. The record has given the place of the key back."""
        if run.key is not None:
            self.overlaps.release_key(run, job, item.places)
            self.wait_queue.call_next(run.tenant, key_queue(run.key), item.report)

    def _end(self, run: Run, job: JobSnapshot, report: Report) -> None:
        """Start the next run in the wait queue, and complete the job if this was its last run."""
        if not isinstance(job, Job):
            return
        self.start_next(run, job, report)
        now = self.parts.clock.now()
        # Only for a job whose schedule may have no future occurrence. Its cursor is authoritative.
        soon = int(now) + CLOCKS_DIFFER_SECONDS
        if job.ends_by(soon) and complete_if_ended(self.parts.jobs, self.parts.runs, job.tenant, job.id, at=now):
            report.add("job_completed", tenant=job.tenant, job_id=job.id)

    def _notify(self, item: WorkItem, run: Dead, job: JobSnapshot) -> None:
        """Announce the death, and record that all actions after the run's end are completed."""
        if not run.is_step:  # whose death its workflow's run announces, with all others
            told = (job.owner, job.runbook_url) if isinstance(job, Job) else ()
            self.notices.death(FailureNotification(run, run.finished_at, *told))
        self._publish(item, run, job)
        if isinstance(job, Job) and NoticeCause.RECOVERED in job.notices_wanted and run.requested_by != NOTIFIER:
            self.failing.mark(job, run.run_id)
        self.parts.runs.write(replace(run, notified=True), run)
        item.report.counts["DeathsAnnounced"] += 1
        item.report.add("death_announced", alarming=True, code=run.code, error=run.error)

    def start_next(self, run: Run, job: Job, report: Report) -> None:
        """Start the next run in the wait queue of the job after `run`, whose record has released the lock."""
        if free := self.overlaps.release(job, run):
            self.wait_queue.call_next(run.tenant, run.job_id, report, free)

    def announce_deadline(self, missed: MissedDeadline, job: JobSnapshot, report: Report) -> None:
        """Announce a missed deadline. A repeated message announces it again, with the same ids."""
        if not isinstance(job, Job):
            return
        self.notices.deadline(DeadlineNotification(missed.run, missed.deadline, missed.at, job.owner, job.runbook_url))
        self.announcements.publish_deadline(missed, job, report)
        report.counts["DeadlinesMissed"] += 1
        report.add("deadline_missed", alarming=True, deadline=missed.deadline, at=missed.at, reason=missed.reason)

    def _pause_failing(self, job: JobSnapshot, report: Report) -> None:
        """Pause a job that keeps failing. Each delivery of a dead run's message checks this. If the check fails, the
        next delivery repeats it without another announcement.
        """
        if not isinstance(job, Job):
            return
        try:
            self.failing.consider(job, report)
        except Exception as problem:  # noqa: BLE001 - after any error the run is dead and announced
            error = format_error(problem)
            report.counts["PausesFailed"] += 1
            report.add("job_not_paused", alarming=True, tenant=job.tenant, job_id=job.id, reason=error)

    def _publish(self, item: WorkItem, run: Run, job: JobSnapshot) -> None:
        """Publish the outcome and start the run's successors, but only for the message that wrote the record. Copies of
        messages are common, because the API and the tick send the same ones.
        """
        if isinstance(job, Job) and item.carries(run):
            self.announcements.publish(run, job, item.report, item.context.lease_until - FINISH_MARGIN_SECONDS)
            if job.then:
                self.successors().start(run, job, item.report)
