"""The Python client's calls about runs, dead letters and pauses, over a transport that answers by itself."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from duecourse.client import ApiError, Client
from tests.unit.client.test_client import JOB, RUN

TOKEN = "dc1.acme.1.abcdefghijklmnop"
ACCEPTED = {"run": {**RUN, "state": "WAITING"}, "accepted": "complete"}


class Signature(httpx.Auth):
    """Stands for SigV4: marks what it signs."""

    def auth_flow(self, request):
        request.headers["Authorization"] = "AWS4-HMAC-SHA256 ..."
        yield request


class Api:
    """Answers every request with one document and notes what it was asked."""

    def __init__(self, status: int = 200, document: Any = None, **headers: str) -> None:
        self.seen: list[httpx.Request] = []
        self.client = Client(
            "http://127.0.0.1:9/base/",
            auth=Signature(),
            transport=httpx.MockTransport(self._note),
            retries=0,
        )
        self._answer = (status, document, headers)

    def _note(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        status, document, headers = self._answer
        return httpx.Response(status, json=document, headers=headers)

    @property
    def asked(self) -> tuple[str, str]:
        return self.seen[0].method, self.seen[0].url.raw_path.decode().removeprefix("/base")

    @property
    def body(self) -> Any:
        return json.loads(self.seen[0].content)


def test_a_run_is_read_by_its_id():
    api = Api(document={**RUN, "code": "http.503", "cancel_requested": True})

    run = api.client.get_run("nightly.20261121T030000Z")

    assert api.asked == ("GET", "/v1/runs/nightly.20261121T030000Z")
    assert (run.code, run.cancel_requested) == ("http.503", True)


def test_a_run_id_is_quoted_in_the_path():
    api = Api(document=RUN)
    api.client.get_run("../jobs")
    assert api.asked[1] == "/v1/runs/..%2Fjobs"


def test_what_a_worker_says_is_authorised_by_the_token_alone_and_never_signed():
    beating = Api(document={"state": "WAITING"})
    beating.client.heartbeat_run("a.b", TOKEN)
    completing, failing = Api(202, ACCEPTED), Api(202, ACCEPTED)
    completing.client.complete_run("a.b", TOKEN, result={"sent": 3})
    failing.client.fail_run("a.b", TOKEN, "no paper")

    for api, word in ((beating, "heartbeat"), (completing, "complete"), (failing, "fail")):
        assert api.asked == ("POST", f"/v1/runs/a.b/{word}")
        assert api.seen[0].headers["Authorization"] == f"Bearer {TOKEN}"


def test_everything_else_is_signed():
    api = Api(202, ACCEPTED)
    api.client.cancel_run("a.b")
    assert api.seen[0].headers["Authorization"].startswith("AWS4-")


def test_a_result_is_sent_even_when_it_is_nothing():
    api = Api(202, ACCEPTED)
    run = api.client.complete_run("a.b", TOKEN)
    assert api.body == {}
    assert run.run.state == "WAITING"


def test_a_failure_says_only_what_it_was_given():
    plain, full = Api(202, ACCEPTED), Api(202, ACCEPTED)
    plain.client.fail_run("a.b", TOKEN, "no paper")
    full.client.fail_run("a.b", TOKEN, "no paper", code="paper", retryable=False, retry_after=0)
    assert plain.body == {"error": "no paper"}
    assert full.body == {"error": "no paper", "code": "paper", "retryable": False, "retry_after": 0}


def test_the_time_left_until_the_next_heartbeat_is_counted_by_the_apis_clock():
    api = Api(
        document={
            "state": "WAITING",
            "cancel_requested": False,
            "reason": None,
            "heartbeat_until": "2026-11-21T06:48:00Z",
            "waiting_until": "2026-11-22T06:47:00Z",
        },
        Date="Sat, 21 Nov 2026 06:47:30 GMT",
    )

    heartbeat = api.client.heartbeat_run("a.b", TOKEN)

    assert heartbeat.seconds_left == pytest.approx(30)
    assert heartbeat.waiting_until == datetime(2026, 11, 22, 6, 47, tzinfo=UTC)


def test_a_heartbeat_of_a_job_that_asks_for_none_has_no_time_left_to_count():
    api = Api(document={"state": "WAITING", "heartbeat_until": None}, Date="nonsense")
    assert api.client.heartbeat_run("a.b", TOKEN).seconds_left is None


def test_a_refusal_says_when_to_ask_again_and_who_refused():
    busy = Api(503, {"type": "/problems/busy", "title": "Service Unavailable"}, **{"Retry-After": "7"})
    gateway = Api(401, {"message": "Unauthorized"})

    with pytest.raises(ApiError) as by_us:
        busy.client.cancel_run("a.b")
    with pytest.raises(ApiError) as by_gateway:
        gateway.client.cancel_run("a.b")

    assert (by_us.value.retry_after, by_us.value.by_duecourse) == (7, True)
    assert (by_gateway.value.retry_after, by_gateway.value.by_duecourse) == (None, False)


def test_a_run_is_cancelled_and_redriven_by_its_id():
    cancelling, redriving = Api(202, ACCEPTED), Api(202, ACCEPTED)
    assert cancelling.client.cancel_run("a.b").run.id == RUN["id"]
    assert redriving.client.redrive_run("a.b").run.id == RUN["id"]
    assert cancelling.asked == ("POST", "/v1/runs/a.b/cancel")
    assert redriving.asked == ("POST", "/v1/runs/a.b/redrive")


def test_dead_letters_come_in_pages_of_a_job_or_of_all():
    of_one, of_all = (Api(document={"items": [RUN], "next_cursor": "def"}) for _ in range(2))
    page = of_one.client.list_dead_runs(job_id="nightly", limit=5, cursor="abc")
    of_all.client.list_dead_runs()
    assert (page.items[0].id, page.next_cursor) == (RUN["id"], "def")
    assert dict(of_one.seen[0].url.params) == {"job_id": "nightly", "limit": "5", "cursor": "abc"}
    assert of_all.asked == ("GET", "/v1/dead-letters")


def test_dead_letters_are_redriven_by_what_was_asked_for():
    answer = {"redriven": 3, "refused": 1, "more": True}
    of_all, some = Api(document=answer), Api(document=answer)
    of_all.client.redrive_dead_runs()
    done = some.client.redrive_dead_runs(job_id="nightly", since="2026-11-21T00:00:00Z", limit=4)
    assert of_all.body == {}
    assert some.body == {"job_id": "nightly", "since": "2026-11-21T00:00:00Z", "limit": 4}
    assert (done.redriven, done.refused, done.more) == (3, 1, True)


def test_a_job_is_paused_and_resumed():
    pausing, resuming = Api(document=JOB), Api(document=JOB)
    pausing.client.pause_job("nightly")
    resuming.client.resume_job("nightly", catch_up=True)
    assert pausing.asked == ("POST", "/v1/jobs/nightly/pause")
    assert resuming.asked == ("POST", "/v1/jobs/nightly/resume")
    assert resuming.body == {"catch_up": True}
