"""The line of a job: its runs that wait for another one. A waiting run is two items and no message.

Enter, then look again; release, then call the next: one of the two sees the other. Whoever is called decides anew, so
that a call too many changes nothing. Should a call be lost, one message a line, every half minute, calls the first.
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
"""How often the first of a line is called, whatever else happens."""

WATCH_LOST_SECONDS = 90
"""After so long without one, a line's watch is set up anew by whoever enters it."""

KEPT_SECONDS = 400 * DAY_SECONDS
"""When DynamoDB clears away what nobody took back: longer than any record lives."""

OLDER = 10
"""Runs that a newer one replaces at once; others find out when they are called."""


@dataclass(frozen=True, slots=True)
class Line:
    """Calls are START messages of the runs that wait, each with a nonce of its own."""

    lines: Lines
    forwarder: Forwarder
    clock: Clock
    randomness: Randomness

    def enter(self, job: Job, run: Run, message: RunMessage, report: Report) -> bool:
        """Put the run in line, by the message that is to start it; False where it stands there already. `run` is its
        record. Raises where a message cannot be sent.
        """
        entry = replace(message, identity=run.identity, waited=True, watch=None, replaces=())
        if run.through is None:
            entry = replace(entry, rules=None)
        entered = self.lines.enter(entry, expires_at=self._expires_at())
        if entered:
            report.counts["RunsQueued"] += 1
        if entered or not message.waited:  # not by a call: whoever died after it had entered has not come so far
            if job.start_deadline_seconds is not None:
                newest = max(message.due, message.through or 0)
                self._send(entry, newest + job.start_deadline_seconds + 1.0)
            if job.overlap in NEWEST_ONLY:
                self._call([each for each in self._first(run, OLDER) if position_of(each) < position_of(run)])
        self._have_watched(entry)
        return entered

    def leave(self, run: Run | RunMessage) -> None:
        """Take the run out of the line, if it stands there."""
        self.lines.leave(run.tenant, run.job_id, position_of(run))

    def begun(self, run: Run, report: Report, *, locked: bool) -> None:
        """Take out a run that has begun, and call the next where no lock is to be waited for any more (not `locked`).
        What fails here must not cost the attempt that is recorded: the line's watch calls again whoever stands first.
        """
        try:
            self.leave(run)
            if not locked:
                self.call_next(run, report)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the run is to be called now
            report.add("line_not_left", alarming=True, error=in_words(problem))

    def call_next(self, run: Run | RunMessage, report: Report) -> None:
        """Call the first of the line in which a run of the same job has stood."""
        for message in self._call(self._first(run, 1)):
            self._have_watched(message)  # a release that knows no lines may have taken the watch for a call
            report.add("run_called", run_id=str(message.name), tenant=message.tenant, job_id=message.job_id)

    def look(self, message: RunMessage, report: Report) -> None:
        """What the line's watch does: call the first, and have the line looked at again. The message that comes next is
        sent before it is noted: whoever dies in between looks again himself, and the other one is not known. Where none
        is noted, whoever sent this message has not come so far yet.
        """
        tenant, job_id, now = message.tenant, message.job_id, self.clock.now()
        standing = self.lines.watch(tenant, job_id)
        if standing is not None and standing.nonce != message.watch:
            report.add("message_dropped", reason="another message looks after the line", asked=message.kind)
            return
        first = self._first(message, 1)
        if not first:
            self.lines.set_watch(tenant, job_id, None, standing, expires_at=0)
            first = self._first(message, 1)  # somebody may have entered it, and found it watched
            if not first:
                return
            standing = None
        self._call(first)
        following = Watch(self.randomness.nonce(), now)
        self._send(replace(first[0], watch=following.nonce), now + WATCH_SECONDS)
        self.lines.set_watch(tenant, job_id, following, standing, expires_at=self._expires_at())
        report.add("line_watched", run_id=str(first[0].name))

    def _have_watched(self, entry: RunMessage) -> None:
        """See to it that somebody looks after the line. The message is sent before it is noted, as by `look`: whoever
        dies in between, or is not heard, leaves a message that is not known, and never a watch without one.
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
    """A lane did not accept a call; the message that led to it is retained, and its next delivery calls again."""
