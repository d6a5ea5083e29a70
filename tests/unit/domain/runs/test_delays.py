"""The parts of a run's lateness: their sum is the lateness, and none is negative."""

from dataclasses import replace

import pytest

from duecourse.domain.ids import RunIdentity
from duecourse.domain.runs.delays import Delays, delays_of, explained
from duecourse.domain.runs.states import Running, RunState
from duecourse.stores.run_item import from_item, to_item
from tests.support.varied import record

DUE = 1_795_262_520


def started(at: float, *, waiting_since: float | None = None) -> Running:
    run = record(RunState.RUNNING, RunIdentity("acme", "nightly", DUE, DUE, generation=1), attempt=1)
    assert isinstance(run, Running)
    attempts = replace(run.attempts, started_at=at, first_started_at=at)
    return replace(run, attempts=attempts, waiting_since=waiting_since)


@pytest.mark.parametrize(
    ("sent", "received", "began", "delays"),
    [
        (DUE - 100, DUE + 40.1, DUE + 40.3, Delays(0, 40.1, 0, 0.2)),
        (DUE + 20, DUE + 21, DUE + 21.5, Delays(20, 1, 0, 0.5)),
        (DUE + 5, DUE + 3, DUE + 6, Delays(5, 0, 0, 1)),  # the worker's clock is behind
        (DUE + 9, DUE + 3, DUE + 6, Delays(6, 0, 0, 0)),
        (None, DUE + 3, DUE + 6, Delays(0, 3, 0, 3)),
    ],
)
def test_delays_of_a_late_run_add_up_to_its_lateness(
    sent: float | None, received: float, began: float, delays: Delays
) -> None:
    run = explained(started(began), sent, received)
    assert delays_of(run) == delays
    assert delays.dispatch + delays.queue + delays.waiting + delays.start == pytest.approx(began - DUE)


def test_delays_of_a_run_that_waited_begin_with_its_wait() -> None:
    run = explained(started(DUE + 100, waiting_since=DUE + 2), DUE + 99, DUE + 99.5)
    assert delays_of(run) == Delays(0, 2, 97.5, 0.5)


@pytest.mark.parametrize("waited", [None, DUE + 2])
def test_delays_of_a_run_that_waits_again_for_its_next_attempt_stay_the_same(waited: float | None) -> None:
    run = explained(started(DUE + 100, waiting_since=waited), DUE + 99, DUE + 99.5)
    before = delays_of(run)
    again = from_item(to_item(replace(run, waiting_since=DUE + 160)))
    assert delays_of(again) == before
    # A record of an earlier version does not have the beginning of the first wait.
    assert isinstance(again, Running)
    former = replace(again, attempts=replace(again.attempts, waited_since=None), waiting_since=waited)
    assert delays_of(former) == before


def test_delays_of_a_punctual_run_are_unknown() -> None:
    assert delays_of(started(DUE + 0.9)) is None


def test_delays_of_a_later_attempt_are_not_stored() -> None:
    run = started(DUE + 60)
    again = replace(run, attempts=replace(run.attempts, first_started_at=DUE))
    assert explained(again, DUE + 50, DUE + 51) is again
