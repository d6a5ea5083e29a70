"""What stands wrong in the jobs table is found by index repair, recomputed, and fires."""

import json
from typing import Any

import pytest

from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.cursor import Cursor, bucket_of
from duecourse.domain.jobs.job import Completion, Concurrency, Job, JobState, Lane, MissedMode, MissedPolicy, Overlap
from duecourse.domain.jobs.pause import pause
from duecourse.domain.maintenance.index import GIVEN_UP_SECONDS, recomputed
from duecourse.domain.runs.states import RunState
from duecourse.messages import RunMessage
from duecourse.ports import IndexPage, Timer
from duecourse.stores.maintenance import RepairStore
from duecourse.testing.faults import answering, around, before, failing
from duecourse.usecases.report import Report
from duecourse_schedules import TZDATA_VERSION
from tests.support.jobs import NOON, cursor, job, moved
from tests.support.runs import run
from tests.support.tables import Tables
from tests.support.varied import varied
from tests.support.world import World

pytestmark = pytest.mark.tables

HOUR = 3600
DAY = 24 * HOUR


@pytest.fixture
def world(tables: Tables) -> World:
    made = World(tables)
    made.cursors.highest_shards(1)  # a tick has come
    return made


def alarms(report: Report) -> list[str]:
    return [event.action for event in report.events if event.alarming]


def write(world: World, of: Job | str, sort: str = "CURSOR", /, **attributes: Any) -> None:
    """Change attributes of a job's item by hand; None removes one."""
    removed = [name for name, value in attributes.items() if value is None]
    kept = {name: value for name, value in attributes.items() if value is not None}
    change = ("SET " + ", ".join(f"#{name} = :{name}" for name in kept) if kept else "") + (
        " REMOVE " + ", ".join(f"#{name}" for name in removed) if removed else ""
    )
    values = {f":{name}": {"N": str(v)} if isinstance(v, int) else {"S": v} for name, v in kept.items()}
    world.tables.client.update_item(
        TableName=world.tables.jobs,
        Key={"PK": {"S": f"JOB#default#{of if isinstance(of, str) else of.id}"}, "SK": {"S": sort}},
        UpdateExpression=change,
        ExpressionAttributeNames={f"#{name}": name for name in attributes},
        **({"ExpressionAttributeValues": values} if values else {}),
    )


def item(world: World, job_id: str) -> dict[str, Any]:
    key = {"PK": {"S": f"JOB#default#{job_id}"}, "SK": {"S": "CURSOR"}}
    found: dict[str, Any] = world.tables.client.get_item(TableName=world.tables.jobs, Key=key)["Item"]
    return found


def standing(world: World, job_id: str) -> Cursor:
    found = world.jobs.get_cursor("default", job_id)
    assert found is not None
    return found


def add(world: World, expression: str, **changes: Any) -> Job:
    made = job(expression, **changes)
    assert world.jobs.create(made, cursor(made))
    return made


def test_index_repair_finds_nothing_in_a_healthy_table(world: World) -> None:
    add(world, "rate(1 minute)", id="each-minute")
    add(world, "rate(1 day)", id="each-day")
    paused = add(world, "rate(1 minute)", id="paused")
    change = pause(paused, cursor(paused), now=world.clock.now())
    assert world.jobs.change(paused, cursor(paused), change.job, change.cursor)
    world.until(NOON + 600)
    report = world.repair()
    assert alarms(report) == []
    assert report.counts == {"EntriesChecked": 3, "EntriesBelowWatermark": 0}


def test_index_repair_moves_an_entry_below_the_watermark_that_the_next_round_catches_up(world: World) -> None:
    add(world, "rate(1 minute)")
    world.clock.set(NOON + 5 * HOUR)  # nobody dispatched for five hours
    world.cursors.advance_watermark(0, bucket_of(NOON + 3 * HOUR))  # and somebody raised the watermark all the same
    world.until(NOON + 5 * HOUR + 300)
    assert world.caller.runs == []
    report = world.repair()
    assert report.counts["EntriesBelowWatermark"] == 1
    assert alarms(report) == ["entry_below_watermark"]
    assert item(world, "tick-tock")["due"] == {"N": str(int(NOON) + 60)}, "its due time is as it was"
    world.until(NOON + 5 * HOUR + 420)
    first = world.runs("tick-tock")[0]
    assert (first.occurrence, first.state, first.count) == (NOON + 60, RunState.SUCCEEDED, 304)  # the last is on time


