"""Archives expired runs. A batch counts as done only as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from duecourse.domain.maintenance.archive import UNREADABLE, RunChange, Sheet, sheets
from duecourse.ports.archive import Archive, RunChanges
from duecourse.usecases.report import Report, format_error


@dataclass(frozen=True, slots=True)
class ArchiveRuns:
    """The use case. One instance serves many batches. If a part of a batch could not be written, `ArchivesFailed` is
    counted and the whole batch must be repeated, which overwrites the same objects.
    """

    changes: RunChanges
    archive: Archive

    def __call__(self, records: Sequence[Mapping[str, Any]]) -> Report:
        """Archive the expired runs among the records of a batch."""
        report = Report()
        self._write(self.changes.handed(records), report)
        return report

    def again(self, failed: Mapping[str, Any]) -> Report:
        """Archive the records of a batch that Lambda no longer retries, if they are still in the stream."""
        report = Report()
        stretch = self.changes.again(failed)
        if not stretch.whole:
            report.counts["ArchivesFailed"] += 1
            report.add("archive_records_gone", alarming=True, failed=dict(failed), found=len(stretch.changes))
        self._write(stretch.changes, report)
        return report

    def _write(self, changes: Iterable[RunChange], report: Report) -> None:
        for sheet in sheets(changes):
            try:
                self.archive.put(sheet)
            except Exception as problem:  # noqa: BLE001 - after any error of the store the other days are still tried
                report.counts["ArchivesFailed"] += 1
                error = format_error(problem)
                report.add("archive_failed", alarming=True, key=sheet.key, rows=len(sheet.rows), error=error)
            else:
                _written(sheet, report)


def _written(sheet: Sheet, report: Report) -> None:
    report.counts["ObjectsWritten"] += 1
    if sheet.key.startswith(f"{UNREADABLE}/"):
        report.counts["RecordsUnreadable"] += len(sheet.rows)
        report.add("archived_unread", alarming=True, key=sheet.key, rows=len(sheet.rows))
        return
    report.counts["RecordsArchived"] += len(sheet.rows)
    report.add("archived", key=sheet.key, rows=len(sheet.rows))
