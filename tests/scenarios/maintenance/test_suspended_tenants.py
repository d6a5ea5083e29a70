"""A suspended tenant: the API refuses its requests, no run of it starts, and nothing is lost when it is resumed."""

from dataclasses import replace
from typing import Any

import pytest

from duecourse.api.api import admit
from duecourse.api.problems import Problem
from duecourse.api.request import Request
from duecourse.cli.tenants.place import Place
from duecourse.cli.tenants.suspending import resume, suspend
from duecourse.cli.terminal import CliError
from duecourse.domain.jobs.job import Completion, Concurrency, MissedMode, MissedPolicy, Overlap, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Returned
from tests.support.jobs import NOON, job
from tests.support.tables import Tables
from tests.support.tenants import Dies, dying, place
from tests.support.world import World

pytestmark = pytest.mark.tables

DAY = 86_400


@pytest.fixture
def tenant(world: World, tables: Tables) -> Place:
    """The tenant of the world's jobs. While its commands wait, the world goes on."""
    return place(tables, world.clock, sleep=lambda seconds: world.until(world.clock.now() + seconds))


def test_suspended_tenants_no_run_of_a_suspended_tenant_starts(world: World, tenant: Place) -> None:
    world.add(job("* * * * *", missed=MissedPolicy(MissedMode.SKIP)))
    world.until(NOON + 150)
    suspend(tenant, by="olga", note=None)
    called = len(world.caller.calls)
    world.until(NOON + 2 * 3600)
    assert len(world.caller.calls) == called
    world.repair()
    world.until(NOON + 3 * 3600)
    assert len(world.caller.calls) == called, "index repair leaves a suspended cursor outside of the index"
    assert world.count("CursorsFoundQuarantined") == 0


@pytest.mark.parametrize(("mode", "ran"), [(MissedMode.SKIP, 0), (MissedMode.RUN_ONCE, 1), (MissedMode.RUN_ALL, 5)])
def test_suspended_tenants_what_came_due_meanwhile_follows_each_jobs_policy_after_the_resume(
    world: World, tenant: Place, mode: MissedMode, ran: int
) -> None:
    world.add(job("0 * * * *", missed=MissedPolicy(mode)))
    world.until(NOON + 600)
    suspend(tenant, by="olga", note=None)
    world.until(NOON + 5 * 3600 + 600)
    assert world.caller.calls == []
    resume(tenant)
    world.until(NOON + 6 * 3600 + 10)
    due = [run for run in world.runs("tick-tock") if run.occurrence <= NOON + 5 * 3600]
    assert sum(run.count for run in due) == 5, "every occurrence has a record"
    started = [run for run in due if run.state is RunState.SUCCEEDED]
    assert len(started) == min(ran, 5)
    assert world.runs("tick-tock")[-1].occurrence == NOON + 6 * 3600


def test_suspended_tenants_run_that_was_sent_before_waits_and_starts_after_the_resume(
    world: World, tenant: Place
) -> None:
    world.add(job("2026-11-21T12:01:30", missed=MissedPolicy(MissedMode.RUN_ALL)))
    suspend(tenant, by="olga", note=None)
    world.until(NOON + 3600)
    assert (world.caller.calls, world.runs("tick-tock")) == ([], [])
    resume(tenant)
    world.until(world.clock.now() + 900)
    assert [state for _, state in world.states("tick-tock")] == [RunState.SUCCEEDED]


