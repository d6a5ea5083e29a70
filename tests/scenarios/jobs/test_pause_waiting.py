"""A pause, and the occurrences that came due before it and had not started: only the resume decides about them."""

from __future__ import annotations

from typing import Any

import pytest

from duecourse.domain.jobs.cursor import PlannedResume
from duecourse.domain.jobs.job import JobState, MissedMode, MissedPolicy, Overlap
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.usecases.jobs.pausing import JobSelection
from tests.support.jobs import NOON, job
from tests.support.wheel import Held
from tests.support.world import World

ALL = MissedPolicy(MissedMode.RUN_ALL, max_missed=100)
START = int(NOON)
RAN = (RunState.SUCCEEDED, None, 1)


def told(world: World) -> list[tuple[int, RunState, str | None, int]]:
    """Second, state, reason and count of each record, oldest first."""
    runs = world.runs("tick-tock")
    return [(run.occurrence - START, run.state, getattr(run, "reason", None), run.count) for run in runs]


def delayed(world: World, *seconds: int) -> list[Held]:
    """Dispatch the first occurrences, and keep the messages of these in a busy lane."""
    world.until(NOON + 65)
    return [held for second in seconds for held in world.wheel.hold_back(second)]


def paused_while_waiting(world: World, missed: MissedPolicy = ALL, **more: Any) -> None:
    """A job is paused while its occurrences of 120 s and 180 s wait in a busy lane, which then delivers them."""
    world.add(job("* * * * *", missed=missed, overlap=Overlap.ALLOW, **more))
    late = delayed(world, 120, 180)
    world.until(NOON + 190)
    world.office.pause()
    world.wheel.give_back(late)
    world.until(NOON + 280)


@pytest.mark.parametrize("seconds", [285, 600])
def test_pause_leaves_occurrences_that_waited_in_a_busy_lane_to_a_resume_with_catch_up(
    world: World, seconds: int
) -> None:
    paused_while_waiting(world)
    world.until(NOON + seconds)
    world.office.resume(catch_up=True)
    world.until(NOON + 720)
    assert told(world) == [(second, *RAN) for second in range(60, 721, 60)]


def test_pause_records_occurrences_that_waited_in_a_busy_lane_as_paused_without_catch_up(world: World) -> None:
    paused_while_waiting(world)
    world.office.resume()
    world.until(NOON + 360)
    assert told(world) == [(60, *RAN), (120, RunState.SKIPPED, "paused", 3), (300, *RAN), (360, *RAN)]


def test_pause_is_followed_by_one_run_for_all_that_waited_with_run_once(world: World) -> None:
    paused_while_waiting(world, MissedPolicy(MissedMode.RUN_ONCE))
    world.until(NOON + 350)
    world.office.resume(catch_up=True)
    world.until(NOON + 360)
    assert told(world) == [(60, *RAN), (120, RunState.SUCCEEDED, None, 3), (300, *RAN), (360, *RAN)]


def test_pause_is_followed_by_one_missed_record_for_all_that_waited_with_skip(world: World) -> None:
    paused_while_waiting(world, MissedPolicy(MissedMode.SKIP))
    world.until(NOON + 350)
    world.office.resume(catch_up=True)
    world.until(NOON + 360)
    assert told(world)[:2] == [(60, *RAN), (120, RunState.SKIPPED, "missed", 3)]


def test_pause_does_not_repeat_runs_between_those_that_waited(world: World) -> None:
    world.add(job("* * * * *", missed=ALL, overlap=Overlap.ALLOW))
    late = delayed(world, 120)
    world.until(NOON + 190)
    world.office.pause()
    world.wheel.give_back(late)
    world.until(NOON + 280)
    world.office.resume(catch_up=True)
    world.until(NOON + 360)
    assert told(world) == [(second, *RAN) for second in range(60, 361, 60)]
    assert len(world.caller.calls) == 6


