"""Creating jobs once, creating many, and finding them again."""

from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest

from benchmarks.wire.metered import Metered
from duecourse.domain.jobs.job import Lane
from duecourse.ports import KeyUsedError, NoAnswerError, StoreBusyError
from duecourse.testing.clock import SettableClock
from duecourse.testing.faults import after, around, before, failing
from tests.support.api import BODY, Answered, ApiClient, api_settings
from tests.support.api_events import json_event
from tests.support.jobs import NOON
from tests.support.tables import Tables
from tests.support.unreadable import write_by_a_newer_release

DAILY = BODY | {"schedule": "@daily"}


def post(api: ApiClient, body: Any, key: str | None = None, path: str = "/v1/jobs") -> Answered:
    return api.send(json_event("POST", path, body, headers={} if key is None else {"idempotency-key": key}))


def batch(api: ApiClient, *jobs: Any, key: str | None = None) -> Answered:
    return post(api, {"jobs": list(jobs)}, key, "/v1/jobs/batch")


def ids(api: ApiClient, **query: str) -> list[str]:
    return [job["id"] for job in api.get("/v1/jobs", **query).json["items"]]


def test_job_creation_repeated_request_returns_the_job_it_created(api: ApiClient) -> None:
    first = post(api, BODY, "once")
    api.clock.advance(3600)
    again = post(api, dict(reversed(BODY.items())), "once")
    assert (first.status, again.status) == (201, 200)
    assert again.json == first.json | {"next_occurrence": again.json["next_occurrence"]}
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["etag"] == first.headers["etag"]
    assert len(ids(api)) == 1


def test_job_creation_repeated_request_is_answered_although_it_would_no_longer_be_valid(tables: Tables) -> None:
    api = ApiClient.over(tables, settings=api_settings(job_quota=1))
    body = BODY | {"id": "once", "schedule": "at(2026-11-21T12:05:00)"}
    assert post(api, body, "k").status == 201
    api.clock.advance(600)
    assert (post(api, body, "k").status, post(api, body).status) == (200, 422)


def test_job_creation_key_cannot_be_used_for_another_request(api: ApiClient) -> None:
    post(api, BODY, "k")
    for other in (BODY | {"name": "x"}, BODY | {"schedule": "nonsense"}, []):
        refused = post(api, other, "k")
        assert (refused.status, refused.json["type"]) == (422, "/problems/idempotency-key-reused")
        assert list(refused.errors) == ["idempotency-key"]
    assert len(ids(api)) == 1


def test_job_creation_key_expires_after_a_day_and_another_key_is_independent(api: ApiClient) -> None:
    assert post(api, DAILY, "k").status == 201
    assert post(api, DAILY, "K").status == 201
    api.clock.advance(86_399)
    assert post(api, DAILY, "k").status == 200
    api.clock.advance(1)
    assert post(api, DAILY, "k").status == 201


def test_job_creation_refused_request_does_not_use_its_key(api: ApiClient) -> None:
    assert post(api, BODY | {"schedule": "nonsense"}, "k").status == 422
    assert post(api, BODY, "k").status == 201


def test_job_creation_key_of_a_deleted_job_is_reported_as_expired(api: ApiClient) -> None:
    job = post(api, BODY, "k").json["id"]
    api.delete(f"/v1/jobs/{job}")
    refused = post(api, BODY, "k")
    assert (refused.status, refused.json["type"]) == (409, "/problems/idempotency-key-expired")


def test_job_creation_key_does_not_return_another_job_that_replaced_its_job(api: ApiClient) -> None:
    named = BODY | {"id": "mine"}
    post(api, named, "one")
    api.delete("/v1/jobs/mine")
    api.clock.advance(1)
    assert post(api, named | {"name": "Another"}).status == 201
    refused = post(api, named, "one")
    assert (refused.status, refused.json["type"]) == (409, "/problems/idempotency-key-expired")


@pytest.mark.parametrize("key", ["", " ", "a" * 256, "\u00e9", "a\tb"])
def test_job_creation_invalid_key_is_refused(api: ApiClient, key: str) -> None:
    refused = post(api, BODY, key)
    assert (refused.status, list(refused.errors)) == (400, ["idempotency-key"])
    assert ids(api) == []


