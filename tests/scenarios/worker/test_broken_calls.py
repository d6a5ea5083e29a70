"""What breaks on our own side of a call ends the attempt, not the worker."""

import pytest

from duecourse.domain.jobs.job import Backoff, Delivery, RetryPolicy
from duecourse.domain.runs.document import run_document
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome
from duecourse.ports import Call
from tests.support.jobs import NOON, job
from tests.support.one_run import the_run
from tests.support.tables import Tables
from tests.support.world import World

AT = "at(2026-11-21T12:02:00)"
SOON = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=5, max_seconds=5)
SECRET = "hush"


@pytest.fixture
def world(tables: Tables) -> World:
    world = World(tables)
    world.caller.answer = broken
    return world


def broken(_: Call) -> Outcome:
    raise ValueError(f"not a header: Bearer {SECRET}")


def test_broken_call_is_a_failed_attempt_that_is_retried(world: World) -> None:
    world.add(job(AT, retry=SOON))
    world.until(NOON + 121)
    assert (the_run(world).state, the_run(world).code) == (RunState.RETRYING, "internal")
    world.until(NOON + 130)
    assert (the_run(world).state, the_run(world).reason) == (RunState.DEAD, "attempts_exhausted")
    assert [at - NOON for _, _, at in world.caller.calls] == [120, 125]


def test_broken_call_of_an_at_most_once_run_makes_it_dead_immediately(world: World) -> None:
    world.add(job(AT, retry=SOON, delivery=Delivery.AT_MOST_ONCE))
    world.until(NOON + 121)
    assert (the_run(world).state, the_run(world).reason) == (RunState.DEAD, "at_most_once")


def test_broken_call_is_logged_with_its_location_and_without_the_data_of_the_error(world: World) -> None:
    world.add(job(AT, retry=SOON))
    world.until(NOON + 121)
    (event,) = [each for report in world.reports for each in report.events if each.action == "call_broke"]
    assert event.alarming
    assert event.facts["error"] == "ValueError"
    assert "in broken" in str(event.facts["traceback"])
    assert not any(SECRET in str(each.facts) for report in world.reports for each in report.events)
    assert SECRET not in str(the_run(world).error)


def test_broken_call_details_of_an_aws_service_are_logged_and_hidden_from_tenants(world: World) -> None:
    words = "User: arn:aws:sts::123456789012:assumed-role/execute is not authorized"
    refused = Failed("queue orders: AccessDenied: the call is not allowed", False, code="AccessDenied", detail=words)
    world.caller.answer = lambda _: refused
    world.add(job(AT, retry=SOON))
    world.until(NOON + 121)
    lines = [each for report in world.reports for each in report.events if words in str(each.facts)]
    assert [(line.action, line.facts["code"], line.facts["detail"]) for line in lines] == [
        ("target_refused", "AccessDenied", words)
    ]
    assert the_run(world).error == refused.error
    assert words not in str(run_document(the_run(world)))
