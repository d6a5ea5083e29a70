"""Reports about the runs of tagged jobs. The audit function makes them on request of a worker, because it already has
the permissions to read what they need.

The work is bounded (MAX_JOBS, MAX_OCCURRENCES and the deadline) and charged to the tenant before it begins: the number
of occurrences is estimated before they are derived. A report says what it did not examine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from duecourse.domain.instants import from_iso, to_iso
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job, JobState, Lane
from duecourse.domain.jobs.upcoming import estimated
from duecourse.domain.maintenance.report import (
    MAX_JOBS,
    MAX_OCCURRENCES,
    MAX_WINDOW_SECONDS,
    ReportRequest,
    Summary,
    Tally,
    answer_of,
    as_of,
    expected_occurrences,
    judged,
    refusal_of,
    settled,
    tally,
)
from duecourse.domain.runs.coverage import recorded
from duecourse.domain.runs.states import Succeeded
from duecourse.usecases.jobs.view import since_when
from duecourse.usecases.maintenance.audit import ClassifyGaps
from duecourse.usecases.report import UNREADABLE, Report, format_error
from duecourse.usecases.tenants import Limits, TenantClosedError
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError

if TYPE_CHECKING:
    from duecourse.settings import AuditSettings
    from duecourse.usecases.parts import Parts

LISTED = 1_000
"""The number of ids that are read at a time. This counts as one request of the tenant: 0.1 MB."""

MAX_LISTED = 20_000
"""The maximum number of jobs that are counted, of each tag."""

GROUP = 50
"""The number of jobs that are read and compared at a time. This counts as one request of the tenant: each job takes a
query. A group starts only if there is time for the longest of those before it.
"""

EXPLAINED_A_REQUEST = 25
"""Explaining the missing occurrences of so many jobs also counts as one request."""

RECORDS_A_REQUEST = 1_000
"""Comparing so many occurrences, or reading so many records, also counts as one request."""

OTHER_RECORDS = 1_000
"""The maximum number of records of a job, other than those of its expected occurrences: of manual runs and of an
earlier schedule.
"""

SEARCHES = 3
"""How many records that begin before the missing occurrences, and cover them, are searched for a job."""

BEFORE = 10
"""How many runs of the reporting job are read to find the report before."""


class _RefusedError(Exception):
    """The tenant's limits do not admit the work now. `wait`: the seconds until they may."""

    def __init__(self, wait: float) -> None:
        super().__init__()
        self.wait = wait


@dataclass(frozen=True, slots=True)
class MakeReport:
    """The use case. `limits` are charged for the work of a report, which examines at most `max_jobs` and
    `max_occurrences`.
    """

    parts: Parts[AuditSettings]
    classify: ClassifyGaps
    limits: Limits
    max_jobs: int = MAX_JOBS
    max_occurrences: int = MAX_OCCURRENCES

    def __call__(self, document: Mapping[str, Any], deadline: float, report: Report) -> dict[str, Any]:
        """Return the response to a request (domain.maintenance.report): the report, or the reason why there is none.
        `deadline` is in UTC seconds. Never raises.
        """
        try:
            request = ReportRequest.parse(document)
        except (KeyError, TypeError, ValueError) as problem:
            report.add("report_failed", alarming=True, error=format_error(problem))
            return refusal_of("the request for a report cannot be read", "report_failed", retryable=False)
        whose: dict[str, Any] = {"tenant": request.tenant, "job_id": request.job_id}
        try:
            until = min(deadline, self.parts.clock.now() + request.seconds)
            made = _Making(self, request, until, self.max_occurrences).summary()
        except _RefusedError as refused:
            report.add("report_refused", reason="the tenant's request rate", **whose)
            text = "the report was not made, because the tenant has too many requests"
            return refusal_of(text, "too_many_requests", retry_after=refused.wait)
        except TenantClosedError as closed:
            report.add("report_refused", reason=str(closed), **whose)
            return refusal_of(f"the report was not made, because the tenant is {closed}", "tenant_closed")
        except Exception as problem:  # noqa: BLE001 - a worker requests the report again
            report.add("report_failed", alarming=True, error=format_error(problem), **whose)
            text = f"the report was not made because of an internal error ({type(problem).__name__})"
            return refusal_of(text, "report_failed")
        whole = made.whole
        whose |= {"due": whole.due, "missing": whole.missing_count, "complete": made.complete}
        report.add("report_made", jobs=made.examined, **whose)
        return answer_of(made)


@dataclass(frozen=True, slots=True)
class _Plan:
    """A job to be compared: its occurrences up to `end` are derived from its definition after `since` (UTC seconds),
    about `expected` of them.
    """

    job: Job
    since: int
    end: int
    expected: int


