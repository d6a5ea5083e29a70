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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from duecourse.domain.audit import OPEN, Gap, Turn, next_turn
from duecourse.domain.instants import DAY_SECONDS, to_iso
from duecourse.domain.job import Job, Lane
from duecourse.domain.verdict import Verdict
from duecourse.ports import AuditStore, Clock, Executor, Finding, InlineExecutor, Undecided
from duecourse.usecases.judging import Judge
from duecourse.usecases.looking import Looked, Looker
from duecourse.usecases.report import Report, in_words
from duecourse.usecases.unreadable import UNREADABLE

AT_ONCE = 16
"""Jobs between two looks at the clock: what the margin of an invocation allows, where each fires every second."""

MAX_OPEN = 1000
"""Jobs with something undecided, at a time. With more, dispatch or the lanes are far behind: audits wait for them, and
the windows with them.
"""


@dataclass(frozen=True, slots=True)
class Audit:
    """The use case, started more often than there is a turn. `crew` looks at jobs side by side."""

    store: AuditStore
    looker: Looker
    judge: Judge
    clock: Clock
    segments: int
    retention_days: int
    executor: Executor = field(default_factory=InlineExecutor)

    def __call__(self, deadline: float, tell: Callable[[Report], None] | None = None) -> Report:
        """Do the turns that are due until `deadline` (UTC seconds); what `tell` was not given is returned. What fails
        is counted and told, and the next invocation goes on with the page that failed: nothing is raised.

        What is found is told, then kept as known, and then its page is noted as done: whoever is killed in between
        leaves it to be told again, and never untold.
        """
        round_ = _Round(self, deadline, tell)
        try:
            round_.run()
        except Exception as problem:  # noqa: BLE001 - whatever it is, the next invocation tries again
            round_.report.counts["AuditsFailed"] += 1
            round_.report.add("audit_failed", alarming=True, error=in_words(problem))
        return round_.report


@dataclass(slots=True)
class _Round:
    """One invocation's audits."""

    uses: Audit
    deadline: float
    tell: Callable[[Report], None] | None
    report: Report = field(default_factory=Report)
    served: dict[Lane, int] = field(default_factory=dict)
    untold: dict[Finding, None] = field(default_factory=dict)
    opened: int = 0

    def run(self) -> None:
        """Turn after turn, then what was open before."""
        uses = self.uses
        before = {(standing.tenant, standing.job_id) for standing in uses.store.open(MAX_OPEN)}
        self.opened = len(before)
        kept = uses.retention_days * DAY_SECONDS
        while not self._late() and not self._waits():
            turn = next_turn(uses.store.turns(), uses.segments, now=uses.clock.now(), kept_seconds=kept)
            if turn is None or not self._turn(turn):
                break
        for standing in uses.store.open(MAX_OPEN) if before else ():  # anew: a turn may have added to them
            if self._late():
                break
            if (standing.tenant, standing.job_id) in before:
                with self._alone(standing.tenant, standing.job_id):
                    self._again(standing)

    def _late(self) -> bool:
        return self.uses.clock.now() >= self.deadline

    def _waits(self) -> bool:
        if self.opened < MAX_OPEN:
            return False
        self.report.counts["AuditsWaiting"] += 1
        self.report.add("audit_waits", alarming=True, reason="dispatch or the lanes are far behind", open=self.opened)
        return True

    def _turn(self, turn: Turn) -> bool:
        """Page after page, or as much of one as there is time for; whether the turn is finished."""
        uses = self.uses
        while not turn.done:
            if self._late() or self._waits():
                return False
            page, before = uses.store.jobs(turn.segment, turn.segments, turn.start), self.report.counts.copy()
            start = page.following
            for begin in range(0, len(page.jobs), AT_ONCE):
                if begin and self._late():
                    start = uses.store.after(page.jobs[begin - 1])
                    break
                self._group(page.jobs[begin : begin + AT_ONCE], turn)
            counts = Counter(turn.counts) + (self.report.counts - before)
            turn = replace(turn, start=start, done=start is None, counts=counts)
            self._tell()
            if not uses.store.save(turn, now=uses.clock.now()):
                self.report.add("audit_overtaken", reason="another invocation is on the same turn")
                return False
            turn = replace(turn, version=turn.version + 1)
        window, counted = {"after": to_iso(turn.low), "until": to_iso(turn.high)}, dict(turn.counts)
        self.report.add("audited", segment=turn.segment, segments=turn.segments, window=window, counts=counted)
        return True

    def _group(self, jobs: Sequence[Job], turn: Turn) -> None:
        looked = self.uses.executor.map(lambda job: self.uses.looker(job, turn), jobs)
        for one in looked:
            self.served[one.job.lane] = max(self.served.get(one.job.lane, 0), one.served)
        for one in looked:
            self._settle(one)

    def _settle(self, looked: Looked) -> None:
        """Count a job, judge what is missing, and keep what was found."""
        whose = looked.job.tenant, looked.job.id
        self.report.counts["JobsAudited"] += looked.expected > 0
        self.report.counts["OccurrencesLost"] += 0  # said, too: silence would not tell that somebody looked
        self.report.counts["OccurrencesAudited"] += looked.expected
        if looked.error is not None:
            self._failed(*whose, looked.error)
        for gap in looked.doubled:
            self._found(Finding("doubled", *whose, gap), "OccurrencesDoubled")
        if looked.missing:
            with self._alone(*whose):
                still = self._judged(*whose, looked.missing)
                if still:
                    self.opened += self.uses.store.undecided(*whose, still, now=self.uses.clock.now())

    def _judged(self, tenant: str, job_id: str, gaps: Sequence[Gap]) -> list[Gap]:
        """Tell what is lost of them; what is not decided."""
        judged = self.uses.judge(tenant, job_id, gaps, self.served)
        for gap, verdict in judged:
            if verdict is Verdict.LOST:
                self._found(Finding("lost", tenant, job_id, gap), "OccurrencesLost")
        return [gap for gap, verdict in judged if verdict in OPEN]

    def _found(self, finding: Finding, metric: str) -> None:
        """Counted and told once, however often it is found."""
        if finding in self.untold or self.uses.store.known(finding):
            return
        self.untold[finding] = None
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

    def _tell(self) -> None:
        """Tell what there is, then keep what was found as known."""
        if self.tell is not None:
            self.tell(self.report)
            self.report = self.report.part()
        for finding in self.untold:
            self.uses.store.keep(finding, now=self.uses.clock.now())
        self.untold.clear()

    def _again(self, standing: Undecided) -> None:
        """What was open: decided now, or left as it is."""
        still = self._judged(standing.tenant, standing.job_id, standing.gaps)
        if self.untold:
            self._tell()
        if tuple(still) != standing.gaps:
            self.uses.store.settle(standing, still, now=self.uses.clock.now())

    @contextmanager
    def _alone(self, tenant: str, job_id: str) -> Iterator[None]:
        """What cannot be understood of one job keeps nobody from the others."""
        try:
            yield
        except UNREADABLE as problem:
            self._failed(tenant, job_id, in_words(problem))

    def _failed(self, tenant: str, job_id: str, error: str) -> None:
        self.report.counts["AuditsFailed"] += 1
        self.report.add("job_not_audited", alarming=True, tenant=tenant, job_id=job_id, error=error)
