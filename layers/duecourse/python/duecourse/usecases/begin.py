"""Begin an attempt: take what it needs, write its record, call the target, record the end of the call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from duecourse.domain.callback import CallbackToken
from duecourse.domain.decision import Ended, Handover, Settle, Start
from duecourse.domain.job import Job
from duecourse.domain.lifecycle import decide
from duecourse.domain.overlap import Await, Wait, Yield, ask_again
from duecourse.domain.run import Run, RunState
from duecourse.domain.target_document import type_of
from duecourse.domain.targets import Failed, Outcome
from duecourse.domain.template import TemplateError, idempotency_key
from duecourse.messages import MessageKind, RunMessage
from duecourse.ports import Call, Caller, Clock, Conflict, Inputs, Randomness
from duecourse.usecases.copies import Copies, Fate
from duecourse.usecases.hand import Delivery, Forwarder, WorkerRules
from duecourse.usecases.overlap import Held, Overlaps
from duecourse.usecases.report import Report
from duecourse.usecases.settle import Settler

MAX_FINISHES = 6
"""How often the end of a call is decided anew because its record was marked meanwhile."""

FINISH_MARGIN_SECONDS = 3
"""What a worker keeps of its invocation to record the end of an attempt."""

PAYLOAD_GONE = Failed(
    "the payload that was given for this run is not kept any more", retryable=False, code="payload_gone"
)


@dataclass(frozen=True, slots=True)
class Beginner:
    """Begins attempts that were decided upon."""

    caller: Caller
    inputs: Inputs
    clock: Clock
    randomness: Randomness
    overlaps: Overlaps
    forwarder: Forwarder
    settler: Settler
    copies: Copies
    rules: WorkerRules

    def begin(
        self, decision: Start, message: RunMessage, delivery: Delivery, job: Job, hand: Handover, report: Report
    ) -> Fate | Conflict:
        """Start the attempt, or put it off."""
        now = self.clock.now()
        put_off = partial(self.copies.put_off, message, delivery, decision.previous)
        if self.rules.near_limit(delivery):
            return put_off(message.not_before, "near the receive limit", report)
        if hand.lease_until - now < job.timeout_seconds + FINISH_MARGIN_SECONDS:
            # The job's lane, which an edit may have changed since: this one's workers may never have enough.
            return put_off(message.not_before, "not enough time left", report, lane=job.lane)
        match self.overlaps.take(job, decision.run, hand.lease_until):
            case Held():
                pass
            case Await(until, reason):
                return put_off(until, reason, report)
            case Wait(until, reason, oust):
                if oust is not None:
                    self._oust(oust, report)
                # What waits for its turn is not late: only a start deadline ends its waiting.
                patient = replace(message, caught_up_at=until)
                return self.copies.put_off(patient, delivery, decision.previous, until, reason, report)
            case Yield() if decision.previous is not None:
                until = ask_again(decision.run.due, now)
                return put_off(until, "another run of the job is alive", report)
            case Yield(reason, because):
                return self.settler.settle(_refused(decision.run, reason, because), job, message, delivery, report)
        # Before anything is written: where it cannot be read, no attempt is used up.
        called = self._as_asked(job, decision.run)
        if decision.run.deadline is not None and not self._arm(decision.run, message, decision.run.deadline):
            return put_off(now, "its deadline could not be armed", report)
        if conflict := self.settler.write(decision.run, decision.previous):
            if decision.previous is None and conflict.found is not None and conflict.found.state is RunState.DEAD:
                self.overlaps.release(job, decision.run)  # a copy for a dead run: nothing follows that would free it
            return conflict
        self._count(decision, job, message, report)
        outcome = PAYLOAD_GONE if called is None else self._call(decision.run, called, hand)
        return self._finish(decision.run, job, outcome, message, delivery, hand, report)

    def _count(self, decision: Start, job: Job, message: RunMessage, report: Report) -> None:
        """Count an attempt that has begun, and the one before it where that was lost."""
        target, previous = type_of(job.target), decision.previous
        report.count("AttemptsStarted", target)
        if previous is None:
            if decision.run.lateness is not None:
                report.measure("Lateness", decision.run.lateness)
            # What waited for its turn has the mark of a catch-up, too (`patient`), but may not start before that.
            if message.caught_up_at is not None and message.not_before < message.caught_up_at:
                report.counts["CaughtUp"] += 1
        elif previous.state is RunState.RUNNING:
            report.count("AttemptsFailed", target)  # its worker vanished, and this one takes over

    def _as_asked(self, job: Job, run: Run) -> Job | None:
        """The job as this run calls it: with the payload that was given for it, if there was one; None where that is
        not kept any more.
        """
        if not run.own_payload:
            return job
        asked = self.inputs.get(run.tenant, run.job_id, run.suffix)
        return None if asked is None else replace(job, payload=asked.payload)

    def _arm(self, run: Run, message: RunMessage, deadline: float) -> bool:
        """Have the deadline of a run with a callback looked at when it comes; before its record, before its call."""
        start = message.to_start(run.attempt, nonce=self.randomness.nonce(), not_before=deadline)
        return self.forwarder.send(replace(start, kind=MessageKind.DEADLINE), deadline)

    def _oust(self, holder: Run, report: Report) -> None:
        """Ask another run of the job to end, by a message like anybody's."""
        now = self.clock.now()
        asked = RunMessage(
            tenant=holder.tenant,
            job_id=holder.job_id,
            occurrence=holder.occurrence,
            due=holder.due,
            generation=holder.generation,
            lane=holder.lane,
            not_before=now,
            nonce=self.randomness.nonce(),
            attempt=max(holder.attempt, 1),
            suffix=holder.suffix,
            kind=MessageKind.CANCEL,
            reason="replaced",
            correlation_id=holder.correlation_id,
        )
        sent = self.forwarder.send(asked, now)
        report.add("run_replaced", alarming=not sent, tenant=holder.tenant, run_id=str(holder.name), sent=sent)

    def _call(self, run: Run, job: Job, hand: Handover) -> Outcome:
        spare = hand.lease_until - self.clock.now() - FINISH_MARGIN_SECONDS
        token = None if run.callback_hash is None else str(CallbackToken(run.tenant, run.attempt, hand.secret))
        try:
            key = idempotency_key(run, job)
            return self.caller.call(Call(job, run, key, min(float(job.timeout_seconds), spare), token))
        except TemplateError as problem:  # a job of before its strings were templates
            return Failed(f"a template of the job cannot be filled in: {problem}", retryable=False, code="bad_template")

    def _finish(
        self,
        run: Run,
        job: Job,
        outcome: Outcome,
        message: RunMessage,
        delivery: Delivery,
        hand: Handover,
        report: Report,
    ) -> Fate:
        """Record the end of the call over the record that the attempt was started with."""
        draw = self.randomness.draw()
        for _ in range(MAX_FINISHES):
            decision = decide(Ended(outcome, draw), job, run, hand, now=self.clock.now())
            if not isinstance(decision, Settle):
                raise AssertionError(f"the end of a call was decided as {type(decision).__name__}")  # noqa: TRY004
            settled = self.settler.settle(decision, job, message, delivery, report)
            if isinstance(settled, Fate):
                return settled
            found = settled.found
            if found is None or found.attempt != run.attempt or found.state is not RunState.RUNNING:
                return self._overtaken(run, found, report)
            run = found  # somebody asked for its cancellation while the call was on its way
        report.add("undecided", alarming=True, tries=MAX_FINISHES)
        return Fate.LEFT

    def _overtaken(self, run: Run, found: Run | None, report: Report) -> Fate:
        """The attempt was ended by others: by its own callback, which may be faster than the call's answer, or because
        this worker was believed dead.
        """
        called_back = run.callback_hash is not None and found is not None and found.attempt == run.attempt
        state = None if found is None else found.state
        if not called_back:
            report.counts["FinishesRefused"] += 1
        action = "called_back_early" if called_back else "finish_refused"
        report.add(action, alarming=not called_back, found=state)
        return Fate.DONE


def _refused(run: Run, reason: str, because: str) -> Settle:
    """The record of a run that another one keeps from starting."""
    never = replace(run, state=RunState.SKIPPED, reason=reason, attempt=0, lease_until=None)
    return Settle(
        replace(
            never,
            first_started_at=None,
            started_at=None,
            callback_hash=None,
            waiting_until=None,
            heartbeat_until=None,
        ),
        None,
        because,
    )