def test_index_repair_restores_a_planned_end_of_a_pause_that_an_earlier_release_removed(world: World) -> None:
    add(world, "rate(1 minute)")
    world.office.pause(until=int(NOON) + 1230)
    assert world.repair().counts == {"EntriesChecked": 1, "EntriesBelowWatermark": 0}
    write(world, "tick-tock", slot=None, due=None)
    world.until(NOON + DAY)
    report = world.repair()
    assert (report.counts["CursorsOutsideIndex"], alarms(report)) == (1, ["cursor_outside_index"])
    world.until(NOON + DAY + 60)
    assert world.office.job().state is JobState.ACTIVE
    assert world.runs("tick-tock")[0].reason == "paused"


def test_index_repair_does_not_restore_a_concurrently_removed_end_of_a_pause(world: World) -> None:
    add(world, "rate(1 minute)")
    world.office.pause(until=int(NOON) + 1230)
    write(world, "tick-tock", slot=None, due=None)
    store = RepairStore(world.tables.both())
    (entry,) = store.page(None).entries
    world.office.pause()
    assert entry.cursor is not None
    assert not store.place(entry, "2026-11-21T12/0000", recomputed(entry.cursor))
    assert "slot" not in item(world, "tick-tock")


def test_index_repair_moves_a_timer_below_the_watermark_that_is_then_sent(world: World) -> None:
    at = int(NOON) - 5 * HOUR
    message = RunMessage(RunIdentity("default", "gone", at, at, at * 1000), Lane.NORMAL, at, "nonce", attempt=2)
    world.timers.put(Timer(message, at))
    world.dispatch()
    assert world.count("WakesSent") == 0
    assert world.repair().counts["EntriesBelowWatermark"] == 1
    world.dispatch()
    assert world.count("WakesSent") == 1


def test_index_repair_moves_an_entry_of_a_shard_without_ticks_to_a_shard_with_ticks(world: World) -> None:
    add(world, "rate(5 minutes)")
    write(world, "tick-tock", slot="2026-11-21T12/0007")
    assert world.repair().counts["EntriesBelowWatermark"] == 1
    world.until(NOON + 301)
    assert world.caller.runs == ["tick-tock.20261121T120500Z"]


def test_index_repair_moves_a_future_entry_to_its_own_hour(world: World) -> None:
    add(world, "rate(1 day)")
    write(world, "tick-tock", slot="2026-11-22T12/0007")  # of a shard that nobody ticks
    assert world.repair().counts["EntriesBelowWatermark"] == 1
    assert item(world, "tick-tock")["slot"] == {"S": "2026-11-22T12/0000"}
    world.cursors.advance_watermark(0, bucket_of(NOON + 22 * HOUR))
    world.clock.set(NOON + DAY - 60)
    world.until(NOON + DAY + 1)
    assert world.caller.runs == ["tick-tock.20261122T120000Z"]


def test_index_repair_without_a_recorded_shard_moves_nothing_and_reports_an_error(tables: Tables) -> None:
    world = World(tables)
    add(world, "rate(5 minutes)")
    write(world, "tick-tock", slot="2026-11-21T05/0007")
    world.tables.client.delete_item(TableName=tables.jobs, Key={"PK": {"S": "SHARDS"}, "SK": {"S": "HIGHEST"}})
    report = world.repair()
    assert (report.counts["RepairsFailed"], alarms(report)) == (1, ["repair_failed"])
    assert item(world, "tick-tock")["slot"] == {"S": "2026-11-21T05/0007"}


