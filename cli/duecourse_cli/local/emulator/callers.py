"""Who may call the servers of the local stack: programs of this machine, and no web page.

A browser on this machine lets any page send requests to loopback. It gives the page away by `Origin`, by
`Sec-Fetch-Site`, or, where the page has had its own name pointed at loopback (DNS rebinding), by `Host`. Programs send
none of the first two.
"""

from __future__ import annotations

from collections.abc import Iterable

from duecourse_cli.local.emulator.ports import LOOPBACK

_DIRECT = ("none", "same-origin")
"""`Sec-Fetch-Site` of an address that a person typed, and of what that page loads from its own server."""


def refusal(headers: Iterable[tuple[str, str]], port: int) -> str | None:
    """Why a server on this port refuses a request with these headers, in one sentence; None: it does not."""
    found: dict[str, list[str]] = {}
    for name, value in headers:
        found.setdefault(name.lower(), []).append(value.strip().lower())
    hosts = found.get("host", [])
    if len(hosts) != 1 or not _is_ours(hosts[0], port):
        return f"The local stack answers under its own address alone: call http://{LOOPBACK}:{port}."
    if "origin" in found or not set(found.get("sec-fetch-site", ())).issubset(_DIRECT):
        return "The local stack answers programs of this machine and no web page: call it without Origin."
    return None


def _is_ours(host: str, port: int) -> bool:
    """Names below `localhost` are loopback by definition (RFC 6761); S3's buckets and APIs have such."""
    name, _, its_port = host.rpartition(":")
    return its_port == str(port) and (name in (LOOPBACK, "localhost") or name.endswith(".localhost"))