def test_pause_by_tag_leaves_occurrences_that_waited_to_a_resume_with_catch_up(world: World) -> None:
    world.add(job("* * * * *", missed=ALL, overlap=Overlap.ALLOW, tags=("erp",)))
    late = delayed(world, 120)
    world.until(NOON + 130)
    world.api.pausing.pause_many("default", JobSelection("erp"), by="ada")
    world.wheel.give_back(late)
    world.until(NOON + 190)
    world.api.pausing.resume_many("default", JobSelection("erp"), catch_up=True)
    world.until(NOON + 240)
    assert told(world) == [(second, *RAN) for second in range(60, 241, 60)]


def test_pause_with_an_end_and_catch_up_also_catches_up_what_waited(world: World) -> None:
    world.add(job("* * * * *", missed=ALL, overlap=Overlap.ALLOW))
    late = delayed(world, 120)
    world.until(NOON + 130)
    world.api.pausing.pause("default", "tick-tock", end=PlannedResume(START + 290, catch_up=True))
    world.wheel.give_back(late)
    world.until(NOON + 420)
    assert told(world) == [(second, *RAN) for second in range(60, 421, 60)]


def test_pause_catches_up_runs_that_were_in_the_wait_queue_of_their_job(world: World) -> None:
    """Their records say `paused` until they start after all."""
    hang = [True]
    world.caller.answer = lambda call: Failed("no", retryable=True, retry_after=100.0) if hang else Returned("fine")
    world.add(job("* * * * *", missed=ALL, overlap=Overlap.QUEUE))
    world.until(NOON + 190)
    world.office.pause()
    hang.clear()
    world.until(NOON + 400)
    assert told(world) == [(60, *RAN), (120, RunState.SKIPPED, "paused", 1), (180, RunState.SKIPPED, "paused", 1)]
    world.office.resume(catch_up=True)
    world.until(NOON + 480)
    assert told(world) == [(second, *RAN) for second in range(60, 481, 60)]


def test_pause_counts_occurrences_that_waited_once_towards_max_runs(world: World) -> None:
    paused_while_waiting(world, max_runs=4)
    world.until(NOON + 350)
    world.office.resume(catch_up=True)
    world.until(NOON + 600)
    assert told(world) == [(second, *RAN) for second in (60, 120, 180, 240)]
    assert world.office.job().state is JobState.COMPLETED


def changed_and_paused(world: World, change: str, end: PlannedResume | None = None, **more: Any) -> None:
    """A job is changed and then paused while its occurrence of 120 s waits in a busy lane, which then delivers it."""
    world.add(job("* * * * *", **{"missed": ALL, "overlap": Overlap.ALLOW} | more))
    late = delayed(world, 120)
    world.until(NOON + 130)
    if change == "edited":
        world.office.edit(expression="*/2 * * * *")
    else:
        world.office.pause()
        world.clock.advance(1)
        world.office.resume(catch_up=True)
    world.clock.advance(1)
    world.api.pausing.pause("default", "tick-tock", end=end)
    world.wheel.give_back(late)
    world.until(NOON + 400)


@pytest.mark.parametrize("change", ["edited", "paused"])
def test_pause_leaves_occurrences_of_an_earlier_definition_to_its_end(world: World, change: str) -> None:
    changed_and_paused(world, change)
    assert (120, RunState.SKIPPED, "paused", 1) in told(world)
    assert not world.wheel.hold_back(120)  # no message waits for the resume
    world.office.resume(catch_up=True)
    world.until(NOON + 800)
    assert (120, *RAN) in told(world)
    assert world.caller.runs.count("tick-tock.20261121T120200Z") == 1
    assert not world.jobs.get_cursor("default", "tick-tock").waited


@pytest.mark.parametrize("change", ["edited", "paused"])
def test_pause_skips_occurrences_of_an_earlier_definition_without_catch_up(world: World, change: str) -> None:
    changed_and_paused(world, change)
    world.office.resume()
    world.until(NOON + 430)
    world.office.pause()
    world.office.resume(catch_up=True)  # it catches up only its own pause
    world.until(NOON + 800)
    assert (120, RunState.SKIPPED, "paused", 1) in told(world)


