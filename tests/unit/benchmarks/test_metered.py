"""What writes are billed, from the items before and after them."""

from typing import Any

import pytest

from benchmarks.wire.metered import Metered
from duecourse.ports import ServiceError
from tests.support import in_process
from tests.support.tables import create_tables

KEY = {"PK": {"S": "JOB#acme#report"}, "SK": {"S": "CURSOR"}}
SLOT = {"slot": {"S": "2026-11-21T12/0000"}, "due": {"N": "1795244400"}}


class Table:
    """The jobs table, whose writes are metered."""

    def __init__(self) -> None:
        tables = create_tables(in_process.dynamodb())
        self.client, self.name = Metered(tables.client), tables.jobs

    def put(self, **more: Any) -> int:
        """The units of a put."""
        self.client.clear()
        self.client.put_item(TableName=self.name, Item=KEY | more)
        return self.client.written


@pytest.fixture
def table() -> Table:
    return Table()


def test_metered_write_is_one_unit_per_started_kilobyte_of_the_larger_item_before_or_after(table: Table) -> None:
    assert table.put(text={"S": "x" * 900}) == 1
    assert table.put(text={"S": "x" * 2_000}) == 2
    assert table.put(text={"S": "x"}) == 2, "it was larger before"


def test_metered_index_write_is_one_unit_and_two_if_its_key_changes(table: Table) -> None:
    assert table.put(**SLOT) == 2
    assert table.put(**SLOT) == 1, "the index stays as it is"
    assert table.put(**SLOT | {"due": {"N": "1795244460"}}) == 3
    assert table.put() == 2, "it leaves the index"


def test_metered_write_with_a_failed_condition_is_billed(table: Table) -> None:
    table.put()
    with pytest.raises(ServiceError, match="ConditionalCheckFailedException"):
        table.client.put_item(TableName=table.name, Item=KEY, ConditionExpression="attribute_not_exists(PK)")
    assert table.client.written == 2


def test_metered_transaction_costs_twice_the_units_of_the_table_and_a_statement_those_of_an_update(
    table: Table,
) -> None:
    table.put(**SLOT)
    table.client.clear()
    update = {
        "TableName": table.name,
        "Key": KEY,
        "UpdateExpression": "SET revision = :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    table.client.transact_write_items(TransactItems=[{"Update": update}])
    assert table.client.written == 3, "the table's unit, twice, and the index's"
    statement = f'UPDATE "{table.name}" SET due = ? WHERE PK = ? AND SK = ?'
    table.client.batch_execute_statement(
        Statements=[{"Statement": statement, "Parameters": [{"N": "7"}, KEY["PK"], KEY["SK"]]}]
    )
    assert table.client.units == {"JOB CURSOR": 3 + 3}
    assert table.client.requests == {"transact_write_items": 1, "batch_execute_statement": 1}
