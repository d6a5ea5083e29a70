"""The tick stops, rounds fail, and claims are not made."""

from importlib import import_module

from duecourse.domain.jobs.job import EventKind, MissedMode, MissedPolicy
from duecourse.testing.faults import around, before
from duecourse.usecases.standby import Standby
from tests.support.alarm_cases.parts import broken, fill, refusing, throttled
from tests.support.jobs import NOON, job
from tests.support.lambda_events import Context, fifo_event
from tests.support.observed import Observed

ROUND = '{"shard":0,"minute":29920000}'


def no_tick(observed: Observed) -> None:
    observed.minutes(10)
    observed.minutes(6, ticking=False)


def a_large_catch_up(observed: Observed) -> None:
    """Rounds start again after an outage of twenty minutes."""
    observed.world.add(job("rate(1 second)", missed=MissedPolicy(mode=MissedMode.SKIP)))
    observed.minutes(2)
    observed.minutes(40, dispatching=False, working=False)
    observed.minutes(3)


def ticks_that_nobody_takes(observed: Observed) -> None:
    fill(observed, 1, "rate(60 seconds)")
    observed.minutes(6, dispatching=False)


def entries_that_cannot_be_claimed_for_hours(observed: Observed) -> None:
    fill(observed, 1, "rate(300 seconds)")
    observed.world.clock.set(NOON + 4 * 3600)
    observed.world.cursors = refusing(observed.world.cursors)
    observed.minutes(5, working=False)


def one_round_that_fails(observed: Observed) -> None:
    """The real handler runs without its settings: it logs the failure and reports success."""
    handler = import_module("functions.dispatch.handler").handler
    observed.listen(lambda: handler(fifo_event(ROUND), Context()))


def rounds_that_fail(observed: Observed) -> None:
    """Each round receives its message and claims nothing."""
    fill(observed, 1)

    def fail() -> None:
        observed.ticks.waiting.clear()
        one_round_that_fails(observed)

    observed.minutes(8, dispatching=False, each=fail)


def no_fence(observed: Observed) -> None:
    """The functions of a stage with a standby find no fence: nothing is dispatched."""
    standby = Standby(lambda: None, observed.world.clock, "eu-west-1")

    def stop() -> None:
        standby.stops(lambda report: observed.publish(report, function="dispatch"), raises=False)

    observed.minutes(8, dispatching=False, working=False, each=stop)


def rounds_that_run_out_of_time(observed: Observed) -> None:
    fill(observed, 1, "rate(300 seconds)")
    fifty_seconds_a_page = before(lambda: observed.world.clock.advance(50))
    observed.world.cursors = around(observed.world.cursors, due=fifty_seconds_a_page)
    observed.minutes(11, working=False)


def lanes_that_refuse(observed: Observed) -> None:
    fill(observed, 1, "rate(300 seconds)")
    observed.wheel.refuse = lambda _: True
    observed.minutes(10)


def claims_that_fail(observed: Observed) -> None:
    throttled(observed)
    observed.minutes(10, working=False)


def claims_that_are_refused(observed: Observed) -> None:
    fill(observed, 3, "rate(300 seconds)")
    observed.world.cursors = refusing(observed.world.cursors)
    observed.minutes(10)


def throttling_that_stays(observed: Observed) -> None:
    throttled(observed)
    observed.minutes(12, working=False)


def a_cursor_that_makes_no_sense(observed: Observed) -> None:
    observed.world.add(job("rate(60 seconds)"))
    observed.world.tables.client.update_item(
        TableName=observed.world.tables.jobs,
        Key={"PK": {"S": "JOB#default#tick-tock"}, "SK": {"S": "CURSOR"}},
        UpdateExpression="SET #rules = :nonsense",
        ExpressionAttributeNames={"#rules": "rules"},
        ExpressionAttributeValues={":nonsense": {"S": "{"}},
    )
    observed.minutes(2)


def records_of_runs_that_cannot_be_read(observed: Observed) -> None:
    observed.world.add(job("rate(60 seconds)", missed=MissedPolicy(MissedMode.SKIP, grace_seconds=30)))
    observed.world.clock.set(NOON + 3600)
    observed.world.run_store = broken(observed.world.run_store, "between")
    observed.minutes(5, working=False)


def a_bus_that_refuses_skips(observed: Observed) -> None:
    skip = MissedPolicy(MissedMode.SKIP, grace_seconds=30)
    observed.world.add(job("rate(60 seconds)", missed=skip, events=(EventKind.ALL,)))
    observed.world.clock.set(NOON + 3600)
    observed.world.bus.refuses = True
    observed.minutes(1, working=False)
