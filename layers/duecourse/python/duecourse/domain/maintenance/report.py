"""Reports about the runs of tagged jobs: what was due in a window, what ran, what did not and why.

The comparison of occurrences with records is that of the audit, and `domain.runs.explain` explains occurrences without
a record.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

import orjson

from duecourse.domain.instants import DAY_SECONDS, to_iso
from duecourse.domain.jobs.backfill import Standing
from duecourse.domain.jobs.job import Job
from duecourse.domain.maintenance.audit import HOUR_SECONDS, compare
from duecourse.domain.runs.coverage import OccurrenceRange, Recorded, between, left_to_resume, standings
from duecourse.domain.runs.explain import Verdict
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import MAX_REPORT_HOURS, Failed, Outcome, ReportTarget, Returned
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError
from duecourse_schedules.schedule import Occurrences

MAX_JOBS = 5_000
"""The maximum number of jobs that a report examines. Each needs a query and a millisecond of processor time, so they
take about ten seconds.
"""

MAX_OCCURRENCES = 50_000
"""The maximum number of expected occurrences that a report examines: 25 MB of records."""

MAX_WINDOW_SECONDS = MAX_REPORT_HOURS * HOUR_SECONDS
"""The longest window, in seconds."""

MAX_BYTES = 1900
"""The maximum size of a report as JSON. A result up to 2,048 bytes is stored in the record of its run, from which the
notice is made.
"""

_LISTED = 5
_NAMED = 2
_REASONS = 5
_REASON_CHARACTERS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """The request for a report about the occurrences from `begin` up to, but not including, `end` (UTC seconds) of a
    tenant's jobs with one of these tags. `job_id` and `run` (the run's local name) are those of the run that reports.
    `seconds`: the time for the report.
    """

    tenant: str
    tags: tuple[str, ...]
    begin: int
    end: int
    job_id: str
    run: str
    seconds: float

    def document(self) -> dict[str, Any]:
        """Return the request as JSON."""
        return {
            "tenant": self.tenant,
            "tags": list(self.tags),
            "begin": self.begin,
            "end": self.end,
            "job_id": self.job_id,
            "run": self.run,
            "seconds": self.seconds,
        }

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> ReportRequest:
        """Return the request of a document. Fields that this version does not know are ignored. Raises KeyError,
        TypeError or ValueError.
        """
        return cls(
            tenant=str(document["tenant"]),
            tags=tuple(map(str, document["tags"])),
            begin=int(document["begin"]),
            end=int(document["end"]),
            job_id=str(document["job_id"]),
            run=str(document["run"]),
            seconds=float(document["seconds"]),
        )


def report_request(run: Run, job: Job, target: ReportTarget, seconds: float) -> ReportRequest:
    """Return the request of a run. Its window ends at the run's occurrence, so a repetition has the same window. A run
    that catches up several occurrences reports until the last of them.
    """
    end = run.occurrence if run.through is None else run.through
    begin = _begin(run.occurrence, job, target)
    return ReportRequest(
        tenant=run.tenant,
        tags=target.tags,
        begin=max(begin, end - MAX_WINDOW_SECONDS),
        end=end,
        job_id=run.job_id,
        run=run.name.local,
        seconds=seconds,
    )


def _begin(occurrence: int, job: Job, target: ReportTarget) -> int:
    """Return the begin of the window: `hours` before the occurrence, or else the occurrence before it. So the windows
    of successive reports have neither gaps nor overlaps, even if a day has 23 or 25 hours. A day for a run without an
    occurrence before it.
    """
    if target.hours is not None:
        return occurrence - target.hours * HOUR_SECONDS
    try:
        before = job.occurrences().last(occurrence - 1, occurrence - MAX_WINDOW_SECONDS)
    except (ScheduleError, ExclusionError):
        before = None
    return occurrence - DAY_SECONDS if before is None else before


def expected_occurrences(
    occurrences: Occurrences, records: Iterable[Recorded], low: int, since: int, high: int
) -> Iterator[int]:
    """Yield the occurrences after `low` and up to `high` (UTC seconds), in any order. Those after `since` belong to the
    current definition and are derived from it. Before it, only occurrences with a record are known.
    """
    for record in records:
        if low < record.occurrence <= since:
            yield record.occurrence
        # A record stores only the ends of its range. Pauses and resumes do not change the occurrences in between.
        yield from between(occurrences, max(low, record.occurrence), min(record.through, since, high))
    yield from between(occurrences, max(low, since), high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The results of `due` occurrences: each is counted once, in `ran`, `dead`, `active`, `skipped` (by reason),
    `missing` or `unknown` (by verdict). Of those that `ran`, `caught_up` were covered by the run of another occurrence.
    `doubled` ran twice. `missing` has the ranges that no record covers. `open_from` is the first that is `active`.
    """

    due: int = 0
    ran: int = 0
    caught_up: int = 0
    doubled: int = 0
    dead: int = 0
    active: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    unknown: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[OccurrenceRange, ...] = ()
    open_from: int | None = None

    def __add__(self, more: Tally) -> Tally:
        """Return the results of both."""
        return Tally(
            due=self.due + more.due,
            ran=self.ran + more.ran,
            caught_up=self.caught_up + more.caught_up,
            doubled=self.doubled + more.doubled,
            dead=self.dead + more.dead,
            active=self.active + more.active,
            skipped=Counter(self.skipped) + Counter(more.skipped),
            unknown=Counter(self.unknown) + Counter(more.unknown),
            missing=self.missing + more.missing,
            open_from=_first(self.open_from, more.open_from),
        )

    @property
    def missing_count(self) -> int:
        """The number of missing occurrences."""
        return sum(each.count for each in self.missing)


