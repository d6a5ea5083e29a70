"""What a request is part of: named by its caller or by the gateway, answered, logged, and borne by its runs."""

from typing import Any

import pytest

from tests.support.api import BODY, Answered, ApiClient
from tests.support.api_events import REQUEST_ID, api_event, json_event

ORDER = "order-4711"
EVERY_SECOND = BODY | {"id": "steady", "schedule": "rate(30 seconds)"}
PAST = {"from": "2026-11-21T11:58:00Z", "to": "2026-11-21T12:00:00Z", "dry_run": False}


def asked(api: ApiClient, method: str, path: str, value: Any, correlation_id: str | None = ORDER) -> Answered:
    headers = {} if correlation_id is None else {"X-Correlation-Id": correlation_id}
    return api.send(json_event(method, path, value, headers=headers))


def borne(api: ApiClient) -> set[str | None]:
    """What was sent since it was last looked at bears."""
    found = {one.message.correlation_id for one in api.wheel.sent}
    assert found, "no request was sent"
    api.wheel.sent.clear()
    return found


def test_correlation_ids_immediately_sent_runs_carry_that_of_the_request_that_created_or_changed_the_job(
    api: ApiClient,
) -> None:
    assert asked(api, "POST", "/v1/jobs", EVERY_SECOND).status == 201
    assert borne(api) == {ORDER}
    assert asked(api, "PATCH", "/v1/jobs/steady", {"schedule": "rate(20 seconds)"}, "a").status == 200
    assert borne(api) == {"a"}
    assert asked(api, "PUT", "/v1/jobs/steady", BODY | {"schedule": "rate(10 seconds)"}, "b").status == 200
    assert borne(api) == {"b"}
    assert asked(api, "PUT", "/v1/jobs/another", BODY, "c").status == 201
    assert borne(api) == {"c"}
    assert asked(api, "POST", "/v1/jobs/batch", {"jobs": [BODY, BODY]}, "d").status == 200
    assert borne(api) == {"d"}
    assert asked(api, "POST", "/v1/jobs/steady/pause", {}, "e").status == 200
    assert asked(api, "POST", "/v1/jobs/steady/resume", {}, "f").status == 200
    assert borne(api) == {"f"}
    assert asked(api, "POST", "/v1/jobs/pause", {"all": True}, "g").status == 200
    assert asked(api, "POST", "/v1/jobs/resume", {"all": True}, "h").status == 200
    assert borne(api) == {"h"}


def test_correlation_ids_of_manual_runs_are_those_of_their_requests(api: ApiClient) -> None:
    assert asked(api, "POST", "/v1/jobs", BODY | {"id": "steady", "schedule": "0 0 1 1 *"}).status == 201
    answer = asked(api, "POST", "/v1/jobs/steady/run", {})
    assert (answer.json["correlation_id"], borne(api)) == (ORDER, {ORDER})
    shown = api.get(f"/v1/runs/{answer.json['id']}")
    assert shown.json["correlation_id"] == ORDER  # what asked for the run, not what asks now
    assert shown.headers["x-correlation-id"] == REQUEST_ID
    (skipped,) = asked(api, "POST", "/v1/jobs/steady/skip-next", {}, "a").json["items"]
    assert skipped["correlation_id"] == "a"


def test_correlation_ids_of_backfilled_runs_are_those_of_their_requests(api: ApiClient) -> None:
    assert asked(api, "POST", "/v1/jobs", BODY | {"id": "steady", "schedule": "* * * * *"}, "a").status == 201
    api.wheel.sent.clear()
    assert asked(api, "POST", "/v1/jobs/steady/backfill", PAST).json["count"] == 2
    assert borne(api) == {ORDER}


def test_correlation_ids_are_returned_and_logged(api: ApiClient) -> None:
    assert asked(api, "POST", "/v1/jobs", BODY).headers["x-correlation-id"] == ORDER
    refused = asked(api, "POST", "/v1/jobs", {"nonsense": 1}, "trace:a.b_c-1")
    assert (refused.status, refused.headers["x-correlation-id"]) == (422, "trace:a.b_c-1")
    assert [(line["action"], line["correlation_id"], line["request_id"]) for line in api.log_lines] == [
        ("job_created", ORDER, REQUEST_ID),
        ("request_refused", "trace:a.b_c-1", REQUEST_ID),
    ]


@pytest.mark.parametrize("given", [None, "", "has a space", "x" * 129, "line\nbreak", "ümlaut"])
def test_correlation_ids_missing_or_invalid_are_replaced_by_the_gateway_request_id(
    api: ApiClient, given: str | None
) -> None:
    answer = asked(api, "POST", "/v1/jobs", BODY, given)
    assert (answer.status, answer.headers["x-correlation-id"]) == (201, REQUEST_ID)
    assert borne(api) == {REQUEST_ID}


def test_correlation_ids_are_returned_by_unknown_routes_too(api: ApiClient) -> None:
    event = api_event("GET", "/v1/nowhere", content_type=None, headers={"x-correlation-id": ORDER})
    assert api.send(event).headers["x-correlation-id"] == ORDER
