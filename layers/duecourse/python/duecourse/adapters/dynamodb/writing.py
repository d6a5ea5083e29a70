"""Requests to DynamoDB: reads, statements, transactions, and their errors.

Reads return one item, several items by key, or the items of a query. Writes are single conditional writes, statements
and puts in requests of 25, or transactions.

Amazon DynamoDB API Reference, BatchExecuteStatement: at most 25 statements; two statements with the same key are
rejected; the client retries the request, never a single statement. DynamoDB, DynamoDB Local and MiniStack execute
conditional PartiQL correctly, moto does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from zlib import crc32

from duecourse.ports import THROTTLED, AwsError, Clock, Executor, ServiceError, StoreBusyError
from duecourse.stores import values
from duecourse.stores.keys import Item
from duecourse.stores.table import NEVER, RETRYABLE, Outcome


def condition_failed(error: AwsError) -> bool:
    """Return whether a write was rejected because its condition failed."""
    return isinstance(error, ServiceError) and error.code == "ConditionalCheckFailedException"


def conditional(write: Callable[..., Any], **request: Any) -> bool:
    """Execute a write and return whether its condition held."""
    try:
        write(**request)
    except ServiceError as error:
        if not condition_failed(error):
            raise
        return False
    return True


class TableStore:
    """The base class of stores in one table."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table

    def _item(self, key: Item) -> Item | None:
        """Return the item of a key with a strongly consistent read."""
        return read_item(self._client, self._table, key)

    def _update(self, key: Item, update: str, condition: str | None = None, **stand: object) -> bool:
        """Execute an update (values.expressions) and return whether its condition held."""
        request = values.expressions(stand, update=update, condition=condition)
        return conditional(self._client.update_item, TableName=self._table, Key=key, **request)


def found(error: AwsError) -> Item | None:
    """Return the stored item of a failed condition if the write requested it (ReturnValuesOnConditionCheckFailure)."""
    return error.answer.get("Item") or None if isinstance(error, ServiceError) else None


def cancellation_codes(error: ServiceError) -> list[str] | None:
    """Return the code of each part of a cancelled transaction, in order. Returns None for any other error."""
    if error.code != "TransactionCanceledException":
        return None
    return [reason.get("Code", "None") for reason in error.answer.get("CancellationReasons", [])]


READ_BATCH = 100
"""Maximum number of keys of one BatchGetItem (Amazon DynamoDB API Reference)."""


def read_item(client: Any, table: str, key: Item) -> Item | None:
    """Return the item of a key with a strongly consistent read."""
    item: Item | None = client.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
    return item


def read_items(client: Any, *, start: Item | None = None, limit: int | None = None, **query: Any) -> Iterator[Item]:
    """Yield at most `limit` items of a query, starting after the key `start`. Pages are read on demand."""
    while limit is None or limit > 0:
        answer = client.query(
            **query,
            **({} if start is None else {"ExclusiveStartKey": start}),
            **({} if limit is None else {"Limit": limit}),
        )
        yield from answer["Items"]
        start = answer.get("LastEvaluatedKey")
        if start is None:
            return
        limit = None if limit is None else limit - len(answer["Items"])


def batch_get(client: Any, table: str, keys: Iterable[Item], *, consistent: bool = False) -> list[Item]:
    """Return the items that exist among the keys, in any order.

    Keys that DynamoDB leaves unprocessed are read one by one: the client retries single reads with backoff and raises
    ServiceError after some attempts, but it retries no part of a batch.
    """
    wanted, found = list(keys), []
    how = {"ConsistentRead": True} if consistent else {}
    for begin in range(0, len(wanted), READ_BATCH):
        answer = client.batch_get_item(RequestItems={table: {"Keys": wanted[begin : begin + READ_BATCH], **how}})
        found += answer["Responses"].get(table, [])
        for key in (answer.get("UnprocessedKeys") or {}).get(table, {}).get("Keys", ()):
            item = client.get_item(TableName=table, Key=key, **how).get("Item")
            found += [] if item is None else [item]
    return found


WRITE_BATCH = 25
TRIES = 3
FIRST_WAIT_SECONDS = 0.1
"""The pause before the second attempt. It doubles before each further attempt. After the last attempt, callers with
more time repeat the call.
"""

Statement = dict[str, Any]


