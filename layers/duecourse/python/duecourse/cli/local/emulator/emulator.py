"""Starts MiniStack for the local stack (`python -m duecourse.cli.local.emulator.emulator`). It rejects requests of web
pages, except for the console that it serves itself.

MiniStack itself responds to every caller of its port, with `Access-Control-Allow-Origin: *`, and has no setting to
change this. Any caller could run code, since MiniStack invokes functions. This module therefore checks each request
first.

A browser on this machine lets any page send requests to loopback. The page is recognized by `Origin`, by
`Sec-Fetch-Site`, or by `Host` if the page's own name resolves to loopback (DNS rebinding). Programs send neither of the
first two. The console's page has the origin of the stack.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from duecourse.cli.local.emulator.environment import LOOPBACK

_DIRECT = ("none", "same-origin")
"""The values of `Sec-Fetch-Site` for an address that a person has typed, and for requests of that page to its own
server.
"""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]
FORBIDDEN = 403


_CONSOLE = re.compile(r"/_aws/execute-api/[a-z0-9]+(/\$default)?/console")


def refusal(headers: Iterable[tuple[str, str]], port: int, *, opens_console: bool = False) -> str | None:
    """Return the reason why a server on this port rejects a request with these headers, or None if it accepts it.

    `opens_console`: the request opens the console's page. It changes nothing, so links to it are allowed on any page.
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
    """Return whether the host is this server. Names below `localhost` are loopback by definition (RFC 6761); S3's
    buckets and the APIs have such names.
    """
    name, _, its_port = host.rpartition(":")
    return its_port == str(port) and (name in (LOOPBACK, "localhost") or name.endswith(".localhost"))


def guarded(app: App, port: int) -> App:
    """Return the ASGI application without the requests that `refusal` rejects."""

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
        await send({"type": "websocket.close"})  # closed before it is accepted: the server returns 403
        return
    body = json.dumps({"title": "Forbidden", "status": FORBIDDEN, "detail": why}).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": FORBIDDEN, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def main() -> None:
    """Serve until a signal. MiniStack's own variables contain all settings."""
    from ministack import app as emulator

    emulator.app = guarded(emulator.app, int(os.environ["GATEWAY_PORT"]))  # MiniStack's `main` serves `app`
    emulator.main()


if __name__ == "__main__":
    main()
