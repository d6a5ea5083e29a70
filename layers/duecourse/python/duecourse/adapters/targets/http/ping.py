"""Pings over HTTP, with the same rules for addresses as calls of HTTP targets."""

from __future__ import annotations

from dataclasses import dataclass, field
from http.client import HTTPException

from duecourse.adapters.targets.http.connection import (
    AddressRefusedError,
    Deadline,
    EndpointError,
    HttpClient,
    HttpRequest,
    endpoint_of,
)
from duecourse.ports import Clock
from duecourse.version import VERSION

_MOST_BYTES = 64 * 1024
"""The maximum number of bytes that are read from the body of a response."""


@dataclass(frozen=True, slots=True)
class HttpPinger:
    """Implementation of ports.Pinger: a GET request without a body, whose response is ignored except for its status."""

    clock: Clock
    private: bool = field(kw_only=True)
    """Whether addresses that are not public are allowed (stage `local`)."""

    def ping(self, url: str, timeout: float) -> str | None:
        """Send the request. Return None after a success, otherwise the error."""
        caller = HttpClient(self.clock, private=self.private, most_bytes=_MOST_BYTES)
        none: frozenset[str] = frozenset()
        try:
            endpoint = endpoint_of(url)
            headers = {
                "Host": endpoint.authority,
                "Connection": "close",
                "Accept-Encoding": "identity",
                "User-Agent": f"duecourse/{VERSION}",
            }
            request = HttpRequest(endpoint, "GET", False, (*headers.items(),), None, none, none)
            answer = caller.exchange(request, Deadline(timeout))
        except (EndpointError, AddressRefusedError) as problem:
            return str(problem)
        except (OSError, HTTPException) as problem:
            return f"{type(problem).__name__}: {problem}"[:200]
        return None if 200 <= answer.status < 300 else f"the response has the status {answer.status}"
