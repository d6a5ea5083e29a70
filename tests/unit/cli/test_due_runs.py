"""`duecourse runs` shows what came of a job, not what is still to come."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from duecourse.cli.due_runs import DueRuns, due_runs
from duecourse.client import Page
from duecourse.client.models import Run
from tests.support.shown import shown_run
from tests.unit.cli.served import JOB, RUN, duecourse, served

NOW = datetime(2026, 11, 21, 9, 0, 0, tzinfo=UTC)
TEN_SECONDS = timedelta(seconds=10)


class History:
    """A job's runs, newest first, in pages; it knows how often it was asked."""

    def __init__(self, ahead: int, past: int) -> None:
        self.runs = [self._run(step) for step in range(ahead, -past, -1)]
        self.asked = 0

    def _run(self, step: int) -> Run:
        return shown_run(f"tick.{step}", NOW + step * TEN_SECONDS, "QUEUED" if step > 0 else "SUCCEEDED")

    def page(self, limit: int, cursor: str | None) -> Page[Run]:
        assert 1 <= limit <= 100
        self.asked += 1
        start = int(cursor or 0)
        end = start + limit
        return Page(tuple(self.runs[start:end]), str(end) if end < len(self.runs) else None)

    def due(self, limit: int, cursor: str | None = None) -> DueRuns:
        return due_runs(self.page, limit=limit, cursor=cursor, now=NOW)


@pytest.mark.parametrize("limit", [1, 20, 50, 100])
@pytest.mark.parametrize("ahead", [0, 1, 83, 100, 840])
def test_so_many_runs_are_found_behind_all_that_is_not_due(ahead: int, limit: int) -> None:
    history = History(ahead, 150)

    found = history.due(limit)

    assert [run.id for run in found.due] == [f"tick.{-step}" for step in range(limit)]
    assert len(found.ahead) == ahead
    assert history.asked <= 3 + ahead // 100


def test_the_next_page_begins_behind_what_was_shown() -> None:
    history = History(83, 150)
    first = history.due(20)
    second = history.due(20, first.next_cursor)
    assert [run.id for run in second.due] == [f"tick.{-step}" for step in range(20, 40)]
    assert second.ahead == ()


def test_where_nothing_is_ahead_one_request_is_enough() -> None:
    history = History(0, 150)
    history.due(20)
    assert history.asked == 1


def test_a_job_that_has_not_run_yet_has_only_what_is_ahead() -> None:
    found = History(83, 0).due(20)
    assert (found.due, len(found.ahead), found.next_cursor) == ((), 83, None)


def test_a_run_that_should_have_started_is_shown() -> None:
    history = History(2, 1)
    found = due_runs(history.page, limit=20, cursor=None, now=NOW + TEN_SECONDS)
    assert [run.id for run in found.due] == ["tick.1", "tick.0"]
    assert [run.id for run in found.ahead] == ["tick.2"]


def test_runs_are_shown_by_their_ids_and_what_is_ahead_in_one_line() -> None:
    begin = datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=5)
    ahead = [queued(begin + step * TEN_SECONDS) for step in range(3, -1, -1)]

    def answer(_path: str, query: Mapping[str, str]) -> object:
        if "limit" not in query:
            return JOB
        start = int(query.get("cursor", "0"))
        end = start + int(query["limit"])
        found = [*ahead, RUN, RUN][start:end]
        return {"items": found, "next_cursor": str(end) if end < 6 else None}

    with served(answer) as api:
        lines = duecourse(api, "runs", "list", "nightly", "--limit", "1").stdout.splitlines()

    assert lines[0] == f"4 queued until {begin + 3 * TEN_SECONDS:%Y-%m-%d %H:%M:%SZ}"
    assert [line for line in lines if "QUEUED" in line] == []
    assert len([line for line in lines if re.match(rf"{re.escape(RUN['id'])}  2026-11-21 03:00:00Z  DEAD", line)]) == 1
    assert lines[-1] == "more: duecourse runs list nightly --cursor 5"


def queued(due: datetime) -> Mapping[str, object]:
    """A run that waits for its second."""
    at = due.isoformat()
    return {**RUN, "id": f"nightly.{due:%Y%m%dT%H%M%SZ}", "state": "QUEUED", "occurrence": at, "due": at, "error": None}
