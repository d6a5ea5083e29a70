"""One message in a worker's hands: decide about its run, and act.

The order at the end is record, then send, then delete; whatever is cut short in between is repeated by the redelivered
message, and all of it is idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import assert_never

from duecourse.domain.decision import Drop, FollowUp, Handover, Leave, Rearm, Remainder, Settle, Start
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.job import Job, JobSnapshot
from duecourse.domain.lifecycle import decide
from duecourse.domain.run import Run
from duecourse.messages import MessageKind, RunMessage
from duecourse.ports import Clock, Conflict, JobStore, Randomness, RunStore
from duecourse.usecases.begin import Beginner
from duecourse.usecases.copies import Copies, Fate
from duecourse.usecases.coverage import Coverage
from duecourse.usecases.enqueue import HOLD_SECONDS
from duecourse.usecases.hand import Delivery, Forwarder, WorkerRules
from duecourse.usecases.offer import event_of
from duecourse.usecases.report import Report
from duecourse.usecases.settle import Settler

MAX_DECISIONS = 6
"""How often a message is decided anew after a condition failed. Each failure means that another writer won, so a row
of them means a fault; the message is then left for later."""

CLOCK_SLACK_SECONDS = 1.5
"""A message that is early by no more than this above the hold is held all the same: the API does not wait for a
second's start when it sends, and clocks differ."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """Handles single messages; one instance serves all threads of a worker."""

    jobs: JobStore
    runs: RunStore
    clock: Clock
    randomness: Randomness
    forwarder: Forwarder
    beginner: Beginner
    settler: Settler
    copies: Copies
    coverage: Coverage
    rules: WorkerRules

    def handle(self, message: RunMessage, delivery: Delivery, deadline: float, report: Report) -> Fate:
        """Bring the message's run as far as it can go before `deadline` (UTC seconds, when Lambda kills us)."""
        if message.watch is not None:
            self.beginner.line.look(message, report)
            return Fate.DONE
        early = message.not_before - self.clock.now()
        if early > HOLD_SECONDS + CLOCK_SLACK_SECONDS:
            if not self._has_begun(message, delivery):
                return self.copies.send(message, delivery, message.not_before, "early", report)
        elif early > 0:
            self.clock.sleep_until(message.not_before)
        hand = Handover(
            message_id=delivery.message_id,
            # Its own nonce: one invocation may be given the same message twice.
            token=f"{delivery.request_id}/{delivery.message_id}/{self.randomness.nonce()}",
            lease_until=deadline,
            expires_at=int(self.clock.now()) + self.rules.run_retention_days * DAY_SECONDS,
            secret=self.randomness.nonce() + self.randomness.nonce(),
        )
        # A first delivery of a first attempt is nearly always new: let the conditional write find out, not a read. Who
        # has waited has a record.
        first = message.kind is MessageKind.START and message.attempt == 1 and not message.waited
        fresh = first and delivery.receive_count == 1
        run = None if fresh else self.runs.get(message.tenant, message.job_id, message.name.local)
        for _ in range(MAX_DECISIONS):
            job = self.jobs.snapshot(message.tenant, message.job_id)
            outcome = self._step(message, delivery, hand, job, run, report)
            if isinstance(outcome, Fate):
                return outcome
            run = outcome.found
        report.add("undecided", alarming=True, tries=MAX_DECISIONS)
        return Fate.LEFT

    def _leave_line(self, message: RunMessage, report: Report) -> None:
        """Who was called and does not wait any more: it has left the line, unless its worker died before."""
        if message.waited:
            self.settler.aftermath.leave_line(message, report)

    def _rearm(
        self,
        message: RunMessage,
        delivery: Delivery,
        hand: Handover,
        run: Run | None,
        until: float,
        reason: str,
        report: Report,
    ) -> Fate | Conflict:
        """Have the run looked at again. The message is sent before the record names it: whoever dies in between sends
        another one, and the first is not known. The token is changed, too: who ends the attempt must read again.
        """
        armed = self.randomness.nonce()
        fate = self.copies.send(replace(message, armed=armed), delivery, until, reason, report)
        if fate is Fate.LEFT or run is None:
            return fate
        return self.runs.write(replace(run, armed=armed, token=hand.token), run) or fate

    def _has_begun(self, message: RunMessage, delivery: Delivery) -> bool:
        """Whether the run is in the hands of this message already: it was on time by the clock of another worker, and a
        copy would leave the run without a message.
        """
        if delivery.receive_count == 1 and not message.replaces:
            return False
        run = self.runs.get(message.tenant, message.job_id, message.name.local)
        ours = {delivery.message_id, *(message_id for message_id, _ in message.replaces)}
        return run is not None and run.message_id in ours

    def rescue(self, message: RunMessage, delivery: Delivery, deadline: float, report: Report) -> Fate:
        """After a fault on our side."""
        return self.copies.rescue(message, delivery, deadline, report)

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
        decision = decide(event_of(message, self.randomness.draw()), job, run, hand, now=now)
        if run is None and (covering := self.coverage.covering(message, job, now=now)) is not None:
            decision = Drop(f"{covering.name} stands for it")
        match decision:
            case Start() if isinstance(job, Job):
                return self.beginner.begin(decision, message, delivery, job, hand, report)
            case Start():
                raise AssertionError("a start was decided without a job")
            case Settle():
                return self.settler.settle(decision, job, message, delivery, report)
            case Drop(reason):
                report.counts["DuplicatesDropped"] += 1
                report.add("message_dropped", reason=reason, asked=message.kind)
                self._leave_line(message, report)
                return Fate.DONE
            case FollowUp(past, reason):
                report.add("followed_up", state=past.state, reason=reason)
                self._leave_line(message, report)
                return self.settler.follow(past, job, message, delivery, report)
            case Remainder(occurrence, due, count, reason):
                rest = replace(message, occurrence=occurrence, due=due, count=count)
                return self.copies.send(rest, delivery, now, reason, report)
            case Rearm(until, reason):
                return self._rearm(message, delivery, hand, run, until, reason, report)
            case Leave(until, reason):
                if self.rules.near_limit(delivery):
                    return self.copies.put_off(message, delivery, run, until, reason, report)
                self.forwarder.postpone(delivery, ceil(until - now))
                report.add("message_left", until=until, reason=reason)
                return Fate.LEFT
            case other:
                assert_never(other)
