"""Reports about the runs of tagged jobs: the job with the target `report`, its result and its notice."""

from dataclasses import replace
from typing import Any

import pytest

from duecourse.client import ApiError
from duecourse.domain.ids import parse_run_id
from duecourse.domain.jobs.job import NoticeCause
from duecourse.domain.maintenance.report import MAX_BYTES
from duecourse.stores.keys import JOB, RUN_PREFIX, job_key
from duecourse.stores.table import Delete, Set, Table, Update
from duecourse.testing import Scheduler
from duecourse.testing.faults import Fault, failing, lost
from duecourse.usecases.maintenance.report import MakeReport
from duecourse.usecases.report import Report

HTTP = {"type": "http", "url": "https://example.com/hook"}


@pytest.fixture
def scheduler() -> Scheduler:
    made = Scheduler("2026-01-01T08:00:00Z")
    made.client.create_job({"id": "tell", "schedule": None, "overlap": "allow", "target": HTTP})
    reporting(made)
    return made


def reporting(scheduler: Scheduler, **more: Any) -> None:
    target = {"type": "report", "tags": ["billing"]}
    notify = [{"on": ["report"], "to": {"job": "tell"}}]
    job = {"id": "morning", "schedule": "0 8 * * *", "overlap": "allow", "target": target, "notify": notify}
    scheduler.client.create_job(job | more)


def hourly(scheduler: Scheduler, job_id: str = "invoice", **more: Any) -> None:
    job = {"id": job_id, "schedule": "30 * * * *", "target": HTTP, "tags": ["billing"], "retry": {"max_attempts": 1}}
    scheduler.client.create_job(job | more)


def report(scheduler: Scheduler, until: str = "2026-01-02T08:00:00Z") -> dict[str, Any]:
    """The result of the newest run of the report at that time."""
    scheduler.advance_to(until)
    run = scheduler.client.list_runs("morning", limit=1).items[0]
    assert run.state == "SUCCEEDED", run
    result: dict[str, Any] = scheduler.client.get_run(run.id).result
    return result


def told(scheduler: Scheduler) -> list[Any]:
    return [call.payload for call in scheduler.calls if call.job_id == "tell"]


def lose(scheduler: Scheduler, run_id: str) -> None:
    """Delete the record of a run."""
    name = parse_run_id(run_id)
    key = job_key("default", name.job_id, RUN_PREFIX + name.local)
    scheduler._stage._memory.write(Delete(Table.RUNS, key))


def maker(scheduler: Scheduler, **bounds: int) -> MakeReport:
    return replace(scheduler._stage.wiring().reports, **bounds)


def asked(**more: Any) -> dict[str, Any]:
    """A request for the report about the first day."""
    given = {"tenant": "default", "tags": ["billing"], "begin": 1_767_254_400, "end": 1_767_340_800}
    return given | {"job_id": "morning", "run": "20260102T080000Z", "seconds": 30} | more


def counts(made: dict[str, Any]) -> dict[str, Any]:
    """The counts of a report that are not 0."""
    names = ("due", "ran", "caught_up", "ran_twice", "dead", "active", "skipped", "missing", "unknown")
    return {name: made[name] for name in names if made[name]}


def test_report_counts_what_ran_died_was_skipped_and_is_missing(scheduler: Scheduler) -> None:
    hourly(scheduler)
    hourly(scheduler, "broken", schedule="0 3 * * *")
    scheduler.answer("broken", status=500)
    scheduler.advance_to("2026-01-01T12:40:00Z")
    scheduler.client.skip_next("invoice")
    scheduler.advance_to("2026-01-02T04:40:00Z")
    lose(scheduler, "invoice.20260102T013000Z")
    made = report(scheduler)
    assert counts(made) == {"due": 25, "ran": 22, "dead": 1, "skipped": {"skipped_on_request": 1}, "missing": 1}
    assert made["first_missing"] == [
        {"job_id": "invoice", "first": "2026-01-02T01:30:00Z", "last": "2026-01-02T01:30:00Z", "count": 1}
    ]
    assert (made["jobs"], made["complete"]) == (2, True)
    assert made["text"] == (
        "billing, 2026-01-01T08:00:00Z to 2026-01-02T08:00:00Z: 25 due, 22 ran, 1 dead, "
        "1 skipped (skipped_on_request 1), 1 missing (invoice 2026-01-02T01:30:00Z)."
    )