@pytest.mark.parametrize("figures", [False, True], ids=["", "with figures"])
def test_index_repair_pass_ends_beside_exclusions_written_by_a_newer_release(world: World, *, figures: bool) -> None:
    newer, hurt = add(world, "rate(5 minutes)", id="a-newer-one"), add(world, "rate(5 minutes)", id="b-hurt")
    rules = json.loads(item(world, newer.id)["rules"]["S"])
    write(world, newer, rules=json.dumps(rules | {"exclude": [5]}))
    write(world, hurt, slot=None)
    store = RepairStore(world.tables.both(), figures=figures)
    report = world.repair(store=store, reports=world.tables.tenant_reports())
    assert "cursor_outside_index" in alarms(report)
    assert "repair_failed" not in alarms(report)
    assert (last := store.last_pass()) is not None
    assert last.done


def test_index_repair_handles_other_entries_beside_one_written_by_a_newer_release(world: World) -> None:
    newer, hurt = add(world, "rate(5 minutes)", id="a-newer-one"), add(world, "rate(5 minutes)", id="b-hurt")
    write(world, newer, "JOB", state="DREAMING")
    for each in (newer, hurt):
        write(world, each, slot=None)
    report = world.repair()
    assert sorted(alarms(report)) == ["cursor_outside_index", "entry_not_checked"]
    assert (report.counts["RepairsFailed"], report.counts["CursorsOutsideIndex"]) == (1, 1)
    assert world.repair(every_seconds=0).counts["CursorsOutsideIndex"] == 0


def test_index_repair_handles_other_entries_beside_a_waiting_run_that_cannot_be_read(world: World) -> None:
    for job_id in ("a", "b", "c"):
        add(world, "rate(1 minute)", id=job_id, overlap=Overlap.ALLOW, concurrency=Concurrency("crm", 1))
        world.run_store.write(run(job(id=job_id), RunState.QUEUED, key="crm"), None)
        write(world, job_id, slot=None, due=None)
    world.tables.client.update_item(
        TableName=world.tables.runs,
        Key={"PK": {"S": "JOB#default#b"}, "SK": {"S": "RUN#20261121T120000Z"}},
        UpdateExpression="REMOVE lane",
    )
    report = world.repair()
    assert (report.counts["RepairsFailed"], report.counts["CursorsOutsideIndex"]) == (1, 3)
    assert alarms(report).count("entry_not_checked") == 1


def test_index_repair_counts_a_quarantined_timer(world: World) -> None:
    at = int(NOON)
    timer = Timer(
        RunMessage(RunIdentity("default", "gone", at, at, at * 1000), Lane.NORMAL, at, "nonce", attempt=2), at
    )
    world.timers.put(timer)
    write(world, "gone", timer.key, slot=None)
    assert world.repair().counts["CursorsFoundQuarantined"] == 1


def test_index_repair_ignores_a_quarantined_cursor_of_a_paused_job(world: World) -> None:
    made = add(world, "rate(5 minutes)")
    assert world.cursors.quarantine(standing(world, made.id), "it makes no sense")
    write(world, made, "JOB", state="PAUSED")
    assert world.repair().counts["CursorsFoundQuarantined"] == 0
    parts = RepairStore(world.tables.both(), limit=1)  # cursor and job on pages of their own
    assert world.repair(store=parts, every_seconds=0).counts["CursorsFoundQuarantined"] == 0


def test_index_repair_does_not_change_a_concurrently_claimed_cursor(world: World) -> None:
    made = add(world, "rate(1 minute)")
    store = RepairStore(world.tables.both())
    (seen,) = store.page(None).entries
    world.until(NOON + 60)
    assert not store.place(seen, "2026-11-21T15/0000")
    assert item(world, made.id)["slot"] == {"S": standing(world, made.id).slot(1, now=world.clock.now())}


