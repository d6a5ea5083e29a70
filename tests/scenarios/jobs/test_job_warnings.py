"""GET /v1/jobs/<id>/warnings over a stage in memory."""

from duecourse.testing import Scheduler


def test_job_warnings_job_that_skips_most_of_its_runs_has_a_warning() -> None:
    with Scheduler("2026-01-01T00:00:00Z") as scheduler:
        client = scheduler.client
        target = {"type": "http", "url": "https://example.com/sync"}
        slow = {"schedule": "* * * * *", "target": target, "completion": "callback", "completion_seconds": 600}
        client.create_job({"id": "slow", **slow, "retry": {"max_attempts": 1}})
        client.create_job({"id": "fast", "schedule": "* * * * *", "target": target})
        scheduler.advance(minutes=30)
        found = {each.kind: each.facts for each in client.get_job_warnings("slow").items}
        assert found.keys() == {"skipped"}
        assert found["skipped"]["runs"] == 20
        assert client.get_job_warnings("fast").items == ()
        scheduler.advance(minutes=20)
        found = {each.kind: each.facts for each in client.get_job_warnings("slow").items}
        assert found["skipped"]["skipped"] >= 17


def test_job_warnings_job_whose_runs_take_longer_than_its_interval_has_a_warning() -> None:
    with Scheduler("2026-01-01T00:00:00Z") as scheduler:
        job = {"id": "slow", "schedule": "* * * * *", "overlap": "allow", "completion": "callback"}
        target = {"type": "http", "url": "https://example.com/sync"}
        scheduler.client.create_job({**job, "target": target, "completion_seconds": 90, "retry": {"max_attempts": 1}})
        scheduler.advance(minutes=10)
        (found,) = scheduler.client.get_job_warnings("slow").items
        assert (found.kind, found.facts["interval_seconds"]) == ("slow", 60)
        assert found.says.startswith("Runs take longer than the interval: 90 s")


def test_job_warnings_job_names_a_missing_job_in_notify_and_a_calendar_that_ends() -> None:
    with Scheduler("2026-12-01T00:00:00Z") as scheduler:
        client = scheduler.client
        client.put_calendar("de", ["2026-12-25"])
        target = {"type": "http", "url": "https://example.com/sync"}
        notify = [{"on": ["dead"], "to": {"job": "alerts"}}]
        client.create_job({"id": "a", "schedule": "0 9 * * *", "target": target, "notify": notify, "calendar": "de"})
        found = {each.kind: each.facts for each in client.get_job_warnings("a").items}
        assert found == {"notify": {"missing": ["alerts"]}, "calendar": {"calendar": "de", "last_day": "2026-12-25"}}
        client.create_job({"id": "alerts", "schedule": None, "target": target})
        assert [each.kind for each in client.get_job_warnings("a").items] == ["calendar"]