def tally(expected: Sequence[int], records: Sequence[Recorded]) -> Tally:
    """Count the results of occurrences (ascending, each once) according to their records. Runs of backfills count
    unless they were skipped or cancelled.
    """
    counted = [each for each in records if not (each.backfilled and each.state in _NEVER_RAN)]
    compared = compare(expected, counted)
    twice = compare(expected, [each for each in counted if not each.backfilled]).doubled
    found = standings(expected, counted, late_before=float("inf"))
    reasons: dict[int, str] = {}
    for record in counted:
        if record.state in _NEVER_RAN:
            said = (record.reason or record.state.value.lower())[:_REASON_CHARACTERS]
            for at in expected[bisect_left(expected, record.occurrence) : bisect_right(expected, record.through)]:
                if found[at] in (Standing.SKIPPED, Standing.MISSING):
                    reasons.setdefault(at, said)
    results = Counter(found.values())
    own = {each.occurrence for each in counted if each.state is RunState.SUCCEEDED}
    return Tally(
        due=compared.expected,
        ran=results[Standing.SUCCEEDED],
        caught_up=sum(each is Standing.SUCCEEDED and at not in own for at, each in found.items()),
        doubled=sum(each.count for each in twice),
        dead=results[Standing.FAILED],
        active=results[Standing.ACTIVE],
        skipped=Counter(reasons.values()),
        missing=compared.missing,
        open_from=_first(*(at for at, each in found.items() if each is Standing.ACTIVE)),
    )


def _first(*found: int | None) -> int | None:
    return min((at for at in found if at is not None), default=None)


def as_of(records: Iterable[Recorded], at: float) -> list[Recorded]:
    """Return the records as they were at an instant (UTC seconds): a run that ended later was in progress."""
    return [replace(each, state=RunState.RUNNING) if (each.finished_at or 0.0) > at else each for each in records]


def settled(expected: Sequence[int], records: Iterable[Recorded], before: float, now: float) -> Tally:
    """Count the results of those occurrences that were in progress at `before`, when another report was made. The runs
    of backfills do not count, nor does what a pause skipped: that report counted it.
    """
    own = [each for each in records if not each.backfilled and not left_to_resume(each)]
    found = standings(expected, as_of(own, before), late_before=float("inf"))
    return tally([at for at in expected if found[at] is Standing.ACTIVE], as_of(own, now))


_NEVER_RAN = frozenset({RunState.SKIPPED, RunState.CANCELLED})


def judged(counted: Tally, parts: Iterable[tuple[OccurrenceRange, Verdict]], *, exists: bool) -> Tally:
    """Return the tally after the missing occurrences were explained. `parts` are the ranges of those that still have no
    record, with their verdicts. The others have got a record in the meantime, unless the job no longer `exists`.
    """
    due, active, left, lost = counted.due, counted.active, counted.missing_count, list[OccurrenceRange]()
    skipped, unknown = Counter(counted.skipped), Counter(counted.unknown)
    open_from = counted.open_from
    for each, verdict in parts:
        left -= each.count
        match verdict:
            case Verdict.LOST:
                lost.append(each)
            case Verdict.QUEUED | Verdict.LATE | Verdict.WAITS | Verdict.FUTURE:
                active += each.count
                open_from = _first(open_from, each.first)
            case Verdict.PAUSED:
                skipped["paused"] += each.count
            case (
                Verdict.NOT_AN_OCCURRENCE
                | Verdict.EXCLUDED
                | Verdict.GAP
                | Verdict.FOLD
                | Verdict.BEFORE_START
                | Verdict.AFTER_END
                | Verdict.BEFORE_CREATION
                | Verdict.MAX_RUNS
                | Verdict.COMPLETED
            ):
                due -= each.count  # it was not due
            case Verdict.CHANGED | Verdict.UNCLEAR | Verdict.EXPIRED | Verdict.DELETED:
                unknown[verdict.value] += each.count
            case Verdict.FIRED | Verdict.RUNNING | Verdict.SKIPPED | Verdict.CANCELLED:
                unknown[Verdict.UNCLEAR.value] += each.count  # these are verdicts of records
            case other:
                assert_never(other)
    if left > 0 and exists:
        active += left
        open_from = _first(open_from, counted.missing[0].first)
    elif left > 0:
        unknown[Verdict.DELETED.value] += left
    whole = replace(counted, due=due, active=active, skipped=skipped, unknown=unknown, missing=tuple(lost))
    return replace(whole, open_from=open_from)


