"""Jobs of a workflow run one after the other, each once, in names that bear the workflow's instant."""

from __future__ import annotations

import pytest

from duecourse.domain.jobs.retry import RetryPolicy
from duecourse.domain.runs.run import RunState
from duecourse.domain.targets.targets import Failed, Outcome, Succeeded
from duecourse.ports import Call
from tests.support.jobs import NOON
from tests.support.tables import Tables
from tests.support.workflows import add_workflow, graph_of
from tests.support.world import World

CHAIN = {"extract": (), "transform": ("extract",), "load": ("transform",)}
DIAMOND = {"extract": (), "eu": ("extract",), "us": ("extract",), "report": ("eu", "us")}
ONCE = RetryPolicy(max_attempts=1)


@pytest.fixture
def world(tables: Tables) -> World:
    return World(tables)


def failing(*names: str) -> object:
    """Answers that fail for these jobs."""

    def answer(call: Call) -> Outcome:
        return Failed("no", retryable=False, code="http.500") if call.job.id in names else Succeeded()

    return answer


def state(world: World, job_id: str) -> tuple[RunState, str | None]:
    (run,) = world.runs(job_id)
    return run.state, run.reason


def test_a_chain_runs_in_its_order_and_its_workflow_succeeds(world: World) -> None:
    add_workflow(world, graph_of(CHAIN))
    world.until(NOON + 70)
    assert world.caller.runs == [f"{name}.20261121T120100Z" for name in CHAIN]
    assert state(world, "nightly") == (RunState.SUCCEEDED, None)


def test_a_join_waits_for_all_before_it_and_runs_once(world: World) -> None:
    add_workflow(world, graph_of(DIAMOND))
    world.until(NOON + 70)
    assert sorted(world.caller.runs[1:3]) == ["eu.20261121T120100Z", "us.20261121T120100Z"]
    assert [world.caller.runs[0], *world.caller.runs[3:]] == ["extract.20261121T120100Z", "report.20261121T120100Z"]
    assert state(world, "nightly") == (RunState.SUCCEEDED, None)


def test_what_comes_after_a_failure_does_not_run_and_says_why(world: World) -> None:
    world.caller.answer = failing("eu")
    add_workflow(world, graph_of(DIAMOND))
    world.until(NOON + 90)
    assert state(world, "report") == (RunState.SKIPPED, "upstream_failed")
    (run,) = world.runs("nightly")
    assert (run.state, run.reason, run.error) == (RunState.DEAD, "members_failed", "failed: eu (http.500)")


def test_one_failure_is_announced_once_by_the_workflow(world: World) -> None:
    world.caller.answer = failing("eu")
    add_workflow(world, graph_of(DIAMOND))
    world.until(NOON + 90)
    assert [death.run.job_id for death in world.notices.deaths] == ["nightly"]
