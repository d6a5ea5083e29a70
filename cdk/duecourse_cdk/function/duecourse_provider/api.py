"""HTTP requests to a stage, with retries for temporary errors. Errors contain the text of the stage's response."""

from __future__ import annotations

import http.client
import json
import random
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

AGAIN = frozenset({429, 500, 502, 503, 504})
"""Statuses after which a retry can succeed (docs/api.md, "Responses")."""
CALL_SECONDS = 30.0
"""The timeout of one request. API Gateway itself responds within 30 s."""
LONGEST_WAIT_SECONDS = 20.0
"""The maximum wait between two tries if the response has no `Retry-After`."""

Headers = Mapping[str, str]
Authorize = Callable[[str, str, bytes], Headers]
"""Returns the headers that authenticate a request with a method, URL and body."""


class RefusedError(Exception):
    """The request failed. `status` is 0 without a response; `kind` is the kind of problem, such as `in-workflow`."""

    def __init__(self, status: int, text: str, kind: str = "") -> None:
        self.status = status
        self.kind = kind
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: the JSON of the body ({} without one), and the headers with their names in lower case."""

    status: int
    body: Mapping[str, Any]
    headers: Headers


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of the function, in seconds."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    spread: Callable[[], float] = random.random
    """Returns a number from 0 to 1, so that the functions of one deployment do not all retry at the same time."""


@dataclass(frozen=True, slots=True)
class Patience:
    """The time (by the clock) until which requests are retried."""

    until: float
    clock: Clock = field(default_factory=Clock)

    def at_most(self, seconds: float) -> Patience:
        """Return a Patience that ends in `seconds` from now at the latest."""
        return Patience(min(self.until, self.clock.now() + seconds), self.clock)

    @property
    def left(self) -> float:
        """The seconds until the end."""
        return self.until - self.clock.now()

    def wait(self, tries: int, asked: float | None) -> bool:
        """Wait before the next try. Return False immediately if the wait would exceed the end."""
        seconds = min(2.0**tries, LONGEST_WAIT_SECONDS) if asked is None else asked
        seconds += self.clock.spread()
        if seconds >= self.left:
            return False
        self.clock.sleep(seconds)
        return True


def no_authorization(_method: str, _url: str, _body: bytes) -> Headers:
    """Return no headers, for requests without authentication."""
    return {}


@dataclass(frozen=True, slots=True)
class Api:
    """An API at a base URL."""

    base: str
    patience: Patience
    authorize: Authorize = no_authorization

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        """Return the response to a request that is safe to repeat (`if_match` is the header If-Match).

        Raises RefusedError for a status other than a success. Temporary errors are retried until the patience ends.
        """
        url = self.base + path
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        tries = 0
        while True:
            known = {"content-type": "application/json", "accept": "application/json", **named}
            try:
                return self._once(method, url, body, {**known, **self.authorize(method, url, body)})
            except urllib.error.HTTPError as refused:
                with refused:
                    asked = _seconds(refused.headers.get("Retry-After"))
                    said = _json(refused)
                    kind = str(said.get("type") or "").removeprefix("/problems/")
                    problem = RefusedError(refused.code, f"{method} {url}: {sentence(refused.code, said)}", kind)
            except (OSError, http.client.HTTPException) as error:
                asked = None
                reason = error.reason if isinstance(error, urllib.error.URLError) else error
                problem = RefusedError(0, f"{method} {url}: no response ({reason})")
            if (problem.status and problem.status not in AGAIN) or not self.patience.wait(tries, asked):
                raise problem
            tries += 1

    def _once(self, method: str, url: str, body: bytes, headers: Headers) -> Answer:
        request = urllib.request.Request(url, data=body or None, headers=dict(headers), method=method)
        seconds = max(1.0, min(CALL_SECONDS, self.patience.left))
        with _OPENER.open(request, timeout=seconds) as answer:
            lowered = {name.lower(): value for name, value in answer.headers.items()}
            return Answer(answer.status, _json(answer), lowered)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Rejects redirects, because urllib would send the token to the address of a redirect."""

    def redirect_request(self, *_: Any) -> None:
        """Do not follow redirects."""


_OPENER = urllib.request.build_opener(_NoRedirects, urllib.request.ProxyHandler({}))


def sentence(status: int, problem: Mapping[str, Any]) -> str:
    """Return a problem document (RFC 9457) as text, with the name of each invalid field."""
    title = problem.get("title") or http.client.responses.get(status, "refused")
    detail = problem.get("detail") or problem.get("message") or problem.get("error_description") or problem.get("error")
    found = problem.get("errors")
    faults = [each for each in (found if isinstance(found, list) else []) if isinstance(each, Mapping)]
    wrong = "; ".join(f"{_place(each)}: {each.get('detail')}" for each in faults)
    return " - ".join(str(part) for part in (f"{status} {title}", detail, wrong) if part)


def _place(fault: Mapping[str, Any]) -> str:
    return str(fault.get("pointer") or fault.get("parameter") or fault.get("header") or "")


def _json(answer: Any) -> Mapping[str, Any]:
    """Return the body of a response, or {} if it is not a JSON object."""
    try:
        found = json.loads(answer.read() or b"{}")
    except (ValueError, OSError, http.client.HTTPException):
        return {}
    return found if isinstance(found, dict) else {}


def _seconds(text: str | None) -> float | None:
    return float(text) if text and text.isdecimal() else None
