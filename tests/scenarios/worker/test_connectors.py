"""A connector that cannot be invoked costs attempts, and is counted and logged apart from failures of targets."""

import pytest

from duecourse.domain.jobs.job import Backoff, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import CONNECTOR_UNAVAILABLE, Failed, HttpTarget
from tests.support.jobs import NOON, job
from tests.support.one_run import the_run
from tests.support.tables import Tables
from tests.support.world import World

AT = "at(2026-11-21T12:02:00)"
SOON = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=5, max_seconds=5)
VIA = HttpTarget("https://erp.corp.example/", via="office")
DETAIL = "Duecourse-prod-via-office: TooManyRequestsException: Rate Exceeded."


@pytest.fixture
def world(tables: Tables) -> World:
    return World(tables)


def test_connector_failures_are_retried_logged_with_their_detail_and_counted(world: World) -> None:
    throttled = Failed("the connector office was not invoked", code=CONNECTOR_UNAVAILABLE, detail=DETAIL)
    world.caller.answer = lambda _: throttled
    world.add(job(AT, retry=SOON, target=VIA))
    world.until(NOON + 121)
    assert (the_run(world).state, the_run(world).code) == (RunState.RETRYING, CONNECTOR_UNAVAILABLE)
    world.until(NOON + 130)
    assert the_run(world).state is RunState.DEAD
    events = [each for report in world.reports for each in report.events if each.action == "target_refused"]
    assert [(each.facts["code"], each.facts["detail"]) for each in events] == [(CONNECTOR_UNAVAILABLE, DETAIL)] * 2
    assert sum(report.counts["ConnectorsFailed"] for report in world.reports) == 2


def test_connector_failures_do_not_include_failures_of_targets(world: World) -> None:
    world.caller.answer = lambda _: Failed("POST https://erp.corp.example answered 500", code="http.500")
    world.add(job(AT, retry=SOON, target=VIA))
    world.until(NOON + 130)
    assert the_run(world).state is RunState.DEAD
    assert sum(report.counts["ConnectorsFailed"] for report in world.reports) == 0
