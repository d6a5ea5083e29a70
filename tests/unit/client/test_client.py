"""Requests and answers of the client.

- The Python client, over a transport that answers by itself.
- The Python client's calls about runs, dead letters and pauses, over a transport that answers by itself.
- What the client makes of answers and refusals, of its own release and of others.
- A type checker finds what the API would refuse.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from inspect import getmembers, getsource, isfunction, signature
from pathlib import Path
from typing import Any

import httpx
import pytest

from duecourse.client import (
    ApiError,
    ApiUnreachableError,
    Client,
    ConflictError,
    Fault,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    PreconditionError,
    UnauthorizedError,
    UnavailableError,
)
from duecourse.client.methods import Methods
from tests.support.template import ROOT

JOB = {
    "id": "nightly",
    "schedule": "0 3 * * *",
    "state": "ACTIVE",
    "next_occurrence": "2026-11-22T03:00:00Z",
    "error": None,
}
RUN = {
    "id": "nightly.20261121T030000Z",
    "job_id": "nightly",
    "state": "SUCCEEDED",
    "reason": None,
    "occurrence": "2026-11-21T03:00:00Z",
    "due": "2026-11-21T03:00:00Z",
    "lateness_seconds": 0.042,
    "attempts": 1,
    "max_attempts": 4,
    "error": None,
    "count": 1,
}


def client(answer: Callable[[httpx.Request], httpx.Response]) -> Client:
    return Client("http://127.0.0.1:9/base/", transport=httpx.MockTransport(answer), retries=0)


def test_client_posts_a_job_as_json_below_the_base_address() -> None:
    api = Api(201, JOB)
    job = api.client.create_job({"schedule": "0 3 * * *"})
    assert (api.seen[0].method, api.seen[0].url.path) == ("POST", "/base/v1/jobs")
    assert api.body == {"schedule": "0 3 * * *"}
    assert job.next_occurrence == datetime(2026, 11, 22, 3, tzinfo=UTC)
    assert job.document["state"] == "ACTIVE"


def test_client_escapes_an_id_in_the_path() -> None:
    api = Api(204)
    api.client.delete_job("../health")
    assert api.seen[0].url.raw_path == b"/base/v1/jobs/..%2Fhealth"


def test_client_returns_runs_in_pages() -> None:
    api = Api(document={"items": [RUN], "next_cursor": "def"})
    page = api.client.list_runs("nightly", limit=2, cursor="abc")
    assert dict(api.seen[0].url.params) == {"limit": "2", "cursor": "abc"}
    assert page.next_cursor == "def"
    assert page.items[0].lateness_seconds == pytest.approx(0.042)
    assert page.items[0].is_final


def test_client_follows_the_cursor_through_all_jobs() -> None:
    pages = {None: {"items": [JOB], "next_cursor": "2"}, "2": {"items": [{**JOB, "id": "b"}], "next_cursor": None}}
    found = client(lambda request: httpx.Response(200, json=pages[request.url.params.get("cursor")])).list_jobs()
    assert [job.id for job in found] == ["nightly", "b"]


def test_client_error_contains_the_problem_document() -> None:
    problem = {
        "type": "/problems/invalid-job",
        "title": "Unprocessable Entity",
        "status": 422,
        "detail": "2 fields are wrong; nothing was changed.",
        "errors": [
            {"pointer": "/schedule", "detail": "61 is no minute"},
            {"pointer": "/target/url", "detail": "missing"},
        ],
    }
    with pytest.raises(ApiError) as caught:
        client(lambda _: httpx.Response(422, json=problem)).create_job({})
    assert caught.value.status == 422
    assert caught.value.problem == problem
    assert str(caught.value) == (
        "422 Unprocessable Entity - 2 fields are wrong; nothing was changed. - "
        "schedule: 61 is no minute - target/url: missing"
    )


def test_client_error_without_a_problem_document_contains_the_original_text() -> None:
    with pytest.raises(ApiError, match="502 Bad Gateway - <html> oops </html>"):
        client(lambda _: httpx.Response(502, text="<html>\n oops </html>")).get_health()


def test_client_names_an_unreachable_address() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("Connection refused", request=request)

    with pytest.raises(
        ApiUnreachableError, match=r"there is no response from http://127.0.0.1:9/base \(Connection refused\)"
    ):
        client(refuse).get_health()


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
            "http://127.0.0.1:9/base/", auth=Signature(), transport=httpx.MockTransport(self._note), retries=0
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


def test_client_reads_a_run_by_its_id():
    api = Api(document={**RUN, "code": "http.503", "cancel_requested": True})
    run = api.client.get_run("nightly.20261121T030000Z")
    assert api.asked == ("GET", "/v1/runs/nightly.20261121T030000Z")
    assert (run.code, run.cancel_requested) == ("http.503", True)


def test_client_escapes_a_run_id_in_the_path():
    api = Api(document=RUN)
    api.client.get_run("../jobs")
    assert api.asked[1] == "/v1/runs/..%2Fjobs"


def test_client_authorizes_worker_requests_by_the_token_alone_and_never_signs_them():
    beating = Api(document={"state": "WAITING"})
    beating.client.heartbeat_run("a.b", TOKEN)
    completing, failing = Api(202, ACCEPTED), Api(202, ACCEPTED)
    completing.client.complete_run("a.b", TOKEN, result={"sent": 3})
    failing.client.fail_run("a.b", TOKEN, "no paper")
    for api, word in ((beating, "heartbeat"), (completing, "complete"), (failing, "fail")):
        assert api.asked == ("POST", f"/v1/runs/a.b/{word}")
        assert api.seen[0].headers["Authorization"] == f"Bearer {TOKEN}"


def test_client_signs_all_other_requests():
    api = Api(202, ACCEPTED)
    api.client.cancel_run("a.b")
    assert api.seen[0].headers["Authorization"].startswith("AWS4-")


def test_client_sends_an_empty_result():
    api = Api(202, ACCEPTED)
    run = api.client.complete_run("a.b", TOKEN)
    assert api.body == {}
    assert run.run.state == "WAITING"


def test_client_sends_only_the_given_fields_of_a_failure():
    plain, full = Api(202, ACCEPTED), Api(202, ACCEPTED)
    plain.client.fail_run("a.b", TOKEN, "no paper")
    full.client.fail_run("a.b", TOKEN, "no paper", code="paper", retryable=False, retry_after=0)
    assert plain.body == {"error": "no paper"}
    assert full.body == {"error": "no paper", "code": "paper", "retryable": False, "retry_after": 0}


def test_client_computes_the_time_until_the_next_heartbeat_from_the_clock_of_the_api():
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


def test_client_has_no_heartbeat_deadline_for_a_job_without_heartbeats():
    api = Api(document={"state": "WAITING", "heartbeat_until": None}, Date="nonsense")
    assert api.client.heartbeat_run("a.b", TOKEN).seconds_left is None


def test_client_error_contains_retry_after_and_the_origin_of_the_rejection():
    busy = Api(503, {"type": "/problems/busy", "title": "Service Unavailable"}, **{"Retry-After": "7"})
    gateway = Api(401, {"message": "Unauthorized"})
    with pytest.raises(ApiError) as by_us:
        busy.client.cancel_run("a.b")
    with pytest.raises(ApiError) as by_gateway:
        gateway.client.cancel_run("a.b")
    assert (by_us.value.retry_after, by_us.value.by_duecourse) == (7, True)
    assert (by_gateway.value.retry_after, by_gateway.value.by_duecourse) == (None, False)


def test_client_cancels_and_redrives_a_run_by_its_id():
    cancelling, redriving = Api(202, ACCEPTED), Api(202, ACCEPTED)
    assert cancelling.client.cancel_run("a.b").run.id == RUN["id"]
    assert redriving.client.redrive_run("a.b").run.id == RUN["id"]
    assert cancelling.asked == ("POST", "/v1/runs/a.b/cancel")
    assert redriving.asked == ("POST", "/v1/runs/a.b/redrive")


def test_client_returns_dead_letters_of_one_or_all_jobs_in_pages():
    of_one, of_all = (Api(document={"items": [RUN], "next_cursor": "def"}) for _ in range(2))
    page = of_one.client.list_dead_runs(job_id="nightly", limit=5, cursor="abc")
    of_all.client.list_dead_runs()
    assert (page.items[0].id, page.next_cursor) == (RUN["id"], "def")
    assert dict(of_one.seen[0].url.params) == {"job_id": "nightly", "limit": "5", "cursor": "abc"}
    assert of_all.asked == ("GET", "/v1/dead-letters")


def test_client_redrives_dead_letters_by_the_given_criteria():
    answer = {"redriven": 3, "refused": 1, "more": True}
    of_all, some = Api(document=answer), Api(document=answer)
    of_all.client.redrive_dead_runs()
    done = some.client.redrive_dead_runs(job_id="nightly", since="2026-11-21T00:00:00Z", limit=4)
    assert of_all.body == {}
    assert some.body == {"job_id": "nightly", "since": "2026-11-21T00:00:00Z", "limit": 4}
    assert (done.redriven, done.refused, done.more) == (3, 1, True)


def test_client_pauses_and_resumes_a_job():
    pausing, resuming = Api(document=JOB), Api(document=JOB)
    pausing.client.pause_job("nightly")
    resuming.client.resume_job("nightly", catch_up=True)
    assert pausing.asked == ("POST", "/v1/jobs/nightly/pause")
    assert resuming.asked == ("POST", "/v1/jobs/nightly/resume")
    assert resuming.body == {"catch_up": True}


def answers_client(status: int, document: Any, headers: dict[str, str] | None = None) -> Client:
    answer = httpx.Response(status, json=document, headers=headers)
    return Client("https://api", transport=httpx.MockTransport(lambda _: answer), retries=0)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidError),
        (401, UnauthorizedError),
        (403, ForbiddenError),
        (404, NotFoundError),
        (409, ConflictError),
        (412, PreconditionError),
        (422, InvalidError),
        (500, UnavailableError),
    ],
)
def test_client_raises_a_specific_exception_for_each_error_status(status: int, kind: type[ApiError]) -> None:
    with pytest.raises(kind) as refused:
        answers_client(status, {"type": "/problems/some-kind", "title": "No"}).get_job("nightly")
    assert (refused.value.status, refused.value.type) == (status, "some-kind")


def test_client_names_each_wrong_field_of_an_invalid_job() -> None:
    errors = [{"pointer": "/schedule", "detail": "61 is no minute"}, {"header": "If-Match", "detail": "is no ETag"}]
    with pytest.raises(InvalidError) as refused:
        answers_client(422, {"type": "/problems/invalid-job", "errors": errors}).create_job({"schedule": "61 * * * *"})
    assert refused.value.faults == (Fault("schedule", "61 is no minute"), Fault("If-Match", "is no ETag"))


def test_client_returns_the_etag_for_the_next_edit() -> None:
    assert answers_client(200, JOB, {"ETag": '"7"'}).get_job("nightly").etag == '"7"'


def test_client_retains_unknown_fields_of_a_newer_stage_in_the_document() -> None:
    assert answers_client(200, JOB | {"mood": "fine"}).get_job("nightly").document["mood"] == "fine"


def test_client_fields_unknown_to_an_older_stage_are_none_or_empty() -> None:
    job = answers_client(200, JOB).get_job("nightly")
    assert (job.workflow, job.retry, job.tags) == (None, None, ())


def test_client_raises_an_error_for_a_response_that_is_not_a_job() -> None:
    with pytest.raises(ApiError, match="the response is not from Duecourse"):
        answers_client(200, {"hello": "world"}).get_job("nightly")


def test_client_batch_returns_a_job_or_a_problem_for_each_item() -> None:
    items = [{"status": 201, "job": JOB, "etag": '"1"'}, {"status": 422, "problem": {"type": "/problems/invalid-job"}}]
    first, second = answers_client(200, {"items": items}).create_jobs([]).items
    assert first.job is not None
    assert (first.job.id, first.etag, first.problem, second.job) == ("nightly", '"1"', None, None)


def test_client_sends_instants_in_utc_and_rejects_naive_ones() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"items": [RUN], "redriven": 0})

    duecourse = Client("https://api", transport=httpx.MockTransport(answer))
    berlin = timezone(timedelta(hours=1))
    duecourse.redrive_dead_runs(since=datetime(2026, 11, 21, 3, tzinfo=berlin))
    duecourse.explain_job("nightly", at=datetime(2026, 11, 21, 3, tzinfo=UTC))
    assert seen[0].content == b'{"since":"2026-11-21T02:00:00+00:00"}'
    assert seen[1].url.params["at"] == "2026-11-21T03:00:00+00:00"
    with pytest.raises(ValueError, match="no time zone"):
        duecourse.redrive_dead_runs(since=datetime(2026, 11, 21, 3))


PROGRAM = """
from datetime import UTC, datetime
from duecourse.client import AsyncClient, Client
from duecourse.client.bodies import JobRequest