def test_index_repair_applies_an_earlier_time_of_new_zone_data_before_the_old_time(world: World) -> None:
    made = add(world, "0 15 * * *")
    # As zone data of before would have it: an hour later than what today's say.
    write(world, made, due=int(NOON) + 4 * HOUR, occurrence=int(NOON) + 4 * HOUR, tzdata="2020a")
    write(world, made, slot="2026-11-21T16/0000")
    report = world.repair()
    assert (report.counts["CursorsOutdated"], report.counts["CursorsRepaired"]) == (1, 1)
    assert alarms(report) == []
    world.until(NOON + 3 * HOUR + 1)
    assert [(name, at) for name, _, at in world.caller.calls] == [("tick-tock.20261121T150000Z", NOON + 3 * HOUR)]


def test_index_repair_moves_a_cursor_to_a_later_time_of_new_zone_data_and_records_it_in_the_history(
    world: World,
) -> None:
    made = add(world, "0 15 * * *")
    write(world, made, due=int(NOON) + 2 * HOUR, occurrence=int(NOON) + 2 * HOUR, tzdata="2020a")
    write(world, made, slot="2026-11-21T14/0000")
    assert world.repair().counts["CursorsOutdated"] == 1
    now = standing(world, made.id)
    assert (now.due, now.tzdata) == (int(NOON) + 3 * HOUR, TZDATA_VERSION)
    found = world.jobs.history(made.tenant, made.id, limit=10, before=None).items[0]
    assert (found.action, found.principal) == ("moved", "duecourse")
    assert found.changes == (
        {"field": "next_occurrence", "before": "2026-11-21T14:00:00Z", "after": "2026-11-21T15:00:00Z"},
        {"field": "tzdata", "before": "2020a", "after": TZDATA_VERSION},
    )
    assert world.repair().counts["CursorsOutdated"] == 0
    world.until(NOON + 3 * HOUR + 1)
    assert [name for name, _, _ in world.caller.calls] == ["tick-tock.20261121T150000Z"]


def test_index_repair_keeps_a_cursor_of_older_zone_data_with_the_same_result(world: World) -> None:
    made = add(world, "0 15 * * *")
    write(world, made, tzdata="2020a")
    assert world.repair().counts == {"EntriesChecked": 1, "EntriesBelowWatermark": 0}
    assert standing(world, made.id).tzdata == "2020a"


def test_index_repair_restores_the_missing_index_entry_of_an_active_job(world: World) -> None:
    made = add(world, "rate(5 minutes)")
    write(world, made, slot=None)
    world.until(NOON + 301)
    assert world.caller.runs == []
    report = world.repair()
    assert report.counts["CursorsOutsideIndex"] == 1
    assert alarms(report) == ["cursor_outside_index"]
    world.until(NOON + 601)
    assert [run.through for run in world.runs(made.id)] == [None, None]
    assert [run.state for run in world.runs(made.id)] == [RunState.SUCCEEDED] * 2


def test_index_repair_does_not_restore_the_entry_of_a_concurrently_paused_job(world: World) -> None:
    made = add(world, "rate(5 minutes)")
    write(world, made, slot=None)
    store = RepairStore(world.tables.both())
    (seen,) = store.page(None).entries
    change = pause(made, standing(world, made.id), now=world.clock.now())
    assert world.jobs.change(made, standing(world, made.id), change.job, change.cursor)
    assert not store.place(seen, "2026-11-21T12/0000", seen.cursor)
    world.repair(store=around(store, page=answering(IndexPage([seen], None))))
    assert "slot" not in item(world, made.id)


def test_index_repair_counts_a_quarantined_cursor_that_cannot_be_planned_and_keeps_it_quarantined(world: World) -> None:
    made = add(world, "rate(5 minutes)")
    assert world.cursors.quarantine(standing(world, made.id), "it makes no sense")
    write(world, made, rules='{"expression":"99 * * * *","missed":{"mode":"skip","grace_seconds":60,"max_missed":1}}')
    report = world.repair()
    assert (report.counts["CursorsFoundQuarantined"], report.counts["CursorsReleased"]) == (1, 0)
    (event,) = [event for event in report.events if event.action == "cursor_found_quarantined"]
    assert event.facts["error"] == "it makes no sense"
    assert standing(world, made.id).error == "it makes no sense"
    assert "slot" not in item(world, made.id)


