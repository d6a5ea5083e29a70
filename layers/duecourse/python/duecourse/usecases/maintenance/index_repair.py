"""Index repair: scans the jobs table once a day. Each page passes three checks: one repairs the due index, one removes
expired jobs, and one continues interrupted changes of calendars (calendar_check).

The first check compares the slot of every cursor and timer in the due index with the correct slot, and repairs it.

Dispatch reads each shard from its watermark on, so it never reads entries below the watermark. Such an entry is moved
to the slot of the current hour, with its due time unchanged. A round's query has no lower bound for the due time, so
the next round reads the entry there, and treats it as missed or sends it immediately. Lowering the watermark instead
would not work: a running round has already read the watermark and would raise it past the entry again (the condition of
that write, that the watermark rises, also holds for a lowered watermark). Index repair does not dispatch the slot
itself either, because it would need all permissions of the dispatcher. The current hour is safe, because a watermark
stays two hours behind. The write is conditional on slot, due time and, for a cursor, generation and occurrence: a
concurrent claim, edit or delete of the entry wins. A future entry is moved to the slot of its due hour, since in the
current slot a watermark would pass it.

A scan costs half a read unit per 4 KB, most of it for definitions. One million jobs of 2.5 KB each (all items) need
about 310,000 read units (4 US cents) and ten minutes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from duecourse.checks.tenants import TenantFigures
from duecourse.domain.jobs.cursor import Cursor, bucket_of, plan
from duecourse.domain.jobs.document import deleted, moved
from duecourse.domain.jobs.job import Job, JobState
from duecourse.domain.maintenance.index import (
    CompletedJob,
    Entry,
    IndexFault,
    ReadSlots,
    RepairPass,
    fault_of,
    is_worn_out,
    long_over,
    recomputed,
)
from duecourse.domain.maintenance.tenants import TenantReport, counted, expected_runs
from duecourse.domain.runs.overlap import wait_queue_of
from duecourse.domain.runs.states import Queued, RunState, is_rescheduled
from duecourse.limits import MAX_DELAY_SECONDS
from duecourse.ports import Clock, IndexPage, Timer
from duecourse.usecases.complete import RECENT_RUNS, complete_if_ended, removal_of
from duecourse.usecases.dispatch.round import FIRST_LOOK_BACK_SECONDS
from duecourse.usecases.jobs.membership import is_reserved
from duecourse.usecases.maintenance.scan import scan
from duecourse.usecases.report import UNREADABLE, Report, format_error
from duecourse.usecases.worker.wait_queue import WATCH_LOST_SECONDS

if TYPE_CHECKING:
    from duecourse.settings import LaneSettings
    from duecourse.stores.jobs import JobStore
    from duecourse.stores.maintenance import RepairStore, TenantReports
    from duecourse.stores.runs import RunStore
    from duecourse.usecases.parts import Parts

MAX_WAITING = 100
"""The maximum number of runs of a job whose keys are checked, the newest first."""

_WAIT_FOR_KEYS = (RunState.QUEUED, RunState.RETRYING)
"""The states of runs that wait for a key. A redriven run that waits is still dead, but a search for it would read an
eighth of the tenant's dead runs for each job.
"""

MAX_LOGGED = 100
"""The maximum number of log lines per action and invocation. Further events are only counted."""


@dataclass(frozen=True, slots=True)
class IndexCheck:
    """Checks the pages of entries that index repair reads."""

    parts: Parts[LaneSettings]
    store: RepairStore

    def __call__(self, page: IndexPage, report: Report) -> None:
        """Repair the page's entries. An error of one entry does not affect the others. Raises LookupError if no shard
        is recorded: there is then no slot to which an entry could be moved.
        """
        watermarks = self.parts.tick_mark.progress()  # read for each page: a shard may have been added since
        if not watermarks:
            raise LookupError("no shards are recorded, because no tick has run yet")
        now = self.parts.clock.now()
        slots = ReadSlots(watermarks, bucket_of(now - FIRST_LOOK_BACK_SECONDS))
        logged = Counter(event.action for event in report.events)
        for entry in page.entries:
            mend = _Mend(self, entry, slots, self.parts.clock.now(), report, logged)
            mend()
            if entry.keyed:
                mend.call_wait_queues()
        report.counts["EntriesChecked"] += len(page.entries)
        report.counts["EntriesBelowWatermark"] += 0  # counted even if 0, to show that the check was made


@dataclass(frozen=True, slots=True)
class _Mend:
    """The repair of one entry."""

    uses: IndexCheck
    entry: Entry
    slots: ReadSlots
    now: float
    report: Report
    logged: Counter[str]

    def __call__(self) -> None:
        try:
            match fault_of(self.entry, self.slots, now=self.now):
                case None:
                    return
                case IndexFault.UNREAD:
                    self._move()
                case IndexFault.OUTDATED:
                    self._follow_zone_data()
                case IndexFault.OUTSIDE:
                    self._put_into_index()
                case IndexFault.QUARANTINED:
                    self._release_or_count()
                case IndexFault.ENDED:
                    self._complete()
                case IndexFault.NO_SCHEDULE:
                    self._call(self.entry.job_id)
                case IndexFault.SENT:
                    self._send_again()
        except UNREADABLE as problem:
            if self.entry.slot is not None:  # dispatch will read the entry, and quarantine it with the error
                self._found("CursorsNotUnderstood", "cursor_not_understood", alarming=True, error=str(problem))
            else:
                self._found("RepairsFailed", "entry_not_checked", alarming=True, error=format_error(problem))

    def _release_or_count(self) -> None:
        """Put back a quarantined cursor that can be planned now: its error had another cause, or no longer occurs."""
        timer = self.entry.cursor is None and not self.entry.unreadable
        if not timer and self.entry.state is None:  # the job is on another page
            job = self.uses.parts.jobs.get(self.entry.tenant, self.entry.job_id)
            if job is None or job.state is not JobState.ACTIVE:
                return
        error = "it is not readable" if self.entry.cursor is None else self.entry.cursor.error
        if (anew := self._released()) is not None:
            self._found("CursorsReleased", "cursor_released", alarming=True, error=error, due=anew.due)
        else:
            self._found("CursorsFoundQuarantined", "cursor_found_quarantined", error=error)
            if not timer and not self.entry.listed:
                self.uses.store.list_quarantined(self.entry)

    def _released(self) -> Cursor | None:
        """Return the cursor that was put back; None if the cursor was not put back."""
        if self.entry.cursor is None or self._current() == (None, None):
            return None
        try:
            healthy = replace(self.entry.cursor, error=None)
            plan(healthy, now=self.now, horizon=MAX_DELAY_SECONDS)
            anew = recomputed(healthy)
        except UNREADABLE:
            return None
        return self._put_back(anew)

    def _put_back(self, anew: Cursor | None) -> Cursor | None:
        """Put the cursor into its slot and return it; None if it was not written."""
        if anew is None or anew.due is None:
            return None
        return anew if self._placed(self.slots.slot_for(self.entry, anew.due, self.now), anew) else None

    def _send_again(self) -> None:
        """Put back the timer of a manual run that has no record, or was rescheduled, because its message was probably
        lost. If it was not lost, the worker drops the second message.
        """
        uses, entry = self.uses, self.entry
        timer, job = (
            uses.parts.timers.get(entry.tenant, entry.job_id, entry.key[1]),
            uses.parts.jobs.get(entry.tenant, entry.job_id),
        )
        if timer is None or job is None or timer.message.generation < job.created_generation:
            return
        name = timer.message.name
        record = uses.parts.runs.get(entry.tenant, entry.job_id, name.local)
        unstarted = record is None or is_rescheduled(record)
        if unstarted and self._placed(self.slots.slot_for(entry, timer.due, self.now)):
            self._found(None, "requested_run_sent_again", alarming=True, run_id=name.id, due=timer.due)

    def _move(self) -> None:
        entry = self.entry
        slot = self.slots.slot_for(entry, max(entry.due or 0, int(self.now)), self.now)
        if self._placed(slot):
            facts: dict[str, Any] = {"slot": entry.slot, "due": entry.due, "moved_to": slot}
            self._found("EntriesBelowWatermark", "entry_below_watermark", alarming=True, **facts)

    def _follow_zone_data(self) -> None:
        """Move the cursor to the time of the current zone data, and record this in the history of the job. If the
        process ends in between, the history has no entry.
        """
        was = self.entry.cursor
        if was is None or (anew := self._recomputed()) is None:
            return
        facts: dict[str, Any] = {"was_due": self.entry.due, "due": anew.due, "tzdata": anew.tzdata}
        self._found("CursorsOutdated", "cursor_outdated", **facts)
        if was.occurrence is not None and anew.occurrence is not None:
            versions, occurrences = (was.tzdata, anew.tzdata), (was.occurrence, anew.occurrence)
            self.uses.parts.jobs.note([moved((was.tenant, was.job_id), self.now, versions, occurrences)])

    def _put_into_index(self) -> None:
        """Put the cursor back. The job is read again, since the page may be older than a pause."""
        job, cursor = self._current()
        if job is None or cursor is None or not (job.state is JobState.ACTIVE or cursor.resume is not None):
            return
        if (anew := self._recomputed()) is not None:
            self._found("CursorsOutsideIndex", "cursor_outside_index", alarming=True, due=anew.due)

    def _current(self) -> tuple[Job | None, Cursor | None]:
        """Return the current job and cursor; None for both if one is missing, or if an edit happened between the
        reads.
        """
        job, cursor = self.uses.parts.jobs.get_both(self.entry.tenant, self.entry.job_id)
        fit = job is not None and cursor is not None and job.generation == cursor.generation
        return (job, cursor) if fit else (None, None)

    def _recomputed(self) -> Cursor | None:
        """Recompute the cursor with the current zone data and return it; None if it was not written."""
        return self._put_back(None if self.entry.cursor is None else recomputed(self.entry.cursor))

    def _placed(self, slot: str, cursor: Cursor | None = None) -> bool:
        """Place the entry. Return False if another writer has changed it in the meantime."""
        done = self.uses.store.place(self.entry, slot, cursor)
        self.report.counts["CursorsRepaired"] += done
        return done

    def _complete(self) -> None:
        """Complete a job that was not completed when its last run ended (see `complete_if_ended`)."""
        uses, whose = self.uses, (self.entry.tenant, self.entry.job_id)
        if complete_if_ended(uses.parts.jobs, uses.parts.runs, *whose, at=self.now) or self._given_up():
            self._found("JobsCompleted", "job_completed")
        else:  # the job has no further occurrences whose runs would start the first run of its wait queue
            self._call(self.entry.job_id)

    def call_wait_queues(self) -> None:
        """Call the first run of each wait queue in which runs of the job wait, if the watch is lost. Later runs of the
        job may be skipped and then do not call the first run.
        """
        entry = self.entry
        try:
            runs = self.uses.parts.runs
            waiting = runs.by_state(entry.tenant, _WAIT_FOR_KEYS, limit=MAX_WAITING, job_id=entry.job_id)
            queues = {wait_queue_of(run) for run in waiting if run.key is not None or isinstance(run, Queued)}
            for queue in sorted(queues):
                self._call(queue)
        except UNREADABLE as problem:
            self._found("RepairsFailed", "entry_not_checked", alarming=True, error=format_error(problem))

    def _call(self, queue: str) -> None:
        """Start the first run of the wait queue if the queue's watch is lost."""
        uses, tenant = self.uses, self.entry.tenant
        for first in uses.parts.wait_queues.waiting(tenant, queue, limit=1):
            watch = uses.parts.wait_queues.watch(tenant, queue)
            if watch is None or self.now >= watch.at + WATCH_LOST_SECONDS:
                uses.parts.timers.put(Timer(replace(first, not_before=self.now), int(self.now)))
                self._found(None, "wait_queue_found", alarming=True, run_id=first.run_id)

    def _given_up(self) -> bool:
        job, cursor = self._current()
        if job is None or cursor is None:
            return False
        recent = self.uses.parts.runs.page(job.tenant, job.id, limit=RECENT_RUNS, before=None)
        if not long_over(cursor, recent, now=self.now):
            return False
        return self.uses.parts.jobs.complete(job, at=self.now, expires_at=removal_of(job, self.now, died=False))

    def _found(self, metric: str | None, action: str, *, alarming: bool = False, **facts: object) -> None:
        if metric is not None:
            self.report.counts[metric] += 1
        self.logged[action] += 1
        if self.logged[action] <= MAX_LOGGED:
            entry = self.entry
            self.report.add(
                action, alarming=alarming, tenant=entry.tenant, job_id=entry.job_id, item=entry.key[1], **facts
            )


