"""The wait queues of jobs and keys. A waiting run consists of two items in the table and has no message.

A run enters the wait queue and then reads the lock again. A holder writes its final record and then starts the next
run. So one of the two sees the other's write. A waiting run is started by sending its stored message: a call. The
worker that receives the call decides again, so an extra call changes nothing. If a call is lost, the wait queue's
watch, one message every half minute, starts the first run.

A worker calls as many runs as there are free places, and at most MAX_CALLS. It records the calls (`QueueWatch`) before
it sends them, and sends none while others are recorded. The receiver of a call removes it once its run has a place, or
once it is clear that the run still waits. The receiver that removes the last call then reads the places and calls the
next runs. Therefore no release of a place is missed: a worker that released a place and sent no call, because others
were recorded, released it before that read. Only the watch replaces recorded calls, because they may be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from duecourse.domain.ids import OfRun
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.overlap import (
    position_in,
)
from duecourse.domain.runs.states import Cancelled, Queued, Retrying, Run, Skipped, Succeeded
from duecourse.domain.runs.transitions import start_deadline
from duecourse.gates.places import MAX_CALLS
from duecourse.messages import RunMessage
from duecourse.ports import QueueWatch
from duecourse.usecases.forwarder import Forwarder
from duecourse.usecases.report import Report, format_error
from duecourse.usecases.worker.work_item import start_request_of

if TYPE_CHECKING:
    from duecourse.settings import TableSettings
    from duecourse.usecases.parts import Parts


def _entry(message: RunMessage, queue: str, run: Run | None) -> OfRun:
    """Return the message or the record that has the run's priority in this wait queue. The priority was set when the
    run began to wait, so another message of the run may not have it.
    """
    return message if (message.waited and queue == message.wait_queue) or run is None else run


WATCH_SECONDS = 30
"""The interval at which the watch starts the first run of a wait queue."""

WATCH_LOST_SECONDS = 90
"""After this time without a message of the watch, a run that enters the wait queue creates a new one."""

ENTRY_KEPT_SECONDS = 400 * DAY_SECONDS
"""The TTL of items that were not deleted. It exceeds the retention of all records."""

MAX_LOOKS = 4
"""How often the watch's item is read again because a call was recorded in the meantime."""