client = Client("https://api.example")
client.find_runs(state="DEAD")
client.find_runs(state=["DEAD", "RETRYING"], since=datetime.now(UTC))
client.find_runs(state=("DEAD",))
client.find_runs(state="DAED")  # wrong: arg-type
client.find_runs(state=["DAED"])  # wrong: list-item
client.list_runs("nightly", state="SUCCEEDED,DEAD")  # wrong: arg-type
client.list_jobs(state="ACTIVE")
client.list_jobs(state="ACTVE")  # wrong: arg-type
client.rerun("nightly.20261121T020000Z", ["load"])
client.rerun("nightly.20261121T020000Z", "load")  # wrong: arg-type
job: JobRequest = {"schedule": None, "target": {"type": "http", "url": "https://a.example"}, "tags": ["billing"]}
client.create_job(job)
client.create_job({**job, "tags": ("billing",)})
client.create_job({**job, "tags": "billing"})  # wrong: typeddict-item
client.create_job({**job, "exclude": "2026-12-25"})  # wrong: typeddict-item
client.create_job({**job, "overlap": "quue"})  # wrong: typeddict-item
if client.get_run("nightly.20261121T020000Z").state == "SUCEEDED":  # wrong: comparison-overlap
    pass
if client.get_job("nightly").state == "PAUSED":
    pass