@dataclass(frozen=True, slots=True)
class CleanUp:
    """A check of the pages of index repair, which may be stale. Each job is read again, and deleted on the condition
    that it is unchanged. One transaction deletes its cursor, its payload and the markers of its tags, and updates its
    tenant's count.
    """

    jobs: JobStore
    runs: RunStore
    clock: Clock
    retention_days: int

    def __call__(self, page: IndexPage, report: Report) -> None:
        """Delete the page's expired jobs. Never raises: errors are counted and logged, and the next pass tries
        again.
        """
        now = self.clock.now()
        for each in page.completed:
            if is_worn_out(each, now=now, retention_days=self.retention_days):
                self._clean_up(each, report)

    def _clean_up(self, found: CompletedJob, report: Report) -> None:
        whose: dict[str, Any] = {"tenant": found.tenant, "job_id": found.job_id}
        try:
            if self._remove(found):
                report.counts["JobsCleanedUp"] += 1
                report.add("job_cleaned_up", **whose)
        except Exception as problem:  # noqa: BLE001 - an error of one job must not stop the others
            report.counts["CleanUpsFailed"] += 1
            report.add("clean_up_failed", alarming=True, error=format_error(problem), **whose)

    def _remove(self, found: CompletedJob) -> bool:
        """Delete the job. Return whether this call deleted it. If a run is requested after the job was read, it finds
        the job deleted, as after any deletion.
        """
        job = self.jobs.get(found.tenant, found.job_id)
        if job is None:
            return False
        now, history = self.clock.now(), self.runs.has_items(found.tenant, found.job_id)
        if is_reserved(job, now) or not is_worn_out(
            job, now=now, retention_days=self.retention_days, has_history=history
        ):
            return False
        return self.jobs.delete(job, deleted_at=now, record=deleted(job, None, now))


