"""Reports: each occurrence is counted once, and a report says what it does not know."""

from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.instants import from_iso
from duecourse.domain.jobs.job import Lane
from duecourse.domain.maintenance.report import (
    MAX_BYTES,
    MAX_WINDOW_SECONDS,
    ReportRequest,
    Summary,
    Tally,
    judged,
    report_request,
    tally,
)
from duecourse.domain.runs.coverage import OccurrenceRange, Recorded
from duecourse.domain.runs.explain import Verdict
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import ReportTarget
from duecourse_schedules import ScheduleSpec
from tests.support.calls import a_job, a_run
from tests.support.examples import examples

REQUEST = ReportRequest(tenant="acme", tags=("a",), begin=0, end=100, job_id="morning", run="x", seconds=9)


def record(first: int, last: int | None = None, *, state: RunState = RunState.SUCCEEDED, **more: object) -> Recorded:
    made = Recorded(first, first if last is None else last, first, Lane.NORMAL, state is not RunState.SKIPPED)
    return replace(made, state=state, **more)


def total(found: Tally) -> int:
    others = sum(found.skipped.values()) + sum(found.unknown.values())
    return found.ran + found.dead + found.active + others + found.missing_count


@st.composite
def records(draw: st.DrawFn) -> Recorded:
    first, state = draw(st.integers(0, 30)), draw(st.sampled_from(RunState))
    reason = draw(st.sampled_from(["overlap", "missed", None])) if state is RunState.SKIPPED else None
    last = first + draw(st.integers(0, 5))
    return record(first, last, state=state, reason=reason, backfilled=draw(st.booleans()))


@examples(200)
@given(st.sets(st.integers(0, 30)), st.lists(records(), max_size=12))
def test_report_counts_each_occurrence_once(expected: set[int], made: list[Recorded]) -> None:
    found = tally(sorted(expected), made)
    assert found.due == len(expected) == total(found)


@examples(200)
@given(
    st.lists(st.tuples(st.integers(1, 5), st.sampled_from(Verdict)), max_size=6),
    st.integers(0, 4),
    st.booleans(),
)
def test_report_counts_each_explained_occurrence_once(
    parts: list[tuple[int, Verdict]], left: int, exists: bool
) -> None:
    ranges = [(OccurrenceRange(at, at, count), verdict) for at, (count, verdict) in enumerate(parts)]
    missing = sum(count for count, _ in parts) + left
    before = Tally(due=missing + 3, ran=3, missing=(OccurrenceRange(0, 50, missing),))
    found = judged(before, ranges, exists=exists)
    assert found.due == total(found)
    assert found.missing == tuple(each for each, verdict in ranges if verdict is Verdict.LOST)


def test_report_counts_a_skipped_occurrence_that_a_backfill_ran_as_run() -> None:
    skipped = record(5, state=RunState.SKIPPED, reason="missed")
    found = tally([5], [skipped, record(5, backfilled=True)])
    assert (found.ran, found.skipped) == (1, {})


def test_report_counts_occurrences_that_ran_twice() -> None:
    found = tally([1, 2], [record(1, 2), record(2)])
    assert (found.due, found.ran, found.caught_up, found.doubled) == (2, 2, 0, 1)


@examples(200)
@given(
    st.lists(st.text("ab-", min_size=1, max_size=64), max_size=12),
    st.lists(st.text("ab-", min_size=1, max_size=64), max_size=5),
    st.dictionaries(st.text("abc_", min_size=1, max_size=32), st.integers(1, 10**9), max_size=12),
)
def test_report_always_fits_into_a_record(jobs: list[str], tags: list[str], skipped: dict[str, int]) -> None:
    made = Summary(replace(REQUEST, tags=tuple(tags)), jobs=10**6, more=True, before=10**7)
    for job_id in jobs:
        made.add(job_id, Tally(due=10**9, skipped=skipped, missing=(OccurrenceRange(0, 10**9, 10**9),)))
        made.not_derived.append((job_id, "quarantined", 10**9))
    made.leave_out(jobs, "above 50000 occurrences")
    document = made.document()
    assert len(orjson.dumps(document)) <= MAX_BYTES
    assert (document["missing"], document["not_derived_jobs"]) == (len(jobs) * 10**9, len(jobs))
    assert document["complete"] is False
    assert "\n" not in document["text"]