@dataclass(slots=True)
class Summary:
    """Adds up a report. `jobs` have one of the tags (`more`: at least so many). `examined` of them were examined, and
    `on_demand` of these have no schedule. `before` is the number of jobs in the report before. `not_derived` has the
    jobs of which not all occurrences can be derived, with the reason and the time until which this applies (UTC
    seconds). `left_out` has the jobs that were not examined, with the reason. Runs count as they were `as_of` an
    instant (UTC seconds); `earlier` has the results of those that were in progress in the report before.
    """

    request: ReportRequest
    jobs: int = 0
    more: bool = False
    examined: int = 0
    on_demand: int = 0
    before: int | None = None
    as_of: float = 0.0
    whole: Tally = field(default_factory=Tally)
    earlier: Tally = field(default_factory=Tally)
    missing: list[tuple[str, OccurrenceRange]] = field(default_factory=list)
    not_derived: list[tuple[str, str, int | None]] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)

    def add(self, job_id: str, one: Tally) -> None:
        """Add the tally of a job."""
        self.examined += 1
        self.missing += [(job_id, each) for each in one.missing]
        self.whole += one

    def leave_out(self, job_ids: Iterable[str], reason: str) -> None:
        """Note that these jobs are not examined."""
        self.left_out += [(job_id, reason) for job_id in job_ids]

    @property
    def complete(self) -> bool:
        """Whether every occurrence of every job was examined and has a known result."""
        return not (self.more or self.left_out or self.not_derived or self.whole.unknown)

    def document(self) -> dict[str, Any]:
        """Return the report as JSON of at most MAX_BYTES. Its lists contain only the first entries, fewer if they are
        long; the counts are those of all. If the names in the report are still too long, it has fewer reasons, and its
        text fewer names.
        """
        missing = [
            {"job_id": job_id, "first": to_iso(each.first), "last": to_iso(each.last), "count": each.count}
            for job_id, each in self.missing[:_LISTED]
        ]
        not_derived: list[dict[str, Any]] = [
            {"job_id": job_id, "reason": reason} | ({} if until is None else {"until": to_iso(until)})
            for job_id, reason, until in self.not_derived[:_LISTED]
        ]
        while True:
            made = self._document(missing, not_derived)
            if len(orjson.dumps(made)) <= MAX_BYTES:
                return made
            if not (missing or not_derived):
                return self._document([], [], short=True)
            (missing if len(missing) >= len(not_derived) else not_derived).pop()

    def _document(
        self, missing: list[dict[str, Any]], not_derived: list[dict[str, Any]], *, short: bool = False
    ) -> dict[str, Any]:
        whole, earlier, request = self.whole, self.earlier, self.request
        open_from = _first(whole.open_from, earlier.open_from)
        return {
            "text": self.text(short=short),
            "tags": list(request.tags),
            "begin": to_iso(request.begin),
            "end": to_iso(request.end),
            "jobs": self.jobs,
            "jobs_before": self.before,
            "on_demand": self.on_demand,
            "due": whole.due,
            "ran": whole.ran,
            "caught_up": whole.caught_up,
            "ran_twice": whole.doubled,
            "dead": whole.dead,
            "active": whole.active,
            "earlier": {"ran": earlier.ran, "dead": earlier.dead, "active": earlier.active} if earlier.due else None,
            "as_of": to_iso(self.as_of),
            "open_from": None if open_from is None else to_iso(open_from),
            "skipped": _most(whole.skipped, short=short),
            "missing": whole.missing_count,
            "unknown": dict(whole.unknown),
            "first_missing": missing,
            "not_derived_jobs": len(self.not_derived),
            "not_derived": not_derived,
            "not_examined_jobs": len(self.left_out),
            "not_examined": self._not_examined(short=short),
            "first_not_examined": self.left_out[0][0] if self.left_out else None,
            "complete": self.complete,
        }

    def _not_examined(self, *, short: bool) -> dict[str, int]:
        reasons = Counter(reason for _, reason in self.left_out)
        return _most(reasons, short=True) if short else dict(reasons)

    def text(self, *, short: bool = False) -> str:
        """Return the report as one line. A `short` line has fewer reasons, and names fewer tags and no missing runs."""
        request = self.request
        others = len(request.tags) - 1
        tags = f"{request.tags[0]} and {others} more" if short and others > 0 else ", ".join(request.tags)
        window = f"{tags}, {to_iso(request.begin)} to {to_iso(request.end)}"
        if not self.jobs:
            return f"{window}: {self._having('no job has')}."
        return f"{window}: {', '.join(self._counts(short))}.{''.join(f' {each}.' for each in self._remarks(short))}"

    def _having(self, who: str) -> str:
        """Return how many jobs have the tags, and how many had them before if these were more."""
        tags, it = ("this tag", "it") if len(self.request.tags) == 1 else ("one of these tags", "one")
        before = self.before or 0
        return f"{who} {tags}" + (f", {before} had {it} in the last report" if before > self.jobs else "")

    def _counts(self, short: bool) -> Iterator[str]:
        whole, shown = self.whole, 0 if short else _NAMED
        yield f"{whole.due} due"
        yield f"{whole.ran} ran" + (f" ({whole.caught_up} in catch-up runs)" if whole.caught_up else "")
        if whole.dead:
            yield f"{whole.dead} dead"
        if whole.active:
            yield f"{whole.active} running or waiting"
        skipped = _most(whole.skipped, short=short)
        why = ", ".join(f"{reason} {count}" for reason, count in skipped.items())
        yield f"{sum(skipped.values())} skipped" + (f" ({why})" if why else "")
        named = ", ".join(f"{job_id} {to_iso(each.first)}" for job_id, each in self.missing[:shown])
        more = ", …" if len(self.missing) > shown else ""
        yield f"{whole.missing_count} missing" + (f" ({named}{more})" if named else "")
        if whole.unknown:
            why = ", ".join(f"{reason} {count}" for reason, count in whole.unknown.items())
            yield f"{sum(whole.unknown.values())} unknown ({why})"
        if whole.doubled:
            yield f"{whole.doubled} ran twice"

    def _remarks(self, short: bool) -> Iterator[str]:
        if (earlier := self.earlier).due:
            counts = {"dead": earlier.dead, "ran": earlier.ran, "running or waiting": earlier.active}
            counts |= {"skipped": earlier.due - sum(counts.values())}
            named = [f"{count} {what}" for what, count in counts.items() if count]
            yield f"Of the report before: {', '.join(named[:1] if short else named)}"
        if self.before is not None and self.before > self.jobs and not self.more:
            yield self._having("1 job has" if self.jobs == 1 else f"{self.jobs} jobs have")
        if self.not_derived:
            job_id, reason, until = self.not_derived[0]
            since = "" if until is None else f" until {to_iso(until)}"
            others = f" and {len(self.not_derived) - 1} more" if len(self.not_derived) > 1 else ""
            yield f"Only recorded runs are counted for {job_id} ({reason}{since}){others}"
        if self.left_out or self.more:
            why = ", ".join(f"{reason}: {count}" for reason, count in self._not_examined(short=short).items())
            first = f" ({why}; the first is {self.left_out[0][0]})" if self.left_out else ""
            of = f"more than {self.jobs} jobs" if self.more else _jobs(self.jobs)
            yield f"Not examined: {len(self.left_out)} of {of}{first}"
        if self.complete and not self.whole.due:
            yield f"Nothing was due in {_jobs(self.jobs)}"