@dataclass(frozen=True, slots=True)
class TenantCount:
    """Counts the figures of all tenants in a pass. They are part of its position, so that each page counts once."""

    reports: TenantReports
    clock: Clock

    def __call__(self, position: RepairPass, page: IndexPage) -> RepairPass:
        """Return the position after the page with the figures of the page. The end of a pass stores the report before
        its position: a repeated page stores the same report again.
        """
        if position.tenants is None:
            return position
        now = self.clock.now()
        runs = ((entry.tenant, TenantFigures(runs=_runs(entry, now))) for entry in page.entries)
        position = replace(position, tenants=counted(counted(position.tenants, page.figures), runs))
        if position.done:
            self.reports.keep(TenantReport(position.begun_at, position.tenants or {}))
        return position


def _runs(entry: Entry, now: float) -> int:
    """Return the expected runs of a job; none if its cursor cannot be read, which `IndexCheck` reports."""
    with suppress(*UNREADABLE):
        return expected_runs(entry, now)
    return 0


Check = Callable[[IndexPage, Report], None]
"""Checks a page, repairs faults and reports them. An exception ends the invocation, and the page is read again."""


@dataclass(frozen=True, slots=True)
class IndexRepair:
    """The use case, which is invoked more often than a pass is due. A pass begins `every_seconds` after the previous
    one. An invocation continues where the previous one ran out of time.
    """

    store: RepairStore
    checks: Sequence[Check]
    clock: Clock
    every_seconds: int
    tenants: TenantCount | None = None
    """None: tenants are not counted."""

    def __call__(self, deadline: float) -> Report:
        """Continue the pass until `deadline` (UTC seconds), or begin the next one if it is due. Never raises: errors
        are counted and logged, and the next invocation continues with the page that failed.
        """
        report = Report()
        try:
            position = self._position()
            if position is not None:
                self._scan(position, deadline, report)
        except Exception as problem:  # noqa: BLE001 - after any error the next invocation tries again
            report.counts["RepairsFailed"] += 1
            report.add("repair_failed", alarming=True, error=format_error(problem))
        if report.counts["JobsCleanedUp"]:
            report.add("cleaned_up", removed=report.counts["JobsCleanedUp"])
        return report

    def _position(self) -> RepairPass | None:
        """Return the pass to continue; None if the next one is not due yet, or if another invocation has started it."""
        known, now = self.store.last_pass(), self.clock.now()
        if known is not None and not known.done:
            return replace(known, version=known.version + 1)
        if known is not None and now < known.begun_at + self.every_seconds:
            return None
        tenants: dict[str, TenantFigures] | None = None if self.tenants is None else {}
        begun = RepairPass(now, version=1 if known is None else known.version + 1, tenants=tenants)
        return replace(begun, version=begun.version + 1) if self.store.save(begun, now=now) else None

    def _scan(self, position: RepairPass, deadline: float, report: Report) -> None:
        def page(position: RepairPass) -> RepairPass:
            found, before = self.store.page(position.start), report.counts.copy()
            for check in self.checks:
                check(found, report)
            position = position.moved(found.following, report.counts - before)
            return replace(position, tenants=None) if self.tenants is None else self.tenants(position, found)

        reached = scan(
            position,
            going=lambda: self.clock.now() < deadline,
            page=page,
            save=lambda position: self.store.save(position, now=self.clock.now()),
        )
        if reached is None:
            report.add("repair_overtaken", reason="another invocation has continued this pass")
        else:
            counts = dict(reached.counts)
            report.add("index_checked", complete=reached.done, begun_at=reached.begun_at, counts=counts)
