"""Dead man's switches: pings to an external monitor after a success, and jobs that run if pings stop."""

from collections.abc import Iterator
from typing import Any

import pytest

from duecourse.client import ApiError
from duecourse.domain.jobs.job import Job, MissedPolicy, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed
from duecourse.stores.job_item import to_item
from duecourse.testing import Scheduler
from duecourse.testing.faults import failing, lost
from duecourse.usecases.report import Report
from tests.support.jobs import NOON, job
from tests.support.world import Killed, Office, World

URL = "https://hc.example.com/ping/3f1c"
TARGET = {"type": "http", "url": "https://example.com/hook"}
HOUR = 3600


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    with Scheduler("2026-11-26T12:00:00Z") as scheduler:
        yield scheduler


def nightly(scheduler: Scheduler, **fields: Any) -> None:
    scheduler.client.create_job({"id": "nightly", "schedule": "0 3 * * *", "target": TARGET, **fields})


def silent(scheduler: Scheduler, **fields: Any) -> None:
    scheduler.client.create_job(
        {"id": "silent", "schedule": None, "expect_every": HOUR, "target": TARGET, "events": ["late"], **fields}
    )


# Pings that go out.


def test_pings_each_success_pings_the_monitor_once(scheduler: Scheduler) -> None:
    nightly(scheduler, ping_url=URL)
    scheduler.advance(days=2)
    assert scheduler.pings == (URL, URL)


def test_pings_failure_pings_nothing_and_the_attempt_that_succeeds_does(scheduler: Scheduler) -> None:
    nightly(scheduler, ping_url=URL, retry={"max_attempts": 2})
    scheduler.answer("nightly", status=503, times=3)  # the run of the first day is dead
    scheduler.advance(days=1)
    assert scheduler.pings == ()
    scheduler.advance(days=1)
    assert scheduler.pings == (URL,)


def test_pings_run_that_is_called_back_pings_when_it_is_completed(scheduler: Scheduler) -> None:
    nightly(scheduler, ping_url=URL, completion="callback")
    (call,) = scheduler.advance(hours=16)
    assert scheduler.pings == ()
    assert call.callback_token is not None
    scheduler.client.complete_run(call.run_id, call.callback_token)
    scheduler.advance()
    assert scheduler.pings == (URL,)


def test_pings_workflow_pings_once_when_it_has_succeeded(scheduler: Scheduler) -> None:
    steps = {
        "load": {"job_id": "load", "job": {"target": TARGET}},
        "report": {"job_id": "report", "after": ["load"], "job": {"target": TARGET}},
    }
    scheduler.client.put_workflow("night", {"schedule": "0 3 * * *", "ping_url": URL, "jobs": steps})
    assert len(scheduler.advance(hours=16)) == 2
    assert scheduler.pings == (URL,)


def test_pings_job_without_the_field_pings_nothing_and_stores_nothing_of_it(world: World) -> None:
    world.add(job("* * * * *"))
    world.until(NOON + 300)
    assert world.pinger.urls == []
    item, _ = to_item(job("* * * * *"))
    assert not [name for name in ("ping_url", "expect_every") if name in str(item)]


def test_pings_monitor_that_does_not_answer_changes_nothing_about_the_run(world: World) -> None:
    world.pinger.problem = "the response has the status 503"
    world.add(job("1 12 * * *", ping_url=URL))
    world.until(NOON + 120)
    assert world.states("tick-tock") == [(60, RunState.SUCCEEDED)]
    assert world.pinger.urls == [URL, URL], "it is tried twice"
    assert world.count("PingsFailed") == 1


def test_pings_dead_run_pings_nothing(world: World) -> None:
    world.caller.answer = lambda _: Failed("no", retryable=False)
    world.add(job("1 12 * * *", ping_url=URL, retry=RetryPolicy(max_attempts=1)))
    world.until(NOON + 120)
    assert world.pinger.urls == []


# Pings that come in.


def test_pings_job_that_is_pinged_in_time_never_runs(scheduler: Scheduler) -> None:
    silent(scheduler)
    for _ in range(10):
        assert scheduler.advance(minutes=50) == []
        scheduler.client.ping_job("silent")
    assert list(scheduler.client.list_runs(job_id="silent")) == []


def test_pings_silence_runs_the_job_once_each_interval_and_is_reported_like_a_late_run(scheduler: Scheduler) -> None:
    silent(scheduler)
    scheduler.advance(minutes=50)
    assert str(scheduler.client.ping_job("silent").next_occurrence) == "2026-11-26 13:50:00+00:00"
    assert scheduler.advance(minutes=59) == []
    (call,) = scheduler.advance(minutes=2)
    assert call.job_id == "silent"
    assert [(event.detail_type, event.detail["job_id"]) for event in scheduler.events] == [("Run Late", "silent")]
    assert len(scheduler.advance(hours=2)) == 2
    scheduler.client.ping_job("silent")
    assert scheduler.advance(minutes=59) == []


def test_ping_withdraws_what_is_enqueued_already(scheduler: Scheduler) -> None:
    silent(scheduler, expect_every=60)
    for _ in range(30):
        scheduler.advance(seconds=30)
        scheduler.client.ping_job("silent")
    assert scheduler.calls == ()


def test_pings_run_on_request_is_not_silence(scheduler: Scheduler) -> None:
    silent(scheduler)
    scheduler.client.run_job("silent")
    scheduler.advance()
    assert len(scheduler.calls) == 1
    assert scheduler.events == ()


def test_pings_are_not_changes_of_the_job(scheduler: Scheduler) -> None:
    silent(scheduler)
    scheduler.advance(minutes=5)
    pinged = scheduler.client.ping_job("silent")
    assert str(pinged.anchor) == "2026-11-26 12:05:00+00:00"
    assert [change.action for change in scheduler.client.get_job_history("silent").items] == ["created"]


