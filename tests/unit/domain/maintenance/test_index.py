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
from duecourse.domain.schedules import ScheduleError, ScheduleSpec
from duecourse.domain.workflows.graph import Graph, StepOutcome, StepOutcomes
from duecourse.domain.workflows.view import viewed
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
def test_what_a_round_will_read_stands_well(slot: str) -> None:
    assert fault(entry(slot)) is None


@pytest.mark.parametrize(
    "slot", ["2026-11-21T09/0000", "2026-11-14T11/0001", "2026-11-21T12/0002", "2026-11-21T12", "nonsense", "/"]
)
def test_what_no_round_will_read_is_found_whether_or_not_it_can_be_read(slot: str) -> None:
    assert fault(entry(slot)) is IndexFault.UNREAD
    assert fault(entry(slot, cursor=None, unreadable=True)) is IndexFault.UNREAD


def test_an_unreadable_entry_in_a_slot_is_left_to_dispatch() -> None:
    assert fault(entry(cursor=None, unreadable=True)) is None


@pytest.mark.parametrize(
    ("tzdata", "stands", "expected"),
    [("2020a", 4 * HOUR, IndexFault.OUTDATED), ("2020a", 3 * HOUR, None), ("2020a", 2 * HOUR, None)],
    ids=["earlier today", "the same", "later today"],
)
def test_only_a_time_that_moved_earlier_cannot_wait(tzdata: str, stands: int, expected: IndexFault | None) -> None:
    at = int(NOON) + stands
    assert fault(entry(cursor=replace(cursor(job("0 15 * * *")), occurrence=at, due=at, tzdata=tzdata))) is expected


def test_a_cursor_of_today_is_not_computed_anew() -> None:
    at = int(NOON) + 4 * HOUR  # `run_once` may stand where its schedule says nothing any more
    assert fault(entry(cursor=replace(cursor(job("0 15 * * *")), occurrence=at, due=at))) is None


def test_a_cursor_that_has_an_error_is_quarantined() -> None:
    assert fault(entry(None, cursor=replace(cursor(job()), error="no"))) is IndexFault.QUARANTINED
    assert fault(entry(None, cursor=None, unreadable=True)) is IndexFault.QUARANTINED


def test_what_does_not_fire_on_purpose_is_not_missed_and_a_timer_always_is() -> None:
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
def test_what_has_an_occurrence_and_no_slot_is_outside_if_its_job_may_be_active(
    state: JobState | None, expected: IndexFault | None
) -> None:
    assert fault(entry(None, state=state)) is expected


def test_a_cursor_that_lost_its_occurrence_is_outside_until_nothing_may_come_any_more() -> None:
    stuck = replace(cursor(job("rate(5 minutes)")), occurrence=None, due=None)
    assert fault(entry(None, cursor=stuck, state=JobState.ACTIVE)) is IndexFault.OUTSIDE
    assert recomputed(stuck).due == NOON + 300
    assert fault(entry(None, cursor=replace(stuck, remaining=0), state=JobState.ACTIVE)) is None
    once = replace(cursor(job("at(2026-11-21T12:05:00)")), occurrence=None, due=None, after=int(NOON) + 300)
    assert fault(entry(None, cursor=once, state=JobState.ACTIVE)) is None


def test_a_schedule_has_ended_once_its_last_occurrence_has_come_due() -> None:
    over = moved(cursor(job("at(2026-11-21T12:05:00)")), None)
    assert fault(entry(None, cursor=over, state=JobState.ACTIVE), NOON + 299) is None
    assert fault(entry(None, cursor=over, state=JobState.ACTIVE), NOON + 300) is IndexFault.ENDED
    assert fault(entry(None, cursor=over, state=JobState.COMPLETED), NOON + 300) is None


def test_a_job_without_a_schedule_is_where_it_belongs_and_only_its_line_is_looked_at() -> None:
    asked = cursor(job(""))
    assert fault(entry(None, cursor=asked, state=JobState.ACTIVE)) is IndexFault.NO_SCHEDULE
    assert fault(entry(None, cursor=asked, state=JobState.PAUSED)) is None
    assert recomputed(asked) is None
    assert not long_over(asked, (), now=NOON + 2 * GIVEN_UP_SECONDS)


