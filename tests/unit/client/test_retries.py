"""Retries, deadlines and proxies.

- A request that may be sent again is, as often as it is asked for, and no other is.
- The time-out limits a whole try, however slowly an answer comes.
"""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import pytest

from duecourse.client import (
    ApiError,
    ApiUnreachableError,
    AsyncClient,
    Client,
    NotFoundError,
    TooManyRequestsError,
    UnavailableError,
)
from duecourse.client.calls import Call
from duecourse.client.deadline import SHORTEST_SECONDS, Deadline
from tests.unit.client.test_client import JOB, RUN

Answer = tuple[int, Any, dict[str, str]] | None
BUSY: Answer = (503, {"type": "/problems/busy", "title": "Service Unavailable"}, {"Retry-After": "7"})
LIMITED: Answer = (429, {"type": "/problems/rate-limited"}, {"Retry-After": "2"})


class Stage:
    """Answers one after the other as it is told, None by breaking the connection; the last one is repeated."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.seen: list[httpx.Request] = []
        self.waits: list[float] = []
        self.client = Client("https://api", transport=httpx.MockTransport(self._answer), wait=self.waits.append)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:
            raise httpx.ConnectError("Connection refused", request=request)
        return response(answer)


def response(answer: tuple[int, Any, dict[str, str]]) -> httpx.Response:
    status, document, headers = answer
    return httpx.Response(status, json=document, headers=headers)


def done(document: Any = JOB, status: int = 200) -> tuple[int, Any, dict[str, str]]:
    return status, document, {}


def test_client_retries_request_to_a_busy_stage_is_repeated_after_the_given_time() -> None:
    stage = Stage(BUSY, LIMITED, done())
    assert stage.client.get_job("nightly").id == "nightly"
    assert [7 <= stage.waits[0] < 7.5, 2 <= stage.waits[1] < 3] == [True, True]


def test_client_retries_waits_double_and_are_randomized_to_spread_callers() -> None:
    stage = Stage(None)
    with pytest.raises(ApiUnreachableError):
        stage.client.get_job("nightly")
    assert len(stage.seen) == 5
    assert all(0 <= wait <= most for wait, most in zip(stage.waits, (0.5, 1, 2, 4), strict=True))


def test_client_retries_request_that_starts_work_has_one_key_for_all_tries() -> None:
    stage = Stage(None, BUSY, done(RUN, 202))
    stage.client.run_job("nightly")
    (key,) = {request.headers["Idempotency-Key"] for request in stage.seen}
    assert len(stage.seen) == 3
    other = Stage(done(RUN, 202))
    other.client.run_job("nightly")
    assert other.seen[0].headers["Idempotency-Key"] != key


def test_client_retries_repeated_skip_has_one_key_and_takes_effect_once() -> None:
    stage = Stage(None, BUSY, done({"items": []}))
    stage.client.skip_next("nightly")
    assert len({request.headers["Idempotency-Key"] for request in stage.seen}) == 1
    assert len(stage.seen) == 3


def test_client_retries_any_post_has_one_key_for_all_tries() -> None:
    for send in (
        lambda client: client.call("POST", "jobs", json={"schedule": None}),
        lambda client: client.call("post", "jobs/nightly/run"),
        lambda client: client.send(Call("POST", "jobs/nightly/run")),
    ):
        stage = Stage(None, BUSY, done(RUN, 202))
        send(stage.client)
        assert len(stage.seen) == 3
        assert len({request.headers["Idempotency-Key"] for request in stage.seen}) == 1


@pytest.mark.parametrize("name", ["Idempotency-Key", "idempotency-key"])
def test_client_retries_header_set_by_the_caller_is_the_key(name: str) -> None:
    stage = Stage(None, done(RUN, 202))
    stage.client.call("POST", "jobs/nightly/run", headers={name: "order-7"})
    assert [request.headers.get_list("Idempotency-Key") for request in stage.seen] == [["order-7"]] * 2


def test_client_retries_only_posts_without_a_run_token_have_a_key() -> None:
    stage = Stage(done({}))
    stage.client.call("GET", "stats")
    stage.client.call("POST", "runs/nightly.20261121T020000Z/heartbeat", token="t")
    assert all("Idempotency-Key" not in request.headers for request in stage.seen)


def test_client_retries_key_set_by_the_caller_is_sent_unchanged() -> None:
    stage = Stage(done(RUN, 202))
    stage.client.run_job("nightly", idempotency_key="order-7")
    assert stage.seen[0].headers["Idempotency-Key"] == "order-7"


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.put_job("nightly", {"schedule": None}, if_match='"1"'),
        lambda client: client.delete_job("nightly", if_match='"1"'),
    ],
    ids=["an edit of one version", "a deletion of one version"],
)
def test_client_retries_non_repeatable_request_that_may_have_succeeded_is_not_repeated(
    call: Callable[[Client], object],
) -> None:
    for first in (None, BUSY):
        stage = Stage(first, done())
        with pytest.raises((ApiUnreachableError, UnavailableError)):
            call(stage.client)
        assert len(stage.seen) == 1


def test_client_retries_rate_limited_request_is_repeated_even_if_not_repeatable() -> None:
    stage = Stage(LIMITED, done())
    stage.client.put_job("nightly", {"schedule": None}, if_match='"1"')
    assert len(stage.seen) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 412, 422, 500])
def test_client_retries_permanent_rejection_is_not_repeated(status: int) -> None:
    stage = Stage((status, {}, {}))
    with pytest.raises(ApiError):
        stage.client.get_job("nightly")
    assert len(stage.seen) == 1


UNKNOWN: Answer = (404, {"type": "/problems/unknown-job"}, {})


def test_client_retries_deletion_with_a_lost_response_succeeds_if_the_job_no_longer_exists() -> None:
    for first in (None, BUSY):
        stage = Stage(first, UNKNOWN)
        stage.client.delete_job("nightly")
        assert len(stage.seen) == 2


@pytest.mark.parametrize(
    "answers",
    [[UNKNOWN], [LIMITED, UNKNOWN], [None, (404, {"message": "Not Found"}, {})]],
    ids=["asked once", "nothing was done the first time", "not by Duecourse"],
)
def test_client_retries_deletion_of_a_missing_job_is_rejected_without_evidence_of_an_earlier_deletion(
    answers: list[Answer],
) -> None:
    with pytest.raises(NotFoundError):
        Stage(*answers).client.delete_job("nightly")


def test_client_retries_async_client_recognizes_a_completed_deletion() -> None:
    answers = [BUSY, UNKNOWN]

    async def play() -> None:
        transport = httpx.MockTransport(lambda _: response(answers.pop(0)))
        async with AsyncClient("https://api", transport=transport, wait=lambda _: asyncio.sleep(0)) as client:
            await client.delete_job("nightly")

    asyncio.run(play())
    assert answers == []


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "Sat, 21 Nov 2026 07:00:10 GMT", "Date": "Sat, 21 Nov 2026 07:00:00 GMT"}, 10),
        ({"Retry-After": "Sat, 21 Nov 2026 06:00:00 GMT", "Date": "Sat, 21 Nov 2026 07:00:00 GMT"}, 0),
        ({"Retry-After": "Sat, 21 Nov 2020 06:00:00 GMT"}, 0),
        ({"Retry-After": "soon", "Date": "Sat, 21 Nov 2026 07:00:00 GMT"}, None),
        ({}, None),
    ],
)
def test_client_retries_retry_after_date_is_measured_by_the_clock_of_the_sender(
    headers: dict[str, str], seconds: float | None
) -> None:
    stage = Stage((503, {}, headers), done())
    assert stage.client.get_job("nightly").id == "nightly"
    assert (seconds or 0) <= stage.waits[0] < (seconds or 0) + 0.5
    with pytest.raises(UnavailableError) as refused:
        Stage((503, {}, headers)).client.get_job("nightly")
    assert refused.value.retry_after == seconds


@pytest.mark.parametrize("wait", ["3600", "9999999999"])
def test_client_retries_long_wait_is_not_taken(wait: str) -> None:
    stage = Stage((429, {}, {"Retry-After": wait}))
    with pytest.raises(TooManyRequestsError) as refused:
        stage.client.get_job("nightly")
    assert refused.value.retry_after == float(wait)
    assert stage.waits == []


def test_client_retries_async_client_retries_and_reads_all_pages() -> None:
    waits: list[float] = []
    pages = [
        BUSY,
        done({"items": [JOB], "next_cursor": "2"}),
        done({"items": [JOB | {"id": "b"}], "next_cursor": None}),
        done(JOB),
    ]

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    async def play() -> list[str]:
        transport = httpx.MockTransport(lambda _: response(pages.pop(0)))
        async with AsyncClient("https://api", transport=transport, wait=wait) as client:
            found = [job.id async for job in await client.list_jobs(tag="billing")]
            return [*found, (await client.get_job("nightly")).id]

    assert asyncio.run(play()) == ["nightly", "b", "nightly"]
    assert len(waits) == 1


class Slow(httpx.SyncByteStream):
    """A body that comes byte by byte, one in so many seconds of its clock."""

    def __init__(self, text: str, seconds: float) -> None:
        self.text = text
        self.seconds = seconds
        self.now = 1000.0
        self.sent = 0
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        for each in self.text.encode():
            self.now += self.seconds
            self.sent += 1
            yield bytes([each])

    def close(self) -> None:
        self.closed = True


def client_of(body: Slow, timeout: float) -> Client:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=body))
    return Client("https://api", timeout=timeout, retries=0, transport=transport, clock=lambda: body.now)


def test_client_retries_body_that_arrives_byte_by_byte_times_out() -> None:
    body = Slow(json.dumps(JOB), 0.4)
    with pytest.raises(ApiUnreachableError, match="the response took too long"):
        client_of(body, 1).get_job("nightly")
    assert (body.sent, body.closed) == (3, True)


def test_client_retries_body_that_arrives_in_time_is_read() -> None:
    text = json.dumps(JOB)
    body = Slow(text, 0.9 / len(text))
    assert client_of(body, 1).get_job("nightly").id == "nightly"
    assert body.closed


def test_client_retries_each_phase_may_take_the_remaining_time() -> None:
    now = 1000.0
    extensions = Deadline(2, lambda: now).extensions
    waits, begin = extensions["timeout"], extensions["trace"]
    assert waits == {"connect": 2, "read": 2, "write": 2, "pool": 2}
    now += 1.5
    begin("http11.receive_response_headers.started", {})
    assert waits == {"connect": 0.5, "read": 0.5, "write": 0.5, "pool": 0.5}
    now += 1.5
    begin("http11.receive_response_body.started", {})
    assert set(waits.values()) == {SHORTEST_SECONDS}


@contextmanager
def answering(*parts: bytes) -> Iterator[str]:
    """A server that answers so and then says nothing more, until the context ends."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(1)
        over = threading.Event()

        def serve() -> None:
            with suppress(OSError):  # a client on a busy machine gives up before it is answered
                connection, _ = server.accept()
                with connection:
                    connection.recv(65_536)
                    for part in parts:
                        connection.sendall(part)
                    over.wait()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            over.set()
            thread.join()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"


