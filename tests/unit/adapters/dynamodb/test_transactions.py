"""Transactions that collide are tried again; what their conditions refuse is not."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from duecourse.adapters.dynamodb.writing import TRANSACTION_TRIES as TRIES
from duecourse.adapters.dynamodb.writing import transact
from duecourse.ports import StoreBusyError
from duecourse.testing.clock import SettableClock
from tests.support.jobs import NOON

WRITES: list[dict[str, Any]] = [{"Put": {"Item": {"PK": {"S": "a"}}}}, {"Put": {"Item": {"PK": {"S": "b"}}}}]


class Answers:
    """A client that answers each transaction in turn: nothing, or the codes of its parts."""

    def __init__(self, *answers: list[str] | None) -> None:
        self.answers = list(answers)

    def transact_write_items(self, **_: Any) -> None:
        codes = self.answers.pop(0)
        if codes is not None:
            response: Any = {
                "Error": {"Code": "TransactionCanceledException", "Message": ""},
                "CancellationReasons": [{"Code": code} for code in codes],
            }
            raise ClientError(response, "TransactWriteItems")


def test_a_collision_is_tried_again_a_little_later() -> None:
    clock = SettableClock(NOON)
    assert transact(Answers(["None", "TransactionConflict"], ["ThrottlingError", "None"], None), WRITES, clock) == []
    assert NOON < clock.now() < NOON + 0.3


def test_what_collides_at_every_try_is_given_up() -> None:
    clock = SettableClock(NOON)
    with pytest.raises(StoreBusyError):
        transact(Answers(*[["TransactionConflict", "None"]] * TRIES), WRITES, clock)
    assert clock.now() < NOON + 2.8


def test_two_who_collided_do_not_wait_equally_long() -> None:
    waits = []
    for writes in (WRITES, WRITES[::-1]):
        clock = SettableClock(NOON)
        transact(Answers(["TransactionConflict"], None), writes, clock)
        waits.append(clock.now())
    assert waits[0] != waits[1]


def test_a_failed_condition_is_told_at_once_with_its_place() -> None:
    clock = SettableClock(NOON)
    assert transact(Answers(["None", "ConditionalCheckFailed"]), WRITES, clock) == [1]
    assert transact(Answers(["ConditionalCheckFailed", "TransactionConflict"]), WRITES, clock) == [0]
    assert clock.now() == NOON


def test_any_other_refusal_is_an_error() -> None:
    with pytest.raises(ClientError):
        transact(Answers(["ValidationError"]), WRITES, SettableClock(NOON))