def test_a_cursor_that_cannot_be_computed_is_no_decision_here() -> None:
    with pytest.raises(ScheduleError):
        fault(entry(cursor=replace(cursor(job()), schedule=ScheduleSpec("nonsense"), tzdata="2020a")))


def test_an_entry_goes_to_its_own_hour_or_to_the_present_one_and_keeps_a_shard_that_is_ticked() -> None:
    assert SLOTS.slot_for(entry("2026-11-21T05/0001"), int(NOON) - 7 * HOUR, NOON) == "2026-11-21T12/0001"
    assert SLOTS.slot_for(entry("2026-11-21T05/0001"), int(NOON) + 2 * HOUR, NOON) == "2026-11-21T14/0001"
    assert SLOTS.slot_for(entry("2026-11-21T12/0007"), int(NOON), NOON)[:-1] == "2026-11-21T12/000"
    for each in (entry("2026-11-21T12/0007"), entry("nonsense"), entry(None)):
        assert SLOTS.read(SLOTS.slot_for(each, int(NOON), NOON))


def test_a_job_is_given_up_when_no_message_can_be_left_and_no_run_is_alive() -> None:
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


def test_a_job_goes_ninety_days_after_it_was_completed() -> None:
    assert goes(DONE)
    assert not goes(DONE, days=89.99)


def test_a_job_stays_while_anything_of_its_runs_can_be_read() -> None:
    assert not goes(DONE, days=400, has_history=True)


@pytest.mark.parametrize("state", [JobState.ACTIVE, JobState.PAUSED])
def test_only_a_completed_job_goes(state: JobState) -> None:
    assert not goes(replace(DONE, state=state), days=400)


def test_an_edit_that_left_the_job_completed_begins_its_time_anew() -> None:
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


def test_a_step_whose_turn_came_an_hour_ago_has_a_record() -> None:
    of, first = workflow_run(W), record("extract")
    assert found(of, first, now=LATER - 1, extract=StepOutcome.SUCCEEDED) == []
    assert found(of, first, extract=StepOutcome.SUCCEEDED) == ["load"]
    assert found(of, first, record("load", RunState.RETRYING), extract=StepOutcome.SUCCEEDED) == []


def test_a_step_that_ended_has_a_record_too() -> None:
    assert found(workflow_run(S), record("load"), extract=StepOutcome.SUCCEEDED, load=StepOutcome.SUCCEEDED) == [
        "extract"
    ]


def test_a_step_that_was_cut_or_skipped_may_lack_its_record() -> None:
    assert (
        found(
            workflow_run(D, "steps_failed"), record("extract", D), extract=StepOutcome.FAILED, load=StepOutcome.ABORTED
        )
        == []
    )


def test_a_step_that_waits_is_not_due() -> None:
    assert found(workflow_run(W), record("extract", RunState.RUNNING)) == []


def test_a_step_whose_end_was_not_noted_for_an_hour_is_found() -> None:
    assert found(workflow_run(W), record("extract"), now=LATER - 1) == []
    assert found(workflow_run(W), record("extract")) == ["extract"]


def test_a_run_that_its_steps_ended_has_no_step_that_is_left() -> None:
    assert found(workflow_run(S), record("extract"), extract=StepOutcome.SUCCEEDED) == ["load"]


@pytest.mark.parametrize(("of", "expected"), [(workflow_run(D, "steps_failed"), ["load"]), (workflow_run(S), [])])
def test_a_skipped_step_goes_on_after_a_redrive_unless_its_workflow_has_succeeded(of: Run, expected: list[str]) -> None:
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
def test_looked_at_are_runs_that_wait_for_their_steps_or_that_these_ended(of: Run, expected: bool) -> None:
    assert has_steps(of) is expected


JOB = job(id="nightly")


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
    assert day_of(replace(succeeded(after=365 * DAY), expires_at=int(from_iso("2027-02-19T12:00:00Z")))) == "2027-02-19"


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
