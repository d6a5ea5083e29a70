"""Provisioned pollers and warm throughput, as AWS is asked for them."""

from typing import Any

import pytest

from duecourse.adapters.aws.capacity import DynamoThroughput, LambdaPollers
from duecourse.domain.maintenance.peaks import Throughput
from duecourse.ports import ServiceError

MAXIMUM = {"ScalingConfig": {"MaximumConcurrency": 100}}
POLLERS = {"ProvisionedPollerConfig": {"MinimumPollers": 50, "MaximumPollers": 60}}
REJECTED = ServiceError("InvalidParameterValueException", "only one of both")


class Lambda:
    """boto3's client of Lambda, with one event source. An empty object removes a configuration."""

    def __init__(self, *rejections: ServiceError, state: str = "Enabled", **has: Any) -> None:
        self.rejections = list(rejections)
        self.state = state
        self.has = has
        self.asked: list[dict[str, Any]] = []

    def get_event_source_mapping(self, *, UUID: str) -> dict[str, Any]:  # noqa: N803
        assert UUID == "91ea"
        return {"State": self.state, **self.has}

    def update_event_source_mapping(self, *, UUID: str, **given: Any) -> None:  # noqa: N803
        assert UUID == "91ea"
        self.asked.append(given)
        if self.rejections:
            raise self.rejections.pop(0)
        self.has = {name: value for name, value in {**self.has, **given}.items() if value}


def test_pollers_replace_the_maximum_concurrency_in_one_request() -> None:
    client = Lambda(**MAXIMUM)
    assert not LambdaPollers(client).set("91ea", 50, 60)
    assert client.asked == [{**POLLERS, "ScalingConfig": {}}]
    assert LambdaPollers(client).set("91ea", 50, 60)
    assert len(client.asked) == 1


def test_pollers_are_set_after_the_maximum_is_removed_if_aws_rejects_both_in_one_request() -> None:
    client = Lambda(REJECTED, **MAXIMUM)
    pollers = LambdaPollers(client)
    assert [pollers.set("91ea", 50, 60) for _ in range(3)] == [False, False, True]
    assert client.asked == [{**POLLERS, "ScalingConfig": {}}, {"ScalingConfig": {}}, POLLERS]


def test_pollers_are_removed_and_the_maximum_concurrency_is_restored() -> None:
    client = Lambda(**POLLERS)
    pollers = LambdaPollers(client)
    assert [pollers.remove("91ea", 100) for _ in range(2)] == [False, True]
    assert client.asked == [{"ProvisionedPollerConfig": {}, **MAXIMUM}]


def test_pollers_are_removed_first_if_aws_rejects_both_in_one_request() -> None:
    client = Lambda(REJECTED, **POLLERS)
    pollers = LambdaPollers(client)
    assert [pollers.remove("91ea", 100) for _ in range(3)] == [False, False, True]
    assert client.has == MAXIMUM


def test_pollers_of_a_queue_without_a_maximum_are_only_removed() -> None:
    client = Lambda(**POLLERS)
    assert [LambdaPollers(client).remove("91ea", None) for _ in range(2)] == [False, True]
    assert client.asked == [{"ProvisionedPollerConfig": {}}]


@pytest.mark.parametrize("state", ["Updating", "Enabling", "Creating"])
def test_pollers_are_not_changed_while_lambda_changes_the_event_source(state: str) -> None:
    client = Lambda(state=state, **MAXIMUM)
    assert not LambdaPollers(client).set("91ea", 50, 60)
    assert not LambdaPollers(client).remove("91ea", 100)
    assert client.asked == []


def test_pollers_request_that_fails_for_another_reason_raises() -> None:
    refused = ServiceError("AccessDeniedException", "not you")
    with pytest.raises(ServiceError, match="not you"):
        LambdaPollers(Lambda(refused, **MAXIMUM)).set("91ea", 50, 60)
    with pytest.raises(ServiceError, match="only one"):
        LambdaPollers(Lambda(REJECTED)).set("91ea", 50, 60)


class Dynamo:
    """boto3's client of DynamoDB."""

    def __init__(self, **found: Any) -> None:
        self.found = found
        self.asked: list[dict[str, Any]] = []

    def describe_table(self, *, TableName: str) -> dict[str, Any]:  # noqa: N803
        return {"Table": self.found[TableName]}

    def update_table(self, **given: Any) -> None:
        self.asked.append(given)


TABLES = {"jobs": "Jobs", "runs": "Runs"}
UNITS = {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 4_000, "Status": "ACTIVE"}


def test_throughput_is_read_of_both_tables_and_their_indexes() -> None:
    due = {"IndexName": "due", "IndexStatus": "ACTIVE", "WarmThroughput": UNITS | {"WriteUnitsPerSecond": 8_000}}
    jobs = {"TableStatus": "ACTIVE", "WarmThroughput": UNITS, "GlobalSecondaryIndexes": [due]}
    client = Dynamo(Jobs=jobs, Runs={"TableStatus": "ACTIVE"})
    assert DynamoThroughput(client, TABLES).read() == Throughput(
        {"jobs.reads": 12_000, "jobs.writes": 4_000, "due.reads": 12_000, "due.writes": 8_000}
    )


@pytest.mark.parametrize(
    "runs",
    [
        {"TableStatus": "UPDATING"},
        {"TableStatus": "ACTIVE", "WarmThroughput": UNITS | {"Status": "UPDATING"}},
        {"TableStatus": "ACTIVE", "GlobalSecondaryIndexes": [{"IndexName": "ended", "IndexStatus": "UPDATING"}]},
    ],
)
def test_throughput_is_updating_while_a_table_or_an_index_is(runs: dict[str, Any]) -> None:
    client = Dynamo(Jobs={"TableStatus": "ACTIVE"}, Runs=runs)
    assert DynamoThroughput(client, TABLES).read().updating


def test_throughput_of_a_table_and_its_indexes_is_raised_in_one_request() -> None:
    client = Dynamo()
    units = {"runs.writes": 38_000, "runs.reads": 25_000, "ended.writes": 13_000}
    DynamoThroughput(client, TABLES).warm("runs", units)
    DynamoThroughput(client, TABLES).warm("jobs", {"due.writes": 6_000})
    of_index = {"IndexName": "ended", "WarmThroughput": {"WriteUnitsPerSecond": 13_000}}
    of_due = {"IndexName": "due", "WarmThroughput": {"WriteUnitsPerSecond": 6_000}}
    assert client.asked == [
        {
            "TableName": "Runs",
            "WarmThroughput": {"WriteUnitsPerSecond": 38_000, "ReadUnitsPerSecond": 25_000},
            "GlobalSecondaryIndexUpdates": [{"Update": of_index}],
        },
        {"TableName": "Jobs", "GlobalSecondaryIndexUpdates": [{"Update": of_due}]},
    ]