def test_report_with_the_longest_names_fits_into_a_record_and_says_that_it_is_incomplete() -> None:
    tags, jobs = tuple(f"{number}" * 64 for number in range(5)), [f"{number}" * 64 for number in range(9)]
    made = Summary(replace(REQUEST, tags=tags, begin=1_700_000_000), jobs=20_000, more=True, before=10**6)
    reasons = {f"{number}" * 32: 10**6 for number in range(7)}
    made.earlier = Tally(due=10**8, ran=10**7, dead=10**7, active=10**7, open_from=1_700_000_000)
    made.as_of = 1_700_000_000.25
    unknown = dict.fromkeys(("changed", "unclear", "expired", "deleted"), 10**6)
    counts = dict.fromkeys(("due", "ran", "caught_up", "doubled", "dead", "active"), 10**7)
    for job_id in jobs:
        lost = (OccurrenceRange(1_700_000_000, 1_700_000_060, 10**6),)
        made.add(job_id, Tally(**counts, skipped=reasons, unknown=unknown, missing=lost))
        made.not_derived.append((job_id, "created again", 1_700_000_000))
    for reason in ("above 50000 occurrences", "too many other runs", "unreadable", "no time left", "just deleted"):
        made.leave_out(jobs, reason)
    document = made.document()
    assert len(orjson.dumps(document)) <= MAX_BYTES
    assert document["skipped"] == {"0" * 32: 9 * 10**6, "others": 54 * 10**6}
    assert document["not_examined"] == {"above 50000 occurrences": 9, "others": 36}
    assert "9000000 missing, 36000000 unknown" in document["text"]
    assert f"Only recorded runs are counted for {'0' * 64}" in document["text"]
    assert "Of the report before: 10000000 dead." in document["text"]
    assert "Not examined: 45 of more than 20000 jobs (above 50000 occurrences: 9, others: 36;" in document["text"]


@pytest.mark.parametrize(
    ("occurrence", "through", "hours", "begin", "end"),
    [
        ("20261121T064700Z", None, 24, "2026-11-20T06:47:00Z", "2026-11-21T06:47:00Z"),
        ("20261123T064700Z", None, None, "2026-11-20T06:47:00Z", "2026-11-23T06:47:00Z"),
        ("20261123T101500Z", None, None, "2026-11-23T06:47:00Z", "2026-11-23T10:15:00Z"),
        ("20261123T064700Z", "2026-11-25T06:47:00Z", None, "2026-11-20T06:47:00Z", "2026-11-25T06:47:00Z"),
    ],
)
def test_report_begins_at_the_occurrence_before_or_the_given_hours_before(
    occurrence: str, through: str | None, hours: int | None, begin: str, end: str
) -> None:
    weekdays = replace(a_job(), schedule=ScheduleSpec("47 6 * * 1-5", "UTC"))
    run = a_run(occurrence=occurrence, through=None if through is None else int(from_iso(through)))
    request = report_request(run, weekdays, ReportTarget(("a",), hours), 9)
    assert (request.begin, request.end) == (from_iso(begin), from_iso(end))


@pytest.mark.parametrize("expression", ["47 6 1 1 *", "no longer valid", ""])
def test_report_without_an_occurrence_before_is_about_a_day(expression: str) -> None:
    rare = replace(a_job(), schedule=ScheduleSpec(expression, "UTC"))
    request = report_request(a_run(), rare, ReportTarget(("a",)), 9)
    assert request.end - request.begin == 86_400


def test_report_is_about_a_week_at_most() -> None:
    run = a_run(through=int(from_iso("2027-02-01T00:00:00Z")))
    request = report_request(run, a_job(), ReportTarget(("a",)), 9)
    assert request.end - request.begin == MAX_WINDOW_SECONDS


def test_report_request_is_read_as_it_was_written() -> None:
    assert ReportRequest.parse(orjson.loads(orjson.dumps(REQUEST.document())) | {"later": 1}) == REQUEST