@pytest.mark.parametrize("readable", [True, False], ids=["readable", "unreadable"])
def test_index_repair_lists_a_cursor_that_1_0_0_has_quarantined(world: World, *, readable: bool) -> None:
    made = add(world, "rate(5 minutes)")
    assert world.cursors.quarantine(standing(world, made.id), "it makes no sense")
    rules = (
        '{"expression":"99 * * * *","missed":{"mode":"skip","grace_seconds":60,"max_missed":1}}' if readable else "{"
    )
    write(world, made, rules=rules, state_key=None, job_id=None)
    assert not world.jobs.quarantined("default", made.id, made.id)
    world.repair()
    assert world.jobs.quarantined("default", made.id, made.id) == {made.id}


def test_index_repair_releases_and_reports_a_quarantined_cursor_that_can_be_planned_and_it_fires(world: World) -> None:
    made = add(world, "rate(5 minutes)")
    world.until(NOON + 301)
    assert world.cursors.quarantine(standing(world, made.id), "ClientError('ThrottlingException')")
    fired = len(world.runs(made.id))
    world.until(NOON + 2000)
    assert len(world.runs(made.id)) < 6
    report = world.repair()
    assert (report.counts["CursorsFoundQuarantined"], report.counts["CursorsReleased"]) == (0, 1)
    assert not world.jobs.quarantined("default", made.id, made.id)
    (event,) = [event for event in report.events if event.action == "cursor_released"]
    assert event.alarming
    assert event.facts["error"] == "ClientError('ThrottlingException')"
    assert standing(world, made.id).error is None
    world.until(NOON + 2800)
    assert len(world.runs(made.id)) > fired + 2
    assert world.repair(every_seconds=0).counts["CursorsReleased"] == 0


def test_index_repair_does_not_release_a_quarantined_cursor_of_a_paused_job(world: World) -> None:
    made = add(world, "rate(5 minutes)")
    store = RepairStore(world.tables.both())
    assert world.cursors.quarantine(standing(world, made.id), "it makes no sense")
    (seen,) = store.page(None).entries
    change = pause(made, standing(world, made.id), now=world.clock.now())
    assert world.jobs.change(made, standing(world, made.id), change.job, change.cursor)
    assert world.repair(store=around(store, page=answering(IndexPage([seen], None)))).counts["CursorsReleased"] == 0
    assert "slot" not in item(world, made.id)


def test_index_repair_completes_a_job_whose_last_run_ended_without_completing_it(world: World) -> None:
    made = add(world, "at(2026-11-21T12:05:00)")
    assert world.jobs.get("default", made.id) is not None
    world.until(NOON + 60)
    assert world.run_store.write(run(made, RunState.SUCCEEDED, after=300), None) is None
    world.clock.set(NOON + 400)  # whoever wrote that record died before it completed the job
    assert world.repair().counts["JobsCompleted"] == 1
    assert world.jobs.get("default", made.id).state is JobState.COMPLETED


def test_index_repair_does_not_complete_a_job_with_an_active_last_run(world: World) -> None:
    made = add(world, "at(2026-11-21T12:05:00)")
    world.until(NOON + 60)
    assert world.run_store.write(run(made, RunState.RETRYING, after=300), None) is None
    world.clock.set(NOON + 400)
    assert world.repair().counts["JobsCompleted"] == 0


def test_index_repair_completes_a_job_with_unrecorded_last_occurrences_once_no_message_can_remain(world: World) -> None:
    """A dispatcher died between the claim it won and the record of what it skipped."""
    made = add(world, "rate(1 minute)", max_runs=3, missed=MissedPolicy(MissedMode.SKIP))
    ended = moved(cursor(made), None)
    write(world, made, slot=None, due=None, occurrence=None, after=ended.after, last=ended.last, remaining=0)
    world.clock.set(NOON + DAY)
    assert world.repair().counts["JobsCompleted"] == 0
    world.clock.set(NOON + GIVEN_UP_SECONDS + HOUR)
    assert world.repair().counts["JobsCompleted"] == 1