def test_job_creation_two_equal_concurrent_requests_return_one_job(tables: Tables) -> None:
    clock = SettableClock(NOON)
    store = tables.job_store(clock)

    def sent_before() -> None:
        raise KeyUsedError

    api = ApiClient(around(store, create=after(sent_before)), tables.run_store(), clock)
    answer = post(api, BODY, "k")
    assert answer.status == 200
    assert ids(api) == [answer.json["id"]]


def test_job_creation_store_contention_returns_busy_with_retry_after(tables: Tables) -> None:
    clock = SettableClock(NOON)
    api = ApiClient(around(tables.job_store(clock), create=failing(StoreBusyError())), tables.run_store(), clock)
    refused = post(api, BODY)
    assert (refused.status, refused.json["type"], refused.headers["retry-after"]) == (503, "/problems/busy", "5")


def test_job_creation_invalid_job_of_a_batch_affects_no_other(api: ApiClient) -> None:
    post(api, BODY | {"id": "taken"})
    answer = batch(
        api,
        BODY | {"id": "a"},
        BODY | {"id": "b", "timeout_seconds": 0, "tags": 5},
        BODY | {"id": "taken"},
        "nonsense",
        BODY | {"id": "a"},
        BODY,
    )
    items = answer.json["items"]
    assert (answer.status, [item["status"] for item in items]) == (200, [201, 422, 409, 422, 409, 201])
    assert [error["pointer"] for error in items[1]["problem"]["errors"]] == ["/jobs/1/tags", "/jobs/1/timeout_seconds"]
    assert items[2]["problem"]["errors"][0]["pointer"] == "/jobs/2/id"
    assert items[3]["problem"]["errors"][0]["pointer"] == "/jobs/3"
    assert items[0]["job"] == api.get("/v1/jobs/a").json
    assert items[0]["etag"] == api.get("/v1/jobs/a").headers["etag"]
    assert ids(api) == sorted(["a", "taken", items[5]["job"]["id"]])


def test_job_creation_batch_responds_before_the_gateway_timeout_and_continues_when_repeated(tables: Tables) -> None:
    clock = SettableClock(NOON)
    slow = around(tables.job_store(clock), create_all=before(lambda: clock.advance(16)))
    api = ApiClient(slow, tables.run_store(), clock)
    tags = [f"tag-{number}" for number in range(20)]  # three such jobs fit into one transaction
    jobs = [BODY | {"id": f"job-{number}", "tags": tags} for number in range(5)]
    items = batch(api, *jobs, key="k").json["items"]
    assert [item["status"] for item in items] == [201, 201, 201, 503, 503]
    assert clock.now() - NOON < 29
    assert items[3]["problem"]["type"] == "/problems/busy"
    assert [item["status"] for item in batch(api, *jobs, key="k").json["items"]] == [200, 200, 200, 201, 201]


def test_job_creation_repeated_batch_creates_the_missing_jobs(api: ApiClient) -> None:
    jobs = [BODY, BODY | {"schedule": "nonsense"}, BODY]
    first = batch(api, *jobs, key="k").json["items"]
    again = batch(api, jobs[0], BODY, jobs[2], key="k").json["items"]
    assert [item["status"] for item in again] == [200, 201, 200]
    assert [again[place]["job"]["id"] for place in (0, 2)] == [first[place]["job"]["id"] for place in (0, 2)]


def statuses(answer: Answered) -> list[int]:
    return [item["status"] for item in answer.json["items"]]


def test_job_creation_batch_of_a_hundred_jobs_uses_few_requests(tables: Tables) -> None:
    client = Metered(tables.client)
    api = ApiClient.over(replace(tables, client=client))
    jobs = [DAILY | {"id": f"job-{number}"} for number in range(100)]
    assert statuses(batch(api, *jobs, key="k")) == [201] * 100
    assert client.requests["transact_write_items"] == 7
    assert client.requests.total() <= 20
    client.clear()
    assert statuses(batch(api, *jobs, key="k")) == [200] * 100
    assert client.requests == {"batch_get_item": 3}


