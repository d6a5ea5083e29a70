"""Requests that DynamoDB rejects, by name, each with the code of the rejection. They find the items of `SEED`."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from duecourse.stores.table import (
    ACTIVE,
    DUE,
    ENDED,
    STATE,
    TENANT,
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
    Index,
    Item,
    Not,
    Prefix,
    Present,
    Put,
    Query,
    Remove,
    RemoveFrom,
    Scan,
    Set,
    Table,
    Update,
    Value,
    equal,
)
from tests.support.table_requests import Request

JOBS, RUNS = Table.JOBS, Table.RUNS
INVALID = "ValidationException"
INVALID_STATEMENT = "ValidationError"
CANCELLED = "TransactionCanceledException"


def text(value: str) -> Item:
    return {"S": value}


def number(value: str) -> Item:
    return {"N": value}


def key(partition: str = "p", sort: str = "s") -> Item:
    return {"PK": text(partition), "SK": text(sort)}


SEED = [
    {**key(), "text": text("a"), "count": number("1"), "flag": {"BOOL": True}, "tags": {"SS": ["a", "b"]}},
    {**key("p", "t"), "slot": text("slot"), "due": number("5"), "big": text("a" * 200_000)},
    {**key("p", "u"), "count": number("9" * 38), "huge": number("9" + "0" * 125)},
]
"""Items of the jobs table."""


class Rejected(NamedTuple):
    """A request, and the code with which it is rejected."""

    code: str
    request: Request


Named = Iterator[tuple[str, Rejected]]


VALUES = {
    "empty set": {"SS": []},
    "set with duplicates": {"SS": ["a", "a"]},
    "number that is no number": number("nan"),
    "infinite number": number("Infinity"),
    "empty number": number(""),
    "number with a space": number(" 1"),
    "number with an underscore": number("1_0"),
    "hexadecimal number": number("0x1"),
    "number of 39 digits": number("1" * 39),
    "number of 39 digits with a fraction": number("1" * 38 + ".1"),
    "number that is too large": number("1e126"),
    "number that is far too large": number("1e5000"),
    "negative number that is too large": number("-1e126"),
    "number that is too small": number("1e-131"),
    "value of two types": {"S": "1", "N": "1"},
    "value without a type": {},
}
"""Attributes that no item can have."""

KEYS: dict[str, tuple[Item, str]] = {
    "no sort key": ({"PK": text("p")}, INVALID),
    "no partition key": ({"SK": text("s")}, INVALID),
    "empty partition key": (key(""), INVALID),
    "empty sort key": (key("p", ""), INVALID),
    "number as partition key": ({**key(), "PK": number("1")}, CANCELLED),
    "number as sort key": ({**key(), "SK": number("1")}, CANCELLED),
    "set as sort key": ({**key(), "SK": {"SS": ["a"]}}, CANCELLED),
    "partition key of 2,049 bytes": (key("a" * 2049), CANCELLED),
    "partition key of 2,050 bytes in 1,025 letters": (key("é" * 1025), CANCELLED),
    "sort key of 1,025 bytes": (key("p", "a" * 1025), CANCELLED),
}
"""Keys that no item can have, with the code in a transaction."""

INDEX_KEYS: dict[str, tuple[Table, Item, str]] = {
    "empty slot": (JOBS, {"slot": text(""), "due": number("1")}, INVALID),
    "empty slot without its sort key": (JOBS, {"slot": text("")}, INVALID),
    "number as slot": (JOBS, {"slot": number("1")}, CANCELLED),
    "text as due time": (JOBS, {"slot": text("a"), "due": text("1")}, CANCELLED),
    "text as due time without its partition key": (JOBS, {"due": text("1")}, CANCELLED),
    "flag as due time": (JOBS, {"due": {"BOOL": True}}, CANCELLED),
    "empty tenant": (JOBS, {"tenant": text("")}, INVALID),
    "empty job id": (JOBS, {"job_id": text("")}, INVALID),
    "set as job id": (JOBS, {"job_id": {"SS": ["a"]}}, CANCELLED),
    "empty state key": (JOBS, {"state_key": text("")}, INVALID),
    "slot of 2,049 bytes": (JOBS, {"slot": text("a" * 2049)}, CANCELLED),
    "job id of 1,025 bytes": (JOBS, {"job_id": text("a" * 1025)}, CANCELLED),
    "empty ended key": (RUNS, {"ended_key": text("")}, INVALID),
    "text as time of death": (RUNS, {"ended_at": text("5")}, CANCELLED),
    "number as active key": (RUNS, {"active_key": number("1")}, CANCELLED),
    "text as start": (RUNS, {"active_since": text("5")}, CANCELLED),
}
"""Attributes that no item can have because an index has them as keys, with the code in a transaction."""

LARGE = {
    "item of 409,601 bytes": {"x": text("a" * (409_601 - 4 - 2 - 1))},
    "item of 409,602 bytes in two-byte letters": {"x": text("é" * 204_798)},
    "item with a name of 65,536 bytes": {"x" * 65_536: number("1")},
    "item with an empty name": {"": number("1")},
}

OPERANDS: dict[str, Value] = {
    "empty set": frozenset(),
    "nan": float("nan"),
    "infinity": float("inf"),
    "number of 39 digits": 10**38 + 1,
    "number that is too large": 1e126,
    "number that is too small": 1e-131,
}
"""Values that no condition and no change can have."""

CONDITIONS: dict[str, Condition] = {
    "order of flags": Compare("flag", "<", value=True),
    "order of sets": Compare("tags", ">=", frozenset({"a"})),
    "range of flags": Between("flag", low=False, high=True),
    "range of a number and a text": Between("count", 1, "2"),
    "reversed range of texts": Between("text", "b", "a"),
    "reversed range of numbers": Between("count", 10, 9),
    "no options": In("count", ()),
    "101 options": In("count", tuple(range(101))),
    "no parts": All(()),
    "no alternatives": AnyOf(()),
    "no parts within parts": All((Present(), AnyOf(()))),
    "301 operators": AnyOf(tuple(equal("count", each) for each in range(151))),
    "301 functions and operators": All((Present(), *(Absent("x") for _ in range(150)))),
    "302 operators with negations": All(tuple(Not(equal("count", each)) for each in range(101))),
    "attribute without a name": equal("", 1),
    "presence without a name": Present(""),
    "invalid part of alternatives of which one holds": AnyOf((Present(), Between("text", "b", "a"))),
    "invalid part of parts of which one does not hold": All((Absent(), Between("text", "b", "a"))),
    "invalid part of a negation": Not(In("count", ())),
    **{f"comparison with {name}": equal("count", value) for name, value in OPERANDS.items()},
    "option that is an empty set": In("count", (1, frozenset())),
    "range to infinity": Between("count", 0, float("inf")),
}

CHANGES: dict[str, tuple[tuple[Change, ...], str]] = {
    "no changes": ((), INVALID),
    "two values of an attribute": ((Set("x", 1), Set("x", 2)), INVALID),
    "value and removal of an attribute": ((Set("x", 1), Remove("x")), INVALID),
    "value and sum of an attribute": ((Set("count", 1), Add("count", 1)), INVALID),
    "two sums of an attribute": ((Add("count", 1), Add("count", 1)), INVALID),
    "change of the partition key": ((Set("PK", "p"),), CANCELLED),
    "change of the sort key": ((Set("SK", "s"),), CANCELLED),
    "removal of the sort key": ((Remove("SK"),), CANCELLED),
    "sum of a text": ((Add("text", 1),), CANCELLED),
    "sum of a flag": ((Add("flag", 1),), CANCELLED),
    "sum of a set": ((Add("tags", 1),), CANCELLED),
    "texts removed from a text": ((RemoveFrom("text", frozenset({"a"})),), CANCELLED),
    "texts removed from a number": ((RemoveFrom("count", frozenset({"a"})),), CANCELLED),
    "no texts removed from a set": ((RemoveFrom("tags", frozenset()),), INVALID),
    "texts removed from a partition key": ((RemoveFrom("PK", frozenset({"a"})),), CANCELLED),
    "removal without a name": ((Remove(""),), INVALID),
    "empty slot": ((Set("slot", ""),), INVALID),
    "number as slot": ((Set("slot", 1),), CANCELLED),
    "sum as slot": ((Add("slot", 1),), CANCELLED),
    "text as due time": ((Set("due", "1"),), CANCELLED),
    "slot of 2,049 bytes": ((Set("slot", "a" * 2049),), CANCELLED),
    "empty job id": ((Set("job_id", ""),), INVALID),
    "value of 409,601 bytes": ((Set("x", "a" * 409_601),), INVALID),
    "value that makes the item too large": ((Set("x", "a" * 409_580),), CANCELLED),
    **{f"value {name}": ((Set("x", value),), INVALID) for name, value in OPERANDS.items()},
    **{f"sum with {name}": ((Add("x", value),), INVALID) for name, value in OPERANDS.items() if type(value) is float},
}
"""Changes that are rejected, with the code in a transaction."""

STATEMENTS = {
    name: changes for name, (changes, _) in CHANGES.items() if all(isinstance(c, Set | Remove) for c in changes)
}


def _puts() -> Named:
    items: list[tuple[str, Table, Item, str]] = [
        *((name, JOBS, {**key(), "x": value}, INVALID) for name, value in VALUES.items()),
        *((name, JOBS, item, code) for name, (item, code) in KEYS.items()),
        *((name, table, key() | item, code) for name, (table, item, code) in INDEX_KEYS.items()),
        *((name, JOBS, key() | item, INVALID) for name, item in LARGE.items()),
    ]
    for name, table, item, code in items:
        yield f"put: {name}", Rejected(INVALID, Request("write", (Put(table, item),)))
        yield f"transaction: put of {name}", Rejected(code, Request("transact", ([Put(table, item)],)))
    for name, table, item, _ in items[::4]:
        more = [key("p", "v"), item]
        yield (
            f"put many: {name}",
            Rejected(
                INVALID,
                Request(
                    "put_many",
                    (
                        table,
                        more,
                    ),
                ),
            ),
        )
    twice = [key("p", "v"), key("p", "v")]
    yield (
        "put many: twice the same",
        Rejected(
            INVALID,
            Request(
                "put_many",
                (
                    JOBS,
                    twice,
                ),
            ),
        ),
    )
    invalid = Put(JOBS, {**key(), "due": text("a")}, Absent())
    yield "put: invalid item whose condition fails", Rejected(INVALID, Request("write", (invalid,)))


def _keys() -> Named:
    keys = {**KEYS, "attribute that is no key": ({**key(), "x": text("a")}, INVALID)}
    for name, (where, code) in keys.items():
        yield (
            f"get: {name}",
            Rejected(
                INVALID,
                Request(
                    "get",
                    (
                        JOBS,
                        where,
                    ),
                ),
            ),
        )
        yield f"delete: {name}", Rejected(INVALID, Request("write", (Delete(JOBS, where),)))
        change = Update(JOBS, where, (Set("x", 1),))
        yield f"update: {name}", Rejected(INVALID, Request("write", (change,)))
        check = Check(JOBS, where, Present())
        yield f"transaction: check of {name}", Rejected(code, Request("transact", ([check],)))
    yield (
        "get many: empty sort key",
        Rejected(
            INVALID,
            Request(
                "get_many",
                (
                    JOBS,
                    [key(), key("p", "")],
                ),
            ),
        ),
    )
    yield (
        "get many: twice the same",
        Rejected(
            INVALID,
            Request(
                "get_many",
                (
                    JOBS,
                    [key(), key("q"), key()],
                ),
            ),
        ),
    )


def _conditions() -> Named:
    for name, condition in CONDITIONS.items():
        put, check = Put(JOBS, key(), condition), Check(JOBS, key(), condition)
        yield f"condition of a put: {name}", Rejected(INVALID, Request("write", (put,)))
        yield f"condition of a check: {name}", Rejected(INVALID, Request("transact", ([check],)))
        only = Query(JOBS, "p", only=condition)
        if "Present()" not in repr(condition) and "Absent(name='PK'" not in repr(condition):
            yield f"filter: {name}", Rejected(INVALID, Request("query", (only,)))


def _changes() -> Named:
    for name, (changes, code) in CHANGES.items():
        change = Update(JOBS, key(), changes)
        yield f"update: {name}", Rejected(INVALID, Request("write", (change,)))
        yield f"transaction: update with {name}", Rejected(code, Request("transact", ([change],)))
    for name, changes in STATEMENTS.items():
        code = INVALID if name.removeprefix("value ") in OPERANDS else INVALID_STATEMENT
        many = [Update(JOBS, key(), changes)]
        yield f"many: update with {name}", Rejected(code, Request("write_many", (many,)))
    for name, add in {"sum": Add("count", 0.5), "sum of the largest numbers": Add("huge", 9e125)}.items():
        change = Update(JOBS, key("p", "u"), (add,))
        yield f"update: {name} that is out of range", Rejected(INVALID, Request("write", (change,)))
        yield f"transaction: {name} that is out of range", Rejected(CANCELLED, Request("transact", ([change],)))
    grown = Update(JOBS, key("p", "t"), (Set("more", "a" * 209_600),))
    yield "update: value that makes a large item too large", Rejected(INVALID, Request("write", (grown,)))


def _transactions() -> Named:
    def large(sort: int) -> Put:
        return Put(JOBS, {**key("large", str(sort)), "x": text("a" * 400_000)})

    requests = {
        "no writes": [],
        "101 writes": [Put(JOBS, key("many", str(each))) for each in range(101)],
        "two puts of an item": [Put(JOBS, key()), Put(JOBS, key())],
        "put and delete of an item": [Put(JOBS, key()), Delete(JOBS, key())],
        "update and check of an item": [Update(JOBS, key(), (Set("x", 1),)), Check(JOBS, key(), Present())],
        "more than 4 MB": [large(each) for each in range(11)],
        "invalid put after a put": [Put(JOBS, key("p", "v")), Put(JOBS, {**key(), "x": number("nan")})],
    }
    for name, writes in requests.items():
        yield f"transaction: {name}", Rejected(INVALID, Request("transact", (writes,)))
    second = [Put(JOBS, key("p", "v")), Put(JOBS, {**key(), "due": text("a")})]
    yield "transaction: invalid index key after a put", Rejected(CANCELLED, Request("transact", (second,)))


def _searches() -> Named:
    def index(index: Index, partition: str = "slot", **more: Any) -> Query:
        return Query(index.table, partition, index=index, **more)

    after = key("p", "t")
    due = {**after, "slot": text("slot"), "due": number("5")}
    queries = {
        "empty partition key": Query(JOBS, ""),
        "partition key of 2,049 bytes": Query(JOBS, "a" * 2049),
        "empty slot": index(DUE, ""),
        "empty sort key": Query(JOBS, "p", equal("SK", "")),
        "empty prefix": Query(JOBS, "p", Prefix("SK", "")),
        "number as sort key": Query(JOBS, "p", Compare("SK", ">", 1)),
        "flag as sort key": Query(JOBS, "p", equal("SK", value=True)),
        "reversed range": Query(JOBS, "p", Between("SK", "b", "a")),
        "range of a text and a number": Query(JOBS, "p", Between("SK", "a", 1)),
        "sort key of 1,025 bytes": Query(JOBS, "p", Compare("SK", ">", "a" * 1025)),
        "text as due time": index(DUE, sort=Compare("due", "<=", "5")),
        "prefix of a number": index(DUE, sort=Prefix("due", "5")),
        "number that is no number": index(DUE, sort=Compare("due", "<=", float("nan"))),
        "number as job id": index(TENANT, sort=equal("job_id", 5)),
        "limit of 0": Query(JOBS, "p", limit=0),
        "negative limit": Query(JOBS, "p", limit=-1),
        "consistent query of an index": index(DUE, consistent=True),
        "index of the other table": Query(RUNS, "slot", index=DUE),
        "index that the table does not have": Query(JOBS, "slot", index=ENDED),
        "attribute twice": Query(JOBS, "p", read=("text", "count", "text")),
        "attribute without a name": Query(JOBS, "p", read=("",)),
        "filter of the sort key": Query(JOBS, "p", only=Compare("SK", ">", "a")),
        "filter of the partition key": Query(JOBS, "p", only=Present("PK")),
        "filter of the sort key in a part": Query(JOBS, "p", only=All((Present("x"), Not(Absent("SK"))))),
        "filter of an index's sort key": index(DUE, only=Compare("due", ">", 1)),
        "filter of an index's partition key": index(STATE, only=Present("state_key")),
        "filter by what an index of keys does not have": index(ACTIVE, only=equal("text", "a")),
        "attribute that an index of keys does not have": index(ACTIVE, read=("PK", "text")),
        "start in another partition": Query(JOBS, "p", start=key("q", "t")),
        "start with another attribute": Query(JOBS, "p", start={**after, "x": text("a")}),
        "start without a sort key": Query(JOBS, "p", start={"PK": text("p")}),
        "start with a number": Query(JOBS, "p", start={**after, "SK": number("1")}),
        "empty start": Query(JOBS, "p", start=key("p", "")),
        "start before the range": Query(JOBS, "p", Compare("SK", ">", "t"), start=after),
        "start after the range": Query(JOBS, "p", Compare("SK", "<", "t"), start=after),
        "start without the prefix": Query(JOBS, "p", Prefix("SK", "s"), start=after),
        "start of a query of newest outside the range": Query(
            JOBS, "p", Compare("SK", "<", "t"), newest=True, start=after
        ),
        "start of the table in an index": index(DUE, start=after),
        "start of an index in the table": Query(JOBS, "p", start=due),
        "start in another slot": index(DUE, start={**due, "slot": text("other")}),
        "start with a text as due time": index(DUE, start={**due, "due": text("5")}),
        "start outside the range of an index": index(DUE, sort=Compare("due", ">", 5), start=due),
    }
    for name, query in queries.items():
        yield f"query: {name}", Rejected(INVALID, Request("query", (query,)))
    counted = Query(JOBS, "p", read=("text",))
    yield "count: attributes", Rejected(INVALID, Request("count", (counted,)))
    scans = {
        "limit of 0": Scan(JOBS, limit=0),
        "start without a sort key": Scan(JOBS, start={"PK": text("p")}),
        "start of the table in an index": Scan(JOBS, index=DUE, start=after),
        "index of the other table": Scan(RUNS, index=DUE),
        "attribute twice": Scan(JOBS, read=("text", "text")),
        "part after the last": Scan(JOBS, part=2, parts=2),
        "attribute that an index of keys does not have": Scan(RUNS, index=ACTIVE, read=("text",)),
        "filter without parts": Scan(JOBS, only=All(())),
        "filter by what an index of keys does not have": Scan(RUNS, index=ACTIVE, only=equal("text", "a")),
    }
    for name, scan in scans.items():
        yield f"scan: {name}", Rejected(INVALID, Request("scan", (scan,)))


REJECTED: dict[str, Rejected] = dict(chain(_puts(), _keys(), _conditions(), _changes(), _transactions(), _searches()))
