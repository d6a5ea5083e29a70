"""What is written of a batch, and what is said when something was not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from duecourse.domain.maintenance.archive import EXPIRY, RunChange, Sheet, Unreadable
from duecourse.domain.runs.states import RunState
from duecourse.ports.archive import Stretch
from duecourse.usecases.maintenance.archive import ArchiveRuns
from tests.support.jobs import job
from tests.support.runs import run

JOB = job(id="nightly")
DAY = 86_400


def gone(number: int, after: int = 0) -> RunChange:
    return RunChange(str(number), "REMOVE", EXPIRY, run(JOB, RunState.SUCCEEDED, after=after))


@dataclass
class Given:
    """ports.archive.RunChanges: these changes, whatever is asked for."""

    changes: tuple[RunChange, ...]
    whole: bool = True

    def handed(self, records: Sequence[Mapping[str, Any]]) -> tuple[RunChange, ...]:
        return self.changes

    def again(self, failed: Mapping[str, Any]) -> Stretch:
        return Stretch(self.changes, self.whole)


@dataclass
class Shelf:
    """ports.archive.Archive. Refuses keys of the days in `shut`."""

    sheets: dict[str, Sheet] = field(default_factory=dict)
    shut: set[str] = field(default_factory=set)

    def put(self, sheet: Sheet) -> None:
        if any(day in sheet.key for day in self.shut):
            raise ConnectionError("slow down")
        self.sheets[sheet.key] = sheet

    @property
    def ids(self) -> list[str]:
        return sorted(row["id"] for sheet in self.sheets.values() for row in sheet.rows)


TWO_DAYS = (gone(1), gone(2, after=DAY), gone(3, after=10))


def test_archive_writes_and_counts_a_batch() -> None:
    shelf = Shelf()
    report = ArchiveRuns(Given(TWO_DAYS), shelf)([])
    assert report.counts == {"ObjectsWritten": 2, "RecordsArchived": 3}
    assert [event.action for event in report.events] == ["archived", "archived"]
    assert len(shelf.ids) == 3


def test_archive_writes_nothing_for_a_batch_without_expired_records() -> None:
    shelf = Shelf()
    assert (ArchiveRuns(Given((RunChange("1", "MODIFY", None, None),)), shelf)([]).counts, shelf.sheets) == ({}, {})


def test_archive_retry_of_a_partly_failed_batch_loses_and_duplicates_nothing() -> None:
    shelf = Shelf(shut={"2026-11-21"})
    archive = ArchiveRuns(Given(TWO_DAYS), shelf)
    first = archive([])
    assert (first.counts["ArchivesFailed"], first.counts["RecordsArchived"]) == (1, 1)
    (told,) = [event for event in first.events if event.alarming]
    assert (told.action, told.facts["error"]) == ("archive_failed", "ConnectionError: slow down")
    shelf.shut.clear()
    assert archive([]).counts["ArchivesFailed"] == 0
    assert shelf.ids == ["nightly.20261121T120000Z", "nightly.20261121T120010Z", "nightly.20261122T120000Z"]


def test_archive_keeps_and_reports_an_unreadable_record_and_continues() -> None:
    shelf = Shelf()
    strange = RunChange("2", "REMOVE", EXPIRY, Unreadable({"PK": {"S": "JOB#a#b"}}, "KeyError('due')"))
    report = ArchiveRuns(Given((gone(1), strange)), shelf)([])
    assert report.counts == {"ObjectsWritten": 2, "RecordsArchived": 1, "RecordsUnreadable": 1}
    assert [event.action for event in report.events if event.alarming] == ["archived_unread"]


@pytest.mark.parametrize(("whole", "failed"), [(True, 0), (False, 1)])
def test_archive_stores_the_part_of_a_failed_batch_that_the_stream_still_contains(whole: bool, failed: int) -> None:
    shelf = Shelf()
    assert ArchiveRuns(Given(TWO_DAYS, whole), shelf).again({"shardId": "s"}).counts["ArchivesFailed"] == failed
    assert len(shelf.ids) == 3


def test_archive_retry_of_a_failed_batch_overwrites_its_earlier_objects() -> None:
    shelf = Shelf()
    archive = ArchiveRuns(Given(TWO_DAYS), shelf)
    archive([])
    archive.again({"shardId": "s"})
    assert len(shelf.ids) == 3
