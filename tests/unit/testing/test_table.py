"""What the tables in memory have beyond the requests that tests/contract/tables compares with DynamoDB."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

from duecourse.stores.table import (
    DUE,
    Absent,
    Add,
    AnyOf,
    Between,
    Compare,
    Delete,
    Item,
    Put,
    Query,
    Remove,
    Returned,
    Set,
    Table,
    Update,
    WriteOutcome,
    equal,
    pages,
)
from duecourse.testing.table import MemoryTables

JOBS, RUNS = Table.JOBS, Table.RUNS


def key(sort: str = "s", partition: str = "p") -> Item:
    return {"PK": {"S": partition}, "SK": {"S": sort}}


def entry(sort: str, due: int, slot: str = "slot") -> Item:
    return {**key(sort), "slot": {"S": slot}, "due": {"N": str(due)}}


@pytest.fixture
def tables() -> MemoryTables:
    return MemoryTables()


def test_memory_tables_keep_copies_of_items(tables: MemoryTables) -> None:
    item = {**key(), "tags": {"SS": ["a"]}}
    tables.write(Put(JOBS, item))
    item["tags"]["SS"].append("b")
    found = tables.get(JOBS, key())
    assert found == {**key(), "tags": {"SS": ["a"]}}
    found["tags"]["SS"].append("b")
    for written in (
        tables.write(Delete(JOBS, key(), Absent()), Returned.FOUND),
        tables.write(Update(JOBS, key(), (Set("x", 1),)), Returned.AFTER),
    ):
        assert written.item is not None
        written.item["tags"]["SS"].append("b")
    assert tables.query(Query(JOBS, "p")).items == [{**key(), "tags": {"SS": ["a"]}, "x": {"N": "1"}}]


def test_memory_tables_remove_expired_items_of_both_tables_when_they_are_asked_to(tables: MemoryTables) -> None:
    for table in Table:
        for sort, until in (("a", 10), ("b", 11), ("c", 9)):
            tables.write(Put(table, {**entry(sort, until), "expires_at": {"N": str(until)}}))
        tables.write(Update(table, key("c"), (Set("expires_at", 12.5),)))
        tables.write(Put(table, {**key("d"), "expires_at": {"S": "1"}}))
    tables.remove_expired(10)
    for table in Table:
        assert [item["SK"]["S"] for item in tables.query(Query(table, "p")).items] == ["b", "c", "d"]
    assert tables.first_read(0, 0) == 9
    tables.remove_expired(12.5)
    assert [item["SK"]["S"] for item in tables.query(Query(JOBS, "p")).items] == ["d"]
    assert tables.first_read(0, 0) is None


def test_memory_tables_know_the_first_due_time_of_all_slots(tables: MemoryTables) -> None:
    tables.put_many(JOBS, [entry("a", 30, "x"), entry("b", 20, "y"), entry("c", 25, "y")])
    assert tables.first_read(0, 0) == 20
    tables.write(Update(JOBS, key("b"), (Set("due", 40),)))
    assert tables.first_read(0, 0) == 25


def test_memory_tables_know_when_a_round_first_reads_an_entry(tables: MemoryTables) -> None:
    rare = {**entry("c", 1_000, "y"), "rare": {"BOOL": True}}
    tables.put_many(JOBS, [entry("a", 900, "x"), entry("b", 900, "y"), rare])
    assert tables.first_read(300, 600) == 400
    tables.write(Update(JOBS, key("c"), (Remove("rare"),)))
    assert tables.first_read(300, 600) == 600


def test_memory_tables_return_items_with_the_same_index_key_in_the_order_of_their_keys(tables: MemoryTables) -> None:
    for sort in ("c", "a", "b"):
        tables.write(Put(JOBS, entry(sort, 5)))
    query = Query(JOBS, "slot", index=DUE, limit=1)
    page = tables.query(query)
    assert page.last == entry("a", 5)
    assert [item["SK"]["S"] for item in pages(tables, Query(JOBS, "slot", index=DUE))] == ["a", "b", "c"]


def test_memory_tables_return_at_most_a_megabyte_at_once(tables: MemoryTables) -> None:
    for number in range(6):
        tables.write(Put(JOBS, {**key(str(number)), "x": {"S": "a" * 300_000}}))
    page = tables.query(Query(JOBS, "p"))
    assert (len(page.items), page.last) == (3, key("2"))
    assert tables.count(Query(JOBS, "p", only=Absent("x"))) == (0, key("2"))
    assert len([*pages(tables, Query(JOBS, "p", newest=True))]) == 6


def test_memory_tables_include_both_bounds_of_a_range(tables: MemoryTables) -> None:
    tables.write(Put(JOBS, {**key(), "n": {"N": "2"}}))
    ranges = [(0, 1), (0, 2), (2, 2), (2, 3), (3, 4)]
    held = [tables.write(Update(JOBS, key(), (Set("x", 1),), Between("n", *each))).held for each in ranges]
    assert held == [False, True, True, True, False]


def test_memory_tables_execute_all_writes_of_a_transaction_or_none(tables: MemoryTables) -> None:
    tables.write(Put(RUNS, key("old")))
    writes = [Put(JOBS, key("new")), Put(RUNS, key("old"), Absent()), Delete(JOBS, key("none"), equal("x", 1))]
    assert tables.transact(writes) == [1, 2]
    assert tables.get(JOBS, key("new")) is None
    assert tables.transact([writes[0], Delete(RUNS, key("old"))]) == []
    assert (tables.get(JOBS, key("new")), tables.get(RUNS, key("old"))) == (key("new"), None)


def test_memory_tables_add_decimal_numbers_of_several_threads(tables: MemoryTables) -> None:
    with ThreadPoolExecutor(8) as threads:
        for _ in threads.map(lambda _: tables.write(Update(JOBS, key(), (Add("n", 0.1),))), range(200)):
            pass
    found = tables.get(JOBS, key())
    assert found is not None
    assert Decimal(found["n"]["N"]) == 20


def test_memory_tables_reject_statements_without_a_form_in_partiql(tables: MemoryTables) -> None:
    for write in (
        Update(JOBS, key(), (Add("n", 1),)),
        Delete(JOBS, key(), AnyOf((Absent(), equal("n", 1)))),
    ):
        with pytest.raises(TypeError, match="PartiQL"):
            tables.write_many([write])
    with pytest.raises(ValueError, match="same key"):
        tables.write_many([Delete(JOBS, key()), Update(JOBS, key(), (Set("n", 1),))])
    with pytest.raises(ValueError, match="sort key"):
        tables.query(Query(JOBS, "p", Compare("due", ">", 1)))
    with pytest.raises(ValueError, match="update"):
        tables.write(Delete(JOBS, key()), Returned.AFTER)


def test_memory_tables_update_many_items_that_exist(tables: MemoryTables) -> None:
    tables.write(Put(JOBS, key("a")))
    writes = [Update(JOBS, key(sort), (Set("n", 1),), Absent("n")) for sort in ("a", "b")]
    failed = WriteOutcome("ConditionalCheckFailed", "The conditional request failed")
    assert tables.write_many(writes) == [WriteOutcome(), failed]
    assert tables.write_many([Delete(JOBS, key("b"), equal("n", 1))]) == [WriteOutcome()]
    assert tables.get(JOBS, key("a")) == {**key("a"), "n": {"N": "1"}}
