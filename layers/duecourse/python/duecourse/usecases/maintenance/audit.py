"""The completeness audit: derives the occurrences of a closed window and compares them with the records.

Each hour, the audit examines one segment of the jobs table. For each job, it compares the occurrences of the current
definition in the window (from the segment's last turn up to three hours ago) with the records. `domain.runs.explain`
classifies the missing ones. An occurrence is lost if it was enqueued, is no longer in any lane and has no record. An
occurrence whose message may still be in transit is kept open and classified again each hour. The audit leaves out
occurrences before a job's last change of schedule (the former definition is not kept), occurrences during a pause, and
quarantined jobs (index repair counts them). If new zone data move a time back across a window, an occurrence that never
existed can look lost. For the runs of a workflow in the window, the steps are audited too (AuditSteps).

A full pass over 1 million jobs that all fire in the window costs about 310,000 read units for the scan, at least half a
unit for each job's records, and one per 8 KB of them (an unread record is half a KB). Together this is about 1 million
units (12 US cents), and takes ten minutes with eight concurrent requests. A full pass takes `segments` hours.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from duecourse.domain.ids import RunName
from duecourse.domain.instants import DAY_SECONDS, to_iso
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job, JobState, Lane
from duecourse.domain.maintenance.audit import (
    UNDECIDED,
    Turn,
    audited_from,
    compare,
    few,
    grouped,
    has_steps,
    held_back,
    next_turn,
    stalled,
)
from duecourse.domain.runs.coverage import OccurrenceRange, Recorded, between
from duecourse.domain.runs.explain import ExplainContext, Verdict, explain
from duecourse.domain.runs.states import Run, Waiting
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.domain.workflows.graph import step_name
from duecourse.limits import MESSAGE_RETENTION_DAYS
from duecourse.ports import Finding, Undecided
from duecourse.usecases.jobs.view import since_when
from duecourse.usecases.maintenance.scan import scan
from duecourse.usecases.report import UNREADABLE, Report, format_error
from duecourse.usecases.runs.skip_next import SKIPPED
from duecourse.usecases.workflows.workflows import WorkflowRuns
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError
from duecourse_schedules.schedule import Occurrences

if TYPE_CHECKING:
    from duecourse.settings import AuditSettings, RoundSettings
    from duecourse.stores.runs import RunStore
    from duecourse.usecases.parts import Parts

RECORDED_SECONDS = 900
"""The length of the range in which occurrences may have run without a claim: the longest delay of a message (seconds).
"""

PAGE = 100
MAX_READ = 3000
"""The maximum number of records read before a range to find one that covers it. Only many manual runs require
more.
"""


@dataclass(frozen=True, slots=True)
class ClassifyGaps:
    """Classifies occurrences without records. `lookahead`, `horizon` (seconds) and `retention_days` are settings of the
    stage.
    """

    parts: Parts[RoundSettings]

    def __call__(
        self, tenant: str, job_id: str, ranges: Sequence[OccurrenceRange], served: Mapping[Lane, int]
    ) -> list[tuple[OccurrenceRange, Verdict]]:
        """Return the parts of a job's ranges (ascending) that have no record now, each with the verdict of `explain`.
        There are few parts per verdict. `served`: see `held_back`. Raises KeyError or ValueError for an item that this
        version cannot read.

        The cursor and the lane are read before the records, so that a run that starts between the reads is found as
        started.
        """
        job, cursor = self.parts.jobs.get_both(tenant, job_id)
        if job is None:
            return []
        if cursor is not None and cursor.generation != job.generation:
            return [(each, Verdict.LATE) for each in ranges]  # an edit came between the reads: classify again later
        try:
            occurrences = job.occurrences()
            depth = self.parts.depths.depth(job.lane)
            empty = None if depth is None else depth.empty
            case = _Case(self, job, cursor, occurrences, empty, self._all_empty(job, ranges), served)
            found = [part for group in grouped(ranges, PIECE_SECONDS) for part in case.classify(group)]
        except (ScheduleError, ExclusionError):
            return []  # it does not fire: its cursor is quarantined
        verdicts = dict.fromkeys(verdict for _, verdict in found)
        return [(part, each) for each in verdicts for part in few([part for part, verdict in found if verdict is each])]

    def _all_empty(self, job: Job, ranges: Sequence[OccurrenceRange]) -> bool:
        """Return whether all lanes are empty. They are read only if an occurrence was due before the job's last write,
        because the job may have had a different lane then.
        """
        if not ranges or ranges[0].first > job.updated_at:
            return False
        return all(depth is not None and depth.empty for depth in map(self.parts.depths.depth, Lane))

    def reaching_over(self, job: Job, at: int) -> tuple[int | None, bool]:
        """Return the end of the range of the record that covers `at`, as in `covering` (None: there is none), and
        whether the search was complete.
        """
        run, searched = self.covering(job, at)
        return None if run is None else run.through, searched

    def covering(self, job: Job, at: int) -> tuple[Run | None, bool]:
        """Return the record before `at` (UTC seconds) whose range covers it (None: there is none), and whether the
        search was complete. Between such a record and `at` there are only runs without a claim, for at most
        RECORDED_SECONDS.
        """
        before, newest, read = RunName(job.id, at).local, None, 0
        while read < MAX_READ:
            page = self.parts.runs.page(job.tenant, job.id, limit=PAGE, before=before)
            for run in page:
                if run.suffix:
                    continue
                if run.through is not None and run.through >= at:
                    return run, True
                if run.reason == SKIPPED:
                    continue  # recorded early, so it does not show which occurrences have been claimed
                newest = run.occurrence if newest is None else newest
                if run.occurrence < newest - RECORDED_SECONDS:
                    return None, True
            if len(page) < PAGE:
                return None, True
            before, read = page[-1].name.local, read + len(page)
        return None, False


@dataclass(slots=True)
class _Case:
    """A job, and ranges of its occurrences that have no records."""

    by: ClassifyGaps
    job: Job
    cursor: Cursor | None
    occurrences: Occurrences
    empty: bool | None
    all_empty: bool
    served: Mapping[Lane, int]
    searched: bool = True

    def classify(self, ranges: Sequence[OccurrenceRange]) -> list[tuple[OccurrenceRange, Verdict]]:
        """Return the parts of the ranges that no record covers, not even an earlier one, each with one verdict."""
        rows = self._missing(ranges)
        while rows:
            through, self.searched = self.by.reaching_over(self.job, rows[0][0])
            if through is None:
                break
            rows = [kept for row in rows if (kept := [at for at in row if at > through])]
        return [part for row in rows for part in self._parts(row)]

    def _missing(self, ranges: Sequence[OccurrenceRange]) -> list[list[int]]:
        """Return the occurrences of each range without a record. There may be none: an edit may have ended the schedule
        that included them.
        """
        low, high, firsts = ranges[0].first - 1, ranges[-1].last, [each.first for each in ranges]
        records = self.by.parts.runs.between(self.job.tenant, self.job.id, low, high, strongly=True)
        left = compare(between(self.occurrences, low, high), records).missing
        rows = [
            [
                at
                for at in between(self.occurrences, each.first - 1, each.last)
                if (asked := bisect_right(firsts, at)) and at <= ranges[asked - 1].last
            ]
            for each in left
        ]
        return [row for row in rows if row]

    def _parts(self, row: list[int]) -> list[tuple[OccurrenceRange, Verdict]]:
        bounds = [0, *self._changes(row, 0, len(row) - 1), len(row)]
        parts = [row[begin:end] for begin, end in pairwise(bounds)]
        return [(OccurrenceRange(part[0], part[-1], len(part)), self._verdict(part[0])) for part in parts]

    def _changes(self, row: list[int], low: int, high: int) -> list[int]:
        """Return the indices at which the verdict changes. If the verdict is the same at both ends of a part, it is the
        same in between, since time and cursor pass the occurrences in order.
        """
        if low >= high or self._verdict(row[low]) is self._verdict(row[high]):
            return []
        if high - low == 1:
            return [high]
        middle = (low + high) // 2
        return [*self._changes(row, low, middle), *self._changes(row, middle, high)]

    def _verdict(self, at: int) -> Verdict:
        parts, now = self.by.parts, self.by.parts.clock.now()
        due = self.occurrences.due(at)
        drained = None if self.empty is None else self.empty or not held_back(due, self.served, self.job.lane)
        # A message enqueued before an edit of the priority waits in the former lane. (The completion of a job is no
        # edit.)
        if due < self.job.updated_at and self.job.state is not JobState.COMPLETED:
            drained = self.all_empty
        around = ExplainContext(
            lookahead=parts.settings.lookahead_seconds,
            horizon=parts.settings.horizon_seconds,
            retention=parts.settings.run_retention_days * DAY_SECONDS,
            lane_kept=MESSAGE_RETENTION_DAYS * DAY_SECONDS,
            # The API sends on a best-effort basis: only occurrences that the cursor has passed were certainly sent.
            sent_until=None,
            lane_empty=drained,
            searched=self.searched,
        )
        return explain(at, self.job, self.cursor, None, around, now=now).verdict


STUCK_SECONDS = 2 * 3600
"""How long after the end of its window a lease may end, in seconds. A window is compared three hours after its end, so
such a lease ended at least an hour ago. Its message returns within minutes, unless it was lost.
"""

PIECE_SECONDS = 6 * 3600
"""The length of the pieces in which a window is compared. A job that fires every second has 21,600 records in a
piece.
"""


@dataclass(frozen=True, slots=True)
class ComparedJob:
    """The comparison of a job's window. `served` is the latest due time (UTC seconds) of a run that its lane has
    started. `stuck` has the occurrences whose runs are RUNNING long after the end of their lease.
    """

    job: Job
    expected: int = 0
    missing: tuple[OccurrenceRange, ...] = ()
    doubled: tuple[OccurrenceRange, ...] = ()
    served: int = 0
    stuck: tuple[int, ...] = ()
    error: str | None = None


def _stuck(record: Recorded, before: float) -> bool:
    return record.lease_until is not None and record.lease_until < before


@dataclass(frozen=True, slots=True)
class CompareWindow:
    """Compares jobs with their records. May be called concurrently."""

    runs: RunStore

    def __call__(self, job: Job, turn: Turn) -> ComparedJob:
        """Compare one job. An item that cannot be read is reported in `error` and does not affect other jobs."""
        try:
            occurrences = job.occurrences()
            low, end = audited_from(job, since_when(job, occurrences), turn.low), turn.high
            if job.state is JobState.COMPLETED:  # its schedule is over: nothing was due after this
                end = min(end, int(job.updated_at))
            found = ComparedJob(job)
            while low is not None and low < end and (first := occurrences.next(low)) is not None:
                high = min(low + PIECE_SECONDS, end)
                if first <= high:
                    found = self._piece(found, occurrences, low, high, turn.high + STUCK_SECONDS)
                low = max(high, min(first - 1, end))
        except (ScheduleError, ExclusionError):
            return ComparedJob(job)  # it does not fire: its cursor is quarantined
        except UNREADABLE as problem:
            return ComparedJob(job, error=format_error(problem))
        return replace(found, doubled=tuple(few(found.doubled)))

    def _piece(
        self, found: ComparedJob, occurrences: Occurrences, low: int, high: int, stuck_before: float
    ) -> ComparedJob:
        """Add one piece. If a catch-up in the piece extends beyond its end, the records there are read too. A run whose
        lease ended before `stuck_before` (UTC seconds) is stuck.
        """
        job = found.job
        records = self._records(job, low, high)
        beyond = max((record.through for record in records if record.ran), default=high)
        ahead = self._records(job, high, beyond) if beyond > high else []
        made = compare(between(occurrences, low, high), records)
        twice = compare(between(occurrences, low, beyond), records + ahead) if ahead else made
        served = [record.due for record in records if record.ran and record.lane is job.lane]
        return replace(
            found,
            expected=found.expected + made.expected,
            missing=found.missing + made.missing,
            doubled=found.doubled + twice.doubled,
            served=max([found.served, *served]),
            stuck=found.stuck + tuple(record.occurrence for record in records if _stuck(record, stuck_before)),
        )

    def _records(self, job: Job, low: int, high: int) -> list[Recorded]:
        return self.runs.between(job.tenant, job.id, low, high, strongly=False)


@dataclass(frozen=True, slots=True)
class StalledStep:
    """A step's run in the run of its workflow: LOST, or QUEUED if one of its messages may still be in transit."""

    name: RunName
    workflow_run: RunName
    verdict: Verdict

    @property
    def range(self) -> OccurrenceRange:
        """The instant of the step's run and of the workflow's run, as a range."""
        return OccurrenceRange(self.name.occurrence, self.name.occurrence, 1)