def test_report_is_delivered_by_a_notice_with_its_text_and_its_numbers(scheduler: Scheduler) -> None:
    hourly(scheduler)
    made = report(scheduler)
    (notice,) = told(scheduler)
    assert (notice["cause"], notice["text"], notice["report"]) == ("report", made["text"], made)


def test_report_can_be_requested_with_all_other_notices() -> None:
    scheduler = Scheduler("2026-01-01T08:00:00Z")
    scheduler.client.create_job({"id": "tell", "schedule": None, "target": HTTP})
    causes = [cause.value for cause in NoticeCause if cause is not NoticeCause.TEST]
    reporting(scheduler, notify=[{"on": causes, "to": {"job": "tell"}}], finish_by="09:00")
    (rule,) = scheduler.client.get_job("morning").notify
    assert list(rule.on) == causes


def test_report_is_not_replaced_by_a_digest(scheduler: Scheduler) -> None:
    hourly(scheduler)
    for _ in range(9):
        scheduler.client.run_job("morning")
        scheduler.advance(seconds=1)
    assert [notice["cause"] for notice in told(scheduler)] == ["report"] * 9


@pytest.mark.parametrize(
    ("attribute", "method", "fault"),
    [
        ("inputs", "put", failing(OSError("throttled"), times=1)),
        ("inputs", "put", lost(OSError("no response"), times=1)),
        ("jobs", "tagged_ids", failing(OSError("throttled"), times=1)),
        ("run_store", "write", failing(OSError("throttled"), times=2)),
        ("run_store", "write", lost(OSError("no response"), times=2)),
    ],
    ids=["put fails", "put is lost", "report fails", "record fails", "record is lost"],
)
def test_report_is_delivered_once_whatever_fails(
    scheduler: Scheduler, attribute: str, method: str, fault: Fault
) -> None:
    hourly(scheduler, schedule="30 7 * * *")
    scheduler.advance_to("2026-01-02T07:59:30Z")
    stage = scheduler._stage
    real, stage.note = stage.note, lambda report: None  # type: ignore[method-assign]
    with stage.faulty(attribute, **{method: fault}):
        scheduler.advance(minutes=30)
    stage.note = real  # type: ignore[method-assign]
    assert fault.hits in (1, 2)
    (notice,) = told(scheduler)
    assert (notice["cause"], notice["report"]["due"], notice["report"]["end"]) == ("report", 1, "2026-01-02T08:00:00Z")


@pytest.mark.parametrize("form", ["slack", "teams"])
def test_report_is_delivered_in_the_formats_of_notices(form: str) -> None:
    scheduler = Scheduler("2026-01-01T08:00:00Z")
    scheduler.client.create_job({"id": "tell", "schedule": None, "target": HTTP})
    reporting(scheduler, notify=[{"on": ["report"], "to": {"job": "tell", "format": form}}])
    made = report(scheduler)
    assert made["text"] in str(told(scheduler))


def test_report_that_dies_is_announced_like_any_run() -> None:
    scheduler = Scheduler("2026-01-01T08:00:00Z")
    scheduler.client.create_job({"id": "tell", "schedule": None, "target": HTTP})
    reporting(scheduler, retry={"max_attempts": 1}, notify=[{"on": ["report", "dead"], "to": {"job": "tell"}}])
    scheduler.answer("morning", status=500)
    scheduler.advance_to("2026-01-02T08:00:00Z")
    assert [notice["cause"] for notice in told(scheduler)] == ["dead"]


def test_report_calls_what_is_in_progress_neither_missing_nor_done(scheduler: Scheduler) -> None:
    hourly(scheduler, schedule="59 7 * * *", completion="callback")
    made = report(scheduler)
    assert counts(made) == {"due": 1, "active": 1}
    assert "1 running or waiting" in made["text"]


