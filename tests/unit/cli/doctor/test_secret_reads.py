"""`duecourse doctor`: how often the workers can read the store of secrets, and the quota for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from duecourse.checks.check import CheckStatus
from duecourse.cli.doctor import secret_reads
from duecourse.cli.doctor.facts import SecretReads, Skew
from duecourse.cli.doctor.queues import LANES
from duecourse.cli.doctor.stage import Stage

QUEUES = {f"Lane{lane.capitalize()}{kind}Url": f"{lane}{kind}" for lane in LANES for kind in ("", "Bulk")}
OUTPUTS = QUEUES | {"ExecuteHighFunction": "worker", "LaneCallbacksUrl": "callbacks"}
PROD = {"high": 100, "normal": 100, "low": 20, "long": 50}


class Aws:
    """All services: lanes with prod's maximum concurrency, and `stored` names in pages of ten."""

    def __init__(self, stored: int, *, store: str = "parameters", higher: bool = False, **sources: Any) -> None:
        self.stored, self.store, self.higher, self.sources = stored, store, higher, sources
        self.pages_read, self.filters = 0, list[dict[str, Any]]()

    def get_function_configuration(self, FunctionName: str) -> dict[str, Any]:  # noqa: N803
        assert FunctionName == "worker"
        return {"Environment": {"Variables": {"DUECOURSE_SECRET_STORE": self.store}}}

    def get_queue_attributes(self, QueueUrl: str, AttributeNames: list[str]) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl != "callbacks", "callbacks call no target"
        return {"Attributes": dict.fromkeys(AttributeNames, QueueUrl)}

    def list_event_source_mappings(self, EventSourceArn: str) -> dict[str, Any]:  # noqa: N803
        usual = {"ScalingConfig": {"MaximumConcurrency": PROD[EventSourceArn.removesuffix("Bulk")]}}
        return {"EventSourceMappings": [self.sources.get(EventSourceArn, usual)]}

    def get_service_setting(self, SettingId: str) -> dict[str, Any]:  # noqa: N803
        return {"ServiceSetting": {"SettingId": SettingId, "SettingValue": str(self.higher).lower()}}

    def get_paginator(self, operation: str) -> Any:
        pages = {
            "describe_parameters": lambda ParameterFilters: self.pages("Parameters", ParameterFilters),  # noqa: N803
            "list_secrets": lambda Filters: self.pages("SecretList", Filters),  # noqa: N803
            "get_metric_data": lambda **_: [{"MetricDataResults": []}],
        }
        return type("Paginator", (), {"paginate": staticmethod(pages[operation])})

    def pages(self, of: str, filters: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        self.filters = filters
        for begin in range(0, self.stored, 10):
            self.pages_read += 1
            yield {of: [{}] * min(10, self.stored - begin)}


def reads(aws: Aws) -> SecretReads:
    return secret_reads.secret_reads(Stage("prod", OUTPUTS, 1e6, 1.8e9, Skew(0.0), lambda _: aws))


def test_doctor_secrets_are_counted_with_the_executions_of_all_lanes() -> None:
    aws = Aws(3)
    assert reads(aws) == SecretReads("parameters", 3, False, executions=540, most=None, quota=40)
    assert aws.filters == [{"Key": "Path", "Option": "Recursive", "Values": ["/duecourse/prod"]}]
    managed = Aws(12, store="secrets_manager")
    assert reads(managed) == SecretReads("secrets_manager", 12, False, executions=540, most=None, quota=10_000)
    assert managed.filters == [{"Key": "name", "Values": ["duecourse/prod/"]}]


def test_doctor_secrets_executions_of_pollers_and_of_lambdas_own_pollers_are_counted() -> None:
    aws = Aws(0, high={"ProvisionedPollerConfig": {"MaximumPollers": 30}}, longBulk={"ScalingConfig": {}})
    assert reads(aws).executions == 540 - 100 + 300 - 50 + 1_250


def test_doctor_secrets_quota_is_larger_with_higher_throughput() -> None:
    assert reads(Aws(5, higher=True)).quota == 3_000


def test_doctor_secrets_counting_ends_when_the_quota_is_exceeded() -> None:
    aws = Aws(1_000, higher=True)
    found = reads(aws)
    assert (found.stored, found.more, aws.pages_read) == (300, True, 30)
    assert "300+ secrets and tasks" in secret_reads.judge(found).says


@pytest.mark.parametrize(
    ("found", "verdict", "says"),
    [
        (SecretReads("parameters", 0, False, 540, 3.0, 40), CheckStatus.OK, "no secrets and tasks are stored"),
        (SecretReads("parameters", 3, False, 540, 3.0, 40), CheckStatus.OK, "at most 31 reads a second if all 540"),
        (SecretReads("parameters", 5, False, 540, 3.0, 40), CheckStatus.WARNING, "at most 51 reads a second if all"),
        (SecretReads("parameters", 5, False, 540, 30.0, 40), CheckStatus.WARNING, "; at most 3 in the last hour"),
        (SecretReads("parameters", 5, False, 540, None, 40), CheckStatus.WARNING, "(quota: 40); reads above the"),
        (SecretReads("parameters", 5, False, 540, 3.0, 3_000), CheckStatus.OK, "(quota: 3,000)"),
        (SecretReads("secrets_manager", 5, False, 540, 3.0, 10_000), CheckStatus.OK, "5 secrets in Secrets Manager"),
    ],
)
def test_doctor_secrets_are_reported_if_full_lanes_read_more_than_the_quota(
    found: SecretReads, verdict: CheckStatus, says: str
) -> None:
    check = secret_reads.judge(found)
    assert check.verdict is verdict
    assert says in check.says
