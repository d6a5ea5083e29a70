"""The archive, the clean-up and the check of the index.

- What is wrong with an entry of the due index, and where it belongs.
- When a completed job has been kept long enough.
- Which steps of a workflow's run should have gone on, and did not.
- Which changes are archived, under which day, in which object.
"""

from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.instants import from_iso
from duecourse.domain.jobs.job import Job, JobState
from duecourse.domain.maintenance.archive import EXPIRY, RunChange, Unreadable, day_of, is_archived, row_of, sheets
from duecourse.domain.maintenance.audit import STALLED_SECONDS, has_steps, stalled
from duecourse.domain.maintenance.index import (
    GIVEN_UP_SECONDS,
    Entry,
    IndexFault,
    ReadSlots,
    fault_of,
    is_worn_out,
    long_over,
    recomputed,
)
from duecourse.domain.runs.document import run_document
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.workflows.graph import Graph, StepOutcome, StepOutcomes
from duecourse.domain.workflows.view import viewed
from duecourse_schedules import ScheduleError, ScheduleSpec
from tests.support.jobs import NOON, cursor, job, moved
from tests.support.runs import run
from tests.support.workflows import graph_of

SLOTS = ReadSlots({0: "2026-11-21T10", 1: None}, "2026-11-14T12")
HOUR = 3600


def entry(slot: str | None = "2026-11-21T12/0000", **changes: Any) -> Entry:
    of = changes.pop("cursor", cursor(job("rate(5 minutes)")))
    due = of.due if of is not None else int(NOON)
    return Entry(("JOB#default#tick-tock", "CURSOR"), "default", "tick-tock", slot, due, of, **changes)


def fault(each: Entry, now: float = NOON) -> IndexFault | None:
    return fault_of(each, SLOTS, now=now)


@pytest.mark.parametrize(
    "slot", ["2026-11-21T12/0000", "2026-11-21T10/0000", "2026-11-14T12/0001", "2099-01-01T00/0001"]
)
def test_maintenance_accepts_an_index_entry_that_a_round_will_read(slot: str) -> None:
    assert fault(entry(slot)) is None


@pytest.mark.parametrize(
    "slot", ["2026-11-21T09/0000", "2026-11-14T11/0001", "2026-11-21T12/0002", "2026-11-21T12", "nonsense", "/"]
)
def test_maintenance_reports_an_index_entry_that_no_round_reads_even_if_it_is_unreadable(slot: str) -> None:
    assert fault(entry(slot)) is IndexFault.UNREAD
    assert fault(entry(slot, cursor=None, unreadable=True)) is IndexFault.UNREAD


def test_maintenance_leaves_an_unreadable_index_entry_in_a_slot_to_dispatch() -> None:
    assert fault(entry(cursor=None, unreadable=True)) is None


@pytest.mark.parametrize(
    ("tzdata", "stands", "expected"),
    [("2020a", 4 * HOUR, IndexFault.OUTDATED), ("2020a", 3 * HOUR, None), ("2020a", 2 * HOUR, IndexFault.OUTDATED)],
    ids=["earlier today", "the same", "later today"],
)
def test_maintenance_reports_an_outdated_cursor_only_if_its_time_moved(
    tzdata: str, stands: int, expected: IndexFault | None
) -> None:
    at = int(NOON) + stands
    assert fault(entry(cursor=replace(cursor(job("0 15 * * *")), occurrence=at, due=at, tzdata=tzdata))) is expected


def test_maintenance_does_not_recompute_a_cursor_of_the_current_tzdata() -> None:
    at = int(NOON) + 4 * HOUR  # `run_once` may stand where its schedule says nothing any more
    assert fault(entry(cursor=replace(cursor(job("0 15 * * *")), occurrence=at, due=at))) is None


def test_maintenance_reports_a_cursor_with_an_error_as_quarantined() -> None:
    assert fault(entry(None, cursor=replace(cursor(job()), error="no"))) is IndexFault.QUARANTINED
    assert fault(entry(None, cursor=None, unreadable=True)) is IndexFault.QUARANTINED


