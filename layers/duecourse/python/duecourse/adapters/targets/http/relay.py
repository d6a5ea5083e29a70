"""A connector: it sends the requests of workers from a private network.

The worker has checked, authenticated and signed the request. The connector checks the host and each address to which
its name resolves, and connects to an address that was checked. It needs no permissions and no third-party packages.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http.client import HTTPException
from typing import Any

from duecourse.adapters.targets.http.connection import (
    AddressRefusedError,
    Deadline,
    HttpAnswer,
    HttpClient,
    code_of,
    plainly,
)
from duecourse.adapters.targets.http.wire import Unanswered, answer_document, asked_of
from duecourse.domain.targets.connectors import address_refusal, connectors_of, host_refusal
from duecourse.domain.targets.targets import Connector


class _WallClock:
    """Implementation of ports.Clock for the age of kept connections."""

    def now(self) -> float:
        return time.time()

    def sleep_until(self, instant: float) -> None:
        """Return at `instant`."""
        time.sleep(max(0.0, instant - time.time()))


@dataclass(frozen=True, slots=True)
class InsideClient(HttpClient):
    """Calls only the hosts and addresses of a connector. `private` allows loopback addresses (stage `local`)."""

    most_bytes: int = field(default=0, kw_only=True)
    connector: Connector = field(kw_only=True)

    def address_refusal(self, address: str) -> str | None:
        """Return the reason why the address of a host is not called, or None if it is."""
        return address_refusal(address, self.connector, loopback=self.private)


@dataclass(frozen=True, slots=True)
class Relay:
    """Sends the request of an event, and returns the answer as a document. Safe to share between threads."""

    client: InsideClient

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Relay:
        """Return the connector of a function. Raises KeyError and ValueError."""
        (connector,) = connectors_of(json.loads(environ["DUECOURSE_CONNECTOR"])).values()
        private = environ["DUECOURSE_PRIVATE_TARGETS"] == "allow" and environ["DUECOURSE_STAGE"] == "local"
        return cls(InsideClient(_WallClock(), private=private, connector=connector))

    def __call__(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Send the request once, and return its response or the reason why there is none. Raises KeyError, TypeError
        and ValueError for an event that is not a request.
        """
        asked = asked_of(event)
        request, client = asked.request, replace(self.client, most_bytes=asked.most_bytes)
        if refused := host_refusal(request.endpoint.host, client.connector):
            return answer_document(Unanswered("address_refused", refused))
        answer: HttpAnswer | Unanswered
        try:
            answer = client.exchange(request, Deadline(asked.seconds))
        except (AddressRefusedError, OSError, HTTPException) as problem:
            answer = Unanswered(code_of(problem), plainly(problem))
        return answer_document(answer)
