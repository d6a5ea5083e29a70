"""The shard count is raised while jobs fire and are created and edited: no occurrence is lost, doubled or late."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from random import Random

import pytest

from duecourse.domain.ids import RunName, parse_run_id
from duecourse.domain.jobs.cursor import BUCKET_SECONDS, bucket_of, shard_of
from duecourse.domain.jobs.job import Backoff, Job, MissedMode, MissedPolicy, Overlap, RetryPolicy
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.ports import Call
from tests.support.jobs import NOON, cursor, job
from tests.support.raised import FUNCTIONS, RaisedWorld
from tests.support.tables import Tables
from tests.support.world import Killed, dying

A_TICK = 60
RETRY_SECONDS = 960  # longer than a queue holds a message back: the next attempt waits in the due index


def firing(period: str, number: int, world: RaisedWorld) -> Job:
    return job(f"rate({period})", id=f"job-{number}", at=world.clock.now(), overlap=Overlap.ALLOW)


def instants(made: Job, end: float) -> Iterator[int]:
    """All occurrences of a job through `end`."""
    occurrences = cursor(made).occurrences()
    at = occurrences.next(int(made.created_at))
    while at is not None and at <= end:
        yield at
        at = occurrences.next(at)


def late(world: RaisedWorld) -> dict[str, float]:
    """The runs whose first attempt came too early, or more than a tick late."""
    lateness = {name: at - parse_run_id(name).occurrence for name, attempt, at in world.caller.calls if attempt == 1}
    return {name: seconds for name, seconds in lateness.items() if not 0 <= seconds <= A_TICK}


def first_attempt_fails(call: Call) -> Outcome:
    return Failed("not yet") if call.run.job_id == "retried" and call.run.attempt == 1 else Returned("fine")


@pytest.mark.parametrize(
    ("order", "seed"),
    [
        (("api", "dispatch", "execute", "tick"), 1),
        pytest.param(("tick", "execute", "dispatch", "api"), 2, marks=pytest.mark.extended),
        pytest.param(("dispatch", "tick", "api", "execute"), 3, marks=pytest.mark.extended),
    ],
)
def test_shard_count_raised_twice_under_load_causes_no_lost_duplicate_or_late_occurrence(
    tables: Tables, order: tuple[str, ...], seed: int
) -> None:
    chance = Random(seed)
    world = RaisedWorld(tables, shards=2, chance=chance)
    world.caller.answer = first_attempt_fails
    for shard in range(4, 16):  # those from 2 on begin from nothing, which takes 168 queries each
        world.cursors.advance_watermark(shard, bucket_of(NOON - 2 * BUCKET_SECONDS))
    retry = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=RETRY_SECONDS, max_seconds=RETRY_SECONDS)
    made = [world.create(firing(period, n, world)) for n, period in enumerate(["10 seconds"] * 2 + ["1 minute"] * 4)]
    world.create(job("at(2026-11-21T12:01:00)", id="retried", at=NOON, retry=retry))
    slowly, quickly = world.updates(4, order, minutes=2), world.updates(16, order, minutes=1)
    for minute, _ in enumerate(chain([None] * 2, slowly, quickly, [None] * 5)):
        world.until(NOON + 60 * minute + 20)
        made.append(world.create(firing("1 minute", len(made), world)))
        world.until(NOON + 60 * minute + 50)
        world.rename(chance.choice(made).id, f"renamed in minute {minute}")
    end = world.clock.now()
    assert (len(world.ticked[0]), len(world.ticked[-1])) == (2, 16)
    assert len({shard_of("default", each.id, 16) for each in made}) > 8
    expected = [RunName(each.id, at) for each in made for at in instants(each, end)]
    called = [name for name, _, _ in world.caller.calls if not name.startswith("retried")]
    assert sorted(called) == sorted(map(str, expected))
    assert late(world) == {}
    first, second = [at for name, _, at in world.caller.calls if name.startswith("retried")]
    assert RETRY_SECONDS <= second - first <= RETRY_SECONDS + A_TICK


@pytest.mark.parametrize("updated", [("api",), ("dispatch",), ("api", "dispatch", "execute")])
def test_shard_count_reverted_before_any_tick_still_fires_jobs_written_with_the_larger_count(
    tables: Tables, updated: tuple[str, ...]
) -> None:
    world = RaisedWorld(tables, shards=2, chance=Random(1))
    kept = [world.create(firing("1 minute", number, world)) for number in range(4)]
    world.until(NOON + 30)
    for function in updated:
        world.running[function] = (8,)
    made = [world.create(firing("1 minute", number, world)) for number in range(4, 12)]
    for each in kept:
        world.rename(each.id, "renamed")
    world.until(NOON + 90)
    for function in FUNCTIONS:
        world.running[function] = (2,)  # the deployment failed and was rolled back
    end = NOON + 9 * 60
    world.until(end)
    assert max(shard_of("default", each.id, 8) for each in (*kept, *made)) >= 2
    expected = [RunName(each.id, at) for each in (*kept, *made) for at in instants(each, end)]
    assert sorted(world.caller.runs) == sorted(map(str, expected))
    assert late(world) == {}


def test_shard_count_raised_during_an_interrupted_catch_up_does_not_stop_it(tables: Tables) -> None:
    world = RaisedWorld(tables, shards=1, chance=Random(1))
    patient = MissedPolicy(MissedMode.RUN_ALL, grace_seconds=86_400)
    made = world.create(replace(firing("1 minute", 2, world), missed=patient))
    assert shard_of("default", made.id, 16) != 0
    world.clock.advance(5 * 3600)  # nothing dispatches for five hours, and a count is raised that was used before
    for shard in range(1, 16):
        world.cursors.advance_watermark(shard, bucket_of(world.clock.now() - 2 * BUCKET_SECONDS))
    for function in FUNCTIONS:
        world.running[function] = (16,)
    world.settings = replace(world.settings, shards=16)
    with pytest.raises(Killed):
        world.dispatch(dying(world.cursors, after=True))  # a hundred claimed of three hundred
    end = world.clock.now() + 3 * 60
    world.until(end)
    expected = [RunName(made.id, at) for at in instants(made, end)]
    assert sorted(set(world.caller.runs)) == sorted(map(str, expected))
