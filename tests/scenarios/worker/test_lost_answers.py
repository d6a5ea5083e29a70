"""A write whose answer never comes is read back: what was stored counts, whatever the network says."""

from dataclasses import replace

import pytest

from duecourse.domain.jobs.job import Delivery, JobState
from duecourse.domain.runs.states import RunState
from duecourse.stores.tenants import JobCount, part_of, total
from tests.support.client_faults import Fault, FaultyClient, Request
from tests.support.jobs import NOON, job
from tests.support.one_run import AT, the_run
from tests.support.tables import Tables
from tests.support.world import World

pytestmark = pytest.mark.tables


def writes_state(state: RunState) -> object:
    """Whether a request writes a run in that state."""

    def hit(request: Request) -> Fault | None:
        return Fault.ANSWER_LOST if request.asked.get("Item", {}).get("state", {}).get("S") == state else None

    return hit


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.SUCCEEDED])
def test_lost_response_about_the_record_of_an_at_most_once_run_does_not_prevent_its_call(
    tables: Tables, state: RunState
) -> None:
    client = FaultyClient(tables.client)
    world = World(replace(tables, client=client))
    world.add(job(AT, delivery=Delivery.AT_MOST_ONCE))
    client.fault_of = writes_state(state)  # type: ignore[assignment]
    world.until(NOON + 900)
    assert (the_run(world).state, len(world.caller.calls)) == (RunState.SUCCEEDED, 1)
    assert world.count("MessagesFailed") == 0


def test_lost_response_to_every_claim_request_counts_the_claim_as_won(tables: Tables) -> None:
    client = FaultyClient(tables.client)
    world = World(replace(tables, client=client))
    world.add(job("rate(300 seconds)"))
    client.fault_of = lambda request: Fault.ANSWER_LOST if request.operation == "batch_execute_statement" else None
    world.until(NOON + 700)
    assert world.count("ClaimsFailed") == 0
    assert [second for second, _ in world.states("tick-tock")] == [300, 600]
    assert len(world.caller.calls) == 2


def test_lost_response_is_not_assumed_for_a_rejected_claim(tables: Tables) -> None:
    client = FaultyClient(tables.client)
    world = World(replace(tables, client=client))
    world.add(job("rate(300 seconds)"))
    client.fault_of = lambda request: Fault.REFUSED if request.operation == "batch_execute_statement" else None
    world.until(NOON + 130)
    assert world.count("ClaimsWon") == 0
    client.fault_of = lambda _: None
    world.until(NOON + 400)
    assert [second for second, _ in world.states("tick-tock")] == [300]


def lost(request: Request) -> Fault | None:
    return Fault.ANSWER_LOST if request.operation == "transact_write_items" else None


def test_lost_response_to_stocking_the_job_count_does_not_prevent_the_creation_of_a_job(
    tables: Tables,
) -> None:
    def stocking(request: Request) -> Fault | None:
        return lost(request) if len(request.asked.get("TransactItems", ())) == 2 else None

    world = World(replace(tables, client=FaultyClient(tables.client, stocking)))
    world.add(job("rate(300 seconds)"))
    assert total(tables.both(), "default") == 1


def test_lost_response_does_not_prevent_creating_changing_and_deleting_a_job(tables: Tables) -> None:
    World(tables).add(job("rate(300 seconds)", id="before"))
    JobCount(tables.both()).stocked("default", part_of(job()), None)
    client = FaultyClient(tables.client, lost)
    world = World(replace(tables, client=client))
    made = world.add(job("rate(300 seconds)"))
    standing = world.jobs.get_cursor("default", "tick-tock")
    assert standing is not None
    changed = replace(made, name="another", revision=made.revision + 1)
    assert world.jobs.change(made, standing, changed, standing)
    assert world.jobs.get("default", "tick-tock") == changed
    assert world.jobs.delete(changed, deleted_at=NOON + 5)
    assert world.jobs.get("default", "tick-tock") is None


def test_lost_response_to_a_creation_does_not_accept_a_job_created_by_another_caller(tables: Tables) -> None:
    world = World(tables)
    world.add(job("rate(300 seconds)"))
    client = FaultyClient(tables.client, lost)
    unlucky = replace(tables, client=client).job_store(world.clock)
    other = job("rate(60 seconds)", at=NOON + 1)
    standing = world.jobs.get_cursor("default", "tick-tock")
    assert standing is not None
    with pytest.raises(Exception, match="timed out"):
        unlucky.create(other, replace(standing, generation=other.generation))


def test_lost_response_to_a_completion_is_reported_as_success(tables: Tables) -> None:
    client = FaultyClient(tables.client)
    world = World(replace(tables, client=client))
    made = world.add(job(AT))
    client.fault_of = lambda request: Fault.ANSWER_LOST if request.operation == "update_item" else None
    assert world.jobs.complete(made, at=NOON + 130)
    assert world.jobs.get("default", "tick-tock").state is JobState.COMPLETED
