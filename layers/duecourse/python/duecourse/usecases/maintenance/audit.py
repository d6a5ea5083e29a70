"""The completeness audit: derives the occurrences of a closed window and compares them with the records.

Each hour a segment of the jobs table has its turn: for each job the occurrences that its present definition names in
the window (since the segment's last turn, up to three hours ago) are compared with its records. `domain.runs.explain`
classifies the missing ones: an occurrence is lost if it was enqueued, is in no lane any more and has no record; one
whose message may still be under way is kept open and classified again each hour. Not audited are occurrences before a
job's last change of schedule (the former definition is not kept), occurrences of a pause, and quarantined jobs (index
repair counts those). New zone data that move a time back over a window can make an occurrence look lost that never
existed. Of a workflow's runs in the window the members are audited too (AuditMembers).

A full pass over 1 million jobs that all fire in the window costs about 310,000 read units for the scan, half a unit at
least for each job's records and one per 8 KB of them (an unread record is half a KB): together about 1 million (12 US
cents) and ten minutes with eight requests at a time. A full pass takes `segments` hours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from duecourse.domain.instants import DAY_SECONDS, to_iso
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.policies import Lane
from duecourse.domain.maintenance.audit import UNDECIDED, Turn, next_turn
from duecourse.domain.runs.coverage import OccurrenceRange
from duecourse.domain.runs.explain import Verdict
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.ports import AuditStore, Clock, Executor, Finding, InlineExecutor, Undecided
from duecourse.usecases.maintenance.audit_members import AuditMembers
from duecourse.usecases.maintenance.classify_gaps import ClassifyGaps
from duecourse.usecases.maintenance.compare_window import ComparedJob, CompareWindow
from duecourse.usecases.maintenance.scan import scan
from duecourse.usecases.report import Report, in_words
from duecourse.usecases.unreadable import UNREADABLE

GROUP = 16
"""Jobs between two checks of the clock: as many as the margin of an invocation allows if each fires every second."""

MAX_OPEN = 1000
"""The most jobs with open occurrences. With more, dispatch or the lanes are far behind, and audits read no new windows.
"""


@dataclass(frozen=True, slots=True)
class Audit:
    """The use case, started more often than there are turns. `executor` compares jobs concurrently."""

    store: AuditStore
    compare: CompareWindow
    classify: ClassifyGaps
    members: AuditMembers
    clock: Clock
    segments: int
    retention_days: int
    executor: Executor = field(default_factory=InlineExecutor)

    def __call__(self, deadline: float, publish: Callable[[Report], None] | None = None) -> Report:
        """Do the due turns until `deadline` (UTC seconds); returns the part of the report that was not passed to
        `publish`. Never raises: errors are counted and logged, and the next invocation continues with the page that
        failed.

        Findings are published, then stored, and then their page is marked as done: after a crash in between a finding
        may be published again, and none stays unpublished.
        """
        invocation = _Invocation(self, deadline, publish)
        try:
            invocation.run()
        except Exception as problem:  # noqa: BLE001 - after any error the next invocation tries again
            invocation.report.counts["AuditsFailed"] += 1
            invocation.report.add("audit_failed", alarming=True, error=in_words(problem))
        return invocation.report


@dataclass(slots=True)
class _Invocation:
    """One invocation's audits."""

    uses: Audit
    deadline: float
    publish: Callable[[Report], None] | None
    report: Report = field(default_factory=Report)
    served: dict[Lane, int] = field(default_factory=dict)
    unpublished: dict[Finding, None] = field(default_factory=dict)
    opened: int = 0

    def run(self) -> None:
        """Do turn after turn, then classify the open occurrences again."""
        uses = self.uses
        before = {(standing.tenant, standing.job_id) for standing in uses.store.open(MAX_OPEN)}
        self.opened = len(before)
        kept = uses.retention_days * DAY_SECONDS
        while self._going():
            turn = next_turn(uses.store.turns(), uses.segments, now=uses.clock.now(), kept_seconds=kept)
            if turn is None or not self._turn(turn):
                break
        for standing in uses.store.open(MAX_OPEN) if before else ():  # read again: a turn may have added to them
            if self._late():
                break
            if (standing.tenant, standing.job_id) in before:
                with self._isolated(standing.tenant, standing.job_id):
                    self._again(standing)

    def _late(self) -> bool:
        return self.uses.clock.now() >= self.deadline

    def _going(self) -> bool:
        if self._late():
            return False
        if self.opened < MAX_OPEN:
            return True
        self.report.counts["AuditsWaiting"] += 1
        reason = "dispatch or the lanes are far behind"
        self.report.add("audit_waits", alarming=True, reason=reason, open=self.opened)
        return False

    def _turn(self, turn: Turn) -> bool:
        """Do as much of a turn as there is time for; whether it is finished."""
        store, clock = self.uses.store, self.uses.clock
        reached = scan(turn, going=self._going, page=self._page, save=lambda turn: store.save(turn, now=clock.now()))
        if reached is None:
            self.report.add("audit_overtaken", reason="another invocation is on the same turn")
        elif reached.done:
            window, counted = {"after": to_iso(turn.low), "until": to_iso(turn.high)}, dict(reached.counts)
            self.report.add("audited", segment=turn.segment, segments=turn.segments, window=window, counts=counted)
        return reached is not None and reached.done

    def _page(self, turn: Turn) -> tuple[str | None, Counter[str]]:
        """Do a page, or as much of it as there is time for, group after group."""
        store, before = self.uses.store, self.report.counts.copy()
        page = store.jobs(turn.segment, turn.segments, turn.start)
        following = page.following
        for begin in range(0, len(page.jobs), GROUP):
            if begin and self._late():
                following = store.after(page.jobs[begin - 1])
                break
            self._group(page.jobs[begin : begin + GROUP], turn)
        counts = self.report.counts - before
        self._publish()
        return following, counts

    def _group(self, jobs: Sequence[Job], turn: Turn) -> None:
        compared = self.uses.executor.map(lambda job: self.uses.compare(job, turn), jobs)
        for one in compared:
            self.served[one.job.lane] = max(self.served.get(one.job.lane, 0), one.served)
        for one in compared:
            self._settle(one, turn)

    def _settle(self, compared: ComparedJob, turn: Turn) -> None:
        """Count a job, classify the missing occurrences and a workflow's members, and store the findings."""
        whose = compared.job.tenant, compared.job.id
        self.report.counts["JobsAudited"] += compared.expected > 0
        self.report.counts["OccurrencesLost"] += 0  # counted even if 0: it shows that the audit was made
        self.report.counts["OccurrencesAudited"] += compared.expected
        if compared.error is not None:
            self._failed(*whose, compared.error)
        for doubled in compared.doubled:
            self._found(Finding("doubled", *whose, doubled), "OccurrencesDoubled")
        with self._isolated(*whose):
            still = self._classified(*whose, compared.missing) if compared.missing else []
            if isinstance(compared.job.target, WorkflowTarget):
                still += self._members(*whose, [OccurrenceRange(turn.low + 1, turn.high, 0)])
            if still:
                self.opened += self.uses.store.undecided(*whose, still, now=self.uses.clock.now())

    def _classified(self, tenant: str, job_id: str, missing: Sequence[OccurrenceRange]) -> list[OccurrenceRange]:
        """Record the lost parts of the ranges; returns the undecided ones."""
        classified = self.uses.classify(tenant, job_id, missing, self.served)
        for each, verdict in classified:
            if verdict is Verdict.LOST:
                self._found(Finding("lost", tenant, job_id, each), "OccurrencesLost")
        return [each for each, verdict in classified if verdict in UNDECIDED]

    def _members(self, tenant: str, job_id: str, ranges: Sequence[OccurrenceRange]) -> list[OccurrenceRange]:
        """Record the lost members of a workflow's runs in the ranges; returns the instants of those with members that
        are undecided.
        """
        still: list[OccurrenceRange] = []
        for each in self.uses.members(tenant, job_id, ranges, self.served):
            if each.verdict is Verdict.LOST:
                found = Finding("lost", tenant, each.name.job_id, each.range, str(each.name))
                self._found(found, "MembersLost", run_id=found.run_id, workflow_run=str(each.workflow_run))
            elif each.range not in still:
                still.append(each.range)
        return sorted(still, key=lambda each: each.first)

    def _found(self, finding: Finding, metric: str, **facts: object) -> None:
        """Count and log a finding once, however often it is found."""
        if finding in self.unpublished or self.uses.store.known(finding):
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
            self.uses.store.keep(finding, now=self.uses.clock.now())
        self.unpublished.clear()

    def _again(self, standing: Undecided) -> None:
        """Classify a job's open occurrences again."""
        whose = standing.tenant, standing.job_id
        still = self._classified(*whose, standing.ranges)
        still += [each for each in self._members(*whose, standing.ranges) if each not in still]
        if self.unpublished:
            self._publish()
        if tuple(still) != standing.ranges:
            self.uses.store.settle(standing, still, now=self.uses.clock.now())

    @contextmanager
    def _isolated(self, tenant: str, job_id: str) -> Iterator[None]:
        """An error of one job does not affect the others."""
        try:
            yield
        except UNREADABLE as problem:
            self._failed(tenant, job_id, in_words(problem))

    def _failed(self, tenant: str, job_id: str, error: str) -> None:
        self.report.counts["AuditsFailed"] += 1
        self.report.add("job_not_audited", alarming=True, tenant=tenant, job_id=job_id, error=error)
