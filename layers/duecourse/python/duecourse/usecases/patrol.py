"""The daily patrol: everything that stands in the jobs table is looked at once, and what stands wrong is mended.

Dispatch reads each shard from its watermark on, so what stands below it is met by nobody. Such an entry is moved into
the slot of the present hour, with its due time as it was: a round's query has no lower bound of due, so the next one
meets it there, and treats it as missed or sends it at once. The watermark is not lowered instead: a round that is under
way has read its own before, and would raise it again past the entry (it only ever rises, by a condition that a lowered
one fulfils). Nor is the slot dispatched from here, which would be a second dispatcher with all of its rights. The
present hour is safe whatever happens meanwhile, since a watermark stays two hours behind. The write is conditional on
slot, due time and, for a cursor, generation and occurrence: who claims, edits or clears the entry meanwhile wins. An
entry that is still to come goes into the slot of its own hour: a watermark would pass it in the present one.

A scan reads half a unit per 4 KB, of which most is definitions: 1 million jobs of 2.5 KB in all are about 310,000 read
units (4 US cents), and ten minutes of waiting for pages. A patrol goes on where its invocation before ran out of time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from duecourse.domain.cursor import Cursor
from duecourse.domain.job import JobState
from duecourse.domain.patrol import Fault, Rounds, Seen, fault_of, long_over, look_back, mended
from duecourse.ports import Clock, JobStore, Lines, Patrolled, PatrolStore, RunStore, TickMark, Timer, Timers
from duecourse.usecases.complete import RECENT_RUNS, complete_if_ended
from duecourse.usecases.dispatch import FIRST_LOOK_BACK_SECONDS
from duecourse.usecases.report import Report, in_words
from duecourse.usecases.unreadable import UNREADABLE
from duecourse.usecases.worker.line import WATCH_LOST_SECONDS

MAX_REPORTED = 100
"""Log lines of one kind in one invocation; beyond that it is counted only."""


@dataclass(frozen=True, slots=True)
class Patrol:
    """The use case, started more often than it has to do; a patrol begins `every_seconds` after the one before."""

    store: PatrolStore
    jobs: JobStore
    runs: RunStore
    lines: Lines
    timers: Timers
    marks: TickMark
    clock: Clock
    every_seconds: int

    def __call__(self, deadline: float) -> Report:
        """Go on with the patrol until `deadline` (UTC seconds), or begin the next one when it is time. Never raises:
        what fails is counted and told, and the next invocation goes on with the page that failed.
        """
        report = Report()
        try:
            standing = self._standing()
            if standing is not None:
                _Round(self, deadline, report).run(standing)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the next invocation tries again
            report.counts["PatrolsFailed"] += 1
            report.add("patrol_failed", alarming=True, error=in_words(problem))
        return report

    def _standing(self) -> Patrolled | None:
        """The patrol to go on with; None when there is none to do yet, or another invocation has begun it."""
        known, now = self.store.patrolled(), self.clock.now()
        if known is not None and known.finished_at is None:
            return known
        if known is not None and now < known.begun_at + self.every_seconds:
            return None
        begun = Patrolled(begun_at=now, version=1 if known is None else known.version + 1)
        return begun if self.store.save(begun) else None


@dataclass(slots=True)
class _Round:
    """One invocation's part of a patrol."""

    uses: Patrol
    deadline: float
    report: Report
    told: Counter[str] = field(default_factory=Counter)

    def run(self, standing: Patrolled) -> None:
        """Page after page; what was done is noted after each, so that nobody does it again."""
        uses = self.uses
        while standing.finished_at is None and (now := uses.clock.now()) < self.deadline:
            watermarks = uses.marks.progress().watermarks  # anew: a shard may have been added since
            if not watermarks:  # by that measure no entry is ever read, and there is nowhere to move it
                self.report.counts["PatrolsFailed"] += 1
                self.report.add("patrol_failed", alarming=True, error="no shards are recorded: no tick has ever come")
                return
            rounds = Rounds(watermarks, look_back(now, FIRST_LOOK_BACK_SECONDS))
            page, before = uses.store.page(standing.start), self.report.counts.copy()
            for seen in page.seen:
                self._look(seen, rounds)
            self.report.counts["EntriesPatrolled"] += len(page.seen)
            self.report.counts["EntriesBelowWatermark"] += 0  # said, too: silence would not tell that somebody looked
            counted = Counter(standing.counts) + (self.report.counts - before)
            finished = uses.clock.now() if page.following is None else None
            standing = replace(
                standing, start=page.following, finished_at=finished, counts=counted, version=standing.version + 1
            )
            if not uses.store.save(standing):
                self.report.add("patrol_overtaken", reason="another invocation is on the same patrol")
                return
        complete = standing.finished_at is not None
        self.report.add("patrolled", complete=complete, begun_at=standing.begun_at, counts=dict(standing.counts))

    def _look(self, seen: Seen, rounds: Rounds) -> None:
        """One entry; what is wrong with one keeps nobody from the others."""
        now = self.uses.clock.now()
        try:
            self._mend(fault_of(seen, rounds, now=now), seen, rounds, now)
        except UNREADABLE as problem:
            if seen.slot is not None:  # dispatch meets it in time, and sets it aside with the error
                self.report.counts["CursorsNotUnderstood"] += 1
                self._tell("cursor_not_understood", seen, alarming=True, error=str(problem))
                return
            self.report.counts["PatrolsFailed"] += 1
            self._tell("entry_not_patrolled", seen, alarming=True, error=in_words(problem))

    def _mend(self, fault: Fault | None, seen: Seen, rounds: Rounds, now: float) -> None:
        match fault:
            case None:
                return
            case Fault.UNREAD:
                self._move(seen, rounds, now)
            case Fault.OUTDATED:
                self._bring_forward(seen, rounds, now)
            case Fault.OUTSIDE:
                self._put_back(seen, rounds, now)
            case Fault.SET_ASIDE:
                self._count_set_aside(seen)
            case Fault.ENDED:
                self._complete(seen, now)

    def _count_set_aside(self, seen: Seen) -> None:
        timers = seen.cursor is None and not seen.unreadable
        if not timers and seen.state is None:  # the job stands on another page
            job = self.uses.jobs.get(seen.tenant, seen.job_id)
            if job is None or job.state is not JobState.ACTIVE:
                return
        self.report.counts["CursorsSetAsideFound"] += 1
        error = "it cannot be read" if seen.cursor is None else seen.cursor.error
        self._tell("cursor_found_set_aside", seen, error=error)

    def _move(self, seen: Seen, rounds: Rounds, now: float) -> None:
        slot = rounds.place(seen, max(seen.due or 0, int(now)), now)
        if self._placed(seen, slot):
            self.report.counts["EntriesBelowWatermark"] += 1
            self._tell("entry_below_watermark", seen, alarming=True, slot=seen.slot, due=seen.due, moved_to=slot)

    def _bring_forward(self, seen: Seen, rounds: Rounds, now: float) -> None:
        anew = None if seen.cursor is None else mended(seen.cursor)
        if anew is None or anew.due is None:
            return
        if self._placed(seen, rounds.place(seen, anew.due, now), anew):
            self.report.counts["CursorsOutdated"] += 1
            self._tell("cursor_outdated", seen, was_due=seen.due, due=anew.due, tzdata=anew.tzdata)

    def _put_back(self, seen: Seen, rounds: Rounds, now: float) -> None:
        """The job is read anew: what was seen may be older than a pause."""
        job, cursor = self.uses.jobs.get_both(seen.tenant, seen.job_id)
        anew = None if seen.cursor is None else mended(seen.cursor)
        if job is None or cursor is None or job.state is not JobState.ACTIVE or anew is None or anew.due is None:
            return
        if cursor.generation == job.generation and self._placed(seen, rounds.place(seen, anew.due, now), anew):
            self.report.counts["CursorsOutsideIndex"] += 1
            self._tell("cursor_outside_index", seen, alarming=True, due=anew.due)

    def _placed(self, seen: Seen, slot: str, cursor: Cursor | None = None) -> bool:
        """False where somebody else has claimed, changed or cleared it meanwhile."""
        done = self.uses.store.place(seen, slot, cursor)
        self.report.counts["CursorsRepaired"] += done
        return done

    def _complete(self, seen: Seen, now: float) -> None:
        """The last run of its schedule may have ended without anybody who saw it: see `complete_if_ended`."""
        uses, whose = self.uses, (seen.tenant, seen.job_id)
        if complete_if_ended(uses.jobs, uses.runs, *whose, at=now) or self._given_up(seen, now):
            self.report.counts["JobsCompleted"] += 1
            self._tell("job_completed", seen)
            return
        self._call(seen, now)

    def _call(self, seen: Seen, now: float) -> None:
        """Call the first of the job's line where nobody looks after it: no run comes any more that would."""
        uses, whose = self.uses, (seen.tenant, seen.job_id)
        for first in uses.lines.waiting(*whose, limit=1):
            watch = uses.lines.watch(*whose)
            if watch is None or now >= watch.at + WATCH_LOST_SECONDS:
                uses.timers.put(Timer(replace(first, not_before=now), int(now)))
                self._tell("line_found", seen, alarming=True, run_id=str(first.name))

    def _given_up(self, seen: Seen, now: float) -> bool:
        job, cursor = self.uses.jobs.get_both(seen.tenant, seen.job_id)
        if job is None or cursor is None or job.generation != cursor.generation:
            return False
        recent = self.uses.runs.page(seen.tenant, seen.job_id, limit=RECENT_RUNS, before=None)
        return long_over(cursor, recent, now=now) and self.uses.jobs.complete(job, at=now)

    def _tell(self, action: str, seen: Seen, *, alarming: bool = False, **facts: object) -> None:
        self.told[action] += 1
        if self.told[action] <= MAX_REPORTED:
            self.report.add(
                action, alarming=alarming, tenant=seen.tenant, job_id=seen.job_id, item=seen.key[1], **facts
            )
