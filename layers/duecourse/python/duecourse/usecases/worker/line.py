"""The line of a job: its runs that wait for another one. A waiting run is two items and no message.

A run enters the line and then reads the lock again; a holder releases the lock and then starts the next run: one of the
two sees the other's write. To start a waiting run is to send its stored message. Its worker decides again, so an extra
message changes nothing. If one is lost, the line's watch, one message every half minute, starts the first run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.overlap import NEWEST_ONLY
from duecourse.domain.runs.run import Run
from duecourse.messages import RunMessage
from duecourse.ports import Clock, Lines, Randomness, Watch
from duecourse.usecases.forwarder import Forwarder
from duecourse.usecases.report import Report, in_words
from duecourse.usecases.worker.overlap import position_of

WATCH_SECONDS = 30
"""The interval at which the watch starts the first run of a line."""

WATCH_LOST_SECONDS = 90
"""After this time without a message of the watch, a run that enters the line sets up a new one."""

KEPT_SECONDS = 400 * DAY_SECONDS
"""The TTL of items that were not deleted: longer than any record is kept."""

OLDER = 10
"""How many older runs a newer one replaces at once; the others are replaced when they are started."""


@dataclass(frozen=True, slots=True)
class Line:
    """Starts waiting runs by their START messages, each with a new nonce."""

    lines: Lines
    forwarder: Forwarder
    clock: Clock
    randomness: Randomness

    def enter(self, job: Job, run: Run, message: RunMessage, report: Report) -> bool:
        """Put the run in line with the message that is to start it; False if it is there already. `run` is its record.
        Raises if a message cannot be sent.
        """
        entry = replace(message, identity=run.identity, waited=True, watch=None, replaces=())
        if run.through is None:
            entry = replace(entry, rules=None)
        entered = self.lines.enter(entry, expires_at=self._expires_at())
        if entered:
            report.counts["RunsQueued"] += 1
        # A repeated message does this too: its worker may have died after it entered. A start from the line need not.
        if entered or not message.waited:
            if job.start_deadline_seconds is not None:
                newest = max(message.due, message.through or 0)
                self._send(entry, newest + job.start_deadline_seconds + 1.0)
            if job.overlap in NEWEST_ONLY:
                self._call([each for each in self._first(run, OLDER) if position_of(each) < position_of(run)])
        self._have_watched(entry)
        return entered

    def leave(self, run: Run | RunMessage) -> None:
        """Remove the run from the line, if it is there."""
        self.lines.leave(run.tenant, run.job_id, position_of(run))

    def begun(self, run: Run, report: Report, *, locked: bool) -> None:
        """Remove a run that has begun, and start the next one if the job has no lock (not `locked`). A failure here
        must not affect the recorded attempt: the line's watch starts the first run again.
        """
        try:
            self.leave(run)
            if not locked:
                self.call_next(run, report)
        except Exception as problem:  # noqa: BLE001 - after any error the call of the run must follow
            report.add("line_not_left", alarming=True, error=in_words(problem))

    def call_next(self, run: Run | RunMessage, report: Report) -> None:
        """Start the first run of the job's line."""
        for message in self._call(self._first(run, 1)):
            self._have_watched(message)  # a release without lines may have handled the watch as a start
            report.add("run_called", run_id=str(message.name), tenant=message.tenant, job_id=message.job_id)

    def look(self, message: RunMessage, report: Report) -> None:
        """Handle the watch's message: start the first run, and send the next message of the watch. It is sent before
        its nonce is recorded: after a crash in between this message comes again, and the unrecorded one is dropped. If
        no watch is recorded, the sender of this message has not recorded it yet.
        """
        tenant, job_id, now = message.tenant, message.job_id, self.clock.now()
        standing = self.lines.watch(tenant, job_id)
        if standing is not None and standing.nonce != message.watch:
            report.add("message_dropped", reason="another message looks after the line", asked=message.kind)
            return
        first = self._first(message, 1)
        if not first:
            self.lines.set_watch(tenant, job_id, None, standing, expires_at=0)
            first = self._first(message, 1)  # a run may have entered the line and found its watch
            if not first:
                return
            standing = None
        self._call(first)
        following = Watch(self.randomness.nonce(), now)
        self._send(replace(first[0], watch=following.nonce), now + WATCH_SECONDS)
        self.lines.set_watch(tenant, job_id, following, standing, expires_at=self._expires_at())
        report.add("line_watched", run_id=str(first[0].name))

    def _have_watched(self, entry: RunMessage) -> None:
        """Set up the line's watch if it has none. The message is sent before its nonce is recorded, as in `look`: a
        crash in between leaves an unrecorded message, which is dropped, and never a watch without a message.
        """
        now = self.clock.now()
        standing = self.lines.watch(entry.tenant, entry.job_id)
        if standing is not None and now < standing.at + WATCH_LOST_SECONDS:
            return
        watch = Watch(self.randomness.nonce(), now)
        self._send(replace(entry, watch=watch.nonce), now + WATCH_SECONDS)
        self.lines.set_watch(entry.tenant, entry.job_id, watch, standing, expires_at=self._expires_at())

    def _first(self, run: Run | RunMessage, limit: int) -> list[RunMessage]:
        return self.lines.waiting(run.tenant, run.job_id, limit=limit)

    def _call(self, messages: Sequence[RunMessage]) -> Sequence[RunMessage]:
        for message in messages:
            self._send(message, self.clock.now())
        return messages

    def _send(self, message: RunMessage, not_before: float) -> None:
        fresh = message.again(nonce=self.randomness.nonce(), not_before=not_before)
        if not self.forwarder.send(fresh, not_before, message.lane):
            raise LineUnavailableError(f"a call of {message.name} was not accepted by its lane")

    def _expires_at(self) -> int:
        return int(self.clock.now()) + KEPT_SECONDS


class LineUnavailableError(Exception):
    """A lane did not accept a run's start message; the received message is retained, and its next delivery tries
    again.
    """
