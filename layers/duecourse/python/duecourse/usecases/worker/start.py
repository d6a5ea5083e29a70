"""Starts an attempt: takes the lock, writes the record, calls the target and records the end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.seats import Starting, has_seat
from duecourse.domain.runs.decision import MemberTurn, Start
from duecourse.domain.runs.finish import cancel
from duecourse.domain.runs.overlap import Await, Wait, Yield, latest, needs_lock
from duecourse.domain.runs.records import queued, refused
from duecourse.domain.runs.recreated import own_job
from duecourse.domain.runs.rendering import with_its_key
from duecourse.domain.runs.run import Dead, Deadlines, Final, Queued, Run, Running
from duecourse.domain.targets.target_document import type_of
from duecourse.messages import MessageKind, RunMessage, message_about
from duecourse.ports import Conflict
from duecourse.usecases.report import Report
from duecourse.usecases.worker.call import FINISH_MARGIN_SECONDS, Calls
from duecourse.usecases.worker.coverage import Coverage
from duecourse.usecases.worker.finish import TransitionWriter
from duecourse.usecases.worker.overlap import Held
from duecourse.usecases.worker.requeue import Requeue, carried_on
from duecourse.usecases.worker.work_item import Disposition, WorkItem


@dataclass(frozen=True, slots=True)
class Starter:
    """Carries out the decision to start an attempt."""

    calls: Calls
    transitions: TransitionWriter
    requeue: Requeue
    coverage: Coverage

    def start(
        self, item: WorkItem, decision: Start, job: Job, turn: MemberTurn | None = None
    ) -> Disposition | Conflict:
        """Start the attempt, or defer it; `turn` is what the workflow's run of a member says."""
        message, report, now, effects = item.message, item.report, self.requeue.clock.now(), self.transitions.effects
        defer = partial(self.requeue.defer, item, decision.previous)
        if self.requeue.rules.near_limit(item):
            return defer(message.not_before, "near the receive limit")
        if item.context.lease_until - now < job.timeout_seconds + FINISH_MARGIN_SECONDS:
            # To the job's present lane: this lane's workers may never have enough time.
            return defer(message.not_before, "not enough time left", lane=job.lane)
        if message.is_member and message.attempt == 1 and job.lane is not self.requeue.rules.lane:
            return defer(message.not_before, "its job is in another lane now", lane=job.lane)
        if not message.bulk and not self._has_seat(item, decision, job, turn):
            return self._to_bulk(item, decision, job)
        if decision.previous is None:
            fitted = self.coverage.fit(decision.run, message, job)
            if fitted.rest is not None:
                rest = fitted.rest.again(nonce=self.requeue.randomness.nonce())
                if not self.requeue.forwarder.send(rest, now):
                    return defer(now, "the rest of a catch-up could not be sent")
                report.add("message_forwarded", not_before=now, reason="the rest of a catch-up", run_id=str(rest.name))
            decision = replace(decision, run=fitted.run)
        if message.waited:
            effects.line.received(message)  # before the lock is read
        match effects.overlaps.take(job, decision, item.context.lease_until, again=message.waited):
            case Held(called_until):
                earlier = latest(decision.run.called_until, called_until)
                if decision.run.is_workflow:  # whose members have seats if it has the lock
                    earlier = (earlier or 0.0) if needs_lock(job) else None
                decision = replace(decision, run=replace(decision.run, called_until=earlier))
                if called_until is not None and not message.bulk and not self._has_seat(item, decision, job, turn):
                    return self._to_bulk(item, decision, job)
            case Conflict() as past:
                return past
            case Await(until, reason):
                waits = replace(item, message=replace(message, waited=True))
                return self.requeue.defer(waits, decision.previous, until, reason)
            case Wait() as wait:
                return self._wait(item, wait, decision, job)
            case Yield(reason, because):
                return self.transitions.write(item, refused(decision, reason, because), job)
        # Before any write: if it cannot be read, no attempt is used up.
        prepared = self.calls.prepared(job, decision.run)
        run = with_its_key(decision.run, job)
        if run.deadlines is not None:
            armed = replace(run.deadlines, armed=self.requeue.randomness.nonce())
            run = replace(run, deadlines=armed)
            if not self._arm(run, message, armed):
                return defer(now, "its deadline could not be armed")
        if conflict := effects.runs.write(run, decision.previous):
            if isinstance(conflict.found, Dead):
                effects.overlaps.release(job, conflict.found)  # a copy for a dead run: no later step would release it
            return conflict
        waited = message.waited or isinstance(decision.previous, Queued)
        # A redriven run may have waited in line, and be started by another message than the one there.
        if waited or (needs_lock(job) and isinstance(decision.previous, Final)):
            effects.line.begun(message, run, report, locked=needs_lock(job))
        _count(decision, job, message, report)
        if run.is_workflow and own_job(effects.jobs.get(run.tenant, run.job_id), run) is None:
            # Deleted before this record was there: the deletion found no run to cancel.
            return self.transitions.write(item, cancel(run, "deleted", now), job)
        return self.transitions.finish(item, run, job, self.calls.call(item, run, prepared))

    def _has_seat(self, item: WorkItem, decision: Start, job: Job, turn: MemberTurn | None) -> bool:
        """Whether the run may start on this worker, which is for seats."""
        message, run = item.message, decision.run
        start = Starting(
            message.generation,
            self.requeue.clock.now(),
            manual=bool(message.suffix),
            first=run.attempt == 1 and not isinstance(decision.previous, Final),
            following=message.following,
            last=message.final,
            called_until=None if run.is_workflow else run.called_until,  # it calls nothing itself
            in_workflow=None if turn is None else turn.called_until,
        )
        return has_seat(job, self.requeue.rules.lane, start)

    def _to_bulk(self, item: WorkItem, decision: Start, job: Job) -> Disposition:
        bulk = replace(item, message=replace(item.message, bulk=True))
        now = self.requeue.clock.now()
        return self.requeue.defer(bulk, decision.previous, now, "it has no seat", lane=job.lane)

    def _wait(self, item: WorkItem, wait: Wait, decision: Start, job: Job) -> Disposition | Conflict:
        """Record that the run waits, put it in line, then read the lock again, which may have been released meanwhile.
        The message is deleted: the worker that releases the lock starts the run.
        """
        standing, report, effects = decision.previous, item.report, self.transitions.effects
        if standing is None:
            if (most := effects.overlaps.full_at(job)) is not None:
                full = refused(decision, "overlap_full", f"{most} runs wait already")
                return self.transitions.write(item, full, job)
            standing = queued(decision.run, self.requeue.clock.now())
            if conflict := effects.runs.write(standing, None):
                return conflict
        if effects.line.enter(job, standing, carried_on(item, standing).message, report):
            report.add("run_queued", reason=wait.reason)
            return Conflict(standing)
        if effects.overlaps.is_free(job):
            effects.line.call_next(standing, report)  # another run goes first, or the holder has just ended
        elif wait.preempt is not None:
            self._preempt(wait.preempt, report)
        return Disposition.ACK

    def _arm(self, run: Running, message: RunMessage, deadlines: Deadlines) -> bool:
        """Send the deadline message of a run with a callback, before the record and the call."""
        start = message.to_start(run.attempt, nonce=self.requeue.randomness.nonce(), not_before=deadlines.next)
        armed = replace(start, kind=MessageKind.DEADLINE, armed=deadlines.armed)
        return self.requeue.forwarder.send(armed, deadlines.next)

    def _preempt(self, holder: Run, report: Report) -> None:
        """Request the cancellation of another run of the job, by a CANCEL message."""
        now = self.requeue.clock.now()
        nonce = self.requeue.randomness.nonce()
        asked = message_about(holder, MessageKind.CANCEL, now=now, nonce=nonce, reason="replaced")
        sent = self.requeue.forwarder.send(asked, now)
        report.add("run_replaced", alarming=not sent, tenant=holder.tenant, run_id=str(holder.name), sent=sent)


def _count(decision: Start, job: Job, message: RunMessage, report: Report) -> None:
    """Count an attempt that has begun, and the one before it where that was lost."""
    target, previous = type_of(job.target), decision.previous
    report.count("AttemptsStarted", target)
    if isinstance(previous, Queued | None):
        report.counts["CaughtUp"] += decision.run.caught_up
        # One that has waited for its turn, or for other members of its workflow, is late from when it was called.
        since = message.not_before if message.waited or message.is_member else float(message.due)
        if decision.run.first_started_at is not None:
            report.measure("Lateness", decision.run.first_started_at - since)
    elif isinstance(previous, Running):
        report.count("AttemptsFailed", target)  # its worker died, and this one takes over