@dataclass(frozen=True, slots=True)
class AuditSteps:
    """Reads the records of all steps of each workflow run in a window. Strongly consistent."""

    parts: Parts[RoundSettings]
    workflow_runs: WorkflowRuns

    def __call__(
        self, tenant: str, job_id: str, ranges: Sequence[OccurrenceRange], served: Mapping[Lane, int]
    ) -> list[StalledStep]:
        """Return the stalled steps of a workflow's runs (scheduled or manual) with instants in these ranges. The list
        is empty for a job that is not a workflow. `served`: see `held_back`. Raises GraphMissingError, and KeyError or
        ValueError for an item that this version cannot read.
        """
        job = self.parts.jobs.get(tenant, job_id)
        if job is None or not isinstance(job.target, WorkflowTarget):
            return []
        runs = (run for each in ranges for run in self._runs(tenant, job_id, each) if has_steps(run))
        return [step for run in runs for step in self._stalled(run, served)]

    def _runs(self, tenant: str, job_id: str, window: OccurrenceRange) -> Iterator[Run]:
        before = RunName(job_id, window.last + 1).local
        while True:
            page = self.parts.runs.page(tenant, job_id, limit=PAGE, before=before)
            yield from (run for run in page if run.occurrence >= window.first)
            if len(page) < PAGE or page[-1].occurrence < window.first:
                return
            before = page[-1].name.local

    def _stalled(self, run: Run, served: Mapping[Lane, int]) -> Iterator[StalledStep]:
        """Yield the stalled steps of a run, and those of its steps that wait for their own steps or items. The lanes
        are read before the records, so that concurrent changes are noticed.
        """
        now, first = self.parts.clock.now(), self.workflow_runs.look(run)
        for each in first.steps:
            if isinstance(each.run, Waiting) and has_steps(each.run):
                yield from self._stalled(each.run, served)
        if not stalled(first, now=now):
            return
        depths = {lane: self.parts.depths.depth(lane) for lane in Lane}
        again = self.parts.runs.get(run.tenant, run.job_id, run.name.local)
        if again is None or not has_steps(again):
            return
        view = self.workflow_runs.look(again)
        for step, since in stalled(view, now=now):
            job = self.parts.jobs.get(run.tenant, step.job_id)
            if job is not None and (job.is_paused(now) or job.suspended_at is not None):
                continue  # it holds up its workflow's run until it is resumed
            lanes = {step.lane, view.graph.lane, *([] if job is None else [job.lane])}  # its start may have moved on
            drained = all(
                (depth := depths[lane]) is not None and (depth.empty or not held_back(since, served, lane))
                for lane in lanes
            )
            lost = drained or since + MESSAGE_RETENTION_DAYS * DAY_SECONDS <= now
            yield StalledStep(step_name(run.name, step), run.name, Verdict.LOST if lost else Verdict.QUEUED)


