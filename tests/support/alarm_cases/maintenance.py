"""Findings in the dead-letter queue, the due index, the records and the archive, and checks that cannot be made."""

from dataclasses import replace
from typing import Any

from duecourse.adapters.dynamodb.run_changes import DynamoRunChanges
from duecourse.domain.jobs.cursor import bucket_of
from duecourse.domain.jobs.job import EventKind, Overlap
from duecourse.domain.runs.coverage import OccurrenceRange
from duecourse.domain.runs.states import RunState
from duecourse.messages import MessageKind
from duecourse.ports import InlineExecutor, Undecided
from duecourse.stores.maintenance import RepairStore
from duecourse.stores.prescale import PrescaleStore
from duecourse.testing.faults import answering, around
from duecourse.usecases.dispatch.prescale import Prescale
from duecourse.usecases.maintenance.archive import ArchiveRuns
from duecourse.usecases.maintenance.audit import MAX_OPEN
from duecourse.usecases.report import Report
from tests.support.alarm_cases.dispatch import a_cursor_that_makes_no_sense
from tests.support.alarm_cases.parts import SOON, broken
from tests.support.audited import AuditedWorld
from tests.support.jobs import NOON, cursor, job
from tests.support.observed import Observed
from tests.support.runs import run
from tests.support.stream_events import expired
from tests.support.workflows import add_workflow, graph_of

_NOTHING: Any = None

HOUR = 3600
DAY = 86_400


def lost_to_the_dead_letters(observed: Observed) -> None:
    observed.world.add(job(SOON))
    observed.world.clock.set(NOON + 60)
    observed.wheel.dead_letters += observed.wheel.hold_back(120)
    observed.minutes(4, ticking=False)
    observed.world.reconcile()


def a_death_that_the_reconciler_records(observed: Observed, **changes: Any) -> None:
    """The run of a job that is paused at its first death. The job's other runs wait for their workers."""
    observed.world.add(job("rate(60 seconds)", pause_on_failure=1, **changes))
    observed.world.clock.set(NOON + 60)
    observed.wheel.dead_letters += observed.wheel.hold_back(120)
    observed.minutes(4, ticking=False, working=False)
    observed.world.reconcile()


def a_death_that_the_reconciler_cannot_count(observed: Observed) -> None:
    observed.world.jobs = broken(observed.world.jobs, "get_cursor")
    a_death_that_the_reconciler_records(observed)


def a_death_that_nobody_is_told(observed: Observed) -> None:
    observed.world.bus.refuses = True
    a_death_that_the_reconciler_records(observed, events=(EventKind.ALL,))


def nobody_is_started(observed: Observed) -> None:
    observed.minutes(10)
    observed.silent |= {"Reconcile", "Repair", "Audit"}
    observed.world.clock.advance(5 * HOUR)
    observed.minutes(2)


def unreadable(observed: Observed) -> None:
    observed.world.add(job(SOON))
    held = observed.wheel.put_in(observed.world.queued_about("tick-tock", 120, MessageKind.START))
    observed.wheel.dead_letters.append(replace(held, body="not a message"))
    observed.world.reconcile()


def a_reconciler_that_fails(observed: Observed) -> None:
    observed.world.run_store = broken(observed.world.run_store, "get")
    lost_to_the_dead_letters(observed)


def repaired(observed: Observed, fails: str = "") -> None:
    """Run index repair on the current tables. `fails`: the method of its store that fails."""
    world = observed.world
    world.cursors.highest_shards(1)
    store: Any = broken(RepairStore(world.tables.both()), fails)
    observed.publish(world.repair(store=store), function="repair")


def a_pass_that_fails(observed: Observed) -> None:
    repaired(observed, fails="last_pass")


def a_clean_up_that_fails(observed: Observed) -> None:
    jobs, long_ago = observed.world.jobs, observed.world.clock.now() - 400 * DAY
    made = job(id="over", at=long_ago)
    assert jobs.create(made, cursor(made))
    assert jobs.complete(made, at=long_ago)
    observed.world.run_store = broken(observed.world.run_store, "has_items")
    repaired(observed)


