"""Both tables in DynamoDB. Only this module has texts of expressions and of PartiQL.

Amazon DynamoDB API Reference, BatchExecuteStatement: at most 25 statements; two statements with the same key are
rejected; the client retries the request, never a single statement. DynamoDB, DynamoDB Local and MiniStack execute
conditional PartiQL correctly, moto does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any
from zlib import crc32

from duecourse.ports import THROTTLED, AwsError, Clock, Executor, InlineExecutor, ServiceError, StoreBusyError
from duecourse.stores.table import (
    NEVER,
    RETRYABLE,
    Absent,
    Add,
    All,
    AnyOf,
    Between,
    Change,
    Check,
    Compare,
    Condition,
    Delete,
    In,
    Item,
    Not,
    Page,
    Prefix,
    Present,
    Put,
    Query,
    Remove,
    RemoveFrom,
    Returned,
    Scan,
    Set,
    Table,
    Update,
    Value,
    Write,
    WriteOutcome,
    Written,
)
from duecourse.stores.values import attribute

_RETURNED = {Returned.BEFORE: "ALL_OLD", Returned.AFTER: "ALL_NEW"}


class DynamoTables:
    """Implementation of stores.table.Tables. The `executor` sends the requests of many writes concurrently."""

    def __init__(self, client: Any, names: Mapping[Table, str], clock: Clock, executor: Executor | None = None) -> None:
        self._client = client
        self._names = names
        self._clock = clock
        self._executor = executor or InlineExecutor()

    def get(self, table: Table, key: Item, *, consistent: bool = True) -> Item | None:
        answer = self._client.get_item(TableName=self._names[table], Key=key, ConsistentRead=consistent)
        item: Item | None = answer.get("Item")
        return item

    def get_many(self, table: Table, keys: Iterable[Item], *, consistent: bool = False) -> list[Item]:
        return self.get_from_both({table: keys}, consistent={table} if consistent else ())

    def get_from_both(self, keys: Mapping[Table, Iterable[Item]], *, consistent: Collection[Table]) -> list[Item]:
        wanted = [(self._names[table], key) for table, of_table in keys.items() for key in of_table]
        return batch_get(self._client, wanted, {self._names[table] for table in consistent})

    def query(self, query: Query) -> Page:
        return _page(self._client.query(**self._queried(query)))

    def count(self, query: Query) -> tuple[int, Item | None]:
        answer = self._client.query(**self._queried(query), Select="COUNT")
        return answer["Count"], answer.get("LastEvaluatedKey")

    def scan(self, scan: Scan) -> Page:
        part = {"Segment": scan.part, "TotalSegments": scan.parts} if scan.parts > 1 else {}
        return _page(self._client.scan(**self._searched(scan, _Expressions()), **part))

    def _queried(self, query: Query) -> dict[str, Any]:
        expressions = _Expressions()
        partition, sort = ("PK", "SK") if query.index is None else (query.index.partition, query.index.sort)
        condition = f"{expressions.name(partition)} = {expressions.value(query.partition)}"
        if query.sort is not None:
            if query.sort.name != sort:
                raise ValueError(f"{query.sort.name} is not the sort key {sort}")
            condition += f" AND {expressions.condition(query.sort)}"
        request = self._searched(query, expressions) | {"KeyConditionExpression": condition}
        if query.newest:
            request["ScanIndexForward"] = False
        if query.consistent:
            request["ConsistentRead"] = True
        return request

    def _searched(self, search: Query | Scan, expressions: _Expressions) -> dict[str, Any]:
        """Return what queries and scans have in common."""
        request: dict[str, Any] = {"TableName": self._names[search.table]}
        if search.index is not None:
            request["IndexName"] = search.index.name
        if search.only is not None:
            request["FilterExpression"] = expressions.condition(search.only)
        if search.read:
            request["ProjectionExpression"] = ", ".join(map(expressions.name, search.read))
        if search.limit is not None:
            request["Limit"] = search.limit
        if search.start is not None:
            request["ExclusiveStartKey"] = search.start
        return request | expressions.arguments()

    def write(self, write: Write, returned: Returned = Returned.NOTHING) -> Written:
        if returned is Returned.AFTER and not isinstance(write, Update):
            raise ValueError("only an update returns the item after it")
        request = self._written(write)
        if returned in _RETURNED:
            request["ReturnValues"] = _RETURNED[returned]
        if returned is not Returned.NOTHING and write.condition is not None:
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        send = {Put: self._client.put_item, Update: self._client.update_item, Delete: self._client.delete_item}
        try:
            answer = send[type(write)](**request)
        except AwsError as error:
            if not _condition_failed(error):
                raise
            return Written(held=False, item=_found(error))
        return Written(held=True, item=answer.get("Attributes") or None if returned in _RETURNED else None)

    def write_many(self, writes: Sequence[Update | Delete]) -> list[WriteOutcome]:
        statements = [_statement(self._names[write.table], write) for write in writes]
        return execute(self._client, statements, self._clock, self._executor)

    def put_many(self, table: Table, items: Sequence[Item]) -> None:
        batch_put(self._client, self._names[table], items)

    def transact(self, writes: Sequence[Write | Check]) -> list[int]:
        return transact(self._client, list(map(self.part, writes)), self._clock)

    def part(self, write: Write | Check) -> dict[str, Any]:
        """Return a write as a part of a transaction."""
        return {"ConditionCheck" if isinstance(write, Check) else type(write).__name__: self._written(write)}

    def _written(self, write: Write | Check) -> dict[str, Any]:
        """Return a write as the arguments of a request or as a part of a transaction."""
        expressions = _Expressions()
        request: dict[str, Any] = {"TableName": self._names[write.table]}
        match write:
            case Put():
                request["Item"] = write.item
            case Update():
                request |= {"Key": write.key, "UpdateExpression": expressions.update(write.changes)}
            case Delete() | Check():
                request["Key"] = write.key
        if write.condition is not None:
            request["ConditionExpression"] = expressions.condition(write.condition)
        return request | expressions.arguments()


def _page(answer: Any) -> Page:
    return Page(answer["Items"], answer.get("LastEvaluatedKey"))


class _Expressions:
    """The expressions of one request. All names and values have aliases: a name may be a reserved word."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: Item = {}

    def arguments(self) -> dict[str, Any]:
        """Return the aliases of the expressions that were rendered."""
        names = {"ExpressionAttributeNames": self._names} if self._names else {}
        return names | ({"ExpressionAttributeValues": self._values} if self._values else {})

    def name(self, name: str) -> str:
        alias = f"#{name}"
        self._names[alias] = name
        return alias

    def value(self, value: Value) -> str:
        alias = f":v{len(self._values)}"
        self._values[alias] = attribute(value)
        return alias

    def condition(self, condition: Condition) -> str:
        match condition:
            case Compare(name, how, value):
                return f"{self.name(name)} {how} {self.value(value)}"
            case Between(name, low, high):
                return f"{self.name(name)} BETWEEN {self.value(low)} AND {self.value(high)}"
            case In(name, options):
                return f"{self.name(name)} IN ({', '.join(map(self.value, options))})"
            case Prefix(name, text):
                return f"begins_with({self.name(name)}, {self.value(text)})"
            case Present(name):
                return f"attribute_exists({self.name(name)})"
            case Absent(name):
                return f"attribute_not_exists({self.name(name)})"
            case All(parts):
                return " AND ".join(map(self._part, parts))
            case AnyOf(parts):
                return " OR ".join(map(self._part, parts))
            case Not(part):
                return f"NOT {self._part(part)}"

    def _part(self, condition: Condition) -> str:
        text = self.condition(condition)
        several = isinstance(condition, All | AnyOf) and len(condition.parts) > 1
        return f"({text})" if several else text  # DynamoDB rejects redundant parentheses

    def update(self, changes: Sequence[Change]) -> str:
        clauses: dict[str, list[str]] = {}
        for change in changes:
            match change:
                case Set(name, value):
                    clause, text = "SET", f"{self.name(name)} = {self.value(value)}"
                case Add(name, by):
                    clause, text = "ADD", f"{self.name(name)} {self.value(by)}"
                case Remove(name):
                    clause, text = "REMOVE", self.name(name)
                case RemoveFrom(name, texts):
                    clause, text = "DELETE", f"{self.name(name)} {self.value(texts)}"
            clauses.setdefault(clause, []).append(text)
        return " ".join(f"{clause} {', '.join(texts)}" for clause, texts in clauses.items())


