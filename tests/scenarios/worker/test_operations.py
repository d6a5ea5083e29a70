"""Operations: many runs are redriven or cancelled, whatever happens to their messages and workers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.operations import (
    CANCELLED_IN_ORDER,
    LASTS_SECONDS,
    MAX_RUNNING,
    STALLED_SECONDS,
    Omission,
    Operation,
    OperationKind,
    OperationState,
)
from duecourse.domain.runs.states import Dead, RunState
from duecourse.domain.targets.targets import Failed
from duecourse.ports import NoAnswerError, StoreBusyError
from duecourse.testing.faults import around, before, lost
from duecourse.usecases.runs.operations import OperationEndedError, OperationQuotaError, Operations
from duecourse.usecases.runs.requests import Later, RunRequest
from tests.support.jobs import NOON, cursor, job
from tests.support.runs import run
from tests.support.unreadable import write_by_a_newer_release
from tests.support.world import Killed, World

DEAD = 7


def operations_of(world: World) -> Operations:
    return world.api.operations


def add_job(world: World, job_id: str = "report", tags: tuple[str, ...] = ()) -> Job:
    made = replace(job("0 0 1 1 *", id=job_id, at=NOON - 7200), tags=tags)
    assert world.jobs.create(made, cursor(made))
    return made


def add_runs(world: World, of: Job, count: int, state: RunState = RunState.DEAD, first: int = 0) -> None:
    for number in range(first, first + count):
        at = NOON - 4000 + 10 * number
        times = {"finished_at": at} if state is RunState.DEAD else {}
        assert world.run_store.write(run(of, state, after=-5000 + number, **times), None) is None


def start(world: World, kind: OperationKind = OperationKind.REDRIVE, **chosen: Any) -> Operation:
    states = (RunState.DEAD,) if kind is OperationKind.REDRIVE else CANCELLED_IN_ORDER
    given: dict[str, Any] = {"by": "ann", "tags": None, "request": None, "states": states, "per_minute": 24} | chosen
    return operations_of(world).create(operations_of(world).draft("default", kind, **given))


def now(world: World, operation: Operation) -> Operation:
    return operations_of(world).get("default", operation.id)


def sent(world: World) -> list[str]:
    """The runs to which commands were sent, in order. Workers forward some of the messages."""
    messages = [each.message for each in world.wheel.sent if not each.message.replaces]
    return [str(each.name) for each in messages if each.kind in ("redrive", "cancel")]


def later(world: World, seconds: float) -> None:
    """Let time pass, in which killed workers return their messages."""
    end = world.clock.now() + seconds
    while True:
        following = world.wheel.next_visible
        world.clock.set(min(end, max(following or end, world.clock.now())))
        while (held := world.wheel.receive()) is not None:
            try:
                world.handle(held)
            except Killed:
                world.wheel.put_back(held)
        if world.clock.now() >= end:
            return


def test_operations_redrive_every_dead_run_once_newest_first_at_their_pace(world: World) -> None:
    made = add_job(world)
    add_runs(world, made, DEAD)
    operation = start(world)
    names = [str(each.name) for each in reversed(world.runs("report"))]
    later(world, 8)
    first = now(world, operation)
    assert (first.state, first.done) == (OperationState.RUNNING, 2)
    assert first.searched_to is not None
    later(world, 30)
    ended = now(world, operation)
    assert (ended.state, ended.done, ended.refused, ended.skipped) == (OperationState.SUCCEEDED, DEAD, 0, {})
    assert sent(world) == names
    assert [state for _, state in world.states("report")] == [RunState.SUCCEEDED] * DEAD


def test_operations_do_not_redrive_runs_again_that_die_again(world: World) -> None:
    world.caller.answer = lambda _: Failed("still broken", forbidden=True)
    made = add_job(world)
    add_runs(world, made, DEAD)
    operation = start(world)
    later(world, 300)
    assert (now(world, operation).state, now(world, operation).done) == (OperationState.SUCCEEDED, DEAD)
    assert len(sent(world)) == DEAD
    assert {state for _, state in world.states("report")} == {RunState.DEAD}


def test_operations_discard_every_dead_run_with_the_note(world: World) -> None:
    made = add_job(world)
    add_runs(world, made, DEAD)
    operation = start(world, OperationKind.DISCARD, states=(RunState.DEAD,), note="an outage")
    assert operations_of(world).estimate(operation).runs == DEAD
    later(world, 60)
    ended = now(world, operation)
    assert (ended.state, ended.done, ended.skipped) == (OperationState.SUCCEEDED, DEAD, {})
    discards = [run.discard for run in world.runs("report")]
    assert [each and (each.discarded_by, each.discard_note) for each in discards] == [("ann", "an outage")] * DEAD
    assert operations_of(world).estimate(operation).runs == 0
    assert sent(world) == []


def test_operations_do_not_discard_runs_that_are_redriven_meanwhile(world: World) -> None:
    made = add_job(world)
    add_runs(world, made, 2)
    dead = [run for run in world.runs("report") if isinstance(run, Dead)]
    world.api.commands.redrive("default", str(dead[0].name), "bob")
    later(world, 5)
    found = world.api.commands.send_many(OperationKind.DISCARD, dead, by="ann", note="an outage")
    assert (found.sent, found.skipped) == (1, {Omission.NOT_DEAD: 1})
    assert [state for _, state in world.states("report")].count(RunState.DEAD) == 1


def test_operations_do_not_discard_runs_that_die_again_meanwhile(world: World) -> None:
    made = add_job(world)
    add_runs(world, made, 1)
    operation = start(world, OperationKind.DISCARD, states=(RunState.DEAD,))

    def again() -> None:
        (dead,) = world.runs("report")
        assert isinstance(dead, Dead)
        died = replace(dead, finished_at=dead.finished_at + 5000, fencing_token="another")
        assert world.run_store.write(died, dead) is None

    with world.faulty("run_store", write=before(again, times=1)):
        later(world, 60)
    (run,) = world.runs("report")
    assert isinstance(run, Dead)
    assert run.discard is None
    assert (now(world, operation).done, now(world, operation).skipped) == (0, {Omission.NOT_DEAD: 1})


def test_operations_discard_of_one_run_that_dies_again_meanwhile_can_be_repeated(world: World) -> None:
    add_runs(world, add_job(world), 1)
    (dead,) = world.runs("report")
    assert isinstance(dead, Dead)
    died = replace(dead, finished_at=NOON, fencing_token="another")
    act = before(lambda: world.run_store.write(died, dead), times=1)
    with world.faulty("run_store", write=act), pytest.raises(StoreBusyError):
        world.api.commands.discard("default", str(dead.name), "an outage", "ann")
    assert world.runs("report") == [died]
    assert world.api.commands.discard("default", str(dead.name), "an outage", "ann").finished_at == NOON


def test_operations_discard_without_a_response_is_found_to_be_made(world: World) -> None:
    made = add_job(world)
    add_runs(world, made, 1)
    (run,) = world.runs("report")
    real = world.run_store._tables
    world.run_store._tables = around(real, write=lost(NoAnswerError("lost")))
    discarded = world.api.commands.discard("default", str(run.name), "an outage", "ann")
    world.run_store._tables = real
    assert world.runs("report") == [discarded]


def test_operations_cancel_delayed_runs_of_all_jobs_in_several_pages(world: World) -> None:
    for name in ("remind", "report"):
        made = add_job(world, name)
        for number in range(4):
            request = RunRequest("key:a", f"{name}-{number}")
            world.api.manual.run(made, request, None, Later(delay_seconds=3600 * (number + 1)))
    operation = start(world, OperationKind.CANCEL, states=(RunState.QUEUED,), per_minute=600)
    assert operations_of(world).estimate(operation).runs == 8
    later(world, 60)
    ended = now(world, operation)
    assert (ended.state, ended.done) == (OperationState.SUCCEEDED, 8)
    later(world, 5 * 3600)
    assert {state for name in ("remind", "report") for _, state in world.states(name)} == {RunState.CANCELLED}
    assert world.caller.runs == []


def test_operations_limit_is_the_number_of_runs_that_are_handled(world: World) -> None:
    add_runs(world, add_job(world), DEAD)
    operation = start(world, limit=3)
    later(world, 60)
    assert (now(world, operation).state, now(world, operation).done) == (OperationState.SUCCEEDED, 3)


def test_operations_cancel_waiting_runs_before_active_ones(world: World) -> None:
    made = add_job(world)
    add_runs(world, made, 2, RunState.RETRYING)
    add_runs(world, made, 2, RunState.WAITING, first=2)
    operation = start(world, OperationKind.CANCEL, per_minute=None)
    later(world, 30)
    assert (now(world, operation).state, now(world, operation).done) == (OperationState.SUCCEEDED, 4)
    kinds = [each.message.identity.occurrence - int(NOON) for each in world.wheel.sent]
    assert kinds[:4] == [-4999, -5000, -4997, -4998]


def test_operations_cancel_runs_of_one_job_with_those_that_are_enqueued(world: World) -> None:
    made = replace(job("rate(60 seconds)", id="often", at=NOON - 60), payload=None)
    world.add(made)
    world.until(NOON + 90)
    operation = start(world, OperationKind.CANCEL, job_id="often", states=(RunState.QUEUED,), per_minute=None)
    later(world, 20)
    found = now(world, operation)
    assert found.state is OperationState.SUCCEEDED
    assert found.done >= 3
    later(world, 200)
    assert RunState.CANCELLED in {state for _, state in world.states("often")}


def test_operations_do_not_cancel_active_runs_that_came_due_after_their_creation(world: World) -> None:
    made = add_job(world)
    operation = start(world, OperationKind.CANCEL, states=(RunState.RETRYING,), per_minute=None)
    assert world.run_store.write(run(made, RunState.RETRYING, after=1), None) is None
    later(world, 30)
    assert (now(world, operation).state, now(world, operation).done) == (OperationState.SUCCEEDED, 0)


def test_operations_skip_runs_out_of_the_creators_scope(world: World) -> None:
    add_runs(world, add_job(world, "ours", ("billing",)), 2)
    add_runs(world, add_job(world, "theirs", ("reports",)), 2)
    operation = start(world, tags=frozenset({"billing", "audit"}))
    later(world, 60)
    found = now(world, operation)
    assert (found.done, found.skipped) == (2, {Omission.OUT_OF_SCOPE: 2})
    assert {name.partition(".")[0] for name in sent(world)} == {"ours"}


def test_operations_skip_runs_of_a_job_that_this_release_cannot_read(world: World) -> None:
    add_runs(world, add_job(world, "newer"), 2)
    add_runs(world, add_job(world, "ours"), 2)
    write_by_a_newer_release(world.tables, "newer")
    operation = start(world)
    later(world, 60)
    found = now(world, operation)
    assert (found.state, found.done, found.skipped) == (OperationState.SUCCEEDED, 2, {Omission.JOB_UNREADABLE: 2})
    assert {name.partition(".")[0] for name in sent(world)} == {"ours"}


def test_operations_check_the_tags_of_the_present_and_not_of_the_creation(world: World) -> None:
    made = add_job(world, "ours", ("billing",))
    add_runs(world, made, 6)
    operation = start(world, tags=frozenset({"billing"}))
    later(world, 6)
    standing = world.jobs.get("default", "ours")
    assert standing is not None
    world.office.edit("ours", tags=("reports",))
    later(world, 60)
    assert (now(world, operation).state, now(world, operation).done) == (OperationState.SUCCEEDED, 2)


def test_operations_cancelled_operation_handles_no_further_page_and_counts_the_one_in_progress(world: World) -> None:
    add_runs(world, add_job(world), DEAD)
    operation = start(world)
    later(world, 6)

    def cancelling(real: Callable[..., Any], *given: Any) -> Any:
        operations_of(world).cancel(now(world, operation))
        return real(*given)

    store = world.jobs.operations
    world.jobs.operations = around(store, handle=once(cancelling))
    later(world, 60)
    found = now(world, operation)
    assert (found.state, found.done, len(sent(world))) == (OperationState.CANCELLED, 4, 4)
    assert operations_of(world).cancel(found) == found


def test_operations_that_have_ended_cannot_be_cancelled(world: World) -> None:
    operation = start(world)
    later(world, 10)
    with pytest.raises(OperationEndedError):
        operations_of(world).cancel(now(world, operation))


def once(act: Callable[..., Any]) -> Callable[..., Any]:
    calls: list[None] = []

    def called(real: Callable[..., Any], *given: Any, **named: Any) -> Any:
        calls.append(None)
        return act(real, *given, **named) if len(calls) == 1 else real(*given, **named)

    return called


@contextmanager
def killing(world: World, call: int, *, after: bool) -> Iterator[list[str]]:
    """The worker of operations dies before or after its n-th call. Yields the names of the calls."""
    calls: list[str] = []

    def at(name: str) -> Callable[..., Any]:
        def called(real: Callable[..., Any], *given: Any, **named: Any) -> Any:
            calls.append(name)
            dies = len(calls) == call
            if dies and not after:
                raise Killed
            answer = real(*given, **named)
            if dies:
                raise Killed
            return answer

        return called

    store, wheel, runs = world.jobs.operations, world.wheel, world.run_store
    world.jobs.operations = around(store, get=at("get"), handle=at("handle"))
    world.run_store = around(runs, search=at("search"))
    world.wheel.send = _sending(wheel, at("send"))  # type: ignore[method-assign]
    yield calls
    world.jobs.operations, world.run_store = store, runs
    del world.wheel.send  # type: ignore[attr-defined]


def _sending(wheel: Any, act: Callable[..., Any]) -> Callable[..., Any]:
    real = wheel.send
    return lambda outgoing: act(real, outgoing)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("call", range(1, 16))
def test_operations_continue_when_their_worker_dies_at_any_call(world: World, call: int, after: bool) -> None:
    world.caller.answer = lambda _: Failed("still broken", forbidden=True)
    add_runs(world, add_job(world), 5)
    operation = start(world)
    with killing(world, call, after=after) as calls:
        later(world, 1500)
    assert len(calls) >= 15
    found = now(world, operation)
    assert found.state is OperationState.SUCCEEDED
    assert found.done in (3, 5)  # a page of two whose commands were sent, and whose progress was not stored
    assert [(run.state, run.attempt) for run in world.runs("report")] == [(RunState.DEAD, 3)] * 5


@pytest.mark.parametrize("call", range(1, 5))
def test_operations_continue_when_the_response_to_a_write_is_lost(world: World, call: int) -> None:
    add_runs(world, add_job(world), 5)
    operation = start(world)
    written: list[None] = []

    def losing(*_: Any) -> bool:
        written.append(None)
        return len(written) == call

    real = world.jobs._tables
    world.jobs.operations._tables = around(real, write=lost(NoAnswerError("lost"), when=losing))
    later(world, 600)
    assert (now(world, operation).state, now(world, operation).done) == (OperationState.SUCCEEDED, 5)
    assert len(sent(world)) == 5


def test_operations_message_that_arrives_twice_does_not_double_the_progress(world: World) -> None:
    add_runs(world, add_job(world), 5)
    operation = start(world)
    real = world.wheel.send

    def doubled(outgoing: Any) -> list[bool]:
        operating = [each for each in outgoing if each.message.tenant and hasattr(each.message, "operation")]
        return real([*outgoing, *operating])[: len(outgoing)]

    world.wheel.send = doubled  # type: ignore[method-assign]
    later(world, 120)
    assert (now(world, operation).state, now(world, operation).done) == (OperationState.SUCCEEDED, 5)
    assert len(sent(world)) == 5


def test_operations_message_without_an_operation_is_dropped(world: World) -> None:
    operation = operations_of(world).draft(
        "default", OperationKind.REDRIVE, by="ann", tags=None, request=None, states=(RunState.DEAD,)
    )
    world.jobs.operations = around(world.jobs.operations, create=lambda *_: (_ for _ in ()).throw(Killed()))
    with pytest.raises(Killed):
        operations_of(world).create(operation)
    later(world, 120)
    assert len(world.wheel) == 0
    assert world.wheel.dead_letters == []


def test_operations_written_after_their_message_arrived_start_anyway(world: World) -> None:
    add_runs(world, add_job(world), 2)
    store = world.jobs.operations
    world.jobs.operations = around(store, create=once(lambda real, *given: (later(world, 25), real(*given))[1]))
    operation = start(world)
    later(world, 60)
    assert (now(world, operation).state, now(world, operation).done) == (OperationState.SUCCEEDED, 2)


def test_operations_wait_while_the_queues_accept_nothing(world: World) -> None:
    add_runs(world, add_job(world), 2)
    operation = start(world)
    world.wheel.refuse = lambda _: True
    later(world, 50)
    assert now(world, operation).done == 0
    world.wheel.refuse = lambda _: False
    later(world, 60)
    assert (now(world, operation).state, now(world, operation).done) == (OperationState.SUCCEEDED, 2)


def test_operations_of_a_tenant_are_limited_and_ended_ones_make_room(world: World) -> None:
    first = start(world)
    for _ in range(MAX_RUNNING - 1):
        start(world)
    with pytest.raises(OperationQuotaError):
        start(world)
    operations_of(world).cancel(first)
    start(world)
    later(world, 60)
    start(world)


def test_operations_that_die_hold_their_place_no_longer_than_a_day(world: World) -> None:
    for _ in range(MAX_RUNNING):
        start(world)
    world.wheel.empty()
    world.clock.set(NOON + LASTS_SECONDS)
    shown = [each.shown_state(world.clock.now())[0] for each in operations_of(world).all("default")]
    assert shown == [OperationState.FAILED] * MAX_RUNNING
    start(world)


def test_operations_in_the_dead_letter_queue_have_stalled_until_they_are_redriven_or_over(world: World) -> None:
    add_runs(world, add_job(world), 2)
    operation = start(world)
    world.jobs.operations, store = around(world.jobs.operations, get=broken), world.jobs.operations
    later(world, 3 * STALLED_SECONDS)
    world.jobs.operations = store
    assert len(world.wheel.dead_letters) == 1
    state, reason = now(world, operation).shown_state(world.clock.now())
    assert state is OperationState.FAILED
    assert "dead-letter queue" in (reason or "")
    report = world.reconcile()
    assert (report.counts["DeadLettersKept"], report.counts["DeadLettersUnreadable"]) == (1, 0)
    world.wheel.redrive()
    later(world, 60)
    assert (now(world, operation).state, now(world, operation).done) == (OperationState.SUCCEEDED, 2)


def test_operations_dead_letter_of_the_page_before_continues_them_when_it_is_redriven(world: World) -> None:
    add_runs(world, add_job(world), 4)
    operation = start(world)
    later(world, 4)
    world.wheel.refuse_operations = True  # the page is stored, and the next message is not sent
    later(world, 3 * STALLED_SECONDS)
    world.wheel.refuse_operations = False
    assert (now(world, operation).page, len(world.wheel.dead_letters)) == (1, 1)
    world.wheel.redrive()
    later(world, 60)
    assert (now(world, operation).state, now(world, operation).done) == (OperationState.SUCCEEDED, 4)


def broken(*_: Any) -> Any:
    raise OSError("unavailable")


def test_operations_dead_letter_of_an_ended_operation_is_removed(world: World) -> None:
    operation = start(world)
    later(world, 4)
    (held,) = world.wheel._held
    world.wheel.empty()
    world.wheel.dead_letters.append(held)
    assert world.reconcile().counts["DeadLettersRemoved"] == 0
    operations_of(world).cancel(operation)
    assert world.reconcile().counts["DeadLettersRemoved"] == 1


def test_operations_wait_for_the_tokens_of_their_tenant(world: World) -> None:
    add_runs(world, add_job(world), 20)
    world.settings = replace(world.settings, requests_per_second=2, burst=4)
    operation = start(world, per_minute=6000)
    later(world, 8)
    assert now(world, operation).done <= 8
    later(world, 60)
    assert (now(world, operation).state, now(world, operation).done) == (OperationState.SUCCEEDED, 20)


def test_operations_name_their_creator_in_the_history_of_each_job(world: World) -> None:
    add_runs(world, add_job(world), 2)
    operation = start(world)
    later(world, 30)
    (record,) = world.jobs.history("default", "report", limit=10, before=None).items
    assert (record.principal, record.action) == ("ann", "redriven")
    assert (record.facts["operation"], record.facts["runs"]) == (operation.id, 2)