async def play(client: AsyncClient) -> None:
    await client.find_runs(state=["DEAD"])
    await client.find_runs(state="DAED")  # wrong: arg-type
"""


def test_client_types_detect_a_misspelled_value_and_a_text_instead_of_a_list(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    mypy = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--no-error-summary", program]
    told = subprocess.run(mypy, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    found = {int(line): code for line, code in re.findall(r"program\.py:(\d+): error: .*\[([a-z-]+)\]", told)}
    wanted = enumerate(PROGRAM.splitlines(), 1)
    assert found == {line: text.partition("# wrong: ")[2] for line, text in wanted if "# wrong" in text}, told


@pytest.mark.parametrize("value", ["", ".", ".."])
def test_client_path_parameters_cannot_reach_another_route(value: str) -> None:
    """A dot segment would change the route: DELETE /v1/jobs/x/.. is DELETE /v1/jobs."""
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json={})

    tried = 0
    paths = {"job_id", "run_id", "workflow_id", "calendar_id", "limit_key", "key_id", "instant"}
    for name, method in getmembers(Methods, isfunction):
        needed = {
            each.name: "x"
            for each in list(signature(method).parameters.values())[1:]
            if each.default is each.empty and not name.startswith("_")
        }
        for parameter in needed.keys() & paths:
            if f"{{{parameter}}}" not in getsource(method):
                continue
            with pytest.raises(ValueError, match=f"{parameter} must not be empty, a dot or two dots"):
                getattr(client(answer), name)(**needed | {parameter: value})
            tried += 1
    assert (tried > 30, requests) == (True, [])


@pytest.mark.parametrize("path", ["jobs/..", "jobs/./runs", "jobs/%2e%2E/stats", "../x", "jobs/..?limit=1"])
def test_client_call_rejects_a_path_with_dot_segments(path: str) -> None:
    with pytest.raises(ValueError, match=r"must not contain the segments \. and \.\."):
        client(lambda _: httpx.Response(200, json={})).call("DELETE", path)