@dataclass(slots=True)
class _Making:
    """The work for one report, which may compare `left` more occurrences. `served`: as in the audit. The report is made
    at `now` (UTC seconds). In the report before, made at `before`, occurrences after `earlier[0]` and up to
    `earlier[1]` were in progress.
    """

    uses: MakeReport
    request: ReportRequest
    deadline: float
    left: int
    begun: bool = False
    now: float = 0.0
    before: float = 0.0
    earlier: tuple[int, int] | None = None
    served: dict[Lane, int] = field(default_factory=dict)

    def summary(self) -> Summary:
        """Return the report."""
        ids = self._ids(made := Summary(self.request))
        made.jobs, made.before = len(ids), self._before()
        self.now = made.as_of = from_iso(to_iso(now := self.uses.parts.clock.now()))  # as the next report reads it
        examined, longest = ids[: self.uses.max_jobs], 0.0
        made.leave_out(ids[self.uses.max_jobs :], f"above {self.uses.max_jobs} jobs")
        for start in range(0, len(examined), GROUP):
            if now + longest >= self.deadline:
                made.leave_out(examined[start:], "no time left")
                break
            self._group(examined[start : start + GROUP], made)
            began, now = now, self.uses.parts.clock.now()
            longest = max(longest, now - began)
        made.left_out.sort()
        return made

    def _charge(self, requests: int) -> None:
        """Take the tenant's tokens for work that costs as much as this number of requests."""
        wait = self.uses.limits.charge(self.request.tenant, requests, begun=self.begun)
        if wait is not None:
            raise _RefusedError(wait)
        self.begun = True

    def _ids(self, made: Summary) -> list[str]:
        """Return the ids of the jobs with one of the tags, in order."""
        jobs, ids = self.uses.parts.jobs, set[str]()
        for tag in self.request.tags:
            read, after = 0, None
            while True:
                self._charge(1)
                page = jobs.tagged_ids(self.request.tenant, tag, limit=LISTED, after=after)
                ids.update(page.items)
                read, after = read + len(page.items), page.following
                if after is None:
                    break
                if read >= MAX_LISTED:
                    made.more = True
                    break
        return sorted(ids)

    def _before(self) -> int | None:
        """Return the number of jobs in the report before, if it had the same tags. Note what was in progress then."""
        request = self.request
        runs = self.uses.parts.runs.page(request.tenant, request.job_id, limit=BEFORE, before=request.run)
        for run in runs:
            result = run.result if isinstance(run, Succeeded) else None
            if isinstance(result, dict) and result.get("tags") == list(request.tags):
                jobs = result.get("jobs")
                if (first := result.get("open_from")) is not None:
                    since = max(int(from_iso(first)), request.begin - MAX_WINDOW_SECONDS) - 1
                    self.earlier = since, min(int(from_iso(result["end"])), request.begin) - 1
                    self.before = from_iso(result["as_of"])
                return jobs if isinstance(jobs, int) else None
        return None

    def _group(self, ids: Sequence[str], made: Summary) -> None:
        """Examine some jobs."""
        self._charge(1 if self.earlier is None else 2)
        stored = self.uses.parts.jobs.definitions(self.request.tenant, ids)
        plans: list[_Plan] = []
        for job_id in ids:
            if job_id not in stored:
                made.leave_out([job_id], "just deleted")
            elif (both := stored[job_id]) is None:
                made.leave_out([job_id], "unreadable")
            else:
                plans += self._planned(*both, made)
        self._charge(sum(plan.expected for plan in plans) // RECORDS_A_REQUEST)
        compared = self.uses.parts.executor.map(self._compared, plans)
        others = sum(one.read - plan.expected for plan, one in zip(plans, compared, strict=True))
        self._charge(others // RECORDS_A_REQUEST)
        for one in compared:
            lane = one.plan.job.lane
            self.served[lane] = max(self.served.get(lane, 0), one.served)
        missing = [one for one in compared if one.tally is not None and one.tally.missing]
        self._charge(-(-len(missing) // EXPLAINED_A_REQUEST))
        explained = dict(zip((one.plan.job.id for one in missing), self._explained(missing), strict=True))
        for one in compared:
            made.not_derived += [(one.plan.job.id, "created again", one.plan.since)] if one.again else []
            if one.tally is None:
                made.leave_out([one.plan.job.id], one.problem)
                continue
            found = explained.get(one.plan.job.id, one.tally)
            if found is None:
                made.leave_out([one.plan.job.id], "unreadable")
            else:
                made.add(one.plan.job.id, found)
                made.earlier += one.earlier

    def _planned(self, job: Job, cursor: Cursor | None, made: Summary) -> list[_Plan]:
        """Return how a job is compared; nothing if it is not."""
        low, high = self.request.begin - 1, self.request.end - 1
        if not job.scheduled:
            made.on_demand += 1
            made.add(job.id, Tally())
            return []
        try:
            occurrences, end = job.occurrences(), high
            since = max(low, since_when(job, occurrences))
            noted: tuple[str, str, int | None] | None = None
            if cursor is None or cursor.error is not None:  # it does not fire
                since, noted = high, (job.id, "quarantined", None)
            elif since > low and int(job.created_at) < int(job.changed_at) and job.expect_every is None:
                noted = (job.id, "paused" if job.state is JobState.PAUSED else "changed", since)
            if job.state is JobState.COMPLETED:  # its schedule is over: nothing was due after this
                end = min(high, int(job.updated_at))
            expected = estimated(occurrences, since + 1, end + 1) if since < end else 0
        except (ScheduleError, ExclusionError):
            made.leave_out([job.id], "invalid schedule")
            return []
        except UNREADABLE:
            made.leave_out([job.id], "unreadable")
            return []
        if expected > self.left:
            made.leave_out([job.id], f"above {self.uses.max_occurrences} occurrences")
            return []
        self.left -= expected
        made.not_derived += [] if noted is None else [noted]
        return [_Plan(job, since, end, expected)]

    def _compared(self, plan: _Plan) -> _Compared:
        """Compare a job with its records. Runs concurrently."""
        try:
            return self._comparison(plan)
        except UNREADABLE:
            return _Compared(plan, problem="unreadable")

    def _comparison(self, plan: _Plan) -> _Compared:
        parts, job, low = self.uses.parts, plan.job, self.request.begin - 1
        most = 2 * plan.expected + OTHER_RECORDS
        records = parts.runs.few_between(job.tenant, job.id, low, self.request.end - 1, limit=most)
        if records is None:
            return _Compared(plan, read=most, problem="too many other runs")
        occurrences, read, earlier = job.occurrences(), len(records), Tally()
        if self.earlier is not None:
            since, until = self.earlier
            rest = parts.runs.few_between(job.tenant, job.id, since, until, limit=most)
            known = sorted(set(islice(expected_occurrences(occurrences, rest or (), since, until, until), most + 1)))
            if rest is None or len(known) > most:
                return _Compared(plan, read=read + most, problem="too many earlier runs")
            read, earlier = read + len(rest), settled(known, rest, self.before, self.now)
        # A deleted job had the same id. Its other occurrences are not known. (A quarantined job is already noted.)
        again = plan.since < self.request.end - 1 and int(job.created_at) == int(job.changed_at)
        again &= any(each.occurrence <= int(job.created_at) and not each.backfilled for each in records)
        if plan.since > low:
            run, _ = self.uses.classify.covering(job, low + 1)
            records += [] if run is None else [recorded(run)]
        for _ in range(SEARCHES):
            derived = expected_occurrences(occurrences, records, low, plan.since, plan.end)
            expected = sorted(set(islice(derived, most + 1)))
            if len(expected) > most:
                return _Compared(plan, read=read, problem="too many occurrences")
            found = tally(expected, as_of(records, self.now))
            if not found.missing:
                break
            run, _ = self.uses.classify.covering(job, found.missing[0].first)
            if run is None:
                break
            records.append(recorded(run))
        served = max((record.due for record in records if record.ran and record.lane is job.lane), default=0)
        return _Compared(plan, found, served, read, again=again, earlier=earlier)

    def _explained(self, missing: Sequence[_Compared]) -> list[Tally | None]:
        """Return the tallies after the missing occurrences were explained; None for items that cannot be read."""
        return list(self.uses.parts.executor.map(self._judged, missing))

    def _judged(self, one: _Compared) -> Tally | None:
        job = one.plan.job
        if one.tally is None:
            return None
        try:
            parts = self.uses.classify(job.tenant, job.id, one.tally.missing, self.served)
            left = one.tally.missing_count > sum(each.count for each, _ in parts)
            exists = not left or self.uses.parts.jobs.get_both(job.tenant, job.id)[0] is not None
        except UNREADABLE:
            return None
        return judged(one.tally, parts, exists=exists)


@dataclass(frozen=True, slots=True)
class _Compared:
    """The comparison of a job. `served`: as in ComparedJob. `read`: the number of records read. `again`: the job was
    created again in the window. `earlier`: as in Summary. Without a `tally`, the job was not examined because of
    `problem`.
    """

    plan: _Plan
    tally: Tally | None = None
    served: int = 0
    read: int = 0
    problem: str = ""
    again: bool = False
    earlier: Tally = field(default_factory=Tally)