@pytest.mark.parametrize("limited", [{"overlap": Overlap.QUEUE}, {"concurrency": Concurrency("crm", 1)}])
def test_suspended_tenants_wait_queue_has_few_messages_until_the_resume(
    world: World, tenant: Place, limited: dict[str, Any]
) -> None:
    """Its watch starts the first run every half minute. Each of these messages would otherwise become a copy."""
    patient = MissedPolicy(MissedMode.RUN_ALL, grace_seconds=DAY)
    waits: dict[str, Any] = {"completion": Completion.CALLBACK, "completion_seconds": 120, "missed": patient}
    world.add(job("* * * * *", max_runs=3, **({"overlap": Overlap.ALLOW} | waits | limited)))
    world.until(NOON + 181)
    called, before = len(world.caller.calls), [state for _, state in world.states("tick-tock")]
    assert before[-1] is RunState.QUEUED
    suspend(tenant, by="olga", note=None)
    world.until(NOON + 2 * 3600)
    assert len(world.caller.calls) == called
    assert len(world.wheel) <= 4
    resume(tenant)
    world.until(NOON + 3 * 3600)
    assert world.wheel.dead_letters
    assert {state for _, state in world.states("tick-tock")} == {RunState.DEAD}  # no callback comes
    assert len(world.wheel) == 0


def test_suspended_tenants_retry_waits_for_the_resume(world: World, tenant: Place) -> None:
    answers = iter([Failed("503"), Returned()])
    world.caller.answer = lambda _: next(answers)
    world.add(job("2026-11-21T12:01:30", retry=RetryPolicy(max_attempts=3)))
    world.until(NOON + 90)
    (failed,) = world.runs("tick-tock")
    assert failed.state is RunState.RETRYING
    suspend(tenant, by="olga", note=None)
    world.until(NOON + DAY)
    assert len(world.caller.calls) == 1
    resume(tenant)
    world.until(NOON + DAY + 1000)
    (run,) = world.runs("tick-tock")
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 2)


def test_suspended_tenants_api_refuses_a_suspended_tenant_and_says_why(world: World, tenant: Place) -> None:
    request = Request("request-1", tenant="default")
    admit(world.api, request)
    suspend(tenant, by="olga", note="unpaid invoice")
    for _ in range(3):
        with pytest.raises(Problem) as refused:
            admit(world.api, request)
        assert (refused.value.kind, int(refused.value.status)) == ("tenant-suspended", 403)
        assert refused.value.detail == (
            "The tenant default has been suspended since 2026-11-21T12:00:00Z: unpaid invoice. Its jobs are kept "
            "and do not start runs; ask the operator of the stage to resume the tenant."
        )
    admit(world.api, replace(request, tenant="other"))
    resume(tenant)
    world.clock.advance(10)
    admit(world.api, request)


def test_suspended_tenants_job_that_a_request_in_progress_writes_is_suspended_too(world: World, tables: Tables) -> None:
    def later(seconds: float) -> None:
        if not world.jobs.get("default", "late"):
            world.add(job("* * * * *", id="late", at=world.clock.now()))
        world.until(world.clock.now() + seconds)

    report = suspend(place(tables, world.clock, sleep=later), by="olga", note=None)
    called = len(world.caller.calls)
    world.until(NOON + 3600)
    assert (report["changed"], len(world.caller.calls)) == (2, called)


def test_suspended_tenants_pauses_outlast_a_suspension(world: World, tenant: Place) -> None:
    world.add(job("* * * * *"))
    world.office.pause()
    suspend(tenant, by="olga", note=None)
    resume(tenant)
    world.until(NOON + 3600)
    assert world.caller.calls == []


def test_suspended_tenants_command_for_a_tenant_that_is_not_suspended_says_so(tenant: Place) -> None:
    with pytest.raises(CliError, match="default is not suspended"):
        resume(tenant)


def test_suspended_tenants_both_continue_after_the_process_died_at_any_request(world: World, tables: Tables) -> None:
    for number in range(3):
        world.add(job("* * * * *", id=f"job-{number}"))
    world.until(NOON + 60)
    for act in (lambda where: suspend(where, by="olga", note=None), resume):
        for after in range(1, 40):
            client = dying(tables.client.boto3, after)
            try:
                act(place(tables, world.clock, clients={"dynamodb": client}))
                break
            except Dies:
                continue
        else:
            pytest.fail("the command never ended")
        called = len(world.caller.calls)
        suspended = act is not resume
        world.until(world.clock.now() + 600)
        assert (len(world.caller.calls) == called) is suspended
