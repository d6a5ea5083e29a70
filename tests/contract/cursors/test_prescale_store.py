"""The plan of the capacity for peaks, and the counts of due entries, on every emulator of DynamoDB."""

from dataclasses import asdict, replace

from duecourse.domain.maintenance.peaks import Entry, Peak, PrescalePlan, Raised
from duecourse.stores.prescale import PrescaleStore, plan_of
from duecourse.testing.clock import SettableClock
from tests.support.jobs import NOON, stored_job
from tests.support.tables import Tables

SLOT = "2026-11-21T12/0000"
PLAN = PrescalePlan(
    peaks=(Peak(29_921_760, 500_000, 400_000, {"normal bulk": 0.75, "low": 0.25}, at_least=True),),
    raised={"normal bulk": Raised(200, 1_795_305_780), "low": Raised(0, 1_795_305_780, 20, 1_795_305_840)},
    asked={"runs.writes": 38_000},
    charges={"runs.writes": 24.05},
    day="2026-11-21",
    spent=1.25,
    refused_until=1_795_300_000,
    history=(Entry(1_795_304_400, "normal bulk: 200 pollers", 1.25),),
)


def test_prescale_store_returns_the_plan_that_was_written(any_tables: Tables) -> None:
    store = PrescaleStore(any_tables.both())
    assert store.get() == PrescalePlan()
    assert store.put(PLAN) == replace(PLAN, version=1)
    assert store.get() == replace(PLAN, version=1)


def test_prescale_store_reads_a_plan_of_an_earlier_version() -> None:
    document = {name: each for name, each in asdict(PLAN).items() if name != "charges"}
    document["raised"] = {"low": {"pollers": 0, "paid_until": 1_795_305_780}}
    assert plan_of(document) == replace(PLAN, charges={}, raised={"low": Raised(0, 1_795_305_780)})


def test_prescale_store_writes_a_plan_only_over_its_own_version(any_tables: Tables) -> None:
    store = PrescaleStore(any_tables.both())
    first = store.put(PLAN)
    assert first is not None
    assert store.put(PLAN) is None
    assert store.put(replace(first, spent=2.0)) == replace(first, spent=2.0, version=2)
    assert store.put(replace(first, spent=3.0)) is None
    assert store.get().spent == 2.0


def test_prescale_store_counts_the_entries_of_a_slot_between_two_instants(any_tables: Tables) -> None:
    jobs = any_tables.job_store(SettableClock(NOON))
    for number in range(5):
        stored_job(jobs, "rate(10 seconds)", id=f"job-{number}")
    store, ten = PrescaleStore(any_tables.both()), int(NOON) + 10
    assert list(store.counts(SLOT, ten, ten + 59)) == [(ten, ten, 5)]
    assert list(store.counts(SLOT, ten + 1, ten + 59)) == [(ten + 1, ten + 1, 0)]


def test_prescale_store_reads_the_queues_of_entries(any_tables: Tables) -> None:
    jobs = any_tables.job_store(SettableClock(NOON))
    stored_job(jobs, "rate(10 seconds)", id="seated")
    stored_job(jobs, "rate(10 seconds)", id="other", seated=False)
    found = PrescaleStore(any_tables.both()).queues(SLOT, int(NOON), int(NOON) + 59)
    assert found == {"normal": 1, "normal bulk": 1}
