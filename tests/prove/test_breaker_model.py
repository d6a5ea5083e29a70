"""The model of circuit breakers that `make prove` compares with the workers."""

from __future__ import annotations

from tests.prove.breaker_model import BreakerModel
from tests.prove.operations import Done
from tests.prove.plan import Operation
from tests.prove.targets import TargetCall
from tests.prove.world import Reply


def call(began: float, ended: float, outcome: str) -> TargetCall:
    return TargetCall("a", "a.1", 1, began, None, None, "", outcome, ended)


def done(at: float, what: str, **more: int) -> Done:
    return Done(Operation(at, what, "crm", more), Reply(200, {}, at, at + 0.1))


def played(*calls: TargetCall, operations: tuple[Done, ...] = (), failures: int = 2) -> BreakerModel:
    model = BreakerModel(failures, 10)
    model.play(calls, operations)
    return model


FAILED = (call(1, 2, "fails"), call(3, 4, "timeout"))


def test_breaker_model_is_open_after_the_failures_in_a_row() -> None:
    model = played(*FAILED)
    assert (model.at(3.9).closed, model.at(4.1).until) == (True, 14)
    assert played(FAILED[0], call(2.6, 3, "succeeds"), FAILED[1]).at(4.1).closed


def test_breaker_model_allows_one_attempt_after_it_which_closes_it_or_opens_it_twice_as_long() -> None:
    assert played(*FAILED, call(13, 13.5, "succeeds")).wrong
    both = played(*FAILED, call(14, 16, "fails"), call(15, 16, "fails"))
    assert [(each.began, phase.testing) for each, phase in both.wrong] == [(15, True)]
    assert both.at(20).until == 36
    closed = played(*FAILED, call(14, 16, "succeeds"), call(17, 18, "succeeds"))
    assert (closed.wrong, closed.at(16).closed) == ([], True)


def test_breaker_model_closes_after_a_refused_probe_but_counts_failures_on_after_other_refusals() -> None:
    closed = played(*FAILED, call(14, 16, "refuses"), call(17, 18, "succeeds"))
    assert (closed.wrong, closed.at(16).closed) == ([], True)
    assert played(FAILED[0], call(2.1, 3, "refuses"), FAILED[1]).at(4.1).until == 14


def test_breaker_model_follows_operators() -> None:
    assert played(*FAILED, operations=(done(5, "close"),)).at(5.1).closed
    held = played(*FAILED, call(40, 41, "fails"), operations=(done(5, "hold", seconds=30),))
    assert (held.at(6).until, held.at(42).until) == (35, 61)


def test_breaker_model_knows_no_state_if_two_ends_are_too_close() -> None:
    near = played(FAILED[0], call(2.9, 3.8, "succeeds"), FAILED[1])
    assert not near.at(4.1).known
    again = played(FAILED[0], call(2.9, 3.8, "succeeds"), FAILED[1], call(8, 9, "succeeds"))
    assert again.at(9.1).closed