def _statement(table: str, write: Update | Delete) -> Statement:
    """Return a write in PartiQL. Names are ours, values are parameters. Raises TypeError for a change or a condition
    that many writes do not have.
    """
    parameters: list[Any] = []
    if isinstance(write, Update):
        text = f'UPDATE "{table}"'
        for change in write.changes:
            if isinstance(change, Set):
                text += f' SET "{change.name}" = ?'
                parameters.append(attribute(change.value))
            elif isinstance(change, Remove):
                text += f' REMOVE "{change.name}"'
            else:
                raise TypeError(f"{change} has no form in PartiQL")
    else:
        text = f'DELETE FROM "{table}"'  # noqa: S608
    text += ' WHERE "PK" = ? AND "SK" = ?'
    parameters += write.key.values()
    condition = write.condition
    for part in condition.parts if isinstance(condition, All) else () if condition is None else (condition,):
        if isinstance(part, Compare):
            text += f' AND "{part.name}" {part.how} ?'
            parameters.append(attribute(part.value))
        elif isinstance(part, Absent):
            text += f' AND "{part.name}" IS MISSING'
        else:
            raise TypeError(f"{part} has no form in PartiQL")
    return {"Statement": text, "Parameters": parameters, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}


READ_BATCH = 100
"""Maximum number of keys of one BatchGetItem (Amazon DynamoDB API Reference)."""


