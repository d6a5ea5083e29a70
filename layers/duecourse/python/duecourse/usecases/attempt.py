"""One message in a worker's hands: start an attempt, call the target, record the end, send what follows.

The order at the end is record, then send, then delete; whatever is cut short in between is repeated by the redelivered
message, and all of it is idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import ceil

from duecourse.domain.finish import decide_finish
from duecourse.domain.job import Job, JobSnapshot
from duecourse.domain.run import Run, RunState
from duecourse.domain.start import decide_start
from duecourse.domain.start_decision import (
    Bury,
    Drop,
    FollowUp,
    Handover,
    Leave,
    Remainder,
    Skip,
    Start,
)
from duecourse.domain.targets import Failed, Outcome
from duecourse.domain.template import TemplateError, idempotency_key
from duecourse.messages import RunMessage
from duecourse.ports import Call, Caller, Clock, Conflict, JobStore, Randomness, RunStore
from duecourse.usecases.aftermath import Aftermath
from duecourse.usecases.copies import Copies, Fate
from duecourse.usecases.enqueue import HOLD_SECONDS
from duecourse.usecases.hand import Delivery, Forwarder, WorkerRules
from duecourse.usecases.offer import offer_of
from duecourse.usecases.overlap import Grip, Overlaps
from duecourse.usecases.report import Report

MAX_DECISIONS = 6
"""How often a message is decided anew after a condition failed. Each failure means that another writer won, so a row
of them means a fault; the message is then left for later."""

CLOCK_SLACK_SECONDS = 1.5
"""A message that is early by no more than this above the hold is held all the same: the API does not wait for a
second's start when it sends, and clocks differ."""

