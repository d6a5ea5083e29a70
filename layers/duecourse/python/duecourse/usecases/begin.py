"""Begin an attempt: take what it needs, write its record, call the target, record the end of the call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from traceback import format_tb

from duecourse.domain.callback import CallbackToken
from duecourse.domain.decision import Ended, Handover, Settle, Start
from duecourse.domain.job import Job
from duecourse.domain.lifecycle import decide
from duecourse.domain.overlap import Await, Wait, Yield, needs_lock
from duecourse.domain.records import queued, refused
from duecourse.domain.rendering import idempotency_key, with_its_key
from duecourse.domain.run import Run, RunState
from duecourse.domain.seats import has_seat
from duecourse.domain.target_document import type_of
from duecourse.domain.targets import Failed, Outcome
from duecourse.domain.template import TemplateError
from duecourse.messages import MessageKind, RunMessage
from duecourse.ports import Call, Caller, Clock, Conflict, Inputs, Randomness
from duecourse.usecases.copies import Copies, Fate
from duecourse.usecases.coverage import Coverage
from duecourse.usecases.hand import Delivery, Forwarder, WorkerRules
from duecourse.usecases.line import Line
from duecourse.usecases.overlap import Held, Overlaps
from duecourse.usecases.patience import Patience
from duecourse.usecases.report import Report
from duecourse.usecases.settle import Settler

MAX_FINISHES = 6
"""How often the end of a call is decided anew because its record was marked meanwhile."""

FINISH_MARGIN_SECONDS = 3
"""What a worker keeps of its invocation to record the end of an attempt."""

LAST_FINISH_SECONDS = 8
"""So long before its lease ends a worker begins no further write of a finish that was refused: the SDK's own four tries
pause for seven seconds at most (AWS SDKs and Tools Reference Guide, "Retry behavior": 1, 2 and 4 s in mode standard).
Where they get no answer at all they take half a minute; once they have, as much is left for the next ones.
"""

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
    line: Line
    forwarder: Forwarder
    settler: Settler
    copies: Copies
    coverage: Coverage
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
        if not message.bulk and not has_seat(job, self.rules.lane, message.generation, manual=bool(message.suffix)):
            bulk = replace(message, bulk=True)
            return self.copies.put_off(bulk, delivery, decision.previous, now, "it has no seat", report, lane=job.lane)
        if decision.previous is None:
            fitted = self.coverage.fit(decision.run, message, job)
            if fitted.rest is not None:
                rest = fitted.rest.again(nonce=self.randomness.nonce())
                if not self.forwarder.send(rest, now):
                    return put_off(now, "the rest of a catch-up could not be sent", report)
                report.add("message_forwarded", not_before=now, reason="the rest of a catch-up", run_id=str(rest.name))
            decision = replace(decision, run=fitted.run)
        fresh = decision.previous is None or decision.previous.state is RunState.QUEUED
        match self.overlaps.take(job, decision.run, hand.lease_until, fresh=fresh, again=message.waited):
            case Held():
                pass
            case Await(until, reason):
                waits = replace(message, waited=True)
                return self.copies.put_off(waits, delivery, decision.previous, until, reason, report)
            case Wait() as wait:
                return self._wait(wait, decision, message, delivery, job, report)
            case Yield(reason, because):
                never = refused(decision, reason, because)
                return self.settler.settle(never, job, message, delivery, report)
        # Before anything is written: where it cannot be read, no attempt is used up.
        called = self._as_asked(job, decision.run)
        run = with_its_key(decision.run, job)
        if (deadline := run.deadline) is not None:
            run = replace(run, armed=self.randomness.nonce())
            if not self._arm(run, message, deadline):
                return put_off(now, "its deadline could not be armed", report)
        if conflict := self.settler.runs.write(run, decision.previous):
            if conflict.found is not None and conflict.found.state is RunState.DEAD:
                self.overlaps.release(job, run)  # a copy for a dead run: nothing follows that would free it
            return conflict
        if message.waited or (decision.previous is not None and decision.previous.state is RunState.QUEUED):
            self.line.begun(run, report, locked=needs_lock(job))
        self._count(decision, job, message, report)
        outcome = PAYLOAD_GONE if called is None else self._call(run, called, hand, report)
        return self._finish(run, job, outcome, message, delivery, hand, report)

    def _wait(
        self, wait: Wait, decision: Start, message: RunMessage, delivery: Delivery, job: Job, report: Report
    ) -> Fate | Conflict:
        """Record that the run waits, put it in line, then look again: the lock may have been released meanwhile. The
        message is done with: whoever releases the lock calls the run.
        """
        standing = decision.previous
        if standing is None:
            if self.overlaps.is_full(job):
                full = f"{job.queue_limit} runs wait already"
                return self.settler.settle(refused(decision, "overlap_full", full), job, message, delivery, report)
            standing = queued(decision.run, self.clock.now())
            if conflict := self.settler.runs.write(standing, None):
                return conflict
        if self.line.enter(job, standing, self.copies.carried(message, delivery, standing), report):
            report.add("run_queued", reason=wait.reason)
            return Conflict(standing)
        if wait.preempt is not None:
            self._preempt(wait.preempt, report)
        elif self.overlaps.is_free(job):
            self.line.call_next(standing, report)  # another one goes first
        return Fate.DONE

    def _count(self, decision: Start, job: Job, message: RunMessage, report: Report) -> None:
        """Count an attempt that has begun, and the one before it where that was lost."""
        target, previous = type_of(job.target), decision.previous
        report.count("AttemptsStarted", target)
        if previous is None or previous.state is RunState.QUEUED:
            report.counts["CaughtUp"] += decision.run.caught_up
            # One that has waited for its turn is late from when it was called.
            since = message.not_before if message.waited else float(message.due)
            if decision.run.first_started_at is not None:
                report.measure("Lateness", decision.run.first_started_at - since)
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
        return self.forwarder.send(replace(start, kind=MessageKind.DEADLINE, armed=run.armed), deadline)

    def _preempt(self, holder: Run, report: Report) -> None:
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

    def _call(self, run: Run, job: Job, hand: Handover, report: Report) -> Outcome:
        spare = hand.lease_until - self.clock.now() - FINISH_MARGIN_SECONDS
        token = None if run.callback_hash is None else str(CallbackToken(run.tenant, run.attempt, hand.secret))
        try:
            key = idempotency_key(run, job)
            outcome = self.caller.call(Call(job, run, key, min(float(job.timeout_seconds), spare), token))
        except TemplateError as problem:  # a job of before its strings were templates, or before they had a bound
            return Failed(f"a template of the job cannot be filled in: {problem}", retryable=False, code=problem.code)
        except Exception as problem:  # noqa: BLE001 - whatever broke in the call, the attempt has ended, not its worker
            # What it says is kept out: it may quote a header, and so a secret.
            name = type(problem).__name__
            report.add("call_broke", alarming=True, error=name, traceback="".join(format_tb(problem.__traceback__)))
            return Failed(f"the call broke inside Duecourse ({name})", code="internal")
        if isinstance(outcome, Failed) and outcome.detail is not None:
            report.add("target_refused", code=outcome.code, detail=outcome.detail)
        return outcome

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
        """Record the end of the call over the record that the attempt was started with. Nobody else knows it: while it
        cannot be written, it is tried again for as long as this worker lives.
        """
        draw = self.randomness.draw()
        patience = Patience(self.clock, self.randomness, hand.lease_until - LAST_FINISH_SECONDS)
        for _ in range(MAX_FINISHES):
            decision = decide(Ended(outcome, draw), job, run, hand, now=self.clock.now())
            if not isinstance(decision, Settle):
                raise AssertionError(f"the end of a call was decided as {type(decision).__name__}")  # noqa: TRY004
            settled = self.settler.settle(decision, job, message, delivery, report, patience=patience)
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