def batch_get(client: Any, keys: Sequence[tuple[str, Item]], consistent: Collection[str] = ()) -> list[Item]:
    """Return the items that exist among the keys, in any order. Each key is that of an item in a table, by its name;
    reads of the tables in `consistent` are strongly consistent.

    Keys that DynamoDB leaves unprocessed are read one by one: the client retries single reads with backoff and raises
    ServiceError after some attempts, but it retries no part of a batch.
    """
    found: list[Item] = []
    for begin in range(0, len(keys), READ_BATCH):
        wanted: dict[str, Any] = {}
        for table, key in keys[begin : begin + READ_BATCH]:
            how = {"ConsistentRead": True} if table in consistent else {}
            wanted.setdefault(table, {"Keys": [], **how})["Keys"].append(key)
        answer = client.batch_get_item(RequestItems=wanted)
        found += [item for items in answer["Responses"].values() for item in items]
        for table, left in (answer.get("UnprocessedKeys") or {}).items():
            how = {"ConsistentRead": True} if table in consistent else {}
            for key in left["Keys"]:
                item = client.get_item(TableName=table, Key=key, **how).get("Item")
                found += [] if item is None else [item]
    return found


WRITE_BATCH = 25
BATCH_TRIES = 3
FIRST_WAIT_SECONDS = 0.1
"""The pause before the second attempt. It doubles before each further attempt. After the last attempt, callers with
more time repeat the call.
"""

Statement = dict[str, Any]
"""A statement of PartiQL with its parameters."""


def execute(client: Any, statements: Sequence[Statement], clock: Clock, executor: Executor) -> list[WriteOutcome]:
    """Execute statements and return their outcomes in the same order. No two statements may write the same item. Never
    raises: errors and missing responses are outcomes.
    """
    batches = [statements[begin : begin + WRITE_BATCH] for begin in range(0, len(statements), WRITE_BATCH)]
    done = executor.map(lambda batch: _batch(client, batch, clock), batches)
    return [outcome for outcomes in done for outcome in outcomes]


def _batch(client: Any, statements: Sequence[Statement], clock: Clock) -> list[WriteOutcome]:
    """Execute statements in one request, and retry those that were throttled in further requests with backoff."""
    outcomes = [WriteOutcome()] * len(statements)
    open_ = list(range(len(statements)))
    puts_off = 0
    while True:
        made = _request(client, [statements[index] for index in open_], puts_off)
        for index, outcome in zip(open_, made, strict=True):
            outcomes[index] = outcome
        open_ = [index for index in open_ if outcomes[index].code in RETRYABLE]
        puts_off += 1
        if not open_ or puts_off == BATCH_TRIES:
            return outcomes
        clock.sleep_until(clock.now() + FIRST_WAIT_SECONDS * 2 ** (puts_off - 1))


def _request(client: Any, statements: Sequence[Statement], throttled: int) -> list[WriteOutcome]:
    try:
        answer = client.batch_execute_statement(Statements=statements)
    except ServiceError as problem:
        code, message = problem.code, problem.message
        if code in NEVER and len(statements) > 1:
            # One invalid statement fails the whole request: execute each of them separately, once.
            return [outcome for one in statements for outcome in _request(client, [one], throttled)]
        return [WriteOutcome(code, message, None, throttled + (code in THROTTLED))] * len(statements)
    except AwsError as problem:
        return [WriteOutcome(type(problem).__name__, str(problem), None, throttled)] * len(statements)
    return [_outcome(response.get("Error"), throttled) for response in answer["Responses"]]


_DONE = WriteOutcome()


def _outcome(error: dict[str, Any] | None, throttled: int) -> WriteOutcome:
    if error is None:
        return WriteOutcome(throttled=throttled) if throttled else _DONE
    code = error["Code"]
    return WriteOutcome(code, error.get("Message", ""), error.get("Item") or None, throttled + (code in THROTTLED))


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
            codes = _cancellation_codes(error)
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


def _cancellation_codes(error: ServiceError) -> list[str] | None:
    """Return the code of each part of a cancelled transaction, in order. Returns None for any other error."""
    if error.code != "TransactionCanceledException":
        return None
    return [reason.get("Code", "None") for reason in error.answer.get("CancellationReasons", [])]


def _condition_failed(error: AwsError) -> bool:
    """Return whether a write was rejected because its condition failed."""
    return isinstance(error, ServiceError) and error.code == "ConditionalCheckFailedException"


def _found(error: AwsError) -> Item | None:
    """Return the stored item of a failed condition if the write requested it (ReturnValuesOnConditionCheckFailure)."""
    return error.answer.get("Item") or None if isinstance(error, ServiceError) else None