def test_maintenance_ignores_broken_cursors_of_inactive_jobs_but_always_reports_timers() -> None:
    for state in (JobState.PAUSED, JobState.COMPLETED):
        assert fault(entry(None, cursor=replace(cursor(job()), error="no"), state=state)) is None
        assert fault(entry(None, cursor=None, unreadable=True, state=state)) is None
        assert fault(entry(None, cursor=None, state=state)) is IndexFault.QUARANTINED
    assert fault(entry(None, cursor=None)) is IndexFault.QUARANTINED


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (JobState.ACTIVE, IndexFault.OUTSIDE),
        (None, IndexFault.OUTSIDE),
        (JobState.PAUSED, None),
        (JobState.COMPLETED, None),
    ],
)
def test_maintenance_reports_an_occurrence_without_a_slot_if_its_job_may_be_active(
    state: JobState | None, expected: IndexFault | None
) -> None:
    assert fault(entry(None, state=state)) is expected


def test_maintenance_reports_a_cursor_that_lost_its_occurrence_while_further_ones_may_come() -> None:
    stuck = replace(cursor(job("rate(5 minutes)")), occurrence=None, due=None)
    assert fault(entry(None, cursor=stuck, state=JobState.ACTIVE)) is IndexFault.OUTSIDE
    assert recomputed(stuck).due == NOON + 300
    assert fault(entry(None, cursor=replace(stuck, remaining=0), state=JobState.ACTIVE)) is None
    once = replace(cursor(job("at(2026-11-21T12:05:00)")), occurrence=None, due=None, after=int(NOON) + 300)
    assert fault(entry(None, cursor=once, state=JobState.ACTIVE)) is None


def test_maintenance_reports_an_ended_schedule_once_its_last_occurrence_is_due() -> None:
    over = moved(cursor(job("at(2026-11-21T12:05:00)")), None)
    assert fault(entry(None, cursor=over, state=JobState.ACTIVE), NOON + 299) is None
    assert fault(entry(None, cursor=over, state=JobState.ACTIVE), NOON + 300) is IndexFault.ENDED
    assert fault(entry(None, cursor=over, state=JobState.COMPLETED), NOON + 300) is None


def test_maintenance_checks_only_the_wait_queue_of_a_job_without_a_schedule() -> None:
    asked = cursor(job(""))
    assert fault(entry(None, cursor=asked, state=JobState.ACTIVE)) is IndexFault.NO_SCHEDULE
    assert fault(entry(None, cursor=asked, state=JobState.PAUSED)) is None
    assert recomputed(asked) is None
    assert not long_over(asked, (), now=NOON + 2 * GIVEN_UP_SECONDS)


def test_maintenance_raises_an_error_for_a_cursor_that_cannot_be_computed() -> None:
    with pytest.raises(ScheduleError):
        fault(entry(cursor=replace(cursor(job()), schedule=ScheduleSpec("nonsense"), tzdata="2020a")))


def test_maintenance_moves_an_entry_to_its_own_or_the_current_hour_and_keeps_an_active_shard() -> None:
    assert SLOTS.slot_for(entry("2026-11-21T05/0001"), int(NOON) - 7 * HOUR, NOON) == "2026-11-21T12/0001"
    assert SLOTS.slot_for(entry("2026-11-21T05/0001"), int(NOON) + 2 * HOUR, NOON) == "2026-11-21T14/0001"
    assert SLOTS.slot_for(entry("2026-11-21T12/0007"), int(NOON), NOON)[:-1] == "2026-11-21T12/000"
    for each in (entry("2026-11-21T12/0007"), entry("nonsense"), entry(None)):
        assert SLOTS.read(SLOTS.slot_for(each, int(NOON), NOON))


def test_maintenance_completes_an_ended_job_when_no_message_can_remain_and_no_run_is_active() -> None:
    made = job("at(2026-11-21T12:05:00)")
    over = moved(cursor(made), None)
    late = NOON + 300 + GIVEN_UP_SECONDS
    assert long_over(over, [], now=late)
    assert long_over(over, [run(made, RunState.DEAD)], now=late)
    assert not long_over(over, [run(made, RunState.WAITING)], now=late)
    assert not long_over(over, [], now=late - 1)
    assert not long_over(cursor(made), [], now=late)


DAY = 86_400
DONE = replace(job(id="once"), state=JobState.COMPLETED, updated_at=NOON)


def goes(made: Job, *, days: float = 90, has_history: bool = False) -> bool:
    return is_worn_out(made, now=NOON + days * DAY, retention_days=90, has_history=has_history)


def test_maintenance_deletes_a_job_ninety_days_after_its_completion() -> None:
    assert goes(DONE)
    assert not goes(DONE, days=89.99)


