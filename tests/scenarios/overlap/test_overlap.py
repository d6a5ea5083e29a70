"""What becomes of a run that comes due while another run of its job is alive."""

from __future__ import annotations

from dataclasses import dataclass, field

from duecourse.domain.jobs.job import Backoff, Completion, Job, MissedMode, MissedPolicy, Overlap, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import MessageKind
from duecourse.ports import Call
from tests.support.jobs import NOON, job
from tests.support.world import World

S, K, C = RunState.SUCCEEDED, RunState.SKIPPED, RunState.CANCELLED


def slow_job(overlap: Overlap, **changes: object) -> Job:
    """Every minute, each run completed by hand."""
    values: dict[str, object] = {"overlap": overlap, "completion": Completion.CALLBACK}
    return job("* * * * *", **(values | changes))


@dataclass
class Alive:
    """Which runs are alive at once, by their records."""

    world: World
    most: int = 0
    order: list[int] = field(default_factory=list)

    def complete_oldest(self) -> None:
        waiting = [run for run in self.world.runs("tick-tock") if run.state is RunState.WAITING]
        self.most = max(self.most, len(waiting))
        if waiting:
            self.order.append(waiting[0].occurrence - int(NOON))
            self.world.tell(self.world.about(waiting[0], MessageKind.COMPLETE))


def test_overlap_queue_runs_every_occurrence_one_after_the_other_in_order(world: World) -> None:
    world.add(slow_job(Overlap.QUEUE, max_runs=6))
    alive = Alive(world)
    for minute in range(1, 30):
        world.until(NOON + 100 * minute)
        alive.complete_oldest()
    assert alive.most == 1
    assert alive.order == [60, 120, 180, 240, 300, 360]
    assert world.states("tick-tock") == [(60 * minute, S) for minute in range(1, 7)]


def test_overlap_queue_does_not_treat_a_waiting_run_as_late_for_any_missed_policy(world: World) -> None:
    world.add(slow_job(Overlap.QUEUE, max_runs=2, missed=MissedPolicy(MissedMode.SKIP, grace_seconds=5)))
    world.until(NOON + 1500)
    alive = Alive(world)
    alive.complete_oldest()
    world.until(NOON + 1600)
    alive.complete_oldest()
    assert world.states("tick-tock") == [(60, S), (120, S)]


def test_overlap_queue_ends_the_wait_of_a_run_at_its_start_deadline(world: World) -> None:
    world.add(slow_job(Overlap.QUEUE, max_runs=2, start_deadline_seconds=300))
    world.until(NOON + 700)
    (first, second) = world.runs("tick-tock")
    assert first.state is RunState.WAITING
    assert (second.state, second.reason) == (K, "start_deadline")


def test_overlap_queue_allows_a_waiting_run_to_be_cancelled(world: World) -> None:
    world.add(slow_job(Overlap.QUEUE, max_runs=2))
    world.until(NOON + 200)
    first, second = world.runs("tick-tock")
    assert second.state is RunState.QUEUED
    world.tell(world.about(second, MessageKind.CANCEL))
    assert world.wait_queues.waiting("default", "tick-tock", limit=9) == []
    world.tell(world.about(first, MessageKind.COMPLETE))
    world.until(NOON + 600)
    assert world.states("tick-tock") == [(60, S), (120, C)]


def test_overlap_replace_ends_a_run_without_heartbeats_and_starts_the_new_one(world: World) -> None:
    world.add(slow_job(Overlap.REPLACE, max_runs=3))
    world.until(NOON + 250)
    states = [(run.state, run.reason) for run in world.runs("tick-tock")]
    assert states == [(C, "replaced"), (C, "replaced"), (RunState.WAITING, None)]


def test_overlap_replace_waits_for_a_run_that_is_notified_at_its_heartbeat(world: World) -> None:
    world.add(slow_job(Overlap.REPLACE, max_runs=2, heartbeat_seconds=600, timeout_seconds=30))
    world.until(NOON + 200)
    first, _ = world.runs("tick-tock")
    assert (first.state, first.cancel_requested) == (RunState.WAITING, "replaced")
    world.tell(world.about(first, MessageKind.FAIL, error="stopped, as asked"))
    world.until(NOON + 260)
    assert [(run.state, run.reason) for run in world.runs("tick-tock")] == [
        (C, "replaced"),
        (RunState.WAITING, None),
    ]


def test_overlap_replace_runs_only_the_newest_of_several_waiting_runs(world: World) -> None:
    world.add(slow_job(Overlap.REPLACE, max_runs=4, heartbeat_seconds=3600, timeout_seconds=30))
    world.until(NOON + 290)
    first = world.runs("tick-tock")[0]
    world.tell(world.about(first, MessageKind.FAIL, error="stopped"))
    world.until(NOON + 400)
    reasons = [(run.state, run.reason) for run in world.runs("tick-tock")]
    assert reasons == [(C, "replaced"), (K, "replaced"), (K, "replaced"), (RunState.WAITING, None)]


def test_overlap_replace_stops_a_run_that_waits_for_its_next_attempt(world: World) -> None:
    def fail_the_first(call: Call) -> Outcome:
        return Failed("no") if call.run.occurrence == int(NOON) + 60 else Returned()

    world.caller.answer = fail_the_first
    patient = RetryPolicy(max_attempts=9, backoff=Backoff.FIXED, min_seconds=300, max_seconds=300)
    world.add(job("* * * * *", overlap=Overlap.REPLACE, retry=patient, max_runs=2))
    world.until(NOON + 600)
    assert [(run.state, run.reason) for run in world.runs("tick-tock")] == [(C, "replaced"), (S, None)]


def test_overlap_skip_applies_while_a_run_waits_for_its_callback(world: World) -> None:
    world.add(slow_job(Overlap.SKIP, max_runs=3))
    world.until(NOON + 250)
    assert world.states("tick-tock") == [(60, RunState.WAITING), (120, K), (180, K)]


def test_overlap_allow_lets_all_runs_wait_concurrently(world: World) -> None:
    world.add(slow_job(Overlap.ALLOW, max_runs=3))
    world.until(NOON + 250)
    assert [state for _, state in world.states("tick-tock")] == [RunState.WAITING] * 3