def _jobs(count: int) -> str:
    return f"{count} job{'' if count == 1 else 's'}"


def _most(reasons: Mapping[str, int], *, short: bool) -> dict[str, int]:
    """Return the most frequent reasons with their counts, and the sum of the others."""
    ordered, most = sorted(reasons.items(), key=lambda each: (-each[1], each[0])), 1 if short else _REASONS
    if len(ordered) <= most:
        return dict(ordered)
    return dict(ordered[:most]) | {"others": sum(count for _, count in ordered[most:])}


def answer_of(made: Summary) -> dict[str, Any]:
    """Return the response to a request, with the report."""
    return {"report": made.document()}


def refusal_of(error: str, code: str, *, retry_after: float | None = None, retryable: bool = True) -> dict[str, Any]:
    """Return the response to a request for which there is no report, with the reason and whether (and after how many
    seconds) another request may succeed.
    """
    return {"refused": {"error": error, "code": code, "retryable": retryable, "retry_after": retry_after}}


def outcome_of(answer: Mapping[str, Any]) -> Outcome:
    """Return the outcome of a call with this response. Raises KeyError, TypeError, AttributeError or ValueError for
    something else.
    """
    if "report" in answer:
        if not isinstance(answer["report"]["text"], str):
            raise ValueError("the report has no text")
        return Returned(answer["report"])
    refused = answer["refused"]
    wait = refused["retry_after"]
    return Failed(
        str(refused["error"]),
        retryable=bool(refused["retryable"]),
        retry_after=None if wait is None else float(wait),
        code=str(refused["code"]),
    )