def test_pause_with_an_end_catches_up_occurrences_of_an_earlier_definition(world: World) -> None:
    changed_and_paused(world, "edited", PlannedResume(START + 450, catch_up=True))
    assert (120, RunState.SKIPPED, "paused", 1) in told(world)
    world.until(NOON + 800)
    assert (120, *RAN) in told(world)


@pytest.mark.parametrize(
    ("mode", "reason"), [(MissedMode.SKIP, "missed"), (MissedMode.RUN_ONCE, "superseded"), (MissedMode.RUN_ALL, None)]
)
def test_pause_applies_the_policy_to_occurrences_of_an_earlier_definition(
    world: World, mode: MissedMode, reason: str | None
) -> None:
    changed_and_paused(world, "edited", missed=MissedPolicy(mode))
    world.office.resume(catch_up=True)
    world.until(NOON + 800)
    assert (120, RAN[0] if reason is None else RunState.SKIPPED, reason, 1) in told(world)


def test_pause_catches_up_occurrences_of_an_earlier_definition_by_a_round_if_the_lane_refuses_them(
    world: World,
) -> None:
    changed_and_paused(world, "edited")
    world.wheel.refuse = lambda _: True
    world.office.resume(catch_up=True)
    world.wheel.refuse = lambda _: False
    world.until(NOON + 430)
    assert (120, *RAN) in told(world)


def test_pause_again_leaves_occurrences_of_an_earlier_definition_to_its_end(world: World) -> None:
    world.add(job("*/2 * * * *", missed=ALL, overlap=Overlap.ALLOW))
    late = delayed(world, 120)
    world.until(NOON + 200)
    world.office.edit(expression="* * * * *")
    for _ in range(2):
        world.office.pause()
        world.wheel.give_back(late)
        world.until(world.clock.now() + 30)
        assert not world.wheel.hold_back(120)
        world.office.resume(catch_up=True)
        late = world.wheel.hold_back(120)
    world.wheel.give_back(late)
    world.until(NOON + 310)
    assert told(world) == [(120, *RAN), (240, *RAN), (300, *RAN)]  # 180 was not an occurrence then


def test_pause_catches_up_runs_of_an_earlier_definition_in_the_wait_queue(world: World) -> None:
    hang = [True]
    world.caller.answer = lambda call: Failed("no", retryable=True, retry_after=100.0) if hang else Returned("fine")
    world.add(job("* * * * *", missed=ALL, overlap=Overlap.QUEUE))
    world.until(NOON + 130)
    world.office.edit(expression="*/2 * * * *")
    world.clock.advance(1)
    world.office.pause()
    hang.clear()
    world.until(NOON + 400)
    assert (120, RunState.SKIPPED, "paused", 1) in told(world)
    world.office.resume(catch_up=True)
    world.until(NOON + 480)
    assert (120, *RAN) in told(world)


def test_pause_catches_up_occurrences_of_an_earlier_definition_after_the_last_one(world: World) -> None:
    changed_and_paused(world, "paused", max_runs=2)
    world.office.resume(catch_up=True)
    world.until(NOON + 600)
    assert told(world) == [(60, *RAN), (120, *RAN)]
    assert world.office.job().state is JobState.COMPLETED


def test_pause_after_the_last_occurrence_gives_back_only_those_that_waited(world: World) -> None:
    world.add(job("* * * * *", missed=ALL, overlap=Overlap.ALLOW, max_runs=3))
    late = delayed(world, 180)
    world.until(NOON + 400)
    world.office.pause()
    world.wheel.give_back(late)
    world.until(NOON + 500)
    world.office.resume(catch_up=True)
    world.until(NOON + 900)
    assert told(world) == [(60, *RAN), (120, *RAN), (180, *RAN)]
    assert world.office.job().state is JobState.COMPLETED
