"""The look into the dead-letter queue: what lies there without its run being dead is found and recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

from duecourse.domain.decision import Drop, FollowUp, Handover, Leave, Rearm, Remainder, Settle, Start, Stranded
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.lifecycle import decide
from duecourse.domain.run import RunState
from duecourse.messages import MessageError, RunMessage, read_run_message
from duecourse.ports import (
    Clock,
    Conflict,
    DeadLetterQueue,
    DeadMessage,
    JobStore,
    Lanes,
    Outgoing,
    Randomness,
    RunStore,
)
from duecourse.usecases.copies import STARTS, Fate
from duecourse.usecases.hand import Delivery
from duecourse.usecases.offer import offer_of
from duecourse.usecases.report import Report, about, in_words
from duecourse.usecases.settle import Settler

MAX_MESSAGES = 2000
"""Messages looked at in one sweep: it must end within its invocation, and the next one goes on."""

MARGIN_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Sweep:
    """The use case; one instance serves many sweeps."""

    queue: DeadLetterQueue
    jobs: JobStore
    runs: RunStore
    lanes: Lanes
    clock: Clock
    randomness: Randomness
    settler: Settler
    run_retention_days: int

    def __call__(self, deadline: float) -> Report:
        """Look at every message once, as far as time allows (`deadline`: UTC seconds); each is seen again by others
        when this ends.
        """
        report = Report()
        seen: dict[str, DeadMessage] = {}
        try:
            while len(seen) < MAX_MESSAGES and self.clock.now() < deadline - MARGIN_SECONDS:
                batch = self._receive(report)
                fresh = [message for message in batch if message.message_id not in seen]
                # One that was given back meanwhile is held by its newest receipt only.
                seen.update({message.message_id: message for message in batch if message.message_id in seen})
                if not fresh:
                    break
                for message in fresh:
                    seen[message.message_id] = message
                    if self._look(message, report):
                        del seen[message.message_id]
        finally:
            self.queue.release(list(seen.values()))
        report.counts["DeadLettersKept"] += len(seen)
        report.add("swept", kept=len(seen), counts={name: count for name, count in report.counts.items() if count})
        return report

    def _receive(self, report: Report) -> list[DeadMessage]:
        """The next messages; none where the queue does not answer: what was seen until then stands and is told."""
        try:
            return self.queue.receive()
        except Exception as problem:  # noqa: BLE001 - whatever it is, the next sweep asks again
            report.counts["SweepsFailed"] += 1
            report.add("dead_letter_failed", alarming=True, error=in_words(problem))
            return []

    def _look(self, found: DeadMessage, report: Report) -> bool:
        """Whether the message is gone from the queue now."""
        try:
            message = read_run_message(found.body)
        except MessageError as problem:
            report.counts["DeadLettersUnreadable"] += 1
            report.add("dead_letter_unreadable", alarming=True, message_id=found.message_id, error=str(problem))
            return False
        told = Report(about(message))
        try:
            gone = self._act(found, message, told)
            if gone:
                self.queue.delete(found)
                told.counts["DeadLettersRemoved"] += 1
        except Exception as problem:  # noqa: BLE001 - one message's fault must not keep the others from being seen
            told.counts["SweepsFailed"] += 1
            told.add("dead_letter_failed", alarming=True, error=in_words(problem))
            return False
        finally:
            report.merge(told)
        return gone

    def _act(self, found: DeadMessage, message: RunMessage, report: Report) -> bool:
        now = self.clock.now()
        if message.watch is not None:  # it looks after a line, whatever has become of the run that it names
            return self._resend(message, "it looks after a line", report)
        hand = Handover(
            message_id=found.message_id,
            token=f"sweep/{found.message_id}",
            lease_until=now,
            expires_at=int(now) + self.run_retention_days * DAY_SECONDS,
        )
        run = self.runs.get(message.tenant, message.job_id, message.name.local)
        job = self.jobs.snapshot(message.tenant, message.job_id)
        delivery = Delivery(found.message_id, found.receipt, 1, "sweep")
        decision = decide(Stranded(offer_of(message), message.kind in STARTS), job, run, hand, now=now)
        facts: dict[str, Any] = {"asked": message.kind}
        match decision:
            case Leave(_, reason):
                report.add("dead_letter_kept", reason=reason, **facts)
                return False
            case Drop(reason):
                report.add("dead_letter_removed", reason=reason, **facts)
                return True
            case Rearm(_, reason):
                return self._resend(message, reason, report)
            case FollowUp(past, reason):
                report.add("followed_up", reason=reason, **facts)
                return self.settler.follow(past, job, message, delivery, report) is Fate.DONE
            case Settle():
                settled = self.settler.settle(decision, job, message, delivery, report)
                if isinstance(settled, Conflict):
                    return False  # somebody carries it on after all; the next sweep sees
                report.counts["DeadLettersRecorded"] += decision.run.state is RunState.DEAD
                return decision.run.state is not RunState.DEAD
            case Start() | Remainder():
                raise AssertionError("nothing is started from the dead-letter queue")
            case other:
                assert_never(other)

    def _resend(self, message: RunMessage, reason: str, report: Report) -> bool:
        report.counts["DeadLettersResent"] += 1
        report.add("dead_letter_resent", alarming=True, reason=reason, asked=message.kind)
        again = message.again(nonce=self.randomness.nonce(), not_before=self.clock.now())
        return self.lanes.send([Outgoing(again, 0)])[0]
