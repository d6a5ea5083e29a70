"""The time-out limits a whole try, however slowly an answer comes."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import httpx
import pytest

from duecourse.client import ApiUnreachableError, AsyncClient, Client
from duecourse.client.deadline import SHORTEST_SECONDS, Deadline
from tests.unit.client.test_client import JOB


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
    return Client("http://api", timeout=timeout, retries=0, transport=transport, clock=lambda: body.now)


def test_a_body_that_comes_byte_by_byte_ends_with_the_time_out() -> None:
    body = Slow(json.dumps(JOB), 0.4)
    with pytest.raises(ApiUnreachableError, match="the answer took too long"):
        client_of(body, 1).get_job("nightly")
    assert (body.sent, body.closed) == (3, True)


def test_a_body_that_comes_in_time_is_read() -> None:
    text = json.dumps(JOB)
    body = Slow(text, 0.9 / len(text))
    assert client_of(body, 1).get_job("nightly").id == "nightly"
    assert body.closed


def test_each_step_may_take_what_is_left() -> None:
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
def test_a_server_that_stops_answering_ends_with_the_time_out(parts: tuple[bytes, ...]) -> None:
    with (
        answering(*parts) as url,
        Client(url, timeout=0.05, retries=0, trust_env=False) as client,
        pytest.raises(ApiUnreachableError),
    ):
        client.call("GET", "stats")


@pytest.mark.parametrize("parts", [(), (HEAD,), (HEAD, b"\r\n{")], ids=["nothing", "half a head", "half a body"])
def test_the_client_on_asyncio_ends_with_the_time_out_too(parts: tuple[bytes, ...]) -> None:
    async def play(url: str) -> None:
        async with AsyncClient(url, timeout=0.05, retries=0, trust_env=False) as client:
            await client.call("GET", "stats")

    with answering(*parts) as url, pytest.raises(ApiUnreachableError):
        asyncio.run(play(url))


def test_a_task_that_is_cancelled_is_not_a_time_out() -> None:
    async def play() -> None:
        async def never(_: httpx.Request) -> httpx.Response:
            asking.set()
            await asyncio.Event().wait()
            raise AssertionError

        asking = asyncio.Event()
        async with AsyncClient("http://api", transport=httpx.MockTransport(never)) as client:
            task = asyncio.create_task(client.call("GET", "stats"))
            await asking.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(play())


def test_a_body_of_many_parts_ends_with_the_time_out_on_asyncio() -> None:
    class Endless(httpx.AsyncByteStream):
        async def __aiter__(self):  # type: ignore[no-untyped-def]
            while True:
                await asyncio.sleep(0)
                yield b" "

    async def play() -> None:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=Endless()))
        async with AsyncClient("http://api", timeout=0.05, retries=0, transport=transport) as client:
            await client.call("GET", "stats")

    with pytest.raises(ApiUnreachableError, match="the answer took too long"):
        asyncio.run(play())