def test_report_tells_how_the_runs_in_progress_of_the_report_before_have_ended(scheduler: Scheduler) -> None:
    """Each occurrence gets its final result in exactly one report."""
    retry = {"max_attempts": 3, "min_seconds": 900, "max_seconds": 900}
    hourly(scheduler, schedule="50 7 * * *", retry=retry)
    scheduler.answer("invoice", status=503)
    first = report(scheduler)
    assert (counts(first), first["earlier"]) == ({"due": 1, "active": 1}, None)
    for day in (3, 4):
        made = report(scheduler, f"2026-01-0{day}T08:00:00Z")
        assert (counts(made), made["earlier"]) == ({"due": 1, "active": 1}, {"ran": 0, "dead": 1, "active": 0})
        assert made["text"].endswith("Of the report before: 1 dead.")
    scheduler.client.patch_job("invoice", {"schedule": "50 6 * * *"})
    assert report(scheduler, "2026-01-05T08:00:00Z")["earlier"] == {"ran": 0, "dead": 1, "active": 0}
    assert report(scheduler, "2026-01-06T08:00:00Z")["earlier"] is None


def test_report_follows_a_run_that_is_in_progress_for_several_reports(scheduler: Scheduler) -> None:
    hourly(scheduler, schedule="59 7 2 * *", completion="callback", completion_seconds=3 * 86_400)
    hourly(scheduler, "other")
    assert counts(report(scheduler)) == {"due": 25, "ran": 24, "active": 1}
    for day in (3, 4):
        made = report(scheduler, f"2026-01-0{day}T08:00:00Z")
        assert (counts(made), made["earlier"]) == ({"due": 24, "ran": 24}, {"ran": 0, "dead": 0, "active": 1})
    assert report(scheduler, "2026-01-05T08:00:00Z")["earlier"] == {"ran": 0, "dead": 1, "active": 0}
    assert report(scheduler, "2026-01-06T08:00:00Z")["earlier"] is None


def test_report_tells_how_a_run_ended_whose_jitter_passed_the_end_of_the_report_before(scheduler: Scheduler) -> None:
    hourly(scheduler, schedule="55 7 * * *", jitter_seconds=3000)
    assert counts(report(scheduler)) == {"due": 1, "active": 1}
    made = report(scheduler, "2026-01-03T08:00:00Z")
    assert (counts(made), made["earlier"]) == ({"due": 1, "active": 1}, {"ran": 1, "dead": 0, "active": 0})


def test_report_about_nothing_says_so(scheduler: Scheduler) -> None:
    assert report(scheduler)["text"].endswith(": no job has this tag.")
    hourly(scheduler, schedule="0 9 1 7 *")
    assert "0 due, 0 ran" in (text := report(scheduler, "2026-01-03T08:00:00Z")["text"])
    assert text.endswith("Nothing was due in 1 job.")


def test_report_has_the_same_window_when_it_is_late(scheduler: Scheduler) -> None:
    hourly(scheduler)
    scheduler.advance_to("2026-01-02T07:50:00Z")
    scheduler.outage_until("2026-01-02T10:10:00Z")
    made = report(scheduler, "2026-01-02T10:20:00Z")
    assert (made["begin"], made["end"], made["due"]) == ("2026-01-01T08:00:00Z", "2026-01-02T08:00:00Z", 24)


def test_report_of_a_repeated_run_is_the_same(scheduler: Scheduler) -> None:
    hourly(scheduler)
    made = report(scheduler)
    again = maker(scheduler)(asked(), scheduler.now.timestamp() + 30, Report())
    assert again == {"report": made}


def test_reports_follow_one_another_without_gaps_on_days_with_a_change_of_clocks() -> None:
    scheduler = Scheduler("2026-10-23T05:50:00Z")
    reporting(scheduler, timezone="Europe/Berlin", notify=[])
    hourly(scheduler, schedule="*/30 * * * *")
    days = [report(scheduler, f"2026-10-{day}T{hour}:00:00Z") for day, hour in ((24, "06"), (25, "07"), (26, "07"))]
    assert [day["due"] for day in days] == [48, 50, 48]
    assert [days[0]["end"], days[1]["end"]] == [days[1]["begin"], days[2]["begin"]]


