"""Plain responses of HTTP targets, which our own code reads: as `http.client` reads them, or not at all."""

import socket
from http.client import IncompleteRead
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.adapters.targets.http.connection import Deadline, DeadlineSocket, PlainResponse, Response

MOST = 20

HEADS = st.sampled_from(
    [
        b"HTTP/1.1 200 OK", b"HTTP/1.1 404 Not Found", b"HTTP/1.1 503", b"HTTP/1.1 200 ", b"HTTP/1.1 304 Same",
        b"HTTP/1.1 204 Nothing", b"HTTP/1.0 200 OK", b"HTTP/1.1 103 Hints", b"HTTP/2 200", b"HTTP/1.1 200 Gr\xfc\xdfe",
    ]
)  # fmt: skip
NAMES = st.sampled_from(
    [
        b"Content-Length", b"content-length", b"Content-Type", b"Retry-After", b"X-Duecourse-Retry", b"Connection",
        b"Transfer-Encoding", b"Set-Cookie", b"X-A", b" Folded", b"Content-Length ", b"\xfc", b"",
    ]
)  # fmt: skip
VALUES = st.sampled_from(
    [
        b"0", b"5", b" 5", b"5 ", b"25", b"+5", b"-5", b"5, 5", b"\xb2", b"9" * 20, b"application/json", b"close",
        b"keep-alive, Close", b"never", b"chunked", b"a\x0bb", b"\xe9", b"",
    ]
)  # fmt: skip
ENDS = st.sampled_from([b"\r\n"] * 9 + [b"\n", b"\r"])


@st.composite
def responses(draw: st.DrawFn) -> bytes:
    text = draw(HEADS) + draw(ENDS)
    if draw(st.booleans()):
        text += b"Content-Length: " + draw(st.sampled_from([b"0", b"5", b"20", b"21", b"30"])) + b"\r\n"
    for _ in range(draw(st.integers(0, 4))):
        text += draw(NAMES) + b":" + draw(VALUES) + draw(ENDS)
    return text + b"\r\n" + b"x" * draw(st.sampled_from([0, 3, 5, 20, 21, 40]))


def received(text: bytes) -> tuple[DeadlineSocket, list[socket.socket]]:
    ours, theirs = socket.socketpair()
    theirs.sendall(text)
    theirs.close()
    return DeadlineSocket(ours, Deadline(5)), [ours]


def plainly(text: bytes) -> tuple[PlainResponse | None, bool]:
    peer, opened = received(text)
    try:
        return peer.plain_response("POST", MOST), peer.at_end
    finally:
        for each in opened:
            each.close()


def by_http_client(text: bytes) -> tuple[PlainResponse, bool]:
    peer, opened = received(text)
    try:
        with Response(peer, "POST") as response:
            response.begin()
            body = response.body(MOST)
            complete = response.isclosed() and not response.will_close
            names = ("content-type", "retry-after", "x-duecourse-retry")
            headers = {name: response.getheader(name, "").strip(" \t") for name in names}
        return PlainResponse(response.status, headers, body, complete), peer.at_end
    finally:
        for each in opened:
            each.close()


@given(responses())
def test_http_plain_response_is_the_same_as_by_http_client_if_it_is_read_at_all(text: bytes) -> None:
    ours: Any
    try:
        ours = plainly(text)
    except IncompleteRead:
        with pytest.raises(IncompleteRead):
            by_http_client(text)
        return
    plain, at_end = ours
    if plain is None:
        return
    theirs, theirs_at_end = by_http_client(text)
    assert {name: plain.headers.get(name, "") for name in theirs.headers} == theirs.headers
    assert (plain.status, plain.body, plain.complete) == (theirs.status, theirs.body, theirs.complete)
    assert at_end == theirs_at_end


USUAL = (
    b"HTTP/1.1 200 OK\r\nDate: x\r\nContent-Type: application/json\r\nContent-Length: 4\r\nSet-Cookie: a\r\n\r\nnull"
)


def test_http_plain_response_of_a_common_server_is_read() -> None:
    headers = {"content-type": "application/json", "content-length": "4"}
    assert plainly(USUAL) == (PlainResponse(200, headers, b"null", True), True)


@pytest.mark.parametrize(
    "text",
    [
        USUAL.replace(b"Content-Length", b"Transfer-Encoding"),
        USUAL.replace(b"Set-Cookie: a", b"Content-Type: b"),
        USUAL.replace(b"Set-Cookie: a", b"X-Many: a\r\n" * 100 + b"X-A: a"),
        USUAL.replace(b"200", b"304"),
        USUAL.replace(b"1.1", b"1.0"),
        USUAL[:-10],
    ],
    ids=["no length", "repeated header", "many headers", "no body", "older version", "cut"],
)
def test_http_plain_other_responses_are_left_to_http_client_unread(text: bytes) -> None:
    peer, (sock,) = received(text)
    assert peer.plain_response("POST", MOST) is None
    assert peer.makefile("rb").peek() == text
    sock.close()


def test_http_plain_response_to_head_is_left_to_http_client() -> None:
    peer, (sock,) = received(USUAL)
    assert peer.plain_response("HEAD", MOST) is None
    sock.close()