GROUP = 16
"""The number of jobs between two checks of the clock: as many as the margin of an invocation allows if each fires every
second.
"""

MAX_OPEN = 1000
"""The maximum number of jobs with open occurrences. If there are more, dispatch or the lanes have a large backlog, and
no new windows are audited.
"""


@dataclass(frozen=True, slots=True)
class Audit:
    """The use case, which is invoked more often than a turn is due. `executor` compares jobs concurrently."""

    parts: Parts[AuditSettings]
    compare: CompareWindow
    classify: ClassifyGaps
    steps: AuditSteps

    def __call__(self, deadline: float, publish: Callable[[Report], None] | None = None) -> Report:
        """Do the due turns until `deadline` (UTC seconds). Return the part of the report that was not passed to
        `publish`. Never raises: errors are counted and logged, and the next invocation continues with the page that
        failed.

        Findings are published, then stored, and then their page is marked as done. After a crash in between, a finding
        may be published twice, but is never left unpublished.
        """
        invocation = _Invocation(self, deadline, publish)
        try:
            invocation.run()
        except Exception as problem:  # noqa: BLE001 - after any error the next invocation tries again
            invocation.report.counts["AuditsFailed"] += 1
            invocation.report.add("audit_failed", alarming=True, error=format_error(problem))
        return invocation.report