def test_maintenance_keeps_a_job_while_it_has_run_history() -> None:
    assert not goes(DONE, days=400, has_history=True)


@pytest.mark.parametrize("state", [JobState.ACTIVE, JobState.PAUSED])
def test_maintenance_deletes_only_completed_jobs(state: JobState) -> None:
    assert not goes(replace(DONE, state=state), days=400)


def test_maintenance_restarts_the_retention_of_a_completed_job_after_an_edit() -> None:
    assert not goes(replace(DONE, updated_at=NOON + DAY))


S, D, K, C, W = RunState.SUCCEEDED, RunState.DEAD, RunState.SKIPPED, RunState.CANCELLED, RunState.WAITING
CHAIN = graph_of({"extract": (), "load": ("extract",)})
ENDED = NOON + 12.5
"""When the records of `record` end."""
LATER = ENDED + STALLED_SECONDS


def workflow_run(state: RunState, reason: str | None = None) -> Run:
    return run(job(id="nightly"), state, reason=reason, workflow="nightly@abc", started_at=NOON)


def record(job_id: str, state: RunState = S, reason: str | None = None) -> Run:
    return run(job(id=job_id), state, reason=reason, workflow="nightly@abc")


def found(of: Run, *records: Run, now: float = LATER, graph: Graph = CHAIN, **ends: StepOutcome) -> list[str]:
    known = StepOutcomes()
    for name, end in ends.items():
        known = known.having(graph.numbers[name], end)
    return [step.id for step, _ in stalled(viewed(of, graph, known, records), now=now)]


def test_maintenance_finds_a_step_without_a_record_one_hour_after_it_became_ready() -> None:
    of, first = workflow_run(W), record("extract")
    assert found(of, first, now=LATER - 1, extract=StepOutcome.SUCCEEDED) == []
    assert found(of, first, extract=StepOutcome.SUCCEEDED) == ["load"]
    assert found(of, first, record("load", RunState.RETRYING), extract=StepOutcome.SUCCEEDED) == []


def test_maintenance_finds_an_ended_step_without_a_record() -> None:
    assert found(workflow_run(S), record("load"), extract=StepOutcome.SUCCEEDED, load=StepOutcome.SUCCEEDED) == [
        "extract"
    ]


def test_maintenance_accepts_an_aborted_or_skipped_step_without_a_record() -> None:
    assert (
        found(
            workflow_run(D, "steps_failed"), record("extract", D), extract=StepOutcome.FAILED, load=StepOutcome.ABORTED
        )
        == []
    )


def test_maintenance_ignores_a_step_that_waits() -> None:
    assert found(workflow_run(W), record("extract", RunState.RUNNING)) == []


def test_maintenance_finds_a_step_whose_end_was_not_noted_for_an_hour() -> None:
    assert found(workflow_run(W), record("extract"), now=LATER - 1) == []
    assert found(workflow_run(W), record("extract")) == ["extract"]


def test_maintenance_finds_an_unfinished_step_of_a_workflow_run_that_its_steps_ended() -> None:
    assert found(workflow_run(S), record("extract"), extract=StepOutcome.SUCCEEDED) == ["load"]


@pytest.mark.parametrize(("of", "expected"), [(workflow_run(D, "steps_failed"), ["load"]), (workflow_run(S), [])])
def test_maintenance_continues_a_skipped_step_after_a_redrive_unless_its_workflow_succeeded(
    of: Run, expected: list[str]
) -> None:
    skipped = record("load", K, "upstream_failed")
    assert found(of, record("extract"), skipped, extract=StepOutcome.SUCCEEDED, load=StepOutcome.ABORTED) == expected


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (workflow_run(W), True),
        (workflow_run(S), True),
        (workflow_run(D, "steps_failed"), True),
        (workflow_run(D), False),
        (workflow_run(C, "cancelled"), False),
        (workflow_run(RunState.RUNNING), False),
        (record("extract"), False),
        (run(job(id="nightly"), S), False),
    ],
)
def test_maintenance_checks_workflow_runs_that_wait_for_their_steps_or_were_ended_by_them(
    of: Run, expected: bool
) -> None:
    assert has_steps(of) is expected


JOB = job(id="nightly")


def gone(made: Run | Unreadable, number: int = 1, *, by: str | None = EXPIRY, kind: str = "REMOVE") -> RunChange:
    return RunChange(str(number), kind, by, made)


