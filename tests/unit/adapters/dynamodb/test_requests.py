"""Requests to DynamoDB: batches, statements, transactions.

- What DynamoDB puts off of a batch of reads, which an emulator never does.
- Many conditional writes in few requests: what becomes of each when DynamoDB says no, in all the ways it can.
- Transactions that collide are tried again; what their conditions refuse is not.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest

from duecourse.adapters.dynamodb.tables import (
    BATCH_TRIES,
    READ_BATCH,
    DynamoTables,
    Statement,
    batch_get,
    execute,
    transact,
)
from duecourse.adapters.dynamodb.tables import TRANSACTION_TRIES as TRANSACTIONS_TRIES
from duecourse.api.problems import unavailable
from duecourse.ports import ClaimResult, InlineExecutor, NoAnswerError, ServiceError, StoreBusyError
from duecourse.stores.jobs import JobStore
from duecourse.stores.keys import key
from duecourse.stores.table import Table
from duecourse.stores.tick_mark import TickMark
from duecourse.stores.timers import claimed
from duecourse.testing.clock import SettableClock
from tests.support.jobs import NOON

TABLE = "jobs"


@dataclass
class Busy:
    """A table of numbered items, whose batches answer `answered` keys each and put the others off."""

    answered: int = 0
    single: list[dict[str, Any]] = field(default_factory=list)
    batches: list[dict[str, Any]] = field(default_factory=list)
    refuses: bool = False

    def batch_get_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803
        asked = RequestItems[TABLE]
        self.batches.append(asked)
        now, later = asked["Keys"][: self.answered], asked["Keys"][self.answered :]
        put_off = {"UnprocessedKeys": {TABLE: {**asked, "Keys": later}}} if later else {}
        return {"Responses": {TABLE: [item(each) for each in now]}, **put_off}

    def get_item(self, **asked: Any) -> dict[str, Any]:
        self.single.append(asked)
        if self.refuses:
            raise ServiceError("ProvisionedThroughputExceededException", "slow down")
        if asked["Key"]["PK"]["S"] == "SHARDS":
            return {"Item": {**asked["Key"], "shards": {"N": "3"}}}
        return {"Item": item(asked["Key"])}


def item(of: dict[str, Any]) -> dict[str, Any]:
    return {**of, "bucket": {"S": "2026-11-21T11"}}


def keys(count: int) -> list[dict[str, Any]]:
    return [key(f"ITEM#{number}", "X") for number in range(count)]


def test_dynamodb_requests_read_a_hundred_items_each_and_none_again_if_none_is_deferred() -> None:
    client = Busy(answered=READ_BATCH)
    assert batch_get(client, [(TABLE, key) for key in keys(230)]) == [item(each) for each in keys(230)]
    assert [len(each["Keys"]) for each in client.batches] == [100, 100, 30]
    assert client.single == []


def test_dynamodb_requests_read_deferred_items_one_by_one_since_the_sdk_waits_between_those_attempts() -> None:
    """Asked for again as a batch, at once and for as long as it takes, it kept a busy table busy."""
    client = Busy(answered=2)
    found = batch_get(client, [(TABLE, key) for key in keys(5)], {TABLE})
    assert sorted(each["PK"]["S"] for each in found) == sorted(each["PK"]["S"] for each in keys(5))
    assert len(client.batches) == 1
    assert client.single == [{"TableName": TABLE, "Key": each, "ConsistentRead": True} for each in keys(5)[2:]]


def test_dynamodb_requests_report_a_permanently_throttled_table_after_the_attempts_of_one_read() -> None:
    client = Busy(refuses=True)
    with pytest.raises(ServiceError) as refused:
        batch_get(client, [(TABLE, key) for key in keys(5)])
    assert len(client.single) == 1
    assert unavailable(refused.value).status == 503


def test_dynamodb_requests_read_watermarks_and_jobs_as_batches() -> None:
    client = Busy()
    tables = DynamoTables(client, {Table.JOBS: TABLE}, SettableClock(NOON))
    watermarks = TickMark(tables).progress()
    assert set(watermarks) == {0, 1, 2}
    assert None not in watermarks.values()
    assert len(client.batches) == 1
    store = JobStore(tables, shards=1, clock=SettableClock(NOON))
    client.refuses = True
    with pytest.raises(ServiceError):
        store.get_both("default", "nightly")
    assert len(client.batches) == 2


BAD = "bad"


@dataclass
class Answers:
    """A DynamoDB client: a statement is answered by the error named in its text, `fine` by none. `whole` is raised for
    requests in which it is named; `puts_off` statements are throttled that often.
    """

    whole: Exception | None = None
    puts_off: dict[str, int] = field(default_factory=dict)
    requests: list[list[str]] = field(default_factory=list)

    def batch_execute_statement(self, *, Statements: list[Statement]) -> dict[str, Any]:  # noqa: N803 - boto3's word
        texts = [statement["Statement"] for statement in Statements]
        self.requests.append(texts)
        if self.whole is not None and BAD in texts:
            raise self.whole
        return {"Responses": [self._answer(text) for text in texts]}

    def _answer(self, text: str) -> dict[str, Any]:
        if self.puts_off.get(text, 0) > 0:
            self.puts_off[text] -= 1
            return {"Error": {"Code": "ThrottlingError", "Message": "slower"}}
        return {} if text.startswith("fine") or text in self.puts_off else {"Error": {"Code": text, "Message": "no"}}


def refused(code: str) -> ServiceError:
    return ServiceError(code, "said no")


def results(client: Answers, *texts: str) -> list[ClaimResult]:
    done = execute(client, [{"Statement": text} for text in texts], SettableClock(NOON), InlineExecutor())
    return [claimed(outcome).result for outcome in done]


def test_dynamodb_requests_contain_25_statements_each_and_return_results_in_order() -> None:
    client = Answers()
    texts = ["fine"] * 30 + ["ConditionalCheckFailed"] + ["fine"] * 30
    assert results(client, *texts) == [ClaimResult.WON] * 30 + [ClaimResult.LOST] + [ClaimResult.WON] * 30
    assert [len(request) for request in client.requests] == [25, 25, 11]


def test_dynamodb_requests_repeat_a_throttled_statement_individually_with_growing_delays() -> None:
    client, clock = Answers(puts_off={"busy": 2}), SettableClock(NOON)
    statements = [{"Statement": text} for text in ("fine 1", "busy", "fine 2")]
    outcomes = execute(client, statements, clock, InlineExecutor())
    assert [outcome.code for outcome in outcomes] == [None, None, None]
    assert [claimed(outcome).throttled for outcome in outcomes] == [0, 2, 0]
    assert client.requests == [["fine 1", "busy", "fine 2"], ["busy"], ["busy"]]
    assert round(clock.now() - NOON, 6) == 0.3


def test_dynamodb_requests_defer_a_permanently_throttled_statement_and_report_the_reason() -> None:
    client, clock = Answers(puts_off={"busy": 99}), SettableClock(NOON)
    (outcome,) = execute(client, [{"Statement": "busy"}], clock, InlineExecutor())
    assert claimed(outcome).result is ClaimResult.BUSY
    assert claimed(outcome).error == "ThrottlingError: slower"
    assert len(client.requests) == BATCH_TRIES


def test_dynamodb_requests_reject_a_statement_that_can_never_succeed_and_do_not_repeat_it() -> None:
    client = Answers()
    assert results(client, "fine", "ValidationError", "fine") == [ClaimResult.WON, ClaimResult.REFUSED, ClaimResult.WON]
    assert len(client.requests) == 1


def test_dynamodb_requests_with_an_invalid_statement_do_not_prevent_the_other_claims() -> None:
    client = Answers(whole=refused("ValidationException"))
    assert results(client, "fine 1", BAD, "fine 2") == [ClaimResult.WON, ClaimResult.REFUSED, ClaimResult.WON]
    assert client.requests == [["fine 1", BAD, "fine 2"], ["fine 1"], [BAD], ["fine 2"]]


def test_dynamodb_requests_without_permission_or_response_fail_for_all_statements_and_are_not_repeated() -> None:
    for trouble in (refused("AccessDeniedException"), NoAnswerError("x")):
        client = Answers(whole=trouble)
        assert results(client, "fine", BAD) == [ClaimResult.FAILED] * 2
        assert len(client.requests) == 1


WRITES: list[dict[str, Any]] = [{"Put": {"Item": {"PK": {"S": "a"}}}}, {"Put": {"Item": {"PK": {"S": "b"}}}}]


class TransactionsAnswers:
    """A client that answers each transaction in turn: nothing, or the codes of its parts."""

    def __init__(self, *answers: list[str] | None) -> None:
        self.answers = list(answers)

    def transact_write_items(self, **_: Any) -> None:
        codes = self.answers.pop(0)
        if codes is not None:
            answer = {"CancellationReasons": [{"Code": code} for code in codes]}
            raise ServiceError("TransactionCanceledException", answer=answer)


def test_dynamodb_requests_repeat_a_conflicting_transaction_after_a_delay() -> None:
    clock = SettableClock(NOON)
    client = TransactionsAnswers(["None", "TransactionConflict"], ["ThrottlingError", "None"], None)
    assert transact(client, WRITES, clock) == []
    assert NOON < clock.now() < NOON + 0.3


def test_dynamodb_requests_give_up_a_transaction_that_conflicts_at_every_attempt() -> None:
    clock = SettableClock(NOON)
    with pytest.raises(StoreBusyError):
        transact(TransactionsAnswers(*[["TransactionConflict", "None"]] * TRANSACTIONS_TRIES), WRITES, clock)
    assert clock.now() < NOON + 2.8


def test_dynamodb_requests_of_conflicting_transactions_wait_for_different_times() -> None:
    waits = []
    for writes in (WRITES, WRITES[::-1]):
        clock = SettableClock(NOON)
        transact(TransactionsAnswers(["TransactionConflict"], None), writes, clock)
        waits.append(clock.now())
    assert waits[0] != waits[1]


def test_dynamodb_requests_report_the_place_of_a_failed_condition_immediately() -> None:
    clock = SettableClock(NOON)
    assert transact(TransactionsAnswers(["None", "ConditionalCheckFailed"]), WRITES, clock) == [1]
    assert transact(TransactionsAnswers(["ConditionalCheckFailed", "TransactionConflict"]), WRITES, clock) == [0]
    assert clock.now() == NOON


def test_dynamodb_requests_report_any_other_rejection_as_an_error() -> None:
    with pytest.raises(ServiceError):
        transact(TransactionsAnswers(["ValidationError"]), WRITES, SettableClock(NOON))