def a_wait_queue(world: World) -> Job:
    """A job whose schedule is over: one of its runs waits for a callback, two wait in the wait queue for that one."""
    made = add(world, "rate(1 minute)", overlap=Overlap.QUEUE, max_runs=3, completion=Completion.CALLBACK)
    world.until(NOON + 200)
    assert states(world) == [RunState.WAITING, RunState.QUEUED, RunState.QUEUED]
    return made


def states(world: World) -> list[RunState]:
    return [run.state for run in world.runs("tick-tock")]


def test_index_repair_calls_the_next_run_of_an_unwatched_wait_queue_after_the_schedule_ended(world: World) -> None:
    made = a_wait_queue(world)
    first = world.runs(made.id)[0]
    world.wheel.empty()  # no calls, no watch; and whoever ended the first run knew no wait queues
    assert world.run_store.write(varied(first, state=RunState.SUCCEEDED, finished_at=NOON + 210), first) is None
    world.until(NOON + DAY)
    assert states(world)[1:] == [RunState.QUEUED, RunState.QUEUED]
    assert alarms(world.repair()) == ["wait_queue_found"]
    world.until(NOON + DAY + 60)
    assert states(world) == [RunState.SUCCEEDED, RunState.WAITING, RunState.QUEUED]
    assert [run for run in world.caller.runs if run.endswith("120200Z")] == ["tick-tock.20261121T120200Z"]


def test_index_repair_calls_the_next_run_of_an_unwatched_wait_queue_without_a_schedule(world: World) -> None:
    made = add(world, "", overlap=Overlap.QUEUE, completion=Completion.CALLBACK)
    for _ in range(3):
        world.office.run()
        world.until(world.clock.now() + 10)
    assert states(world) == [RunState.WAITING, RunState.QUEUED, RunState.QUEUED]
    assert alarms(world.repair()) == []
    first = world.runs(made.id)[0]
    world.wheel.empty()
    assert world.run_store.write(varied(first, state=RunState.SUCCEEDED, finished_at=NOON + 40), first) is None
    world.until(NOON + DAY + HOUR)
    assert states(world) == [RunState.SUCCEEDED, RunState.QUEUED, RunState.QUEUED]
    assert alarms(world.repair()) == ["wait_queue_found"]
    world.until(NOON + DAY + HOUR + 60)
    assert states(world) == [RunState.SUCCEEDED, RunState.WAITING, RunState.QUEUED]


def test_index_repair_does_not_change_a_watched_wait_queue(world: World) -> None:
    a_wait_queue(world)
    assert world.repair().counts["JobsCompleted"] == 0
    assert alarms(world.repair()) == []
    assert states(world) == [RunState.WAITING, RunState.QUEUED, RunState.QUEUED]


def test_index_repair_that_runs_out_of_time_continues_and_the_next_pass_starts_a_day_later(world: World) -> None:
    for number in range(6):
        made = add(world, "rate(5 minutes)", id=f"job-{number}")
        write(world, made, slot="2026-11-21T01/0000")
    store = RepairStore(world.tables.both(), limit=3)
    rounds = 0
    while (known := store.last_pass()) is None or not known.done:
        world.repair(store=around(store, page=before(lambda: world.clock.advance(1))), seconds=1)
        rounds += 1
    assert rounds > 2
    assert world.count("EntriesBelowWatermark") == 6
    assert known.counts["EntriesBelowWatermark"] == 6
    assert world.repair(store=store).counts == {}
    world.clock.advance(DAY)
    assert world.repair(store=store).counts["EntriesChecked"] == 6


def test_index_repair_reports_a_table_error_and_reads_the_page_again(world: World) -> None:
    add(world, "rate(5 minutes)")
    report = world.repair(store=around(None, page=failing(ConnectionError("no answer"))))
    assert (report.counts["RepairsFailed"], alarms(report)) == (1, ["repair_failed"])
    assert world.repair().counts["EntriesChecked"] == 1
