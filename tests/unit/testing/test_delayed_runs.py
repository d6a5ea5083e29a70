"""A stage in memory plays runs that are requested for a later time."""

from duecourse.testing import Scheduler

REMIND = {"id": "remind", "schedule": None, "target": {"type": "http", "url": "https://example.com/remind"}}


def test_delayed_runs_are_played_at_their_time() -> None:
    with Scheduler(now="2026-01-01T00:00:00Z") as scheduler:
        scheduler.client.create_job(REMIND)
        asked = scheduler.client.run_job("remind", delay_seconds=7200, payload={"order": 42})
        assert asked.state == "QUEUED"
        assert scheduler.advance(hours=1, minutes=59) == []
        (call,) = scheduler.advance(minutes=2)
        assert call.run_id == asked.id
        assert scheduler.client.get_run(asked.id).state == "SUCCEEDED"
        many = scheduler.client.run_job_many_times("remind", [{"delay_seconds": 600}, {"at": "2026-01-02T00:00:00"}])
        assert [item.run is not None for item in many.items] == [True, True]
        assert len(scheduler.advance_to("2026-01-03T00:00:00Z")) == 2