def succeeded(after: int = 0) -> Run:
    return run(JOB, RunState.SUCCEEDED, after=after)


def test_maintenance_archives_an_expired_run() -> None:
    assert is_archived(gone(succeeded()))


@pytest.mark.parametrize("by", [None, "lambda.amazonaws.com"])
def test_maintenance_does_not_archive_items_that_were_not_deleted_by_expiry(by: str | None) -> None:
    assert not is_archived(gone(succeeded(), by=by))
    assert sheets([gone(succeeded(), by=by)]) == ()


def test_maintenance_does_not_archive_writes_or_other_expired_items() -> None:
    assert not is_archived(gone(succeeded(), kind="MODIFY"))
    assert not is_archived(RunChange("1", "REMOVE", EXPIRY, None))


def test_maintenance_files_archived_runs_under_the_utc_day_of_their_occurrence() -> None:
    assert day_of(succeeded()) == "2026-11-21"
    assert day_of(succeeded(after=12 * 3600 - 1)) == "2026-11-21"
    assert day_of(succeeded(after=12 * 3600)) == "2026-11-22"


def test_maintenance_files_a_run_that_expired_before_it_was_due_under_a_day_that_queries_read() -> None:
    """Skipped a year ahead: its record is kept for 90 days from the skipping on."""
    assert day_of(replace(succeeded(after=365 * DAY), expires_at=int(from_iso("2027-02-19T12:00:00Z")))) == "2027-02-19"


def test_maintenance_files_old_backfilled_occurrences_under_the_first_day() -> None:
    assert day_of(succeeded(after=-20 * 365 * DAY)) == "2020-01-01"


def test_maintenance_archives_a_batch_as_one_object_per_day() -> None:
    made = sheets([gone(succeeded(), 1), gone(succeeded(after=DAY), 2), gone(succeeded(after=10), 3)])
    assert [(sheet.key.rpartition("/")[0], len(sheet.rows)) for sheet in made] == [
        ("runs/day=2026-11-21", 2),
        ("runs/day=2026-11-22", 1),
    ]
    assert made[0].key.startswith("runs/day=2026-11-21/1-3-")
    assert made[0].key.endswith(".json.gz")


def test_maintenance_archives_the_same_runs_as_the_same_object_regardless_of_other_items() -> None:
    runs = [gone(succeeded(), 1), gone(succeeded(after=10), 5)]
    others = [gone(succeeded(after=1), 2, by=None), RunChange("3", "MODIFY", None, None)]
    assert sheets([runs[0], *others, runs[1]]) == sheets(runs)


def test_maintenance_archives_batches_with_the_same_first_and_last_item_as_different_objects() -> None:
    """Sequence numbers count within a shard."""
    one = sheets([gone(succeeded(), 1), gone(succeeded(after=10), 9)])
    other = sheets([gone(succeeded(after=20), 1), gone(succeeded(after=30), 9)])
    assert one[0].key != other[0].key


def test_maintenance_archives_a_run_as_the_api_shows_it_with_its_tenant() -> None:
    row = row_of(replace(succeeded(), result={"status": 200}))
    own = {"schema_version": 1, "tenant": "default", "result_key": None}
    assert row == own | run_document(replace(succeeded(), result={"status": 200}))
    assert row["result"] == {"status": 200}


def test_maintenance_archives_the_workflow_of_a_run_without_its_graph() -> None:
    assert row_of(run(JOB, RunState.SUCCEEDED, workflow="reports@3f2a"))["workflow"] == "reports"
    assert row_of(succeeded())["workflow"] is None


def test_maintenance_archives_a_large_result_by_its_key() -> None:
    row = row_of(replace(succeeded(), result_key="results/default/nightly/x/1.json", result_bytes=70_000))
    assert (row["result"], row["result_bytes"]) == (None, 70_000)
    assert row["result_key"] == "results/default/nightly/x/1.json"


def test_maintenance_archives_an_unreadable_record_unchanged_under_a_separate_prefix() -> None:
    image = {"PK": {"S": "JOB#default#nightly"}, "state": {"S": "A STATE OF LATER TIMES"}}
    readable, strange = sheets([gone(succeeded(), 1), gone(Unreadable(image, "KeyError('due')"), 2)])
    assert readable.key.startswith("runs/")
    assert strange.key.startswith("unreadable/2-2-")
    assert strange.rows == ({"sequence": "2", "error": "KeyError('due')", "image": image},)
