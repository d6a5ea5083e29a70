"""A job with several schedules: one history, one overlap rule, and an occurrence of each instant once."""

from datetime import datetime
from typing import Any

from duecourse.client.models import Job
from duecourse.testing import Scheduler

TARGET = {"type": "http", "url": "https://shop.example/report"}
WEEK = ("0 9 * * 1-5", "0 11 * * 6")


def created(scheduler: Scheduler, schedule: Any, **more: Any) -> Job:
    return scheduler.client.create_job({"id": "report", "schedule": schedule, "target": TARGET} | more)


def called(scheduler: Scheduler, **ahead: int) -> list[str]:
    return [call.run_id for call in scheduler.advance(**ahead)]


def test_several_schedules_have_one_history_and_unique_stable_ids_of_runs() -> None:
    with Scheduler(now="2026-11-27T00:00:00Z") as scheduler:  # a Friday
        job = created(scheduler, list(WEEK))
        assert job.schedule == WEEK
        assert job.understood_as == "at 09:00 on Monday to Friday, UTC; at 11:00 on Saturday, UTC"
        assert job.schedule_canonical == WEEK
        assert called(scheduler, days=4) == [
            "report.20261127T090000Z",
            "report.20261128T110000Z",
            "report.20261130T090000Z",
        ]
        assert [run.id for run in scheduler.client.list_runs("report")] == [
            "report.20261130T090000Z",
            "report.20261128T110000Z",
            "report.20261127T090000Z",
        ]


def test_instant_that_several_schedules_name_is_one_run() -> None:
    with Scheduler(now="2026-11-27T08:30:00Z") as scheduler:
        created(scheduler, ["0 9 * * *", "0 * * * *", "*/30 9 * * *"])
        assert called(scheduler, hours=2) == [
            "report.20261127T090000Z",
            "report.20261127T093000Z",
            "report.20261127T100000Z",
        ]


def test_overlap_rule_holds_across_several_schedules() -> None:
    with Scheduler(now="2026-11-27T08:59:00Z") as scheduler:
        created(scheduler, ["0 9 * * *", "5 9 * * *"], completion="callback", completion_seconds=3600)
        assert called(scheduler, minutes=10) == ["report.20261127T090000Z"]
        states = {run.id: (run.state, run.reason) for run in scheduler.client.list_runs("report")}
        assert states["report.20261127T090500Z"] == ("SKIPPED", "overlap")


def test_missed_occurrences_of_several_schedules_are_one_catch_up() -> None:
    with Scheduler(now="2026-11-27T08:00:00Z") as scheduler:
        created(scheduler, ["0 9 * * *", "30 9 * * *", "0 10 * * *"])
        scheduler.client.pause_job("report")
        assert called(scheduler, hours=3) == []
        scheduler.client.resume_job("report", catch_up=True)
        assert called(scheduler, minutes=1) == ["report.20261127T090000Z"]
        (run,) = scheduler.client.list_runs("report")
        assert run.count == 3


def test_job_with_several_schedules_ends_with_the_last_of_them() -> None:
    with Scheduler(now="2026-11-27T08:00:00Z") as scheduler:
        created(scheduler, ["at(2026-11-27T09:00:00)", "at(2026-11-28T09:00:00)"])
        assert len(called(scheduler, hours=2)) == 1
        assert scheduler.client.get_job("report").state == "ACTIVE"
        assert len(called(scheduler, days=1)) == 1
        assert scheduler.client.get_job("report").state == "COMPLETED"


def test_edit_of_one_of_several_schedules_keeps_the_others() -> None:
    with Scheduler(now="2026-11-27T08:00:00Z") as scheduler:
        created(scheduler, ["0 9 * * *", "rate(1 hour)"])
        assert called(scheduler, minutes=30) == []
        job = scheduler.client.patch_job("report", {"schedule": ["15 9 * * *", "rate(1 hour)"]})
        assert job.anchor == datetime.fromisoformat("2026-11-27T08:00:00Z"), "the rate still counts from the creation"
        assert called(scheduler, minutes=60) == ["report.20261127T090000Z", "report.20261127T091500Z"]
        (change,) = [each for each in scheduler.client.get_job_history("report").items if each.action == "edited"]
        assert change.document["changes"][0] == {
            "field": "schedule",
            "before": ["0 9 * * *", "rate(1 hour)"],
            "after": ["15 9 * * *", "rate(1 hour)"],
        }
        assert scheduler.client.patch_job("report", {"schedule": ["0 12 * * *"]}).schedule == "0 12 * * *"


def test_explain_and_forecast_know_every_one_of_several_schedules() -> None:
    with Scheduler(now="2026-11-27T00:00:00Z") as scheduler:
        created(scheduler, list(WEEK), exclude=["2026-11-28"], timezone="Europe/Berlin")
        explained = scheduler.client.explain_job("report", at="2026-11-28T10:00:00Z")
        assert explained.verdict == "excluded"
        other = scheduler.client.explain_job("report", at="2026-11-28T09:00:00Z")
        assert other.sentence == (
            "Its schedule (at 09:00 on Monday to Friday, Europe/Berlin; at 11:00 on Saturday, Europe/Berlin) has no "
            "occurrence at this instant."
        )
        forecast = scheduler.client.list_upcoming()
        assert forecast.runs == 1


def test_workflow_has_several_schedules() -> None:
    with Scheduler(now="2026-11-27T00:00:00Z") as scheduler:
        steps = {"extract": {"job_id": "extract", "job": {"target": TARGET}}}
        workflow = scheduler.client.put_workflow("etl", {"schedule": list(WEEK), "jobs": steps})
        assert workflow.schedule == WEEK
        assert [call.at.isoformat() for call in scheduler.advance(days=2)] == [
            "2026-11-27T09:00:00+00:00",
            "2026-11-28T11:00:00+00:00",
        ]