@pytest.mark.parametrize("parts", [(), (HEAD,), (HEAD, b"\r\n{")], ids=["nothing", "half a head", "half a body"])
def test_client_retries_server_that_stops_responding_times_out(parts: tuple[bytes, ...]) -> None:
    with (
        answering(*parts) as url,
        Client(url, timeout=0.05, retries=0, trust_env=False) as client,
        pytest.raises(ApiUnreachableError),
    ):
        client.call("GET", "stats")


@pytest.mark.parametrize("parts", [(), (HEAD,), (HEAD, b"\r\n{")], ids=["nothing", "half a head", "half a body"])
def test_client_retries_async_client_times_out(parts: tuple[bytes, ...]) -> None:
    async def play(url: str) -> None:
        async with AsyncClient(url, timeout=0.05, retries=0, trust_env=False) as client:
            await client.call("GET", "stats")

    with answering(*parts) as url, pytest.raises(ApiUnreachableError):
        asyncio.run(play(url))


def test_client_retries_cancelled_task_is_not_a_timeout() -> None:
    async def play() -> None:
        async def never(_: httpx.Request) -> httpx.Response:
            asking.set()
            await asyncio.Event().wait()
            raise AssertionError

        asking = asyncio.Event()
        async with AsyncClient("https://api", transport=httpx.MockTransport(never)) as client:
            task = asyncio.create_task(client.call("GET", "stats"))
            await asking.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(play())


def test_client_retries_body_of_many_parts_times_out_in_the_async_client() -> None:
    class Endless(httpx.AsyncByteStream):
        async def __aiter__(self):  # type: ignore[no-untyped-def]
            while True:
                await asyncio.sleep(0)
                yield b" "

    async def play() -> None:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=Endless()))
        async with AsyncClient("https://api", timeout=0.05, retries=0, transport=transport) as client:
            await client.call("GET", "stats")

    with pytest.raises(ApiUnreachableError, match="the response took too long"):
        asyncio.run(play())
