"""The stores."""

from __future__ import annotations

import pytest

from tests.infra.conftest import Stack
from tests.support.template import table_definitions

TABLES = ("JobsTable", "RunsTable")


def keys(schema: list[dict[str, str]]) -> dict[str, str]:
    return {each["KeyType"]: each["AttributeName"] for each in schema}


def indexes(definition: dict[str, list[dict[str, object]]]) -> dict[str, dict[str, str]]:
    return {str(each["IndexName"]): keys(each["KeySchema"]) for each in definition["GlobalSecondaryIndexes"]}  # type: ignore[arg-type]


def test_the_stores_cost_nothing_when_idle(stack: Stack) -> None:
    for output in TABLES:
        assert stack.resource(stack.output(output))["Properties"]["BillingMode"] == "PAY_PER_REQUEST"


def test_old_items_expire(stack: Stack) -> None:
    for output in TABLES:
        table = stack.resource(stack.output(output))["Properties"]
        assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}


def test_what_expires_from_the_runs_can_be_archived(stack: Stack) -> None:
    runs = stack.resource(stack.output("RunsTable"))["Properties"]
    assert runs["StreamSpecification"] == {"StreamViewType": "OLD_IMAGE"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("jobs", {"due": {"HASH": "slot", "RANGE": "due"}, "tenant": {"HASH": "tenant", "RANGE": "job_id"}}),
        ("runs", {"dead": {"HASH": "dead_key", "RANGE": "died_at"}}),
    ],
)
def test_the_indexes_find_cursors_by_time_jobs_by_tenant_and_what_did_not_go_well(name: str, expected: object) -> None:
    definition = table_definitions()[name]
    assert keys(definition["KeySchema"]) == {"HASH": "PK", "RANGE": "SK"}
    assert indexes(definition) == expected


def test_times_are_numbers_and_all_else_is_text() -> None:
    kinds = {
        each["AttributeName"]: each["AttributeType"]
        for definition in table_definitions().values()
        for each in definition["AttributeDefinitions"]
    }
    assert {name for name, kind in kinds.items() if kind == "N"} == {"due", "died_at"}


def test_the_tables_are_the_same_in_every_stage() -> None:
    assert table_definitions("local") == table_definitions("dev") == table_definitions("prod")
