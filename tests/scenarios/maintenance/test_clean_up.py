"""Completed jobs go when their history has, and take all their items with them."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import pytest

from duecourse.domain.jobs.job import Job, JobState, Reservation, Tombstone
from duecourse.domain.maintenance.index import CompletedJob
from duecourse.domain.runs.states import RunState
from duecourse.ports import IndexPage
from duecourse.stores.maintenance import RepairStore
from duecourse.stores.tenants import total
from duecourse.usecases.maintenance.index_repair import CleanUp, IndexRepair
from duecourse.usecases.report import Report
from tests.support.jobs import NOON, cursor, job
from tests.support.runs import run
from tests.support.tables import Tables
from tests.support.world import World

DAY = 86_400
LATER = NOON + 90 * DAY + 1


class Stage(World):
    """A world with completed jobs."""

    def completed(self, job_id: str, **changes: Any) -> Job:
        made = job(id=job_id, at=self.clock.now(), **changes)
        assert self.jobs.create(made, cursor(made))
        assert self.jobs.complete(made, at=self.clock.now())
        return made

    def stored(self, job_id: str) -> Job | None:
        return self.jobs.get("default", job_id)

    def items(self) -> list[tuple[str, str]]:
        found = self.tables.client.scan(TableName=self.tables.jobs, ConsistentRead=True)["Items"]
        return sorted((item["PK"]["S"], item["SK"]["S"]) for item in found)

    def count(self) -> int:
        return total(self.tables.both(), "default")

    def clean_up(self, **changes: Any) -> Report:
        """A pass of index repair with the clean-up as its check, which has other parts where `changes` has them."""
        clean_up = CleanUp(self.jobs, self.run_store, self.clock, 90)
        store = RepairStore(self.tables.both())
        return IndexRepair(store, (replace(clean_up, **changes),), self.clock, every_seconds=0)(self.clock.now() + 600)

    def day(self) -> Counter[str]:
        """What a day's pass does."""
        self.clock.advance(DAY)
        return self.clean_up().counts


@pytest.fixture
def stage(tables: Tables) -> Stage:
    return Stage(tables)


@pytest.mark.tables
def test_clean_up_removes_a_completed_job_with_its_cursor_payload_markers_and_quota_place(stage: Stage) -> None:
    stage.completed("report", payload={"text": "x" * 10_000}, tags=("billing", "weekly"))
    stage.completed("other")
    stage.clock.set(NOON + 60 * DAY)
    stage.completed("newer")
    stage.clock.set(LATER)
    assert stage.day()["JobsCleanedUp"] == 2
    assert stage.stored("report") is None
    assert stage.stored("newer") is not None
    left = [each for each in stage.items() if "report" in each[0] or "report" in each[1]]
    assert [sort for _, sort in left] == ["GONE"]
    assert stage.jobs.history("default", "report", limit=9, before=None).items[0].principal == ("duecourse")
    assert isinstance(stage.jobs.snapshot("default", "report"), Tombstone)
    assert stage.count() == 0


def test_clean_up_that_is_repeated_removes_nothing_twice(stage: Stage) -> None:
    stage.completed("report")
    stage.completed("other")
    stage.clock.set(LATER)
    assert stage.day()["JobsCleanedUp"] == 2
    assert stage.day()["JobsCleanedUp"] == 0
    assert stage.count() == 0


@pytest.mark.tables
def test_clean_up_keeps_a_job_until_its_last_record_has_expired(stage: Stage) -> None:
    made = stage.completed("report")
    record = run(made, RunState.SUCCEEDED)
    stage.run_store.write(record, None)
    stage.clock.set(LATER)
    stage.day()
    assert stage.stored("report") is not None
    key = {"PK": {"S": "JOB#default#report"}, "SK": {"S": f"RUN#{record.name.local}"}}
    stage.tables.client.delete_item(TableName=stage.tables.runs, Key=key)
    stage.day()
    assert stage.stored("report") is None


def test_clean_up_keeps_a_job_reactivated_by_an_edit(stage: Stage) -> None:
    made = stage.completed("report")
    store = stage.jobs
    done, standing = store.get_both("default", made.id)
    assert standing is not None
    alive = replace(done, state=JobState.ACTIVE, generation=done.generation + 1, revision=done.revision + 1)
    assert store.change(done, standing, alive, replace(standing, generation=alive.generation))
    stage.clock.set(LATER)
    stage.day()
    assert stage.stored("report") == alive


@dataclass
class Late:
    """RunStore: something happens right after it has looked for items, before the job is deleted."""

    then: Any

    def has_items(self, tenant: str, job_id: str) -> bool:
        self.then()
        return False


def test_clean_up_keeps_a_job_reactivated_during_the_check(stage: Stage) -> None:
    stage.completed("report")
    stage.clock.set(LATER)

    def revive() -> None:
        store = stage.jobs
        done, standing = store.get_both("default", "report")
        assert standing is not None
        alive = replace(done, state=JobState.ACTIVE, generation=done.generation + 1, revision=done.revision + 1)
        assert store.change(done, standing, alive, replace(standing, generation=alive.generation))

    assert stage.clean_up(runs=Late(revive)).counts["JobsCleanedUp"] == 0
    assert stage.stored("report").state is JobState.ACTIVE
    assert stage.count() == 1


def test_clean_up_reports_a_job_that_cannot_be_checked_and_removes_the_others(stage: Stage) -> None:
    stage.completed("first")
    stage.completed("second")
    stage.clock.set(LATER)

    def refuse() -> None:
        traces.then = lambda: None
        raise ConnectionError("the table is busy")

    traces = Late(refuse)
    report = stage.clean_up(runs=traces)
    assert (report.counts["CleanUpsFailed"], report.counts["JobsCleanedUp"]) == (1, 1)
    (failed,) = [event for event in report.events if event.alarming]
    (left,) = [job_id for job_id in ("first", "second") if stage.stored(job_id) is not None]
    assert (failed.action, failed.facts["job_id"]) == ("clean_up_failed", left)
    assert [event.facts for event in report.events if event.action == "cleaned_up"] == [{"removed": 1}]


def test_clean_up_ignores_a_job_removed_since_its_page_was_read(stage: Stage) -> None:
    clean_up, report = CleanUp(stage.jobs, Late(print), stage.clock, 90), Report()
    stage.clock.set(LATER)
    clean_up(IndexPage([], None, [CompletedJob("default", "nobody", NOON)]), report)
    assert report.counts == {}


def test_clean_up_keeps_a_completed_job_reserved_by_a_request(stage: Stage) -> None:
    report = stage.completed("report")
    stage.clock.set(LATER)
    read, store = stage.stored("report"), stage.jobs
    assert store.reserve("default", report.id, read, Reservation("a", LATER + DAY + 60))
    assert stage.day()["JobsCleanedUp"] == 0
    assert stage.day()["JobsCleanedUp"] == 1
