"""Which changes are archived, under which day, in which object."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.domain.instants import from_iso
from duecourse.domain.maintenance.archive import EXPIRY, RunChange, Unreadable, day_of, is_archived, row_of, sheets
from duecourse.domain.runs.document import run_document
from duecourse.domain.runs.states import Run, RunState
from tests.support.jobs import job
from tests.support.runs import run

JOB = job(id="nightly")
DAY = 86_400


def gone(made: Run | Unreadable, number: int = 1, *, by: str | None = EXPIRY, kind: str = "REMOVE") -> RunChange:
    return RunChange(str(number), kind, by, made)


def succeeded(after: int = 0) -> Run:
    return run(JOB, RunState.SUCCEEDED, after=after)


def test_a_run_that_expired_is_archived() -> None:
    assert is_archived(gone(succeeded()))


@pytest.mark.parametrize("by", [None, "lambda.amazonaws.com"])
def test_what_anybody_else_deletes_is_not_archived(by: str | None) -> None:
    assert not is_archived(gone(succeeded(), by=by))
    assert sheets([gone(succeeded(), by=by)]) == ()


def test_writes_and_other_items_that_expired_are_not_archived() -> None:
    assert not is_archived(gone(succeeded(), kind="MODIFY"))
    assert not is_archived(RunChange("1", "REMOVE", EXPIRY, None))


def test_runs_are_filed_under_the_day_of_their_occurrence_in_utc() -> None:
    assert day_of(succeeded()) == "2026-11-21"
    assert day_of(succeeded(after=12 * 3600 - 1)) == "2026-11-21"
    assert day_of(succeeded(after=12 * 3600)) == "2026-11-22"


def test_a_run_that_expired_before_it_was_due_is_filed_where_queries_look() -> None:
    """Skipped a year ahead: its record is kept for 90 days from the skipping on."""
    ahead = replace(succeeded(after=365 * DAY), expires_at=int(from_iso("2027-02-19T12:00:00Z")))
    assert day_of(ahead) == "2027-02-19"


def test_a_backfilled_occurrence_of_long_ago_is_filed_under_the_first_day() -> None:
    assert day_of(succeeded(after=-20 * 365 * DAY)) == "2020-01-01"


def test_a_batch_becomes_one_object_for_each_day() -> None:
    made = sheets([gone(succeeded(), 1), gone(succeeded(after=DAY), 2), gone(succeeded(after=10), 3)])
    assert [(sheet.key.rpartition("/")[0], len(sheet.rows)) for sheet in made] == [
        ("runs/day=2026-11-21", 2),
        ("runs/day=2026-11-22", 1),
    ]
    assert made[0].key.startswith("runs/day=2026-11-21/1-3-")
    assert made[0].key.endswith(".json.gz")


def test_the_same_runs_give_the_same_object_whatever_else_came_between() -> None:
    runs = [gone(succeeded(), 1), gone(succeeded(after=10), 5)]
    others = [gone(succeeded(after=1), 2, by=None), RunChange("3", "MODIFY", None, None)]
    assert sheets([runs[0], *others, runs[1]]) == sheets(runs)


def test_batches_that_begin_and_end_alike_are_different_objects() -> None:
    """Sequence numbers count within a shard."""
    one = sheets([gone(succeeded(), 1), gone(succeeded(after=10), 9)])
    other = sheets([gone(succeeded(after=20), 1), gone(succeeded(after=30), 9)])
    assert one[0].key != other[0].key


def test_a_row_is_the_run_as_the_api_shows_it_with_its_tenant() -> None:
    row = row_of(replace(succeeded(), result={"status": 200}))
    own = {"schema_version": 1, "tenant": "default", "result_key": None}
    assert row == own | run_document(replace(succeeded(), result={"status": 200}))
    assert row["result"] == {"status": 200}


def test_a_row_names_the_workflow_of_its_run_without_its_graph() -> None:
    assert row_of(run(JOB, RunState.SUCCEEDED, workflow="reports@3f2a"))["workflow"] == "reports"
    assert row_of(succeeded())["workflow"] is None


def test_a_large_result_is_told_by_its_key() -> None:
    row = row_of(replace(succeeded(), result_key="results/default/nightly/x/1.json", result_bytes=70_000))
    assert (row["result"], row["result_bytes"]) == (None, 70_000)
    assert row["result_key"] == "results/default/nightly/x/1.json"


def test_what_cannot_be_read_is_kept_as_it_was_apart_from_the_table() -> None:
    image = {"PK": {"S": "JOB#default#nightly"}, "state": {"S": "A STATE OF LATER TIMES"}}
    readable, strange = sheets([gone(succeeded(), 1), gone(Unreadable(image, "KeyError('due')"), 2)])
    assert readable.key.startswith("runs/")
    assert strange.key.startswith("unreadable/2-2-")
    assert strange.rows == ({"sequence": "2", "error": "KeyError('due')", "image": image},)
