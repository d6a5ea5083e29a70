"""Jobs that run after the runs of other jobs."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from duecourse.domain.jobs.job import Completion, Job, Overlap, RetryPolicy, Then, ThenOn
from duecourse.domain.runs.states import Run, RunState, Succeeded
from duecourse.domain.runs.successors import MAX_CHAIN, MAX_FOLLOWING, successors_of
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import MessageKind
from duecourse.ports import Call
from duecourse.testing.faults import Fault, failing, lost
from duecourse.usecases.runs.commands import NotDeadError
from duecourse.usecases.runs.successors import MAX_RESULT_BYTES
from tests.support.jobs import NOON, job
from tests.support.tables import Tables
from tests.support.world import Killed, Mortal, World

ONCE = RetryPolicy(max_attempts=1)
AT = "at(2026-11-21T12:02:00)"


def after(name: str, on: ThenOn = ThenOn.SUCCEEDED) -> Then:
    return Then(name, on)


def add(world: World, name: str, *then: Then, expression: str = "", **changes: object) -> Job:
    return world.add(job(expression, id=name, then=then, retry=ONCE, **changes))


def only(world: World, name: str) -> Run:
    (run,) = world.runs(name)
    return run


def test_then_job_runs_after_a_success_with_its_result(world: World) -> None:
    add(world, "report")
    add(world, "etl", after("report"), expression=AT)
    payloads: list[object] = []

    def answer(call: Call) -> Outcome:
        payloads.append(call.job.payload)
        return Returned({"rows": 3})

    world.caller.answer = answer
    world.until(NOON + 180)
    first, second = only(world, "etl"), only(world, "report")
    assert (first.state, second.state) == (RunState.SUCCEEDED, RunState.SUCCEEDED)
    assert second.requested_by == f"duecourse:after {first.run_id} 1 999"
    assert payloads == [
        None,
        {
            "job_id": "etl",
            "run_id": first.run_id,
            "state": "SUCCEEDED",
            "result": {"rows": 3},
            "result_bytes": None,
            "result_location": None,
            "error": None,
            "code": None,
        },
    ]


@pytest.mark.parametrize(
    ("on", "outcome", "runs"),
    [
        (ThenOn.SUCCEEDED, Failed("no", code="http.500"), 0),
        (ThenOn.DEAD, Failed("no", code="http.500"), 1),
        (ThenOn.DEAD, Returned(), 0),
        (ThenOn.ANY, Failed("no", code="http.500"), 1),
        (ThenOn.ANY, Returned(), 1),
    ],
)
def test_then_job_runs_after_the_ends_that_its_rule_names(
    world: World, on: ThenOn, outcome: Outcome, runs: int
) -> None:
    add(world, "report")
    add(world, "etl", after("report", on), expression=AT)
    world.caller.answer = lambda call: outcome if call.job.id == "etl" else Returned()
    world.until(NOON + 180)
    assert len(world.runs("report")) == runs


def test_then_job_runs_after_a_cancelled_run_only_with_any(world: World) -> None:
    for name in ("always", "report"):
        add(world, name)
    add(world, "etl", after("always", ThenOn.ANY), after("report"), after("report", ThenOn.DEAD), expression=AT)
    world.tell(world.queued_about("etl", 120, MessageKind.CANCEL, reason="cancelled"))
    world.until(NOON + 180)
    assert only(world, "etl").state is RunState.CANCELLED
    assert (len(world.runs("always")), len(world.runs("report"))) == (1, 0)


def test_then_job_runs_once_however_often_the_end_is_handled(world: World) -> None:
    add(world, "report")
    add(world, "etl", after("report"), after("report", ThenOn.ANY), expression=AT)
    with world.faulty("wheel", send=lost(OSError("no answer"), times=1, when=lambda sent: _is_of(sent, "report"))):
        world.until(NOON + 900)
    assert only(world, "report").state is RunState.SUCCEEDED
    assert [run for run in world.caller.runs if run.startswith("report")] == [only(world, "report").run_id]


@pytest.mark.parametrize("fault", [failing, lost])
@pytest.mark.parametrize(("store", "write"), [("inputs", "put"), ("wheel", "send")])
def test_then_job_runs_once_if_the_worker_dies_at_any_write(
    tables: Tables, store: str, write: str, fault: Callable[..., Fault]
) -> None:
    world = Mortal(tables)
    add(world, "report")
    add(world, "etl", after("report"), expression=AT)
    world.until(NOON + 110)
    death = fault(Killed(), times=1, when=lambda *given: store == "inputs" or _is_of(given[0], "report"))
    with world.faulty(store, **{write: death}):
        world.until(NOON + 900)
    assert death.hits == 1
    assert (only(world, "etl").state, only(world, "report").state) == (RunState.SUCCEEDED, RunState.SUCCEEDED)
    assert len([run for run in world.caller.runs if run.startswith("report")]) == 1


def test_then_job_runs_although_its_first_start_was_refused(world: World) -> None:
    add(world, "report")
    add(world, "etl", after("report"), expression=AT)
    with world.faulty("inputs", put=failing(OSError("throttled"), times=1)):
        world.until(NOON + 900)
    assert only(world, "report").state is RunState.SUCCEEDED


def test_then_job_runs_again_after_a_redrive(world: World) -> None:
    add(world, "report")
    add(world, "etl", after("report", ThenOn.ANY), expression=AT)
    world.caller.answer = lambda call: Failed("no", code="http.500") if call.job.id == "etl" else Returned()
    world.until(NOON + 180)
    world.caller.answer = lambda call: Returned()
    dead = only(world, "etl")
    try:
        world.api.commands.redrive(dead.tenant, dead.run_id, "ann")
    except NotDeadError:
        raise AssertionError("the run is not dead") from None
    world.until(NOON + 600)
    assert only(world, "etl").state is RunState.SUCCEEDED
    assert len(world.runs("report")) == 2


def test_then_chain_of_jobs_that_start_each_other_ends(world: World) -> None:
    add(world, "pong", after("ping"))
    add(world, "ping", after("pong"), expression=AT)
    world.until(NOON + 3600)
    assert len(world.runs("ping")) + len(world.runs("pong")) == MAX_CHAIN + 1
    refused = [event for report in world.reports for event in report.events if event.action == "successor_refused"]
    assert [event.facts["reason"] for event in refused] == [
        "16 runs have followed one another, or 1000 have followed one run"
    ]
    assert sum(report.counts["SuccessorsRefused"] for report in world.reports) == 1


def test_then_jobs_that_start_several_others_do_not_multiply(world: World) -> None:
    names = [f"job-{number}" for number in range(10)]
    for name in names:
        others = [after(other) for other in names if other != name]
        add(world, name, *others, expression=AT if name == "job-0" else "", overlap=Overlap.ALLOW)
    world.until(NOON + 3600)
    assert sum(len(world.runs(name)) for name in names) == 1 + 9 + 81 + 729 <= MAX_FOLLOWING + 1
    assert "successor_refused" in [event.action for report in world.reports for event in report.events]


def test_then_job_that_does_not_exist_is_reported(world: World) -> None:
    add(world, "etl", after("report"), expression=AT)
    world.until(NOON + 180)
    assert only(world, "etl").state is RunState.SUCCEEDED
    refused = [event for report in world.reports for event in report.events if event.action == "successor_refused"]
    assert [event.facts["reason"] for event in refused] == ["there is no job report"]


def test_then_job_gets_a_large_result_from_the_store_of_results(world: World) -> None:
    add(world, "report")
    add(world, "etl", after("report"), expression=AT)
    payloads = answering_large(world)
    world.until(NOON + 180)
    received = payloads["report"]
    assert isinstance(received, dict)
    assert received["result"] == {"text": "x" * 5000}


def test_then_jobs_share_the_room_for_a_large_result(world: World) -> None:
    """A result is copied into the payload of each run that starts, so their number must not multiply its size."""
    names = [f"report-{number}" for number in range(3)]
    for name in names:
        add(world, name)
    add(world, "etl", *map(after, names), expression=AT)
    payloads = answering_large(world, MAX_RESULT_BYTES // 2)
    world.until(NOON + 180)
    received = payloads[names[0]]
    assert isinstance(received, dict)
    assert (received["result"], received["result_bytes"] > MAX_RESULT_BYTES // 2) == (None, True)


def test_then_job_runs_although_its_start_was_refused_until_the_message_was_replaced(world: World) -> None:
    add(world, "report")
    add(world, "etl", after("report", ThenOn.ANY), expression=AT)
    world.until(NOON + 110)
    with world.faulty("inputs", put=failing(OSError("throttled"))):
        world.until(NOON + 3 * 3600)
    world.until(world.clock.now() + 900)
    assert only(world, "report").state is RunState.SUCCEEDED


def test_then_job_of_a_run_that_the_reconciler_finds_gets_its_large_result(tables: Tables) -> None:
    world = Mortal(tables)
    add(world, "report")
    add(world, "etl", after("report"), expression=AT)
    payloads = answering_large(world)
    world.until(NOON + 110)
    with world.faulty("inputs", put=failing(Killed())):
        world.until(NOON + 4800)
    world.reconcile()
    world.until(world.clock.now() + 900)
    assert only(world, "report").state is RunState.SUCCEEDED
    received = payloads["report"]
    assert isinstance(received, dict)
    assert received["result"] == {"text": "x" * 5000}


def test_then_job_announces_its_own_missed_deadline(world: World) -> None:
    add(world, "report", finish_by=60, completion=Completion.CALLBACK, completion_seconds=3600)
    add(world, "etl", after("report"), expression=AT)
    world.until(NOON + 900)
    assert world.count("DeadlinesMissed") == 1


def test_then_rules_of_a_step_start_nothing(world: World) -> None:
    """A step does not belong to a chain: a loop through a workflow would have no end."""
    run = only_run(world)
    step = replace(run, identity=replace(run.identity, workflow="night@1"))
    assert successors_of(step, job(id="etl", then=(after("report"),))) == []


def answering_large(world: World, size: int = 5000) -> dict[str, object]:
    """The payloads of the jobs whose calls will get a large response."""
    payloads: dict[str, object] = {}

    def answer(call: Call) -> Outcome:
        payloads[call.job.id] = call.job.payload
        return Returned({"text": "x" * size})

    world.caller.answer = answer
    return payloads


def only_run(world: World) -> Succeeded:
    add(world, "etl", expression=AT)
    world.until(NOON + 180)
    run = only(world, "etl")
    assert isinstance(run, Succeeded)
    return run


def _is_of(sent: object, job_id: str) -> bool:
    return isinstance(sent, list) and any(each.message.job_id == job_id for each in sent)
