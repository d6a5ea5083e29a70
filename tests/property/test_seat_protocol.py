"""At most one call of a step's job is at work among the seats, whatever becomes of its workflow's runs."""

import pytest

from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import Run
from tests.support.seat_model import Broken, Rules, explore

CLOCKS = [(0.0, 0.0), (-2.5, 2.5), (2.5, -2.5)]
"""How far the clocks of the workflow's workers and of the step's are ahead: they differ by up to 5 s."""


@pytest.mark.parametrize(("workflow", "step"), CLOCKS)
def test_seat_protocol_holds_for_workflow_steps_of_two_runs_in_every_order(workflow: float, step: float) -> None:
    found = explore(Rules(workflow, step), runs=2, tick=65, horizon=260)
    assert isinstance(found, int), found.path


@pytest.mark.parametrize(("workflow", "step"), CLOCKS)
def test_seat_protocol_holds_for_workflow_steps_of_three_runs_in_quick_succession(workflow: float, step: float) -> None:
    found = explore(Rules(workflow, step), runs=3, tick=60, horizon=60)
    assert isinstance(found, int), found.path


def forget(lock: Lock | None) -> Lock | None:
    """The lock of a release that says nothing of calls."""
    return lock if lock is None or lock.holder else None


def only_own(lock: Lock | None) -> Lock | None:
    """The lock of a release that says nothing of the calls of earlier runs."""
    return lock if lock is None or lock.until == lock.called_until else forget(lock)


def never_lost(run: Run | None, now: float) -> float | None:
    """Without a look at whether the run may have lost its lock."""
    return None if run is None or run.state.final else run.called_until


@pytest.mark.parametrize(
    ("planted", "runs", "tick", "horizon"),
    [
        (Rules(released=forget), 2, 65, 65),
        (Rules(released=only_own), 3, 60, 60),
        (Rules(written=lambda _: 0.0), 2, 65, 65),
        (Rules(asked=lambda run, now: 0.0), 2, 65, 65),
        (Rules(asked=never_lost), 2, 130, 390),
    ],
    ids=["released", "handed on", "recorded", "asked", "lost"],
)
def test_seat_protocol_model_detects_planted_faults(planted: Rules, runs: int, tick: float, horizon: float) -> None:
    assert isinstance(explore(planted, runs=runs, tick=tick, horizon=horizon), Broken)