def test_report_has_the_hours_that_its_job_says() -> None:
    scheduler = Scheduler("2026-01-01T08:00:00Z")
    reporting(scheduler, target={"type": "report", "tags": ["billing"], "hours": 6}, notify=[])
    hourly(scheduler)
    assert (made := report(scheduler))["begin"] == "2026-01-02T02:00:00Z"
    assert made["due"] == 6


def test_report_counts_a_job_with_two_of_its_tags_once() -> None:
    scheduler = Scheduler("2026-01-01T08:00:00Z")
    reporting(scheduler, target={"type": "report", "tags": ["billing", "crm"]}, notify=[])
    hourly(scheduler, tags=["billing", "crm"])
    hourly(scheduler, "sync", tags=["crm"])
    hourly(scheduler, "other", tags=["shop"])
    assert ((made := report(scheduler))["jobs"], made["due"]) == (2, 48)


def test_report_counts_occurrences_of_a_pause_as_skipped(scheduler: Scheduler) -> None:
    hourly(scheduler)
    scheduler.advance_to("2026-01-01T18:00:00Z")
    scheduler.client.pause_job("invoice")
    made = report(scheduler)
    assert counts(made) == {"due": 24, "ran": 10, "skipped": {"paused": 14}}
    assert (made["complete"], made["not_derived"]) == (
        False,
        [{"job_id": "invoice", "reason": "paused", "until": "2026-01-01T18:00:00Z"}],
    )


def test_report_counts_a_pause_that_has_ended_by_its_record(scheduler: Scheduler) -> None:
    hourly(scheduler)
    scheduler.advance_to("2026-01-01T18:00:00Z")
    scheduler.client.pause_job("invoice")
    scheduler.advance_to("2026-01-02T03:00:00Z")
    scheduler.client.resume_job("invoice")
    assert counts(report(scheduler)) == {"due": 24, "ran": 15, "skipped": {"paused": 9}}


def test_report_counts_a_pause_that_began_before_its_window(scheduler: Scheduler) -> None:
    hourly(scheduler)
    scheduler.advance_to("2026-01-01T18:00:00Z")
    scheduler.client.pause_job("invoice")
    scheduler.advance_to("2026-01-03T03:00:00Z")
    scheduler.client.resume_job("invoice")
    assert counts(report(scheduler, "2026-01-03T08:00:00Z")) == {"due": 24, "ran": 5, "skipped": {"paused": 19}}


def test_report_names_a_job_whose_schedule_changed_and_counts_its_recorded_runs(scheduler: Scheduler) -> None:
    hourly(scheduler)
    scheduler.advance_to("2026-01-01T18:00:00Z")
    scheduler.client.patch_job("invoice", {"schedule": "45 * * * *"})
    made = report(scheduler)
    assert counts(made) == {"due": 24, "ran": 24}
    assert made["not_derived"] == [{"job_id": "invoice", "reason": "changed", "until": "2026-01-01T18:00:00Z"}]
    assert made["not_derived_jobs"] == 1
    assert "Only recorded runs are counted for invoice (changed until 2026-01-01T18:00:00Z)." in made["text"]


def test_report_names_a_job_that_was_deleted_and_created_again(scheduler: Scheduler) -> None:
    """A lost occurrence of the deleted job is not known."""
    hourly(scheduler)
    scheduler.advance_to("2026-01-01T18:00:00Z")
    lose(scheduler, "invoice.20260101T173000Z")
    scheduler.client.delete_job("invoice")
    scheduler.advance_to("2026-01-01T20:10:00Z")
    hourly(scheduler)
    made = report(scheduler)
    assert counts(made) == {"due": 21, "ran": 21}
    assert (made["complete"], made["not_derived"]) == (
        False,
        [{"job_id": "invoice", "reason": "created again", "until": "2026-01-01T20:10:00Z"}],
    )
    assert report(scheduler, "2026-01-03T08:00:00Z")["complete"] is True


def test_report_about_a_new_job_is_complete(scheduler: Scheduler) -> None:
    scheduler.advance_to("2026-01-01T18:00:00Z")
    hourly(scheduler)
    assert (made := report(scheduler))["complete"] is True
    assert counts(made) == {"due": 14, "ran": 14}