def execute(client: Any, statements: Sequence[Statement], clock: Clock, executor: Executor) -> list[Outcome]:
    """Execute statements and return their outcomes in the same order. No two statements may write the same item. Never
    raises: errors and missing responses are outcomes.
    """
    batches = [statements[begin : begin + WRITE_BATCH] for begin in range(0, len(statements), WRITE_BATCH)]
    done = executor.map(lambda batch: _batch(client, batch, clock), batches)
    return [outcome for outcomes in done for outcome in outcomes]


def _batch(client: Any, statements: Sequence[Statement], clock: Clock) -> list[Outcome]:
    """Execute statements in one request, and retry those that were throttled in further requests with backoff."""
    outcomes = [Outcome()] * len(statements)
    open_ = list(range(len(statements)))
    puts_off = 0
    while True:
        made = _request(client, [statements[index] for index in open_], puts_off)
        for index, outcome in zip(open_, made, strict=True):
            outcomes[index] = outcome
        open_ = [index for index in open_ if outcomes[index].code in RETRYABLE]
        puts_off += 1
        if not open_ or puts_off == TRIES:
            return outcomes
        clock.sleep_until(clock.now() + FIRST_WAIT_SECONDS * 2 ** (puts_off - 1))


def _request(client: Any, statements: Sequence[Statement], throttled: int) -> list[Outcome]:
    try:
        answer = client.batch_execute_statement(Statements=statements)
    except ServiceError as problem:
        code, message = problem.code, problem.message
        if code in NEVER and len(statements) > 1:
            # One invalid statement fails the whole request: execute each of them separately, once.
            return [outcome for one in statements for outcome in _request(client, [one], throttled)]
        return [Outcome(code, message, None, throttled + (code in THROTTLED))] * len(statements)
    except AwsError as problem:
        return [Outcome(type(problem).__name__, str(problem), None, throttled)] * len(statements)
    return [_outcome(response.get("Error"), throttled) for response in answer["Responses"]]


_DONE = Outcome()


def _outcome(error: dict[str, Any] | None, throttled: int) -> Outcome:
    if error is None:
        return Outcome(throttled=throttled) if throttled else _DONE
    code = error["Code"]
    return Outcome(code, error.get("Message", ""), error.get("Item") or None, throttled + (code in THROTTLED))


def batch_put(client: Any, table: str, items: Sequence[Item]) -> None:
    """Write items in requests of 25."""
    for begin in range(0, len(items), WRITE_BATCH):
        requests = [{"PutRequest": {"Item": item}} for item in items[begin : begin + WRITE_BATCH]]
        answer = client.batch_write_item(RequestItems={table: requests})
        for left in answer.get("UnprocessedItems", {}).get(table, ()):
            # Throttled: the client retries single writes with backoff, but no part of a batch.
            client.put_item(TableName=table, Item=left["PutRequest"]["Item"])


TRANSACTION_TRIES = 8
"""The maximum number of attempts of a transaction that collides with a claim or with another transaction of its tenant.
The pause grows with each attempt, up to 2.8 s in total.
"""

STEP_SECONDS = 0.1


def transact(client: Any, writes: list[dict[str, Any]], clock: Clock) -> list[int]:
    """Execute the writes in one transaction. Returns an empty list if all were written, and otherwise the indices of
    the writes whose conditions failed.

    Raises StoreBusyError if the transaction collided in every attempt.
    """
    for attempt in range(1, TRANSACTION_TRIES + 1):
        try:
            client.transact_write_items(TransactItems=writes)
        except ServiceError as error:
            codes = cancellation_codes(error)
            if codes is None:
                raise
            if failed := [index for index, code in enumerate(codes) if code == "ConditionalCheckFailed"]:
                return failed
            if not any(code in RETRYABLE for code in codes):
                raise
            if attempt == TRANSACTION_TRIES:
                raise StoreBusyError from error
            clock.sleep_until(clock.now() + STEP_SECONDS * attempt * _spread(writes, attempt))
        else:
            return []
    raise AssertionError("unreachable")


def _spread(writes: list[dict[str, Any]], attempt: int) -> float:
    """Return a number in [0, 1) that differs between transactions, so that transactions that collided do not collide
    again.
    """
    return crc32(repr((writes[0], attempt)).encode()) / 2**32
