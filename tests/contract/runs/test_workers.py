"""The notes of pull workers, on every emulator that executes conditions rightly."""

from dataclasses import replace

from duecourse.domain.runs.workers import Sighting, WorkerGroup, noted
from tests.support.jobs import NOON
from tests.support.tables import Tables

SEEN = Sighting("host-7", NOON + 0.25, "nightly.20261121T120000Z", 2)
ONE = WorkerGroup((SEEN,), 1)


def test_workers_group_is_read_as_written(any_tables: Tables) -> None:
    store = any_tables.run_store().workers
    assert store.group("default", 7) == WorkerGroup()
    assert store.replace("default", 7, ONE)
    assert store.group("default", 7) == ONE
    displaced = replace(ONE, version=2, displaced_at=NOON - 5.5)
    assert store.replace("default", 7, displaced)
    assert store.group("default", 7) == displaced


def test_workers_group_is_not_written_over_a_change_since_it_was_read(any_tables: Tables) -> None:
    store = any_tables.run_store().workers
    assert store.replace("default", 7, ONE)
    other = WorkerGroup((replace(SEEN, name="host-8"),), 1)
    assert not store.replace("default", 7, other)
    both = noted(store.group("default", 7), replace(SEEN, name="host-8"))
    assert both is not None
    assert store.replace("default", 7, both)
    assert not store.replace("default", 7, both)
    assert {each.name for each in store.group("default", 7).sightings} == {"host-7", "host-8"}


def test_workers_groups_of_a_tenant_are_read_in_one_query(any_tables: Tables) -> None:
    store = any_tables.run_store().workers
    for number in (0, 9, 63):
        assert store.replace("default", number, replace(ONE, sightings=(replace(SEEN, name=f"host-{number}"),)))
    assert store.replace("default2", 1, ONE)
    assert [each.sightings[0].name for each in store.all("default")] == ["host-0", "host-9", "host-63"]
    assert list(store.all("nobody")) == []
