"""All attempts of a run are called with one key, whatever becomes of its job in between."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from duecourse.domain.jobs.cursor import cursor_for
from duecourse.domain.jobs.job import Backoff, Job, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import MessageKind
from duecourse.ports import Call
from duecourse.testing.faults import around
from duecourse_schedules import ScheduleSpec
from tests.support.jobs import NOON, job
from tests.support.varied import varied
from tests.support.world import World

HOURLY = "30 * * * *"
DUE = NOON + 1800
NAMED = "20261121T123000Z"
LATER = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=60, max_seconds=60)


@dataclass
class Keys:
    """What the target was given; every call fails."""

    given: list[str] = field(default_factory=list)
    outcome: Outcome = field(default_factory=lambda: Failed("no"))

    def __call__(self, call: Call) -> Outcome:
        self.given.append(call.idempotency_key)
        return self.outcome


@pytest.fixture
def keys(world: World) -> Keys:
    world.caller.answer = keys = Keys()
    return keys


def edited(world: World, **changes: Any) -> Job:
    found, standing = world.jobs.get_both("default", "tick-tock")
    assert found is not None
    assert standing is not None
    now = world.clock.now()
    changed = replace(found, updated_at=now, **changes)
    assert world.jobs.change(found, standing, changed, cursor_for(changed, now))
    return changed


@pytest.mark.parametrize(
    ("before", "changes", "key"),
    [
        ("{{occurrence}}", {"idempotency_key": "other"}, NAMED),
        ("{{occurrence}}", {"idempotency_key": None}, NAMED),
        (None, {"idempotency_key": "other"}, "default/tick-tock.20261121T123000Z"),
        ("day-{{date}}", {"schedule": ScheduleSpec(HOURLY, "Pacific/Kiritimati", anchor=int(NOON))}, "day-2026-11-21"),
    ],
    ids=["another template", "none any more", "the first template", "another zone"],
)
def test_idempotency_key_is_not_changed_by_an_edit_between_two_attempts(
    world: World, keys: Keys, before: str | None, changes: dict[str, Any], key: str
) -> None:
    world.add(job(HOURLY, idempotency_key=before, retry=LATER))
    world.until(DUE + 10)
    edited(world, **changes)
    world.until(DUE + 100)
    assert keys.given == [key, key]


def test_idempotency_key_is_not_changed_by_a_redrive(world: World, keys: Keys) -> None:
    world.add(job(HOURLY, idempotency_key="{{occurrence}}", retry=replace(LATER, max_attempts=1)))
    world.until(DUE + 10)
    (dead,) = world.runs("tick-tock")
    edited(world, idempotency_key="other")
    keys.outcome = Returned()
    world.tell(world.about(dead, MessageKind.REDRIVE))
    assert keys.given == [NAMED] * 2


@pytest.mark.parametrize("again", ["an attempt", "a redrive"])
def test_idempotency_key_of_a_run_started_by_an_older_version_is_kept_after_a_job_change(
    world: World, keys: Keys, again: str
) -> None:
    attempts = 2 if again == "an attempt" else 1
    world.add(job(HOURLY, idempotency_key="{{occurrence}}", retry=replace(LATER, max_attempts=attempts)))
    present = world.run_store
    world.run_store = around(  # as of a version that kept no key in its records
        present, write=lambda real, run, previous: real(varied(run, idempotency_key=None), previous)
    )
    world.until(DUE + 10)
    world.run_store = present
    edited(world, name="The same by another name")
    if again == "a redrive":
        (dead,) = world.runs("tick-tock")
        world.tell(world.about(dead, MessageKind.REDRIVE))
    world.until(DUE + 100)
    assert keys.given == [NAMED, NAMED]


def test_idempotency_key_is_new_for_the_next_run_after_an_edit(world: World, keys: Keys) -> None:
    keys.outcome = Returned()
    world.add(job(HOURLY, idempotency_key="{{occurrence}}"))
    world.until(DUE + 10)
    edited(world, idempotency_key="other")
    world.until(DUE + 3700)
    assert keys.given == [NAMED, "other"]


def test_idempotency_key_that_is_too_long_fails_the_run_permanently_before_a_call(world: World, keys: Keys) -> None:
    world.add(job(HOURLY, idempotency_key="{{run_id}}" * 12, retry=LATER))
    world.until(DUE + 100)
    (dead,) = world.runs("tick-tock")
    assert (dead.state, dead.reason, dead.code) == (RunState.DEAD, "not_retryable", "template_too_large")
    assert keys.given == []
