"""A cursor, a record or an hour that holds a round up costs nobody else anything."""

from __future__ import annotations

import pytest

from duecourse.domain.jobs.policies import MissedMode, MissedPolicy
from tests.support.jobs import NOON, job
from tests.support.tables import Tables
from tests.support.world import World


@pytest.fixture
def world(tables: Tables) -> World:
    return World(tables)


def test_a_cursor_that_an_older_version_put_back_with_its_error_is_quarantined_again(world: World) -> None:
    world.add(job("* * * * *", id="broken"))
    key = {"PK": {"S": "JOB#default#broken"}, "SK": {"S": "CURSOR"}}
    world.tables.client.update_item(
        TableName=world.tables.jobs,
        Key=key,
        UpdateExpression="SET #error = :error",
        ExpressionAttributeNames={"#error": "error"},
        ExpressionAttributeValues={":error": {"S": "no such zone"}},
    )
    report = world.dispatch()
    assert (report.counts["CursorsSetAside"], report.counts["Enqueued"], report.counts["ClaimsLost"]) == (1, 0, 0)
    assert "slot" not in world.tables.client.get_item(TableName=world.tables.jobs, Key=key)["Item"]


@pytest.mark.parametrize(
    "rules",
    [
        '{"expression":5,"missed":{"mode":"skip","grace_seconds":60,"max_missed":1}}',
        '{"expression":"* * * * *","jitter_seconds":"5","missed":{"mode":"skip","grace_seconds":60,"max_missed":1}}',
        '{"expression":"* * * * *","missed":{"mode":"skip","grace_seconds":"a","max_missed":1}}',
        '{"expression":"* * * * *","exclude":[7],"missed":{"mode":"skip","grace_seconds":60,"max_missed":1}}',
        '{"expression":"* * * * *","timezone":5,"missed":{"mode":"skip","grace_seconds":60,"max_missed":1}}',
    ],
)
def test_a_cursor_of_wrong_types_is_quarantined_and_blocks_nobody(world: World, rules: str) -> None:
    world.add(job("rate(10 seconds)", id="good"))
    world.add(job("rate(10 seconds)", id="bad"))
    world.tables.client.update_item(
        TableName=world.tables.jobs,
        Key={"PK": {"S": "JOB#default#bad"}, "SK": {"S": "CURSOR"}},
        UpdateExpression="SET #rules = :rules",
        ExpressionAttributeNames={"#rules": "rules"},
        ExpressionAttributeValues={":rules": {"S": rules}},
    )
    world.until(NOON + 200)
    assert [second for second, _ in world.states("good")] == list(range(10, 201, 10))
    assert world.count("CursorsSetAside") == 1


def test_a_round_that_runs_out_of_time_among_empty_hours_goes_on_from_there(world: World) -> None:
    world.clock.set(NOON + 400 * 86_400)
    store = world.cursors

    class Slow:
        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

        def due(self, slot: str, until: float) -> object:
            world.clock.advance(0.05)
            return store.due(slot, until)

    before = world.cursors.watermark(0)
    world.dispatch(Slow())  # type: ignore[arg-type]
    after = world.cursors.watermark(0)
    assert before is not None
    assert after is not None
    assert before < after < "2027-12-26"


def test_the_claims_of_other_jobs_are_made_where_the_records_of_one_cannot_be_read(world: World) -> None:
    for name in ("a", "b", "c"):
        world.add(job("*/5 * * * *", id=name, missed=MissedPolicy(MissedMode.SKIP)))
    world.clock.set(NOON + 3600)
    store = world.run_store

    class Failing:
        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

        def between(self, tenant: str, job_id: str, *window: int, **how: bool) -> object:
            if job_id == "a":
                raise OSError("no")
            return store.between(tenant, job_id, *window, **how)  # type: ignore[arg-type]

    def skipped() -> list[int]:
        return [len([run for run in world.runs(name) if run.count > 1]) for name in ("a", "b", "c")]

    world.run_store = Failing()  # type: ignore[assignment]
    assert world.dispatch().counts["ClaimsDeferred"] == 1
    world.run_store = store
    assert skipped() == [0, 1, 1]
    world.dispatch()
    assert skipped() == [1, 1, 1]