def test_report_says_that_jobs_are_gone_since_the_last_one(scheduler: Scheduler) -> None:
    hourly(scheduler)
    hourly(scheduler, "gone")
    assert report(scheduler)["jobs_before"] is None
    scheduler.client.delete_job("gone")
    made = report(scheduler, "2026-01-03T08:00:00Z")
    assert (made["jobs"], made["jobs_before"]) == (1, 2)
    assert "1 job has this tag, 2 had it in the last report." in made["text"]
    scheduler.client.delete_job("invoice")
    made = report(scheduler, "2026-01-04T08:00:00Z")
    assert made["text"].endswith(": no job has this tag, 1 had it in the last report.")


def test_report_counts_catch_up_runs_and_occurrences_missed_in_an_outage(scheduler: Scheduler) -> None:
    hourly(scheduler)
    hourly(scheduler, "strict", missed={"policy": "skip"})
    scheduler.advance_to("2026-01-01T12:00:00Z")
    scheduler.outage_until("2026-01-01T16:00:00Z")
    made = report(scheduler)
    assert counts(made) == {"due": 48, "ran": 44, "caught_up": 3, "skipped": {"missed": 4}}


def test_report_counts_only_recorded_runs_of_a_quarantined_job(scheduler: Scheduler) -> None:
    hourly(scheduler)
    scheduler.advance_to("2026-01-01T18:00:00Z")
    cursor = scheduler._stage.jobs.get_cursor("default", "invoice")
    assert cursor is not None
    assert scheduler._stage.cursors.quarantine(cursor, "cannot be read")
    made = report(scheduler)
    assert counts(made) == {"due": 10, "ran": 10}
    assert (made["not_derived"], made["complete"]) == ([{"job_id": "invoice", "reason": "quarantined"}], False)


def test_report_says_that_a_job_cannot_be_read(scheduler: Scheduler) -> None:
    hourly(scheduler)
    hourly(scheduler, "newer")
    scheduler.advance_to("2026-01-02T07:59:00Z")
    key = job_key("default", "newer", JOB)
    scheduler._stage._memory.write(Update(Table.JOBS, key, (Set("definition", '{"target": {"type": "later"}}'),)))
    made = maker(scheduler)(asked(), scheduler.now.timestamp() + 30, Report())["report"]
    assert (made["not_examined"], made["first_not_examined"], made["due"]) == ({"unreadable": 1}, "newer", 24)


def test_report_counts_jobs_without_a_schedule(scheduler: Scheduler) -> None:
    hourly(scheduler, schedule=None)
    scheduler.client.run_job("invoice")
    made = report(scheduler)
    assert (made["jobs"], made["on_demand"], made["due"]) == (1, 1, 0)


def test_report_says_which_jobs_it_did_not_examine(scheduler: Scheduler) -> None:
    for number in range(5):
        hourly(scheduler, f"job-{number}")
    hourly(scheduler, "job-1a", schedule="* * * * *")
    scheduler.advance_to("2026-01-02T08:00:00Z")
    made = maker(scheduler, max_jobs=4, max_occurrences=80)(asked(), scheduler.now.timestamp() + 30, Report())["report"]
    assert (made["jobs"], made["not_examined_jobs"], made["complete"]) == (6, 3, False)
    assert made["not_examined"] == {"above 80 occurrences": 1, "above 4 jobs": 2}
    assert (made["first_not_examined"], made["due"]) == ("job-1a", 72)
    assert "Not examined: 3 of 6 jobs (above 80 occurrences: 1, above 4 jobs: 2; the first is job-1a)." in made["text"]


def test_report_without_time_examines_nothing_and_says_so(scheduler: Scheduler) -> None:
    hourly(scheduler)
    made = maker(scheduler)(asked(seconds=0), scheduler.now.timestamp() + 30, Report())["report"]
    assert (made["not_examined"], made["complete"], made["due"]) == ({"no time left": 1}, False, 0)
    assert made["text"].endswith("Not examined: 1 of 1 job (no time left: 1; the first is invoice).")


