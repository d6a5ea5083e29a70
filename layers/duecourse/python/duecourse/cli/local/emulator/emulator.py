"""MiniStack as the local stack starts it (`python -m duecourse.cli.local.emulator.emulator`): it answers no web page
but the console that it serves itself.

By itself it responds to every caller of its port, with `Access-Control-Allow-Origin: *`, and has no setting against it;
to answer is to run code, since it invokes functions. So each request is looked at before it gets there.

A browser on this machine lets any page send requests to loopback. It gives the page away by `Origin`, by
`Sec-Fetch-Site`, or, where the page has had its own name pointed at loopback (DNS rebinding), by `Host`. Programs send
none of the first two; the console's page has the origin of the stack.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from duecourse.cli.local.emulator.environment import LOOPBACK

_DIRECT = ("none", "same-origin")
"""`Sec-Fetch-Site` of an address that a person typed, and of what that page loads from its own server."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]
FORBIDDEN = 403


_CONSOLE = re.compile(r"/_aws/execute-api/[a-z0-9]+(/\$default)?/console")


def refusal(headers: Iterable[tuple[str, str]], port: int, *, opens_console: bool = False) -> str | None:
    """Why a server on this port rejects a request with these headers, in one sentence; None: it does not.

    `opens_console`: it asks for the console's page, which changes nothing, so that a link to it may be anywhere.
    """
    found: dict[str, list[str]] = {}
    for name, value in headers:
        found.setdefault(name.lower(), []).append(value.strip().lower())
    hosts = found.get("host", [])
    if len(hosts) != 1 or not _is_ours(hosts[0], port):
        return f"The local stack accepts only requests to its own address; call http://{LOOPBACK}:{port}."
    if not set(found.get("origin", ())).issubset({f"http://{hosts[0]}"}):
        return (
            "The local stack accepts requests from programs of this machine, not from web pages; call it "
            "without Origin."
        )
    linked = opens_console and found.get("sec-fetch-mode") == ["navigate"]
    if not linked and not set(found.get("sec-fetch-site", ())).issubset(_DIRECT):
        return (
            "The local stack accepts requests from programs of this machine, not from web pages; call it "
            "without Origin."
        )
    return None


def _is_ours(host: str, port: int) -> bool:
    """Names below `localhost` are loopback by definition (RFC 6761); S3's buckets and APIs have such."""
    name, _, its_port = host.rpartition(":")
    return its_port == str(port) and (name in (LOOPBACK, "localhost") or name.endswith(".localhost"))


def guarded(app: App, port: int) -> App:
    """The same ASGI application, but for requests that `refusal` rejects."""

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            headers = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
            opens = scope.get("method") == "GET" and _CONSOLE.fullmatch(scope.get("path", "")) is not None
            if (why := refusal(headers, port, opens_console=opens)) is not None:
                await _refuse(scope["type"], why, send)
                return
        await app(scope, receive, send)

    return answer


async def _refuse(kind: str, why: str, send: Send) -> None:
    if kind == "websocket":
        await send({"type": "websocket.close"})  # before it was accepted: the server returns 403
        return
    body = json.dumps({"title": "Forbidden", "status": FORBIDDEN, "detail": why}).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": FORBIDDEN, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def main() -> None:
    """Serve until a signal; everything is set by MiniStack's own variables."""
    from ministack import app as emulator

    emulator.app = guarded(emulator.app, int(os.environ["GATEWAY_PORT"]))  # what its `main` serves
    emulator.main()


if __name__ == "__main__":
    main()