def test_job_creation_batch_transactions_stay_within_the_dynamodb_limit(tables: Tables) -> None:
    sizes: list[int] = []

    def sized(real: Any, **request: Any) -> Any:
        sizes.append(len(request["TransactItems"]))
        return real(**request)

    api = ApiClient.over(replace(tables, client=around(tables.client, transact_write_items=sized)))
    tags = [f"tag-{number}" for number in range(20)]
    jobs = [
        DAILY | {"id": f"job-{number}", "tags": tags[: number % 21], "priority": priority, "payload": "x" * 5_000}
        for number, priority in zip(range(40), cycle(["high", "normal", "low"]), strict=False)
    ]
    for _ in range(2):  # the second time each has a deletion to check
        assert statuses(batch(api, *jobs, key=f"key-{len(sizes)}")) == [201] * 40
        for each in jobs:
            api.delete(f"/v1/jobs/{each['id']}")
    assert max(sizes) <= 100


def test_job_creation_quota_reached_in_a_batch_refuses_the_following_jobs(tables: Tables) -> None:
    api = ApiClient.over(tables, settings=api_settings(job_quota=33))
    for number in range(3):  # which leave places in stock, where they are found
        assert post(api, DAILY | {"id": f"early-{number}"}).status == 201
    assert api.delete("/v1/jobs/early-1").status == 204
    jobs = [DAILY | {"id": f"job-{number}"} for number in range(50)]
    jobs[2] = DAILY | {"id": "early-0"}
    first = batch(api, *jobs, key="k")
    assert statuses(first) == [201, 201, 409] + [201] * 29 + [403] * 18
    assert first.json["items"][49]["problem"]["type"] == "/problems/job-quota"
    api.delete("/v1/jobs/early-2")
    assert statuses(batch(api, *jobs, key="k")) == [200, 200, 409] + [200] * 29 + [201] + [403] * 17


def test_job_creation_first_jobs_of_a_batch_get_the_free_seats(tables: Tables) -> None:
    api = ApiClient.over(tables, settings=api_settings(seats=dict.fromkeys(Lane, 5)))
    assert post(api, DAILY | {"id": "first"}).status == 201
    jobs: list[Any] = [DAILY | {"id": f"job-{number:02}", "priority": "low"} for number in range(40)]
    jobs[1] = DAILY | {"id": "first"}
    jobs[3] |= {"overlap": "allow", "schedule": "rate(1 second)"}  # has no use for a seat
    for number in range(20, 30):
        jobs[number]["priority"] = "normal"
    batch(api, *jobs)
    found = {job.id for job, _ in api.jobs.page("default", limit=100, after=None).items if job.seated}
    low = {f"job-{number:02}" for number in (0, 2, 4, 5, 6)}
    assert found == low | {"first"} | {f"job-{number}" for number in range(20, 24)}
    for lane, holders in ((Lane.LOW, low), (Lane.NORMAL, found - low)):
        assert set(api.jobs.seats.seats("default", lane).holders) == holders


def test_job_creation_batch_gets_seats_that_are_not_taken_concurrently(tables: Tables) -> None:
    clock = SettableClock(NOON)
    api = ApiClient.over(tables, clock, settings=api_settings(seats=dict.fromkeys(Lane, 5)))

    def taken() -> None:
        assert post(api, DAILY | {"id": "other"}).status == 201

    store = around(tables.job_store(clock), create_all=before(taken, times=1))
    late = ApiClient(store, tables.run_store(), clock, settings=api.settings)
    assert statuses(batch(late, *(DAILY | {"id": f"job-{number}"} for number in range(9)))) == [201] * 9
    found = {job.id for job, _ in api.jobs.page("default", limit=100, after=None).items if job.seated}
    assert found == {"other", "job-0", "job-1", "job-2", "job-3"}


def test_job_creation_batch_with_lost_responses_returns_the_created_jobs(tables: Tables) -> None:
    def lost() -> None:
        raise NoAnswerError("PutItem: timed out")

    lossy = replace(tables, client=around(tables.client, transact_write_items=after(lost)))
    jobs = [DAILY | {"id": f"job-{number}"} for number in range(20)]
    first = batch(ApiClient.over(lossy), *jobs, key="k")
    again = batch(ApiClient.over(tables), *jobs, key="k")
    assert (statuses(first), statuses(again)) == ([201] * 20, [200] * 20)
    assert [item["job"] for item in first.json["items"]] == [item["job"] for item in again.json["items"]]


