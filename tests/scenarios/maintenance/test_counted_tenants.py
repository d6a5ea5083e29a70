"""The figures of all tenants, which index repair counts for operators."""

from dataclasses import replace

import pytest

from duecourse.checks.tenants import TenantFigures
from duecourse.cli.tenants.listing import tenants_of
from duecourse.cli.tenants.suspending import suspend
from duecourse.domain.instants import DAY_SECONDS
from duecourse.stores.maintenance import RepairStore
from duecourse.testing.faults import around, before, failing, lost
from tests.support.jobs import NOON, job
from tests.support.tables import Tables
from tests.support.tenants import place
from tests.support.world import World

pytestmark = pytest.mark.tables

COUNTED = {
    "default": TenantFigures(jobs=5, paused=1, quota_used=5, runs=4 * 24),
    "acme": TenantFigures(jobs=1, quota_used=1, state="suspended"),
    "globex": TenantFigures(jobs=1, quota_used=1, runs=1),
}


def store_of(tables: Tables, limit: int | None = 4) -> RepairStore:
    return RepairStore(tables.both(), limit=limit, figures=True)


@pytest.fixture
def full(world: World, tables: Tables) -> World:
    """Three tenants: one is suspended, and a job of another one is paused."""
    for number in range(5):
        world.add(job("0 * * * *", id=f"hourly-{number}"))
    world.office.pause("hourly-0")
    for tenant, expression in (("acme", "0 * * * *"), ("globex", "0 3 * * *")):
        world.add(replace(job(expression, id="only"), tenant=tenant))
    suspend(place(tables, world.clock, "acme"), by="olga", note=None)
    return world


def one_page_at_a_time(world: World, tables: Tables) -> int:
    """Passes, one page for each invocation. Return their number."""
    store, invocations = store_of(tables), 0
    while (known := store.last_pass()) is None or not known.done:
        slow = around(store, page=before(lambda: world.clock.advance(1)))
        world.repair(store=slow, seconds=1, reports=tables.tenant_reports())
        invocations += 1
    return invocations


def test_counted_tenants_pass_over_several_invocations_counts_each_job_once(full: World, tables: Tables) -> None:
    begun = full.clock.now()
    assert one_page_at_a_time(full, tables) > 3
    report = tables.tenant_reports().last()
    assert report is not None
    assert (report.as_of, report.tenants) == (begun, COUNTED)


def test_counted_tenants_are_those_of_the_command(full: World, tables: Tables) -> None:
    one_page_at_a_time(full, tables)
    report = tables.tenant_reports().last()
    listed = tenants_of(place(tables, full.clock).stage, cost=False)
    assert report is not None
    assert {name: (each.state, each.jobs, each.paused, each.quota_used) for name, each in report.tenants.items()} == {
        each.tenant: (each.state, each.jobs, each.paused, each.quota_used) for each in listed
    }


@pytest.mark.parametrize("kept", [False, True], ids=["before", "after"])
def test_counted_tenants_report_whose_process_dies_is_stored_by_the_next_invocation(
    full: World, tables: Tables, kept: bool
) -> None:
    reports = tables.tenant_reports()
    dying = around(reports, keep=(lost if kept else failing)(ConnectionError("no answer")))
    report = full.repair(store=store_of(tables), reports=dying)
    assert report.counts["RepairsFailed"] == 1
    full.repair(store=store_of(tables), reports=reports)
    found = reports.last()
    assert found is not None
    assert found.tenants == COUNTED


def test_counted_tenants_position_that_could_not_be_saved_counts_its_page_once(full: World, tables: Tables) -> None:
    store, reports = store_of(tables), tables.tenant_reports()
    full.repair(store=store, seconds=0, reports=reports)
    full.repair(store=around(store, save=failing(ConnectionError("no answer"))), reports=reports)
    full.repair(store=store, reports=reports)
    found = reports.last()
    assert found is not None
    assert found.tenants == COUNTED


def test_counted_tenants_pass_begun_by_a_stage_without_operators_is_not_counted(full: World, tables: Tables) -> None:
    store, reports = store_of(tables), tables.tenant_reports()
    plain = RepairStore(tables.both(), limit=4)
    full.repair(store=around(plain, page=before(lambda: full.clock.advance(1))), seconds=1)
    full.repair(store=store, reports=reports)
    assert reports.last() is None
    full.clock.advance(DAY_SECONDS)
    full.repair(store=store, reports=reports)
    assert reports.last() is not None


def test_counted_tenants_stage_without_operators_stores_nothing_of_them(full: World, tables: Tables) -> None:
    full.repair()
    items = tables.client.scan(TableName=tables.jobs)["Items"]
    passes = [item for item in items if item["PK"]["S"] == "REPAIR"]
    assert [item["SK"]["S"] for item in passes] == ["LAST"]
    assert "tenants" not in passes[0]


def test_counted_tenants_are_no_metrics(full: World, tables: Tables) -> None:
    plain = full.repair(store=RepairStore(tables.both())).counts.keys()
    full.clock.set(NOON + 2 * DAY_SECONDS)
    assert full.repair(store=store_of(tables), reports=tables.tenant_reports()).counts.keys() <= plain