def test_report_does_not_read_more_manual_runs_than_its_bound(scheduler: Scheduler) -> None:
    hourly(scheduler, overlap="allow")
    for _ in range(1100):
        scheduler.client.run_job("invoice")
    scheduler.advance_to("2026-01-02T08:00:00Z")
    made = maker(scheduler)(asked(), scheduler.now.timestamp() + 30, Report())["report"]
    assert (made["not_examined"], made["due"]) == ({"too many other runs": 1}, 0)


def test_report_of_a_tenant_without_tokens_is_made_later(scheduler: Scheduler) -> None:
    hourly(scheduler)
    made = maker(scheduler)
    poor = replace(made, limits=replace(made.limits, rules=replace(made.limits.rules, rate=1, burst=1)))
    first = poor(asked(), scheduler.now.timestamp() + 30, Report())
    assert "report" in first, "work that has begun becomes a debt"
    refused = poor(asked(), scheduler.now.timestamp() + 30, said := Report())["refused"]
    assert (refused["code"], refused["retryable"]) == ("too_many_requests", True)
    assert refused["retry_after"] > 0
    assert [event.action for event in said.events] == ["report_refused"]


def test_report_that_fails_says_so_without_details(scheduler: Scheduler) -> None:
    with scheduler._stage.faulty("jobs", tagged_ids=failing(OSError("secret"))):
        refused = maker(scheduler)(asked(), scheduler.now.timestamp() + 30, said := Report())["refused"]
    assert (refused["code"], refused["retryable"], "secret" in refused["error"]) == ("report_failed", True, False)
    assert [event.action for event in said.events if event.alarming] == ["report_failed"]


@pytest.mark.parametrize("document", [{}, {"tenant": "default", "tags": 3}, asked(begin="soon")])
def test_report_refuses_a_request_that_it_cannot_read(scheduler: Scheduler, document: dict[str, Any]) -> None:
    refused = maker(scheduler)(document, scheduler.now.timestamp() + 30, Report())["refused"]
    assert (refused["code"], refused["retryable"]) == ("report_failed", False)


def test_report_sees_no_job_of_another_tenant(scheduler: Scheduler) -> None:
    hourly(scheduler)
    made = maker(scheduler)(asked(tenant="other"), scheduler.now.timestamp() + 30, Report())["report"]
    assert (made["jobs"], made["due"]) == (0, 0)


def test_report_fits_into_the_record_of_its_run(scheduler: Scheduler) -> None:
    for number in range(12):
        hourly(scheduler, f"{'long-' * 12}{number:02}", schedule="0 3 * * *")
    scheduler.advance_to("2026-01-02T04:00:00Z")
    for number in range(12):
        lose(scheduler, f"{'long-' * 12}{number:02}.20260102T030000Z")
    made = report(scheduler)
    assert (made["missing"], made["due"]) == (12, 12)
    assert 0 < len(made["first_missing"]) < 6
    assert len(str(made)) < MAX_BYTES + 200


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"target": {"type": "report", "tags": []}}, "target/tags"),
        ({"target": {"type": "report", "tags": ["a b"]}}, "target/tags/0"),
        ({"target": {"type": "report", "tags": ["a", "a"]}}, "target/tags"),
        ({"target": {"type": "report", "tags": list("abcdef")}}, "target/tags"),
        ({"target": {"type": "report"}}, "target/tags"),
        ({"target": {"type": "report", "tags": ["a"], "hours": 169}}, "target/hours"),
        ({"target": {"type": "report", "tags": ["a"], "hours": 0}}, "target/hours"),
        ({"target": HTTP}, "target"),
        ({"completion": "callback"}, "completion"),
        ({"completion": "end"}, "completion"),
    ],
)
def test_report_with_an_invalid_field_is_refused(change: dict[str, Any], pointer: str) -> None:
    scheduler = Scheduler()
    with pytest.raises(ApiError) as refused:
        reporting(scheduler, **change)
    assert [each.where for each in refused.value.faults] == [pointer]


def test_report_of_a_workflow_is_refused(scheduler: Scheduler) -> None:
    flow = {"schedule": None, "jobs": {"morning": {}}, "notify": [{"on": ["report"], "to": {"job": "tell"}}]}
    with pytest.raises(ApiError) as refused:
        scheduler.client.put_workflow("flow", flow)
    assert [each.where for each in refused.value.faults] == ["notify"]
