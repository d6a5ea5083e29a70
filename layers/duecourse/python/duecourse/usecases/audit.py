"""The completeness audit: what a closed window should have had, derived anew and compared with the records.

Each hour a segment of the jobs table has its turn: for each job the occurrences that its present definition names in
the window (since the segment's last turn, up to three hours ago) are compared with its records. What is missing is
judged by `domain.explain`, as a caller's question would be: lost is what was handed over, is in no lane any more and
has no record; what may still be under way is kept open and judged again each hour. What is not audited: what came due
before a job's last change of schedule (its definition of then is not kept), what a pause covers, and jobs that are set
aside (a patrol counts those). New zone data that move a time back over a window can show an occurrence as lost that
never was one.

A full pass over 1 million jobs that all fire in the window costs about 310,000 read units for the scan, half a unit at
least for each job's records and one per 8 KB of them (an unread record is half a KB): together about 1 million (12 US
cents) and ten minutes with eight requests at a time. `segments` says over how many hours it is spread.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from duecourse.domain.audit import OPEN, Gap, Recorded, Turn, audited_from, next_turn, reconcile
from duecourse.domain.exclusions import ExclusionError
from duecourse.domain.instants import to_iso
from duecourse.domain.job import Job, Lane
from duecourse.domain.occurrences import Occurrences
from duecourse.domain.schedule import ScheduleError
from duecourse.domain.verdict import Verdict
from duecourse.ports import Alone, AuditedRuns, AuditStore, Clock, Crew, Finding
from duecourse.usecases.history import DAY_SECONDS, between
from duecourse.usecases.job_view import since_when
from duecourse.usecases.judging import Judge
from duecourse.usecases.report import Report

PIECE_SECONDS = 6 * 3600
"""A job's window is looked at in such pieces: one that fires each second has 21,600 records in one."""

MOST_OPEN = 1000
"""What may be undecided at a time. With more, dispatch or the lanes are far behind: audits wait for them, and the
windows with them.
"""


@dataclass(frozen=True, slots=True)
class Looked:
    """What there is in a job's window; `served` is the latest due time of a run that its lane has started."""

    job: Job
    expected: int = 0
    missing: tuple[Gap, ...] = ()
    doubled: tuple[Gap, ...] = ()
    served: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Audit:
    """The use case, started more often than there is a turn. `crew` looks at jobs side by side."""

    store: AuditStore
    records: AuditedRuns
    judge: Judge
    clock: Clock
    segments: int
    retention_days: int
    crew: Crew = field(default_factory=Alone)

    def __call__(self, deadline: float) -> Report:
        """Do the turns that are due until `deadline` (UTC seconds). Never raises: what fails is counted and told, and
        the next invocation goes on with the page that failed.
        """
        report = Report()
        try:
            _Round(self, deadline, report).run()
        except Exception as problem:  # noqa: BLE001 - whatever it is, the next invocation tries again
            report.counts["AuditsFailed"] += 1
            report.add("audit_failed", alarming=True, error=f"{type(problem).__name__}: {problem}")
        return report


