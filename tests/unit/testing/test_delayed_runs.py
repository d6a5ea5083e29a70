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


def test_delayed_runs_are_played_at_the_time_to_which_they_were_rescheduled() -> None:
    with Scheduler(now="2026-01-01T00:00:00Z") as scheduler:
        scheduler.client.create_job(REMIND)
        asked = scheduler.client.run_job("remind", delay_seconds=7200, payload={"order": 42})
        scheduler.advance(hours=1, minutes=59)
        later = scheduler.client.reschedule_run(asked.id, at="2026-01-01T05:00:00", payload={"order": 43})
        assert (later.id, later.state) == (asked.id, "QUEUED")
        assert scheduler.advance_to("2026-01-01T04:59:00Z") == []
        (call,) = scheduler.advance(minutes=2)
        assert (call.run_id, call.payload) == (asked.id, {"order": 43})