FINISH_MARGIN_SECONDS = 3
"""What a worker keeps of its invocation to record the end of an attempt."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """Handles single messages; one instance serves all threads of a worker."""

    jobs: JobStore
    runs: RunStore
    caller: Caller
    clock: Clock
    randomness: Randomness
    overlaps: Overlaps
    forwarder: Forwarder
    aftermath: Aftermath
    rules: WorkerRules

    def handle(self, message: RunMessage, delivery: Delivery, deadline: float, report: Report) -> Fate:
        """Bring the message's run as far as it can go before `deadline` (UTC seconds, when Lambda kills us)."""
        early = message.not_before - self.clock.now()
        if early > HOLD_SECONDS + CLOCK_SLACK_SECONDS:
            return self._copies.send(message, delivery, message.not_before, "early", report)
        if early > 0:
            self.clock.sleep_until(message.not_before)
        hand = Handover(
            message_id=delivery.message_id,
            token=f"{delivery.request_id}/{delivery.message_id}",
            lease_until=deadline,
            expires_at=int(self.clock.now()) + self.rules.run_retention_days * 86_400,
        )
        # A first delivery of a first attempt is nearly always new: let the conditional write find out, not a read.
        fresh = message.attempt == 1 and delivery.receive_count == 1
        run = None if fresh else self._record(message)
        for _ in range(MAX_DECISIONS):
            job = self.jobs.snapshot(message.tenant, message.job_id)
            outcome = self._step(message, delivery, hand, job, run, report)
            if isinstance(outcome, Fate):
                return outcome
            run = outcome.found
        report.add("undecided", alarming=True, run_id=str(message.name), tries=MAX_DECISIONS)
        return Fate.LEFT

    def _record(self, message: RunMessage) -> Run | None:
        return self.runs.get(message.tenant, message.job_id, message.name.local)

    def _step(
        self,
        message: RunMessage,
        delivery: Delivery,
        hand: Handover,
        job: JobSnapshot,
        run: Run | None,
        report: Report,
    ) -> Fate | Conflict:
        """Decide once and act; a Conflict means that another writer was there first."""
        now = self.clock.now()
        decision = decide_start(offer_of(message), job, run, hand, now=now)
        match decision:
            case Start() if isinstance(job, Job):
                return self._start(decision, message, delivery, job, hand, report)
            case Start():
                raise AssertionError("a start was decided without a job")
            case Bury(ended, previous, reason):
                if conflict := self._write(ended, previous):
                    return conflict
                report.add("run_ended", run_id=str(ended.name), state=ended.state, reason=reason)
                return self._follow(ended, job, message, delivery, report)
            case Skip(skipped, reason):
                if conflict := self._write(skipped, None):
                    return conflict
                report.counts["Skipped"] += 1
                report.add("run_skipped", tenant=skipped.tenant, run_id=str(skipped.name), reason=reason)
                return self._follow(skipped, job, message, delivery, report)
            case Drop(reason):
                report.counts["DuplicatesDropped"] += 1
                report.add("message_dropped", run_id=str(message.name), reason=reason)
                return Fate.DONE
            case FollowUp(past, reason):
                report.add("followed_up", run_id=str(past.name), state=past.state, reason=reason)
                return self._follow(past, job, message, delivery, report)
            case Remainder(occurrence, due, count, reason):
                rest = replace(message, occurrence=occurrence, due=due, count=count)
                return self._copies.send(rest, delivery, now, reason, report)
            case Leave(until, reason):
                if self.rules.near_limit(delivery):
                    return self._copies.send(message, delivery, until, reason, report)
                self.forwarder.postpone(delivery, ceil(until - now))
                report.add("message_left", run_id=str(message.name), until=until, reason=reason)
                return Fate.LEFT

    def _start(
        self,
        decision: Start,
        message: RunMessage,
        delivery: Delivery,
        job: Job,
        hand: Handover,
        report: Report,
    ) -> Fate | Conflict:
        now = self.clock.now()
        put_off = partial(self._copies.put_off, message, delivery, decision.previous)
        if self.rules.near_limit(delivery):
            return put_off(message.not_before, "near the receive limit", report)
        if hand.lease_until - now < job.timeout_seconds + FINISH_MARGIN_SECONDS:
            return put_off(message.not_before, "not enough time left", report)
        match self.overlaps.take(job, decision.run, hand.lease_until):
            case Grip.HELD:
                pass
            case Grip.AWAIT:
                return put_off(now + 2, "the overlap lock's holder is about to start", report)
            case Grip.TAKEN if decision.previous is not None:
                return put_off(now + 5, "another run of the job is alive", report)
            case Grip.TAKEN:
                refused = replace(decision.run, state=RunState.SKIPPED, reason="overlap", attempt=0, lease_until=None)
                refused = replace(refused, first_started_at=None, started_at=None)
                if conflict := self._write(refused, None):
                    return conflict
                report.counts["Skipped"] += 1
                report.add("run_skipped", tenant=job.tenant, run_id=str(refused.name), reason="overlap")
                return self._follow(refused, job, message, delivery, report)
        if conflict := self._write(decision.run, decision.previous):
            return conflict
        if decision.previous is None and decision.run.lateness is not None:
            report.measure("Lateness", decision.run.lateness)
        return self._call(decision, message, delivery, job, hand, report)

    def _call(
        self,
        decision: Start,
        message: RunMessage,
        delivery: Delivery,
        job: Job,
        hand: Handover,
        report: Report,
    ) -> Fate:
        """Call the target and record the end of the attempt."""
        run = decision.run
        spare = hand.lease_until - self.clock.now() - FINISH_MARGIN_SECONDS
        outcome: Outcome
        try:
            key = idempotency_key(run, job)
        except TemplateError as problem:
            outcome = Failed(f"idempotency_key: {problem}", retryable=False)
        else:
            outcome = self.caller.call(Call(job, run, key, min(float(job.timeout_seconds), spare)))
        finish = decide_finish(run, job, outcome, now=self.clock.now(), draw=self.randomness.draw())
        facts = {
            "tenant": run.tenant,
            "run_id": str(run.name),
            "attempt": run.attempt,
            "started": decision.reason,
            "state": finish.run.state,
            "reason": finish.reason,
            "lateness_seconds": run.lateness,
            "error": finish.run.error,
        }
        if conflict := self._write(finish.run, run):
            found = conflict.found
            report.counts["FinishesRefused"] += 1
            report.add("finish_refused", alarming=True, **facts, found=None if found is None else found.state)
            return Fate.DONE
        report.counts[f"Runs{finish.run.state.capitalize()}"] += 1
        report.add("attempt_finished", alarming=finish.run.state is RunState.DEAD, **facts)
        return self._follow(finish.run, job, message, delivery, report)

    def _write(self, run: Run, previous: Run | None) -> Conflict | None:
        """Write; a refusal that turns out to be our own write (its answer was lost) counts as written."""
        conflict = self.runs.write(run, previous)
        if conflict is not None and conflict.found is not None and run.written_as(conflict.found):
            return None
        return conflict

    def _follow(self, run: Run, job: JobSnapshot, message: RunMessage, delivery: Delivery, report: Report) -> Fate:
        return Fate.DONE if self.aftermath.follow(run, job, message, delivery, report) else Fate.LEFT

    def rescue(self, message: RunMessage, delivery: Delivery, report: Report) -> Fate:
        """After a fault on our side."""
        return self._copies.rescue(message, delivery, report)

    @property
    def _copies(self) -> Copies:
        return Copies(self.runs, self.clock, self.randomness, self.forwarder, self.rules)
