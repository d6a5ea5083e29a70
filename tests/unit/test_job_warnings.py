"""What the last runs of a job say about its definition."""

from datetime import date

from duecourse.checks.jobs import PastRun, calendar_warnings, job_warnings, missing_warnings


def test_job_warnings_runs_that_take_longer_than_the_interval_are_a_warning() -> None:
    runs = [PastRun(seconds=seconds) for seconds in (10, 95, 100)]
    (found,) = job_warnings(runs, 60.0)
    assert (found.kind, found.facts) == ("slow", {"median_seconds": 95, "interval_seconds": 60.0})
    assert "95 s (the median), with an occurrence every 60 s" in found.says


def test_job_warnings_few_or_short_runs_or_an_unknown_interval_are_none() -> None:
    slow = [PastRun(seconds=95.0)] * 3
    assert job_warnings(slow[:2], 60.0) == []
    assert job_warnings(slow, 100.0) == []
    assert job_warnings(slow, None) == []


def test_job_warnings_runs_that_were_skipped_without_a_request_and_merged_ones_count() -> None:
    runs = [PastRun("overlap")] * 3 + [PastRun(count=7)] * 2 + [PastRun("paused")] * 9 + [PastRun(seconds=1.0)] * 6
    (found,) = job_warnings(runs, None)
    assert found.says == "5 of the last 20 runs were skipped or merged."
    assert job_warnings(runs[1:], None) == []


def test_job_warnings_job_in_notify_or_then_that_does_not_exist_is_a_warning() -> None:
    (found,) = missing_warnings("notify", ["alerts"])
    assert (found.kind, found.says) == ("notify", "notify names a job that does not exist: alerts.")
    (found,) = missing_warnings("notify", ["alerts", "pager"])
    assert (found.says, found.facts) == (
        "notify names jobs that do not exist: alerts, pager.",
        {"missing": ["alerts", "pager"]},
    )
    (found,) = missing_warnings("then", ["report"])
    assert (found.kind, found.says) == ("then", "then names a job that does not exist: report.")
    assert missing_warnings("notify", []) == []


def test_job_warnings_calendar_without_a_date_after_60_days_is_a_warning() -> None:
    days = ["2026-12-24/2027-01-01", "2026-10-03", "* * * * SAT,SUN"]
    (found,) = calendar_warnings("de", days, date(2026, 11, 3))
    assert (found.kind, found.says) == ("calendar", "The last date in the calendar de is 2027-01-01.")
    assert calendar_warnings("de", days, date(2027, 5, 1)) != []
    assert calendar_warnings("de", days, date(2026, 11, 2)) == []
    assert calendar_warnings("weekends", days[2:], date(2027, 5, 1)) == []
    assert calendar_warnings("empty", [], date(2027, 5, 1)) == []