def test_job_creation_failed_transaction_of_a_batch_affects_only_its_own_jobs(tables: Tables) -> None:
    dead = NoAnswerError("PutItem: refused")
    broken = replace(tables, client=around(tables.client, transact_write_items=failing(dead, times=1)))
    jobs = [DAILY | {"id": f"job-{number}"} for number in range(20)]
    assert statuses(batch(ApiClient.over(broken), *jobs, key="k")) == [503] * 15 + [201] * 5
    assert statuses(batch(ApiClient.over(tables), *jobs, key="k")) == [201] * 15 + [200] * 5


def test_job_creation_two_equal_concurrent_batches_return_the_same_jobs(tables: Tables) -> None:
    clock = SettableClock(NOON)
    api, jobs = ApiClient.over(tables, clock), [DAILY] * 20
    answers: list[Answered] = []
    store = around(
        tables.job_store(clock), create_all=before(lambda: answers.append(batch(api, *jobs, key="k")), times=1)
    )
    late = batch(ApiClient(store, tables.run_store(), clock), *jobs, key="k")
    assert (statuses(answers[0]), statuses(late)) == ([201] * 20, [200] * 20)
    assert [item["job"] for item in late.json["items"]] == [item["job"] for item in answers[0].json["items"]]


def test_job_creation_job_of_a_batch_may_reuse_the_id_of_a_deleted_job(api: ApiClient) -> None:
    jobs = [DAILY | {"id": f"job-{number}"} for number in range(3)]
    for _ in range(2):
        assert statuses(batch(api, *jobs)) == [201] * 3
        old = [api.jobs.get("default", each["id"]) for each in jobs]
        for each in jobs:
            api.delete(f"/v1/jobs/{each['id']}")
    assert statuses(batch(api, *jobs)) == [201] * 3
    for each, before_ in zip(jobs, old, strict=True):
        now = api.jobs.get("default", each["id"])
        assert now.created_generation > before_.created_generation, "the clock stood still"


def test_job_creation_first_occurrences_of_a_batch_are_sent_together(tables: Tables) -> None:
    api = ApiClient.over(tables)
    sends: list[int] = []
    wheel = around(api.wheel, send=lambda real, outgoing: (sends.append(len(outgoing)), real(outgoing))[1])
    sending = ApiClient.over(tables, lanes=wheel)
    assert statuses(batch(sending, *(BODY | {"id": f"job-{number}"} for number in range(3)), DAILY)) == [201] * 4
    assert sends == [36]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"jobs": []}, "/jobs"),
        ({"jobs": [BODY] * 101}, "/jobs"),
        ({"jobs": BODY}, "/jobs"),
        ({}, "/jobs"),
        ({"jobs": [BODY], "job": 1}, "/job"),
        ([BODY], ""),
    ],
)
def test_job_creation_invalid_batch_is_refused(api: ApiClient, body: Any, place: str) -> None:
    refused = post(api, body, path="/v1/jobs/batch")
    assert (refused.status, list(refused.errors)) == (422, [place])
    assert ids(api) == []


def test_job_creation_list_filters_by_prefix_name_tag_state_and_owner(api: ApiClient) -> None:
    for name, tags in (("mail-a", ["x"]), ("mail-b", ["x", "y"]), ("news-a", ["y"]), ("news-b", [])):
        of = {"name": f"The {name.title()}", "owner": "post" if "mail" in name else ""}
        assert post(api, DAILY | {"id": name, "tags": tags, **of}).status == 201
    api.ask("/v1/jobs/mail-b/pause")
    assert ids(api, prefix="mail") == ["mail-a", "mail-b"]
    assert ids(api, tag="y") == ["mail-b", "news-a"]
    assert ids(api, tag="y", prefix="news-") == ["news-a"]
    assert ids(api, state="PAUSED") == ["mail-b"]
    assert ids(api, state="ACTIVE", tag="x") == ["mail-a"]
    assert ids(api, owner="post") == ["mail-a", "mail-b"]
    assert ids(api, owner="pos") == []
    assert ids(api, search="AIL-") == ["mail-a", "mail-b"]
    assert ids(api, search="THE NEWS", tag="y") == ["news-a"]
    assert api.get("/v1/jobs", search="").errors.keys() == {"search"}
    assert ids(api, ids="news-b,mail-b,gone,mail-b") == ["mail-b", "news-b"]
    assert ids(api, ids="mail-a,news-b", state="ACTIVE", prefix="n") == ["news-b"]
    assert ids(api, ids="mail-a,mail-b", tag="y") == ["mail-b"]
    assert ids(api, ids="mail-a,mail-b", state="PAUSED") == ["mail-b"]
    assert ids(api, state="COMPLETED") == ids(api, tag="z") == ids(api, prefix="z") == []


