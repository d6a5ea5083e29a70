"""Both tables in DynamoDB. Only this module has texts of expressions and of PartiQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from duecourse.adapters.dynamodb.writing import Statement, batch_get, batch_put, condition_failed, execute, found
from duecourse.adapters.dynamodb.writing import transact as transact_with_retries
from duecourse.ports import AwsError, Clock, Executor, InlineExecutor
from duecourse.stores.table import (
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
    Outcome,
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
        return batch_get(self._client, self._names[table], keys, consistent=consistent)

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
            if not condition_failed(error):
                raise
            return Written(held=False, item=found(error))
        return Written(held=True, item=answer.get("Attributes") or None if returned in _RETURNED else None)

    def write_many(self, writes: Sequence[Update | Delete]) -> list[Outcome]:
        statements = [_statement(self._names[write.table], write) for write in writes]
        return execute(self._client, statements, self._clock, self._executor)

    def put_many(self, table: Table, items: Sequence[Item]) -> None:
        batch_put(self._client, self._names[table], items)

    def transact(self, writes: Sequence[Write | Check]) -> list[int]:
        return transact_with_retries(self._client, list(map(self.part, writes)), self._clock)

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
    changes = []
    if isinstance(write, Update):
        for change in write.changes:
            if isinstance(change, Set):
                changes.append(f'SET "{change.name}" = ?')
                parameters.append(attribute(change.value))
            elif isinstance(change, Remove):
                changes.append(f'REMOVE "{change.name}"')
            else:
                raise TypeError(f"{change} has no form in PartiQL")
        head = f'UPDATE "{table}" {" ".join(changes)}'
    else:
        head = f'DELETE FROM "{table}"'  # noqa: S608
    terms = [f'"{name}" = ?' for name in write.key]
    parameters += write.key.values()
    condition = write.condition
    for part in condition.parts if isinstance(condition, All) else () if condition is None else (condition,):
        if isinstance(part, Compare):
            terms.append(f'"{part.name}" {part.how} ?')
            parameters.append(attribute(part.value))
        elif isinstance(part, Absent):
            terms.append(f'"{part.name}" IS MISSING')
        else:
            raise TypeError(f"{part} has no form in PartiQL")
    text = f"{head} WHERE {' AND '.join(terms)}"
    return {"Statement": text, "Parameters": parameters, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
