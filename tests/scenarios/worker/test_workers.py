"""The pull workers of a run's attempts, from their reports to the record."""

from duecourse.domain.jobs.job import Backoff, Completion, RetryPolicy
from duecourse.domain.runs.callbacks import Heartbeat, ProgressReport
from duecourse.domain.runs.states import RunState, attempts_of
from duecourse.messages import MessageKind
from tests.support.jobs import NOON, job
from tests.support.one_run import AT, the_run
from tests.support.world import World

THRICE = RetryPolicy(max_attempts=3, backoff=Backoff.FIXED, min_seconds=5, max_seconds=5)
WAITS = {"completion": Completion.CALLBACK, "completion_seconds": 3600, "heartbeat_seconds": 60, "retry": THRICE}


def named(world: World) -> list[str | None]:
    return [each.worker for each in attempts_of(the_run(world))]


def test_workers_of_all_attempts_are_kept_in_the_record(world: World) -> None:
    world.add(job(AT, **WAITS))
    world.until(NOON + 130)
    world.tell(world.about(the_run(world), MessageKind.FAIL, error="no paper", worker="host-7"))
    assert (the_run(world).state, named(world)) == (RunState.RETRYING, ["host-7"])
    world.until(NOON + 150)
    run, now = the_run(world), world.clock.now()
    beat = Heartbeat(now, now + 65, ProgressReport(worker="host-8"))
    assert world.run_store.heartbeat(run, beat) is None
    world.until(NOON + 300)  # host-8 sends no other heartbeat
    assert (the_run(world).state, named(world)) == (RunState.WAITING, ["host-7", "host-8", None])
    assert attempts_of(the_run(world))[1].code == "callback.heartbeat"
    world.tell(world.about(the_run(world), MessageKind.COMPLETE, result=1, worker="host-7"))
    assert (the_run(world).state, named(world)) == (RunState.SUCCEEDED, ["host-7", "host-8", "host-7"])


def test_workers_last_report_of_an_attempt_names_its_worker(world: World) -> None:
    """Another worker has received the message of the attempt again."""
    world.add(job(AT, **WAITS))
    world.until(NOON + 130)
    now = world.clock.now()
    assert world.run_store.heartbeat(the_run(world), Heartbeat(now, None, ProgressReport(worker="host-7"))) is None
    assert named(world) == ["host-7"]
    world.tell(world.about(the_run(world), MessageKind.COMPLETE, result=1, worker="host-8"))
    assert (the_run(world).state, named(world)) == (RunState.SUCCEEDED, ["host-8"])


def test_workers_report_without_a_name_keeps_the_known_one(world: World) -> None:
    world.add(job(AT, **WAITS))
    world.until(NOON + 130)
    now = world.clock.now()
    assert world.run_store.heartbeat(the_run(world), Heartbeat(now, None, ProgressReport(worker="host-7"))) is None
    world.tell(world.about(the_run(world), MessageKind.COMPLETE, result=1))
    assert named(world) == ["host-7"]


def test_workers_late_report_of_an_earlier_attempt_changes_nothing(world: World) -> None:
    world.add(job(AT, **WAITS))
    world.until(NOON + 130)
    first = world.about(the_run(world), MessageKind.COMPLETE, result=1, worker="late")
    world.tell(world.about(the_run(world), MessageKind.FAIL, error="no paper", worker="host-7"))
    world.until(NOON + 150)
    world.tell(first)
    assert (the_run(world).state, named(world)) == (RunState.WAITING, ["host-7", None])