def an_entry_below_the_watermark(observed: Observed) -> None:
    observed.world.add(job("rate(60 seconds)"))
    observed.world.clock.set(NOON + 5 * HOUR)
    observed.world.cursors.advance_watermark(0, bucket_of(NOON + 3 * HOUR))
    repaired(observed)


def a_cursor_that_fell_out_of_the_index(observed: Observed) -> None:
    observed.world.add(job("rate(60 seconds)"))
    observed.world.tables.client.update_item(
        TableName=observed.world.tables.jobs,
        Key={"PK": {"S": "JOB#default#tick-tock"}, "SK": {"S": "CURSOR"}},
        UpdateExpression="REMOVE #slot",
        ExpressionAttributeNames={"#slot": "slot"},
    )
    repaired(observed)


def a_cursor_that_nobody_has_corrected(observed: Observed) -> None:
    a_cursor_that_makes_no_sense(observed)
    repaired(observed)


def an_audited_hour(observed: Observed) -> AuditedWorld:
    """Return a separate world on the same tables with a job that fires every five minutes."""
    world = AuditedWorld(observed.world.tables)
    world.add(job("rate(5 minutes)", overlap=Overlap.ALLOW))
    world.until(NOON + HOUR + 300)
    world.lose("tick-tock", 1500)
    return world


def a_record_that_was_lost(observed: Observed) -> None:
    observed.publish(an_audited_hour(observed).audit(hour=4), function="audit")


def a_start_in_a_workflow_that_was_lost(observed: Observed) -> None:
    world = AuditedWorld(observed.world.tables)
    add_workflow(world, graph_of({"extract": (), "load": ("extract",)}, load={"not_before": "5 12 * * *"}))
    world.until(NOON + 90)
    world.wheel.empty()
    observed.publish(world.audit(hour=4), function="audit")


def a_catch_up_over_what_ran(observed: Observed) -> None:
    world = an_audited_hour(observed)
    caught_up = run(job("rate(5 minutes)"), RunState.SUCCEEDED, after=1500, count=3, through=int(NOON) + 2100)
    assert world.run_store.write(caught_up, None) is None
    observed.publish(world.audit(hour=4), function="audit")


def an_audit_that_fails(observed: Observed) -> None:
    world = an_audited_hour(observed)
    world.audits = broken(world.audits, "turns")
    observed.publish(world.audit(hour=4), function="audit")


def an_audit_with_too_much_open(observed: Observed) -> None:
    world = an_audited_hour(observed)
    ranges = (OccurrenceRange(int(NOON), int(NOON), 1),)
    world.audits = around(
        world.audits, open=answering([Undecided("default", f"job-{n}", ranges, version=1) for n in range(MAX_OPEN)])
    )
    observed.publish(world.audit(hour=4, seconds=0.001), function="audit")


def an_archive_that_refuses(observed: Observed) -> None:
    archive: Any = broken(None, "put")
    gone = expired(run(job(), RunState.SUCCEEDED))
    observed.publish(ArchiveRuns(DynamoRunChanges(None), archive)(gone["Records"]), function="archive")


def a_stream_that_nobody_reads(observed: Observed, why: str = "the event source is Disabled") -> None:
    observed.source.broken = why
    observed.minutes(20)


def an_account_with_fewer_executions(observed: Observed) -> None:
    observed.quota.granted = 999
    observed.minutes(60)


def a_plan_of_capacity_that_cannot_be_read(observed: Observed) -> None:
    """A tick cannot decide about capacity."""
    store, unused, report = broken(PrescaleStore(observed.world.tables.both()), "get"), _NOTHING, Report()
    tick = Prescale(store, unused, unused, unused, observed.world.clock, InlineExecutor())
    tick.after_tick(None, 1, report)
    observed.publish(report, function="tick")


def a_watch_that_fails(observed: Observed) -> None:
    observed.watched = "no queue"
    observed.queues = broken(observed.queues, "depth_of")
    observed.minutes(2)


def a_run_that_is_stuck(observed: Observed) -> None:
    """A run whose worker's lease ended hours ago, and that no message continues."""
    world = an_audited_hour(observed)
    left = run(job("rate(5 minutes)", overlap=Overlap.ALLOW), RunState.RUNNING, after=1500)
    assert world.run_store.write(left, None) is None
    observed.publish(world.audit(hour=4), function="audit")
