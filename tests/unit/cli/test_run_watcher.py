"""The watcher tells of each run that is new or has changed, once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from duecourse.cli.run_watcher import RunWatcher
from duecourse.client import ApiError, ApiUnreachableError, Page
from duecourse.client.models import Run
from tests.support.shown import shown_run

NOW = datetime(2026, 11, 21, 9, 0, 0, tzinfo=UTC)


def run(job_id: str, seconds: int, state: str = "QUEUED", attempts: int = 0) -> Run:
    return shown_run(f"{job_id}.{seconds}", NOW + timedelta(seconds=seconds), state, attempts=attempts)


class Runs:
    """The runs of some jobs, newest first, in pages of two."""

    def __init__(self, *runs: Run) -> None:
        self.runs_now = list(runs)
        self.asked: list[tuple[str, str | None]] = []
        self.errors: dict[tuple[str, str | None], Exception] = {}
        self.told: list[tuple[str, str]] = []

    def watched(self, *job_ids: str) -> RunWatcher:
        return RunWatcher(self, lambda job_id, error: self.told.append((job_id, str(error))), job_ids)

    def list_runs(self, job_id: str, *, limit: int | None = None, cursor: str | None = None) -> Page[Run]:
        del limit
        self.asked.append((job_id, cursor))
        if (job_id, cursor) in self.errors:
            raise self.errors[job_id, cursor]
        mine = sorted(
            (each for each in self.runs_now if each.job_id == job_id), key=lambda each: each.due, reverse=True
        )
        start = int(cursor or 0)
        return Page(tuple(mine[start : start + 2]), str(start + 2) if start + 2 < len(mine) else None)


def test_each_state_is_told_once() -> None:
    source = Runs(run("a", 0))
    watcher = source.watched("a")

    assert [(change.run.state, change.is_new) for change in watcher.poll()] == [("QUEUED", True)]
    assert watcher.poll() == ()
    source.runs_now = [run("a", 0, "SUCCEEDED", 1)]
    assert [(change.run.state, change.is_new) for change in watcher.poll()] == [("SUCCEEDED", False)]


def test_another_attempt_in_the_same_state_is_a_change() -> None:
    source = Runs(run("a", 0, "RETRYING", 1))
    watcher = source.watched("a")
    watcher.poll()
    source.runs_now = [run("a", 0, "RETRYING", 2)]

    assert [change.run.attempts for change in watcher.poll()] == [2]


def test_changes_of_several_jobs_come_in_the_order_of_their_instants() -> None:
    watcher = Runs(run("a", 20), run("a", 0), run("b", 10)).watched("a", "b")

    assert [change.run.id for change in watcher.poll()] == ["a.0", "b.10", "a.20"]


def test_runs_that_wait_in_the_queue_do_not_hide_the_ones_that_are_due() -> None:
    watcher = Runs(*(run("a", seconds) for seconds in range(50, 0, -10)), run("a", 0, "RUNNING", 1)).watched("a")

    assert "a.0" in [change.run.id for change in watcher.poll()]


def test_pages_behind_a_final_run_are_not_asked_for() -> None:
    source = Runs(*(run("a", seconds, "SUCCEEDED", 1) for seconds in range(50, 0, -10)))
    source.watched("a").poll()

    assert source.asked == [("a", None)]


def test_only_jobs_with_a_due_and_unfinished_run_are_pending() -> None:
    watcher = Runs(run("a", 10), run("b", -1), run("c", -1, "DEAD", 3)).watched("a", "b", "c")
    watcher.poll()

    assert watcher.pending(NOW) == {"b"}
    assert watcher.pending(NOW + timedelta(seconds=10)) == {"a", "b"}


def test_only_the_wanted_jobs_are_asked() -> None:
    source = Runs(run("a", 0), run("b", 0))
    watcher = source.watched("a")
    watcher.follow(["a", "b"])
    watcher.poll({"b"})

    assert source.asked == [("b", None)]


@pytest.mark.parametrize(
    "error", [ApiError(404, {}), ApiError(503, {}), ApiUnreachableError("nobody answers")], ids=str
)
def test_a_job_that_cannot_be_asked_for_does_not_keep_the_others_from_being_asked(error: Exception) -> None:
    source = Runs(run("b", 0))
    source.errors["a", None] = error
    watcher = source.watched("a", "b")

    assert [change.run.id for change in watcher.poll()] == ["b.0"]
    source.runs_now.append(run("b", 10))
    assert [change.run.id for change in watcher.poll()] == ["b.10"]


def test_a_job_that_is_gone_is_forgotten_without_a_word_until_there_is_one_of_its_name_again() -> None:
    source = Runs(run("a", -1))
    watcher = source.watched("a")
    watcher.poll()
    source.errors["a", None] = ApiError(404, {})
    watcher.poll()
    assert watcher.pending(NOW) == frozenset()

    source.asked.clear()
    watcher.poll()
    assert (source.asked, source.told) == ([], [])

    source.errors.clear()
    source.runs_now = [run("a", 10)]
    watcher.follow(["a"])
    assert [change.run.id for change in watcher.poll()] == ["a.10"]


def test_what_is_wrong_with_a_job_is_told_once_and_again_after_it_was_well() -> None:
    source = Runs()
    watcher = source.watched("a")
    for status in (503, 503, 500, None, 500):
        source.errors = {} if status is None else {("a", None): ApiError(status, {})}
        watcher.poll()

    assert [text for _, text in source.told] == [
        "503 Service Unavailable",
        "500 Internal Server Error",
        "500 Internal Server Error",
    ]


def test_what_was_read_before_an_error_is_told() -> None:
    source = Runs(*(run("a", seconds) for seconds in (30, 20, 10, 0)))
    source.errors["a", "2"] = ApiUnreachableError("slow")

    assert [change.run.id for change in source.watched("a").poll()] == ["a.20", "a.30"]
    assert source.told == [("a", "slow")]