@dataclass(slots=True)
class _Invocation:
    """The audits of one invocation."""

    uses: Audit
    deadline: float
    publish: Callable[[Report], None] | None
    report: Report = field(default_factory=Report)
    served: dict[Lane, int] = field(default_factory=dict)
    unpublished: dict[Finding, None] = field(default_factory=dict)
    opened: int = 0

    def run(self) -> None:
        """Do the due turns one after another, then classify the open occurrences again."""
        store, clock, settings = self.uses.parts.audit_store, self.uses.parts.clock, self.uses.parts.settings
        before = {(standing.tenant, standing.job_id) for standing in store.open(MAX_OPEN)}
        self.opened = len(before)
        kept = settings.run_retention_days * DAY_SECONDS
        while self._going():
            turn = next_turn(store.turns(), settings.audit_segments, now=clock.now(), kept_seconds=kept)
            if turn is None or not self._turn(turn):
                break
        for standing in store.open(MAX_OPEN) if before else ():  # read again: a turn may have added to them
            if self._late():
                break
            if (standing.tenant, standing.job_id) in before:
                with self._isolated(standing.tenant, standing.job_id):
                    self._again(standing)

    def _late(self) -> bool:
        return self.uses.parts.clock.now() >= self.deadline

    def _going(self) -> bool:
        if self._late():
            return False
        if self.opened < MAX_OPEN:
            return True
        self.report.counts["AuditsWaiting"] += 1
        reason = "dispatch or the lanes have a large backlog"
        self.report.add("audit_waits", alarming=True, reason=reason, open=self.opened)
        return False

    def _turn(self, turn: Turn) -> bool:
        """Do as much of a turn as time allows. Return whether it is finished."""
        store, clock = self.uses.parts.audit_store, self.uses.parts.clock
        reached = scan(turn, going=self._going, page=self._page, save=lambda turn: store.save(turn, now=clock.now()))
        if reached is None:
            self.report.add("audit_overtaken", reason="another invocation has continued this audit")
        elif reached.done:
            window, counted = {"after": to_iso(turn.low), "until": to_iso(turn.high)}, dict(reached.counts)
            self.report.add("audited", segment=turn.segment, segments=turn.segments, window=window, counts=counted)
        return reached is not None and reached.done

    def _page(self, turn: Turn) -> Turn:
        """Process a page, or as much of it as time allows, group after group."""
        store, before = self.uses.parts.audit_store, self.report.counts.copy()
        page = store.jobs(turn.segment, turn.segments, turn.start)
        following = page.following
        for begin in range(0, len(page.items), GROUP):
            if begin and self._late():
                following = store.after(page.items[begin - 1])
                break
            self._group(page.items[begin : begin + GROUP], turn)
        counts = self.report.counts - before
        self._publish()
        return turn.moved(following, counts)

    def _group(self, jobs: Sequence[Job], turn: Turn) -> None:
        compared = self.uses.parts.executor.map(lambda job: self.uses.compare(job, turn), jobs)
        for one in compared:
            self.served[one.job.lane] = max(self.served.get(one.job.lane, 0), one.served)
        for one in compared:
            self._settle(one, turn)

    def _settle(self, compared: ComparedJob, turn: Turn) -> None:
        """Count a job, classify the missing occurrences and a workflow's steps, and store the findings."""
        whose = compared.job.tenant, compared.job.id
        self.report.counts["JobsAudited"] += compared.expected > 0
        self.report.counts["OccurrencesLost"] += 0  # counted even if 0, to show that the audit was made
        self.report.counts["OccurrencesAudited"] += compared.expected
        if compared.error is not None:
            self._failed(*whose, compared.error)
        for occurrence in compared.stuck:
            self.report.counts["RunsStuck"] += 1
            self.report.add(
                "run_stuck", alarming=True, tenant=whose[0], job_id=whose[1], run_id=str(RunName(whose[1], occurrence))
            )
        for doubled in compared.doubled:
            self._found(Finding("doubled", *whose, doubled), "OccurrencesDoubled")
        with self._isolated(*whose):
            still = self._classified(*whose, compared.missing) if compared.missing else []
            if isinstance(compared.job.target, WorkflowTarget):
                still += self._steps(*whose, [OccurrenceRange(turn.low + 1, turn.high, 0)])
            if still:
                self.opened += self.uses.parts.audit_store.undecided(*whose, still, now=self.uses.parts.clock.now())

    def _classified(self, tenant: str, job_id: str, missing: Sequence[OccurrenceRange]) -> list[OccurrenceRange]:
        """Record the lost parts of the ranges. Return the undecided parts."""
        classified = self.uses.classify(tenant, job_id, missing, self.served)
        for each, verdict in classified:
            if verdict is Verdict.LOST:
                self._found(Finding("lost", tenant, job_id, each), "OccurrencesLost")
        return [each for each, verdict in classified if verdict in UNDECIDED]

    def _steps(self, tenant: str, job_id: str, ranges: Sequence[OccurrenceRange]) -> list[OccurrenceRange]:
        """Record the lost steps of a workflow's runs in the ranges. Return the instants of the runs that have undecided
        steps.
        """
        still: list[OccurrenceRange] = []
        for each in self.uses.steps(tenant, job_id, ranges, self.served):
            if each.verdict is Verdict.LOST:
                found = Finding("lost", tenant, each.name.job_id, each.range, each.name.id)
                self._found(found, "StepsLost", run_id=found.run_id, workflow_run=str(each.workflow_run))
            elif each.range not in still:
                still.append(each.range)
        return sorted(still, key=lambda each: each.first)

    def _found(self, finding: Finding, metric: str, **facts: object) -> None:
        """Count and log a finding once, even if it is found several times."""
        if finding in self.unpublished or self.uses.parts.audit_store.known(finding):
            return
        self.unpublished[finding] = None
        self.report.counts[metric] += finding.range.count
        self.report.add(
            f"occurrence_{finding.kind}",
            alarming=True,
            tenant=finding.tenant,
            job_id=finding.job_id,
            first=to_iso(finding.range.first),
            last=to_iso(finding.range.last),
            count=finding.range.count,
            **facts,
        )

    def _publish(self) -> None:
        """Publish the report, then store the findings."""
        if self.publish is not None:
            self.publish(self.report)
            self.report = self.report.part()
        for finding in self.unpublished:
            self.uses.parts.audit_store.keep(finding, now=self.uses.parts.clock.now())
        self.unpublished.clear()

    def _again(self, standing: Undecided) -> None:
        """Classify a job's open occurrences again."""
        whose = standing.tenant, standing.job_id
        still = self._classified(*whose, standing.ranges)
        still += [each for each in self._steps(*whose, standing.ranges) if each not in still]
        if self.unpublished:
            self._publish()
        if tuple(still) != standing.ranges:
            self.uses.parts.audit_store.settle(standing, still, now=self.uses.parts.clock.now())

    @contextmanager
    def _isolated(self, tenant: str, job_id: str) -> Iterator[None]:
        """Catch and report an error of one job, so that it does not affect the others."""
        try:
            yield
        except UNREADABLE as problem:
            self._failed(tenant, job_id, format_error(problem))

    def _failed(self, tenant: str, job_id: str, error: str) -> None:
        self.report.counts["AuditsFailed"] += 1
        self.report.add("job_not_audited", alarming=True, tenant=tenant, job_id=job_id, error=error)