@dataclass(frozen=True, slots=True)
class WaitQueue:
    """Starts waiting runs by sending their START messages, each with a new nonce."""

    parts: Parts[TableSettings]
    forwarder: Forwarder

    def enter(self, job: Job, run: Run, message: RunMessage, report: Report, *, key: str | None = None) -> bool:
        """Put the run in the wait queue of its job, or of a key, with the message that will start it. `run` is its
        record. Return False if it is already there. Raises if a message cannot be sent.

        The watch is created last, because another worker may remove it until the run is in the wait queue. If this
        worker dies or a request fails before that, the message is delivered again and creates the watch.
        """
        entry = replace(message, identity=run.identity, waited=True, watch=None, replaces=(), key=key, call=None)
        if run.through is None:
            entry = replace(entry, rules=None)
        entered = self.parts.wait_queues.enter(entry, expires_at=self._expires_at())
        self._watched(entry)
        # A repeated message does this too: its worker may have died after it entered the run. A start from the wait
        # queue does not need it.
        if entered or not message.waited:
            if (by := start_deadline(start_request_of(message), job)) is not None:
                self._send(entry, by + 1.0)
            if job.rule.only_newest and key is None:
                for first in self._first(run.tenant, run.job_id):
                    if position_in(run.job_id, first) < position_in(run.job_id, run):
                        self._call([first], report)
        return entered

    def leave(
        self, message: RunMessage, run: Run | None, queue: str | None = None, *, waited: Queued | None = None
    ) -> bool:
        """Remove the run of a message from the wait queue (by default that of the message) if, according to its record
        `run`, it no longer waits. Return whether it was removed. A dead run may wait for the
        attempt that its redrive requests, a retrying run for its next attempt. `waited` is the previous record, if it
        is known.
        """
        through = None if isinstance(run, Succeeded | Cancelled | Skipped | None) else run.attempt
        if isinstance(run, Retrying) and self.parts.clock.now() < run.not_before:
            # The run's own message comes then: the run waits for a gate, or it entered by another worker's clock, which
            # is ahead.
            through = run.attempt + 1
        queue = queue or message.wait_queue
        entry = _entry(message, queue, waited or run)
        return self.parts.wait_queues.leave(message.tenant, queue, position_in(queue, entry), through=through)

    def left(
        self,
        message: RunMessage,
        run: Run | None,
        queue: str,
        report: Report,
        *,
        free: Callable[[], int] | None,
        waited: Queued | None = None,
    ) -> None:
        """Remove a run that has started, or has moved to another wait queue (`run` is None), and start the next ones.
        `free` returns how many runs may start; None: no run may. A failure here must not affect the run; the wait
        queue's watch starts the first run again.
        """
        try:
            if run is None:
                entry = _entry(message, queue, waited)
                self.parts.wait_queues.leave(message.tenant, queue, position_in(queue, entry), through=message.starts)
            else:
                self.leave(message, run, queue, waited=waited)
            # After the run has left: else the next caller would find it in the wait queue.
            others = self.received(message) if queue == message.wait_queue else None
            if free is not None and not others and (first := self._first(message.tenant, queue, MAX_CALLS)):
                self._call(first[: free()], report)
        except Exception as problem:  # noqa: BLE001 - whatever the error, the call of the run must follow
            report.add("wait_queue_not_left", alarming=True, error=format_error(problem))
            if queue == message.wait_queue:
                self.abandon(message, report)

    def received(self, message: RunMessage) -> int | None:
        """Remove the call if this message is a call of its wait queue, or a copy of one. Return how many other calls
        are still recorded; None if this call is not recorded.
        """
        if message.call is None:
            return None
        standing = self.parts.wait_queues.watch(message.tenant, message.wait_queue)
        if standing is None or message.call not in standing.calls:
            return None
        after = self.parts.wait_queues.remove_calls(message.tenant, message.wait_queue, [message.call])
        return 0 if after is None else len(after.calls)

    def abandon(self, message: RunMessage, report: Report) -> None:
        """Remove the call of a message whose processing failed, so that other calls do not wait for its next delivery.
        No other run is called: the first one may be the same run again.
        """
        try:
            self.received(message)
        except Exception as problem:  # noqa: BLE001 - the watch replaces a call that was not removed
            report.add("wait_queue_not_left", alarming=True, error=format_error(problem))

    def call_next(self, tenant: str, queue: str, report: Report, most: int = 1) -> None:
        """Start the first `most` runs (at most MAX_CALLS) of the wait queue of a job (by its id) or of a key
        (`key_queue`), unless calls of the wait queue are in transit.
        """
        self._call(self._first(tenant, queue, most), report)

    def try_again(self, runs: Sequence[Queued | Retrying], at: Callable[[Run], float]) -> None:
        """Send a message for each of these runs, which wait for a circuit breaker. `at` returns the instant (UTC
        seconds) at which the run tries again. Raises WaitQueueUnavailableError.
        """
        nonce = self.parts.randomness.nonce
        again = [RunMessage(run.identity, run.lane, at(run), nonce(), run.attempt + 1, waited=True) for run in runs]
        if not self.forwarder.send_all(again):
            raise WaitQueueUnavailableError(_not_accepted(again[0]))

    def look(self, message: RunMessage, report: Report) -> None:
        """Handle the watch's message: start the first run, and send the watch's next message. That message is sent
        before its nonce is recorded: after a crash in between, this message is redelivered, and the unrecorded one is
        dropped. If no watch is recorded, the sender of this message has not recorded its nonce
        yet, and the message is handled as usual.
        """
        for _ in range(MAX_LOOKS):
            standing = self.parts.wait_queues.watch(message.tenant, message.wait_queue)
            if standing is not None and standing.nonce != message.watch:
                report.add("message_dropped", reason="another message monitors the wait queue", asked=message.kind)
                return
            first = self._first(message.tenant, message.wait_queue)
            if not first:
                if not self._record(message, None, standing):
                    continue
                first = self._first(
                    message.tenant, message.wait_queue
                )  # a run may have entered the wait queue and found the watch
                if not first:
                    return
                standing = None
            call = self.parts.randomness.nonce()
            following = QueueWatch(self.parts.randomness.nonce(), self.parts.clock.now(), frozenset({call}))
            self._send(replace(first[0], watch=following.nonce), following.at + WATCH_SECONDS)
            if self._record(message, following, standing):
                self._send(replace(first[0], call=call), following.at)
                report.add("wait_queue_watched", run_id=str(first[0].name))
                return
        raise WaitQueueUnavailableError(f"the watch of {message.name} changed at each of {MAX_LOOKS} attempts")

    def _watched(self, entry: RunMessage) -> QueueWatch:
        """Return the wait queue's watch, which is created if there is none. The message is sent before its nonce is
        recorded, as in `look`: a crash in between leaves an unrecorded message, which is dropped, and never a watch
        without a message.
        """
        now = self.parts.clock.now()
        standing = self.parts.wait_queues.watch(entry.tenant, entry.wait_queue)
        if standing is not None and now < standing.at + WATCH_LOST_SECONDS:
            return standing
        watch = QueueWatch(self.parts.randomness.nonce(), now, frozenset() if standing is None else standing.calls)
        self._send(replace(entry, watch=watch.nonce), now + WATCH_SECONDS)
        self._record(entry, watch, standing)
        return watch

    def _record(self, whose: RunMessage, watch: QueueWatch | None, standing: QueueWatch | None) -> bool:
        """Replace exactly `standing` by the watch. Return whether it was written; a read finds it if only the response
        to the write was lost.
        """
        queues, tenant, name = self.parts.wait_queues, whose.tenant, whose.wait_queue
        written = queues.set_watch(tenant, name, watch, standing, expires_at=self._expires_at())
        return written or queues.watch(tenant, name) == watch

    def _first(self, tenant: str, queue: str, most: int = 1) -> list[RunMessage]:
        return self.parts.wait_queues.waiting(tenant, queue, limit=min(most, MAX_CALLS))

    def _call(self, first: Sequence[RunMessage], report: Report) -> None:
        """Call the first runs of the wait queue, unless calls are in transit. If another worker has changed the watch
        in the meantime, that worker has sent calls, or will read the places after this worker has released one.
        """
        if not first or (watch := self._watched(first[0])).calls:
            return
        now, draw = self.parts.clock.now(), self.parts.randomness.nonce
        calls = {draw(): message.again(nonce=draw(), not_before=now) for message in first}
        if not self._record(first[0], replace(watch, calls=frozenset(calls)), watch):
            return
        sent = self.forwarder.send_now([replace(message, call=call) for call, message in calls.items()])
        failed = [call for call, accepted in zip(calls, sent, strict=True) if not accepted]
        for call, message in calls.items():
            if call not in failed:
                report.add("run_called", run_id=str(message.name), tenant=message.tenant, job_id=message.job_id)
        if failed:
            self.parts.wait_queues.remove_calls(first[0].tenant, first[0].wait_queue, failed)
            raise WaitQueueUnavailableError(_not_accepted(calls[failed[0]]))

    def _send(self, message: RunMessage, not_before: float) -> None:
        fresh = message.again(nonce=self.parts.randomness.nonce(), not_before=not_before)
        if not self.forwarder.send(fresh, not_before, message.lane):
            raise WaitQueueUnavailableError(_not_accepted(message))

    def _expires_at(self) -> int:
        return int(self.parts.clock.now()) + ENTRY_KEPT_SECONDS


def _not_accepted(message: RunMessage) -> str:
    return f"the queue of the lane did not accept the message that starts {message.name}"


class WaitQueueUnavailableError(Exception):
    """A lane did not accept a run's start message. The received message is retained, and its next delivery tries
    again.
    """