@dataclass(slots=True)
class _Round:
    """One invocation's audits."""

    uses: Audit
    deadline: float
    report: Report
    served: dict[Lane, int] = field(default_factory=dict)
    opened: int = 0

    def run(self) -> None:
        """Turn after turn, then what was open before."""
        uses = self.uses
        before = uses.store.open(MOST_OPEN)
        self.opened = len(before)
        kept = uses.retention_days * DAY_SECONDS
        while not self._late() and not self._waits():
            turn = next_turn(uses.store.turns(), uses.segments, now=uses.clock.now(), kept_seconds=kept)
            if turn is None or not self._turn(turn):
                break
        for finding in before:
            if self._late():
                break
            self._again(finding)

    def _late(self) -> bool:
        return self.uses.clock.now() >= self.deadline

    def _waits(self) -> bool:
        if self.opened < MOST_OPEN:
            return False
        self.report.add("audit_waits", alarming=True, reason="dispatch or the lanes are far behind", open=self.opened)
        return True

    def _turn(self, turn: Turn) -> bool:
        """Page after page; whether the turn is finished. Findings are kept before the page is."""
        uses = self.uses
        while not turn.done:
            if self._late() or self._waits():
                return False
            page, before = uses.store.jobs(turn.segment, turn.segments, turn.start), self.report.counts.copy()
            looked = uses.crew.map(lambda job, turn=turn: self._look(job, turn), page.jobs)  # type: ignore[misc]
            for one in looked:
                self.served[one.job.lane] = max(self.served.get(one.job.lane, 0), one.served)
                self.report.counts["JobsAudited"] += one.expected > 0
                self.report.counts["OccurrencesAudited"] += one.expected
            for one in looked:
                self._settle(one)
            counts = Counter(turn.counts) + (self.report.counts - before)
            done = page.following is None
            turn = replace(turn, start=page.following, done=done, counts=counts)
            if not uses.store.save(turn, now=uses.clock.now()):
                self.report.add("audit_overtaken", reason="another invocation is on the same turn")
                return False
            turn = replace(turn, version=turn.version + 1)
        window, counted = {"after": to_iso(turn.low), "until": to_iso(turn.high)}, dict(turn.counts)
        self.report.add("audited", segment=turn.segment, segments=turn.segments, window=window, counts=counted)
        return True

    def _look(self, job: Job, turn: Turn) -> Looked:
        """Read only; jobs are looked at side by side, and what one of them holds keeps nobody from the others."""
        try:
            occurrences = job.occurrences()
            low = audited_from(job, since_when(job, occurrences), turn.low)
            found = Looked(job)
            while low is not None and low < turn.high and (first := occurrences.next(low)) is not None:
                high = min(low + PIECE_SECONDS, turn.high)
                if first <= high:
                    found = self._piece(found, occurrences, low, high)
                low = max(high, min(first - 1, turn.high))
        except (ScheduleError, ExclusionError):
            return Looked(job)  # it does not fire: its cursor is set aside
        except (KeyError, TypeError, ValueError) as problem:
            return Looked(job, error=repr(problem))
        return found

    def _piece(self, found: Looked, occurrences: Occurrences, low: int, high: int) -> Looked:
        """One piece more. Where a catch-up of it reaches beyond, what ran there by itself is looked at, too."""
        job = found.job
        records = self._records(job, low, high)
        beyond = max((record.through for record in records if record.ran), default=high)
        ahead = self._records(job, high, beyond) if beyond > high else []
        made = reconcile(between(occurrences, low, high), records)
        twice = reconcile(between(occurrences, low, beyond), records + ahead) if ahead else made
        served = [record.due for record in records if record.ran and record.lane is job.lane]
        return replace(
            found,
            expected=found.expected + made.expected,
            missing=found.missing + made.missing,
            doubled=found.doubled + twice.doubled,
            served=max([found.served, *served]),
        )

    def _records(self, job: Job, low: int, high: int) -> list[Recorded]:
        return self.uses.records.between(job.tenant, job.id, low, high, strongly=False)

    def _settle(self, looked: Looked) -> None:
        """Judge what is missing, and keep what was found."""
        whose = looked.job.tenant, looked.job.id
        if looked.error is not None:
            self.report.counts["AuditsFailed"] += 1
            tenant, job_id = whose
            self.report.add("job_not_audited", alarming=True, tenant=tenant, job_id=job_id, error=looked.error)
        for gap in looked.doubled:
            self._found(Finding("doubled", *whose, gap), "OccurrencesDoubled")
        for gap in looked.missing:
            for part, verdict in self.uses.judge(*whose, gap, self.served):
                self._judged(*whose, part, verdict)

    def _judged(self, tenant: str, job_id: str, gap: Gap, verdict: Verdict) -> None:
        if verdict is Verdict.LOST:
            self._found(Finding("lost", tenant, job_id, gap), "OccurrencesLost")
        elif verdict in OPEN:
            self.opened += self.uses.store.found(Finding("open", tenant, job_id, gap), now=self.uses.clock.now())

    def _found(self, finding: Finding, metric: str) -> None:
        """Counted and told once, however often it is found."""
        if not self.uses.store.found(finding, now=self.uses.clock.now()):
            return
        gap = finding.gap
        self.report.counts[metric] += gap.count
        self.report.add(
            f"occurrence_{finding.kind}",
            alarming=True,
            tenant=finding.tenant,
            job_id=finding.job_id,
            first=to_iso(gap.first),
            last=to_iso(gap.last),
            count=gap.count,
        )

    def _again(self, finding: Finding) -> None:
        """What was open: decided now, or left as it is."""
        judged = self.uses.judge(finding.tenant, finding.job_id, finding.gap, self.served)
        for gap, verdict in judged:
            self._judged(finding.tenant, finding.job_id, gap, verdict)
        if (finding.gap, True) not in [(gap, verdict in OPEN) for gap, verdict in judged]:
            self.uses.store.settle(finding)
