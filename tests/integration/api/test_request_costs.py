"""What one request reads and what it is charged: bounded and paid for before the work, whatever the tenant stored."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from duecourse.adapters.dynamodb.jobs.tenant_limits import DynamoTenantLimits
from duecourse.testing.clock import SettableClock
from tests.support.api import HTTP_TARGET, Answered, ApiClient, api_settings
from tests.support.api_events import json_event
from tests.support.jobs import NOON
from tests.support.tables import Tables

INLINE = {"job": {"target": HTTP_TARGET}}
LARGE = 190_000
NAMES = [f"large-{number:02}" for number in range(24)]


class Counted:
    """A client of DynamoDB that counts the reads of payloads and their characters."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.payloads: Counter[str] = Counter()
        self.characters = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def get_item(self, **request: Any) -> Any:
        answer = self._client.get_item(**request)
        if request["Key"]["SK"]["S"] == "PAYLOAD":
            self.payloads[request["Key"]["PK"]["S"].rpartition("#")[2]] += 1
            self.characters += len(answer["Item"]["payload"]["S"])
        return answer


@pytest.fixture
def counted(tables: Tables) -> Counted:
    return Counted(tables.client)


@pytest.fixture
def api(tables: Tables, counted: Counted) -> ApiClient:
    """A thousand requests at once, one a second."""
    clock, through = SettableClock(NOON), Tables(counted, tables.jobs, tables.runs)
    return ApiClient(
        through.job_store(clock),
        through.run_store(),
        clock,
        inputs=through.inputs(),
        workflows=through.workflows(clock),
        counters=DynamoTenantLimits(through.client, through.jobs),
        settings=api_settings(requests_per_second=1, burst=1_000),
    )


@pytest.fixture
def large(api: ApiClient, counted: Counted) -> list[str]:
    """Jobs without a schedule and with large payloads."""
    for name in NAMES:
        body = {"id": name, "schedule": None, "target": HTTP_TARGET, "payload": {"text": "x" * LARGE}}
        assert api.post(body).status == 201
    counted.payloads.clear()
    counted.characters = 0
    return NAMES


def put(api: ApiClient, jobs: Any, *, dry: bool = False) -> Answered:
    event = json_event("PUT", "/v1/workflows/nightly", {"schedule": None, "jobs": jobs})
    if dry:
        event["queryStringParameters"] = {"dry_run": "true"}
    return api.send(event)


def charged(api: ApiClient, request: Any) -> int:
    """The tokens that a request takes beside its own one: the instance keeps some for further requests."""
    api.clock.advance(2_000)
    before = api.get("/v1/stats").json["requests"]["left"]
    request()
    return int(before - api.get("/v1/stats").json["requests"]["left"])


def test_a_page_of_jobs_reads_no_further_payload_when_it_is_full(
    api: ApiClient, counted: Counted, large: list[str]
) -> None:
    names, cursor, pages = [], {}, 0
    while pages == 0 or cursor:
        counted.characters = 0
        page = api.get("/v1/jobs", limit="100", **cursor).json
        names += [job["id"] for job in page["items"]]
        cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else {}
        pages += 1
        assert counted.characters <= 512 * 1024 + LARGE + 100
    assert (names, pages) == (large, 8)
    assert counted.payloads == dict.fromkeys(large, 1), "a payload that is not shown is not read"


def test_a_workflow_reads_the_payload_of_a_job_that_it_names_once_and_pays_for_it(
    api: ApiClient, counted: Counted, large: list[str]
) -> None:
    jobs = {name: {} for name in large}
    for dry in (True, False):
        counted.payloads.clear()
        assert charged(api, lambda dry=dry: put(api, jobs, dry=dry)) == 2 * len(large)
        assert counted.payloads == dict.fromkeys(large, 1)
    assert api.get("/v1/workflows/nightly").status == 200


def test_a_workflow_whose_jobs_have_large_payloads_waits_for_a_debt_before_they_are_read(
    api: ApiClient, counted: Counted, large: list[str]
) -> None:
    while api.post({"jobs": [{} for _ in range(100)]}, "/v1/jobs/batch").status != 429:
        """Each costs a hundred requests, whatever is wrong with its jobs."""
    assert put(api, {name: {} for name in large}).status == 429
    assert not counted.payloads


@pytest.mark.parametrize("dry", [True, False])
@pytest.mark.parametrize(
    ("jobs", "cost"),
    [
        ({f"job-{number}": INLINE for number in range(30)}, 30),
        ({f"job-{number}": {} for number in range(1000)}, 50),
        ({f"job-{number}": INLINE | {"after": ["nobody"]} for number in range(30)}, 30),
        ({f"job-{number}": {"job": "no object"} for number in range(30)}, 30),
    ],
    ids=["defined", "named", "with_unknown_names", "unreadable"],
)
def test_a_workflow_is_charged_by_its_members_before_it_is_checked(
    api: ApiClient, jobs: Any, cost: int, *, dry: bool
) -> None:
    assert charged(api, lambda: put(api, jobs, dry=dry)) == cost
