"""A worker's invocation: a batch of messages, handled side by side."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from duecourse.messages import MessageError, read_run_message
from duecourse.usecases.attempt import Attempts
from duecourse.usecases.copies import Fate
from duecourse.usecases.hand import Delivery
from duecourse.usecases.report import Report, about, in_words


@dataclass(frozen=True, slots=True)
class Batch:
    """`report` of all messages, and the ids of those that stay in their queue."""

    report: Report
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Execute:
    """The use case; one instance serves many invocations."""

    attempts: Attempts

    def __call__(self, received: Sequence[tuple[Delivery, str]], deadline: float) -> Batch:
        """Handle deliveries with their bodies, each in a thread of its own; all threads have ended on return."""
        with ThreadPoolExecutor(max_workers=max(len(received), 1), thread_name_prefix="run") as threads:
            handled = list(threads.map(lambda one: self._one(one[0], one[1], deadline), received))
        report = Report()
        for _, part in handled:
            report.merge(part)
        left = tuple(
            delivery.message_id for (delivery, _), (fate, _) in zip(received, handled, strict=True) if fate is Fate.LEFT
        )
        report.counts["MessagesReceived"] += len(received)
        report.counts["MessagesLeft"] += len(left)
        if report.counts["AttemptsStarted"]:  # a rate of failures needs to know of none, too
            for metric in ("AttemptsFailed", "RunsDead"):
                report.counts.setdefault(metric, 0)
        return Batch(report, left)

    def _one(self, delivery: Delivery, body: str, deadline: float) -> tuple[Fate, Report]:
        report = Report()
        try:
            message = read_run_message(body)
        except MessageError as problem:
            report.counts["MessagesUnreadable"] += 1
            report.add("message_unreadable", alarming=True, message_id=delivery.message_id, error=str(problem))
            return Fate.LEFT, report
        report.about = about(message)
        try:
            return self.attempts.handle(message, delivery, deadline, report), report
        except Exception as problem:  # noqa: BLE001 - one message's fault must not fail its neighbours
            report.counts["MessagesFailed"] += 1
            report.add(
                "message_failed",
                alarming=True,
                message_id=delivery.message_id,
                receive_count=delivery.receive_count,
                error=in_words(problem),
            )
            return self.attempts.rescue(message, delivery, deadline, report), report