def test_job_creation_search_returns_the_total_of_jobs_on_request(api: ApiClient) -> None:
    for name in ("mail-a", "mail-b", "news-a"):
        post(api, DAILY | {"id": name})
    page = api.get("/v1/jobs", search="MAIL", total="true", limit="1").json
    assert [job["id"] for job in page["items"]] == ["mail-a"]
    assert page["total"] == {"matching": 2, "searched": 3, "complete": True}
    assert "total" not in api.get("/v1/jobs", search="MAIL", limit="1", cursor=page["next_cursor"]).json
    assert api.get("/v1/jobs", total="yes").errors.keys() == {"total"}


def test_job_creation_list_names_the_jobs_that_this_release_cannot_read(tables: Tables) -> None:
    api = ApiClient.over(tables)
    for name in ("mail-a", "mail-b", "news-a", "news-b"):
        assert post(api, DAILY | {"id": name, "tags": ["x"]}).status == 201
    assert "unreadable" not in api.get("/v1/jobs", total="true").json
    write_by_a_newer_release(tables, "mail-b")
    write_by_a_newer_release(tables, "news-b")
    queries: list[dict[str, str]] = [{}, {"tag": "x"}, {"state": "ACTIVE"}, {"total": "true"}]
    for query in queries:
        pages = [page.json for page in api.pages("/v1/jobs", limit="2", **query)]
        assert [[job["id"] for job in page["items"]] for page in pages] == [["mail-a"], ["news-a"]]
        assert [page["unreadable"] for page in pages] == [["mail-b"], ["news-b"]]
    total = api.get("/v1/jobs", total="true", limit="2").json["total"]
    assert total == {"matching": 2, "searched": 4, "complete": False}
    assert api.get("/v1/job-summaries", ids="news-a,news-b").json["unreadable"] == ["news-b"]


IDS = ",".join(f"job-{number}" for number in range(5))


@pytest.mark.parametrize(
    "query", [{}, {"prefix": "job"}, {"tag": "all"}, {"state": "ACTIVE"}, {"search": "a"}, {"ids": IDS}]
)
def test_job_creation_filtered_lists_are_paginated(api: ApiClient, query: dict[str, str]) -> None:
    names = [f"job-{number}" for number in range(5)]
    for name in names:
        post(api, DAILY | {"id": name, "name": "A job", "tags": ["all"]})
    pages = list(api.pages("/v1/jobs", limit="2", **query))
    assert [job["id"] for page in pages for job in page.json["items"]] == names


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"prefix": ""}, "prefix"),
        ({"prefix": "a b"}, "prefix"),
        ({"prefix": "a" * 65}, "prefix"),
        ({"tag": ""}, "tag"),
        ({"tag": "a#b"}, "tag"),
        ({"tag": "a\n"}, "tag"),
        ({"state": "active"}, "state"),
        ({"states": "ACTIVE"}, "states"),
        ({"ids": ""}, "ids"),
        ({"ids": "a,,b"}, "ids"),
        ({"ids": "a, b"}, "ids"),
        ({"ids": ",".join("a" * 21)}, "ids"),
    ],
)
def test_job_creation_invalid_list_filters_are_refused(api: ApiClient, query: dict[str, str], parameter: str) -> None:
    refused = api.get("/v1/jobs", **query)
    assert (refused.status, list(refused.errors)) == (400, [parameter])


def test_job_creation_list_cursor_of_another_prefix_is_refused(api: ApiClient) -> None:
    for name in ("a-1", "a-2"):
        post(api, DAILY | {"id": name})
    cursor = api.get("/v1/jobs", limit="1", prefix="a").json["next_cursor"]
    refused = api.get("/v1/jobs", cursor=cursor, prefix="b")
    assert (refused.status, list(refused.errors)) == (400, ["cursor"])