def test_pings_putting_the_job_again_is_no_ping(scheduler: Scheduler) -> None:
    silent(scheduler)
    scheduler.advance(minutes=5)
    again = {"schedule": None, "expect_every": HOUR, "target": TARGET, "events": ["late"]}
    before = scheduler.client.get_job("silent")
    assert scheduler.client.put_job("silent", again).document == before.document
    shown = {name: value for name, value in before.document.items() if name != "id"}
    assert scheduler.client.put_job("silent", shown).document == before.document


def test_pings_another_interval_replaces_the_schedule(scheduler: Scheduler) -> None:
    silent(scheduler)
    changed = scheduler.client.patch_job("silent", {"expect_every": 2 * HOUR})
    assert (changed.expect_every, changed.schedule) == (2 * HOUR, "rate(7200 seconds)")


def test_pings_paused_job_takes_pings_and_does_not_run(scheduler: Scheduler) -> None:
    silent(scheduler)
    scheduler.client.pause_job("silent")
    scheduler.advance(minutes=50)
    assert scheduler.client.ping_job("silent").state == "PAUSED"
    assert scheduler.advance(hours=5) == []


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"schedule": "0 3 * * *", "expect_every": HOUR}, "expect_every"),
        ({"schedule": "rate(1 hour)", "expect_every": HOUR}, "expect_every"),
        ({"schedule": None, "expect_every": 59}, "expect_every"),
        ({"schedule": None, "expect_every": "1h"}, "expect_every"),
        ({"schedule": None, "ping_url": "http://hc.example.com"}, "ping_url"),
        ({"schedule": None, "ping_url": "https://10.0.0.1/"}, "ping_url"),
    ],
)
def test_pings_what_does_not_fit_is_refused_by_field(scheduler: Scheduler, fields: dict[str, Any], where: str) -> None:
    with pytest.raises(ApiError) as refused:
        scheduler.client.create_job({"id": "silent", "target": TARGET, **fields})
    assert [fault.where for fault in refused.value.faults] == [where]


def test_pings_step_expects_no_pings(scheduler: Scheduler) -> None:
    steps = {"load": {"job_id": "load", "job": {"target": TARGET, "expect_every": HOUR}}}
    with pytest.raises(ApiError) as refused:
        scheduler.client.put_workflow("night", {"schedule": None, "jobs": steps})
    assert [fault.where for fault in refused.value.faults] == ["jobs/load/job/expect_every"]


def test_pings_job_that_expects_none_refuses_a_ping(scheduler: Scheduler) -> None:
    nightly(scheduler)
    with pytest.raises(ApiError, match="The job nightly does not expect pings; set its field expect_every") as refused:
        scheduler.client.ping_job("nightly")
    assert refused.value.status == 409


# Faults.


def expecting(office: Office) -> Job:
    return office.create("rate(600 seconds)", expect_every=600, missed=MissedPolicy(grace_seconds=60))


@pytest.mark.parametrize(
    ("port", "method"), [("jobs", "get_cursor"), ("jobs", "change"), ("wheel", "send")], ids=lambda value: value
)
@pytest.mark.parametrize("fault", [lost, failing], ids=["answer lost", "fails"])
def test_ping_that_met_a_fault_can_be_repeated(
    world: World, office: Office, port: str, method: str, fault: Any
) -> None:
    expecting(office)
    world.until(NOON + 400)
    with world.faulty(port, **{method: fault(ConnectionError("gone"), times=1)}):
        for _ in range(2):
            try:
                office.api.editing.ping("default", "tick-tock")
            except ConnectionError:
                world.until(world.clock.now() + 5)
            else:
                break
    pinged = world.clock.now()
    world.until(pinged + 599)
    assert world.states("tick-tock") == []
    world.until(pinged + 601)
    assert [state for _, state in world.states("tick-tock")] == [RunState.SUCCEEDED]


def test_pings_two_pings_at_once_are_one(world: World, office: Office) -> None:
    expecting(office)
    world.until(NOON + 400)
    pinged: list[object] = []

    def another(real: Any, *given: Any) -> Any:
        if not pinged:
            pinged.append(None)
            office.api.editing.ping("default", "tick-tock")
        return real(*given)

    with world.faulty("jobs", change=another):
        assert office.api.editing.ping("default", "tick-tock").view.job.schedule.anchor == int(NOON) + 400
    world.until(NOON + 1001)
    assert len(world.states("tick-tock")) == 1


def test_pings_worker_that_dies_before_its_ping_pings_when_the_message_comes_again(world: World) -> None:
    world.add(job("1 12 * * *", ping_url=URL))
    world.until(NOON + 59)
    world.clock.set(NOON + 60)
    held = world.wheel.receive()
    assert held is not None
    with world.faulty("pinger", ping=failing(Killed(), times=1)), pytest.raises(Killed):
        world.worker()([world.wheel.received(held)], world.clock.now() + 120)
    world.wheel.put_back(held)
    world.until(NOON + 600)
    assert world.pinger.urls == [URL]
    assert world.states("tick-tock") == [(60, RunState.SUCCEEDED)]


def test_pings_report_names_the_problem_of_a_ping(world: World) -> None:
    world.pinger.problem = "the response has the status 404"
    world.add(job("1 12 * * *", ping_url=URL))
    world.until(NOON + 120)
    report = Report()
    world.worker().effects.announcements.pings().send(URL, world.clock.now(), report)
    (event,) = report.events
    assert (event.action, event.facts["error"]) == ("ping_failed", "no time was left")
