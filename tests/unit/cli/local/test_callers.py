"""Which requests the local stack's servers refuse, and that refusing ends there."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from duecourse.cli.local.emulator.emulator import guarded, refusal

PORT = 4599
OURS = ("Host", f"127.0.0.1:{PORT}")


@pytest.mark.parametrize(
    "headers",
    [
        [OURS],
        [("host", f"localhost:{PORT}")],
        [("HOST", f"LocalHost:{PORT}")],
        [("host", f"bucket.s3.localhost:{PORT}")],
        [OURS, ("User-Agent", "Boto3/1.43"), ("Authorization", "AWS4-HMAC-SHA256 ...")],
        [OURS, ("Sec-Fetch-Site", "none"), ("Sec-Fetch-Mode", "navigate")],
        [OURS, ("Sec-Fetch-Site", "same-origin")],
        [OURS, ("Sec-Fetch-Site", "same-origin"), ("Origin", f"http://127.0.0.1:{PORT}")],
    ],
)
def test_programs_and_the_stacks_own_page_pass(headers: list[tuple[str, str]]) -> None:
    assert refusal(headers, PORT) is None


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ([OURS, ("Origin", "https://evil.example")], "no web page"),
        ([OURS, ("origin", f"http://localhost:{PORT}")], "no web page"),
        ([OURS, ("origin", f"https://127.0.0.1:{PORT}")], "no web page"),
        ([OURS, ("origin", "http://127.0.0.1:4600")], "no web page"),
        ([OURS, ("origin", f"http://127.0.0.1:{PORT}"), ("origin", "https://evil.example")], "no web page"),
        ([OURS, ("Origin", "")], "no web page"),
        ([OURS, ("Sec-Fetch-Site", "cross-site")], "no web page"),
        ([OURS, ("Sec-Fetch-Site", "CROSS-SITE")], "no web page"),
        ([OURS, ("Sec-Fetch-Site", "none"), ("Sec-Fetch-Site", "cross-site")], "no web page"),
        ([], "http://127.0.0.1:4599"),
        ([("host", "")], "http://127.0.0.1:4599"),
        ([("host", "evil.example")], "http://127.0.0.1:4599"),
        ([("host", f"evil.example:{PORT}")], "http://127.0.0.1:4599"),
        ([("host", f"127.0.0.1.evil.example:{PORT}")], "http://127.0.0.1:4599"),
        ([("host", f"notlocalhost:{PORT}")], "http://127.0.0.1:4599"),
        ([("host", f"localhost.evil.example:{PORT}")], "http://127.0.0.1:4599"),
        ([("host", f"evil.example@127.0.0.1:{PORT}")], "http://127.0.0.1:4599"),
        ([("host", "127.0.0.1")], "http://127.0.0.1:4599"),
        ([("host", "127.0.0.1:4600")], "http://127.0.0.1:4599"),
        ([OURS, ("Host", "evil.example")], "http://127.0.0.1:4599"),
    ],
)
def test_web_pages_and_foreign_names_are_refused(headers: list[tuple[str, str]], why: str) -> None:
    said = refusal(headers, PORT)

    assert said is not None
    assert why in said


def test_a_link_may_open_the_console_and_nothing_else() -> None:
    followed = [OURS, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")]
    fetched = [OURS, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors")]
    assert refusal(followed, PORT, opens_console=True) is None
    assert refusal(followed, PORT) is not None
    assert refusal(fetched, PORT, opens_console=True) is not None


def asked(kind: str, headers: list[tuple[bytes, bytes]]) -> tuple[list[dict[str, Any]], int]:
    """What a guarded application answers, and how often the application itself was called."""
    sent: list[dict[str, Any]] = []
    called: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        called.append(scope["type"])

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("nobody reads the request")

    asyncio.run(
        guarded(app, PORT)({"type": kind, **({} if kind == "lifespan" else {"headers": headers})}, receive, send)
    )
    return sent, len(called)


def test_a_refused_request_does_not_reach_the_application() -> None:
    (start, body), called = asked("http", [(b"host", b"evil.example")])

    assert called == 0
    assert start["status"] == 403
    assert json.loads(body["body"])["status"] == 403


def test_a_refused_websocket_is_closed_before_it_is_open() -> None:
    assert asked("websocket", [(b"host", b"127.0.0.1:4599"), (b"origin", b"https://evil.example")]) == (
        [{"type": "websocket.close"}],
        0,
    )


def test_what_may_pass_and_the_servers_own_events_reach_it() -> None:
    assert asked("http", [(b"host", b"127.0.0.1:4599")]) == ([], 1)
    assert asked("lifespan", []) == ([], 1)
