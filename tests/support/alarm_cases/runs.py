"""Runs that fail, die, start late, or are not recorded."""

from duecourse.domain.jobs.job import EventKind, MissedPolicy
from duecourse.domain.targets.targets import HttpTarget, Returned
from tests.support.alarm_cases.parts import ONCE, SOON, broken, failing, fill
from tests.support.jobs import job
from tests.support.observed import Observed


def a_dead_run(observed: Observed) -> None:
    observed.world.caller.answer = failing
    fill(observed, 1, retry=ONCE)
    observed.minutes(4)


def many_dead_runs(observed: Observed) -> None:
    """Runs of four of six targets die."""
    observed.world.caller.answer = lambda call: failing(call) if call.job.id < "job-4" else Returned()
    several_targets(observed, 6)
    observed.minutes(6)


def dead_runs_of_all_targets(observed: Observed) -> None:
    observed.world.caller.answer = failing
    several_targets(observed, 6)
    observed.minutes(8)


def several_targets(observed: Observed, count: int) -> None:
    """Create a job that fires every minute for each target."""
    for number in range(count):
        target = HttpTarget(f"https://target-{number}.example.com/")
        observed.world.add(job("rate(60 seconds)", id=f"job-{number}", retry=ONCE, target=target))


def an_ill_target(observed: Observed) -> None:
    observed.world.caller.answer = lambda call: failing(call) if call.job.id == "job-000" else Returned()
    fill(observed, 4, "rate(10 seconds)", retry=ONCE)
    observed.minutes(16)


def late_starts(observed: Observed) -> None:
    """Workers run only in every third minute."""
    observed.world.add(job("rate(60 seconds)", missed=MissedPolicy(grace_seconds=600)))
    for _ in range(6):
        observed.minutes(3, working=False)
        observed.world.work()


def nobody_at_work(observed: Observed) -> None:
    observed.world.add(job(SOON))
    observed.minutes(8, working=False)


def workers_that_fail(observed: Observed) -> None:
    observed.world.add(job("rate(60 seconds)"))
    observed.world.jobs = broken(observed.world.jobs, "snapshot")
    observed.minutes(12)


def a_table_of_runs_that_does_not_answer(observed: Observed) -> None:
    observed.world.add(job(SOON))
    observed.world.run_store = broken(observed.world.run_store, "get")
    observed.world.jobs = broken(observed.world.jobs, "snapshot")
    observed.minutes(20)


def records_that_cannot_be_written(observed: Observed) -> None:
    observed.world.add(job("rate(60 seconds)"))
    observed.world.run_store = broken(observed.world.run_store, "write")
    observed.minutes(12)


def a_bus_that_refuses(observed: Observed) -> None:
    observed.world.bus.refuses = True
    fill(observed, 1, events=(EventKind.ALL,))
    observed.minutes(4)


def a_store_of_results_that_refuses(observed: Observed) -> None:
    observed.world.results.refuses = True
    observed.world.caller.answer = lambda _: Returned({"body": "x" * 5000})
    fill(observed, 1)
    observed.minutes(4)


def deaths_in_a_row(observed: Observed) -> None:
    observed.world.caller.answer = failing
    observed.world.add(job("rate(60 seconds)", retry=ONCE, pause_on_failure=2))
    observed.minutes(4)


def deaths_that_cannot_be_counted(observed: Observed) -> None:
    observed.world.jobs = broken(observed.world.jobs, "get_cursor")
    deaths_in_a_row(observed)


def a_few_late_starts_in_every_hour(observed: Observed) -> None:
    """Six of fifty runs are late in two hours. They are spread, so no five minutes contain enough of them."""
    for number in range(500):
        late = 20_000.0 if number % 8 == 0 else 100.0
        of = {"service": "duecourse", "function": "execute"}
        observed.put(observed.namespace, "Lateness", of, late)
        observed.world.clock.advance(16)
