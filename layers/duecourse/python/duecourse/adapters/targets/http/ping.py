"""Pings over HTTP, with the same rules for addresses as calls of HTTP targets."""

from __future__ import annotations

from dataclasses import dataclass, field
from http.client import HTTPException
from typing import NoReturn

from duecourse.adapters.targets.http.connection import AddressRefusedError, Deadline, EndpointError, endpoint_of
from duecourse.adapters.targets.http.http import HttpCaller, HttpRequest
from duecourse.ports import Clock, SecretUnknownError
from duecourse.version import VERSION


class _NoSecrets:
    """Implementation of ports.Secrets: an address of a ping refers to none."""

    def get(self, tenant: str, name: str) -> NoReturn:
        """Raise SecretUnknownError, since a ping has no secrets."""
        raise SecretUnknownError(f"{tenant}/{name}")


@dataclass(frozen=True, slots=True)
class HttpPinger:
    """Implementation of ports.Pinger: a GET request without a body, whose response is ignored except for its status."""

    clock: Clock
    private: bool = field(kw_only=True)
    """Whether addresses that are not public are allowed (stage `local`)."""

    def ping(self, url: str, timeout: float) -> str | None:
        """Send the request. Return None after a success, otherwise the error."""
        caller = HttpCaller(self.clock, private=self.private, secrets=_NoSecrets())
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
