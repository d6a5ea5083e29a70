"""The requests of the tables: the texts of conditions, changes and statements, and what has no text."""

from typing import Any

import pytest

from duecourse.adapters.dynamodb.tables import DynamoTables
from duecourse.stores.table import (
    ACTIVE,
    Absent,
    Add,
    All,
    AnyOf,
    Between,
    Compare,
    Condition,
    Delete,
    In,
    Not,
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
    all_of,
    any_of,
    equal,
)
from duecourse.testing.clock import SettableClock
from tests.support.jobs import NOON

KEY = {"PK": {"S": "a"}, "SK": {"S": "b"}}


class Recorder:
    """A client whose requests succeed and find nothing."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        def ask(**asked: Any) -> dict[str, Any]:
            self.asked.append(asked)
            count = len(asked.get("Statements", ()))
            return {"Items": [], "Count": 0, "Responses": [{}] * count}

        return ask


def tables() -> tuple[DynamoTables, list[dict[str, Any]]]:
    client = Recorder()
    return DynamoTables(client, {Table.JOBS: "j", Table.RUNS: "r"}, SettableClock(NOON)), client.asked


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (Compare("n", "<=", 1), "#n <= :v0"),
        (Between("n", 1, 2), "#n BETWEEN :v0 AND :v1"),
        (In("n", ("a", "b")), "#n IN (:v0, :v1)"),
        (Prefix("n", "a"), "begins_with(#n, :v0)"),
        (Present(), "attribute_exists(#PK)"),
        (Absent("n"), "attribute_not_exists(#n)"),
        (Not(equal("n", 1)), "NOT #n = :v0"),
        (Not(All((any_of(Absent(), equal("n", 1)),))), "NOT (attribute_not_exists(#PK) OR #n = :v0)"),
        (any_of(Absent(), all_of(equal("n", 1), any_of(Absent("o"), Present("p")))),
         "attribute_not_exists(#PK) OR (#n = :v0 AND (attribute_not_exists(#o) OR attribute_exists(#p)))"),
    ],
)  # fmt: skip
def test_tables_render_conditions_with_aliases_of_all_names_and_values(condition: Condition, text: str) -> None:
    both, asked = tables()
    both.write(Delete(Table.RUNS, KEY, condition))
    assert asked[0]["ConditionExpression"] == text
    assert all(alias == f"#{name}" for alias, name in asked[0]["ExpressionAttributeNames"].items())


def test_tables_render_changes_by_clause() -> None:
    both, asked = tables()
    changes = (Set("a", "x"), Add("b", 2), Set("c", True), Remove("d"), RemoveFrom("e", frozenset({"y"})))
    both.write(Update(Table.JOBS, KEY, changes, Present()), Returned.AFTER)
    assert asked == [
        {
            "TableName": "j",
            "Key": KEY,
            "UpdateExpression": "SET #a = :v0, #c = :v2 ADD #b :v1 REMOVE #d DELETE #e :v3",
            "ConditionExpression": "attribute_exists(#PK)",
            "ExpressionAttributeNames": {f"#{name}": name for name in ("a", "b", "c", "d", "e", "PK")},
            "ExpressionAttributeValues": {":v0": {"S": "x"}, ":v1": {"N": "2"}, ":v2": {"BOOL": True},
                                          ":v3": {"SS": ["y"]}},
            "ReturnValues": "ALL_NEW",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    ]  # fmt: skip


def test_tables_render_many_writes_as_statements_with_the_key_first() -> None:
    both, asked = tables()
    wanted = all_of(equal("due", 7), Absent("error"))
    both.write_many([Update(Table.JOBS, KEY, (Set("slot", "x"), Remove("last")), wanted), Delete(Table.RUNS, KEY)])
    first, second = asked[0]["Statements"]
    assert first["Statement"] == (
        'UPDATE "j" SET "slot" = ? REMOVE "last" WHERE "PK" = ? AND "SK" = ? AND "due" = ? AND "error" IS MISSING'
    )
    assert first["Parameters"] == [{"S": "x"}, {"S": "a"}, {"S": "b"}, {"N": "7"}]
    assert second["Statement"] == 'DELETE FROM "r" WHERE "PK" = ? AND "SK" = ?'


@pytest.mark.parametrize(
    "write",
    [
        Update(Table.JOBS, KEY, (Add("n", 1),)),
        Update(Table.JOBS, KEY, (RemoveFrom("n", frozenset({"x"})),)),
        Delete(Table.JOBS, KEY, AnyOf((Absent("n"), equal("n", 1)))),
        Delete(Table.JOBS, KEY, Prefix("n", "x")),
    ],
)
def test_tables_send_no_request_for_a_write_that_has_no_form_in_partiql(write: Update | Delete) -> None:
    both, asked = tables()
    with pytest.raises(TypeError, match="no form in PartiQL"):
        both.write_many([write])
    assert asked == []


def test_tables_query_an_index_by_its_own_key_attributes() -> None:
    both, asked = tables()
    query = Query(Table.RUNS, "acme", Compare("active_since", "<", 5), ACTIVE, newest=True, limit=3, read=("PK",))
    assert both.query(query).items == []
    assert both.count(query) == (0, None)
    assert asked[0] == {
        "TableName": "r",
        "IndexName": "active",
        "KeyConditionExpression": "#active_key = :v0 AND #active_since < :v1",
        "ProjectionExpression": "#PK",
        "ScanIndexForward": False,
        "Limit": 3,
        "ExpressionAttributeNames": {f"#{name}": name for name in ("active_key", "active_since", "PK")},
        "ExpressionAttributeValues": {":v0": {"S": "acme"}, ":v1": {"N": "5"}},
    }
    assert asked[1] == asked[0] | {"Select": "COUNT"}


def test_tables_send_no_query_with_a_condition_on_another_attribute_than_the_sort_key() -> None:
    both, asked = tables()
    with pytest.raises(ValueError, match="not the sort key"):
        both.query(Query(Table.RUNS, "acme", Compare("SK", "<", "x"), ACTIVE))
    with pytest.raises(ValueError, match="only an update"):
        both.write(Put(Table.RUNS, KEY), Returned.AFTER)
    assert asked == []


def test_tables_scan_one_part_of_a_table() -> None:
    both, asked = tables()
    both.scan(Scan(Table.JOBS, part=1, parts=4, only=equal("SK", "JOB")))
    assert (asked[0]["Segment"], asked[0]["TotalSegments"]) == (1, 4)
    assert asked[0]["FilterExpression"] == "#SK = :v0"
