"""The API of this process at an address, for commands that are tried as they are run."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qsl, urlsplit

from tests.support.api import ApiClient
from tests.support.api_events import api_event
from tests.support.http_target import Seen, answering, http_target


class ServedApi:
    """Its address, and what was asked of it: method, path, query."""

    def __init__(self, api: ApiClient) -> None:
        self.address = ""
        self.asked: list[tuple[str, str, str]] = []
        self._api = api
        self._one_at_a_time = threading.Lock()
        self._before: Callable[[str, str, str], None] = lambda *_: None

    def before_each(self, act: Callable[[str, str, str], None]) -> None:
        """Do this before each request from now on: method, path, query."""
        self._before = act

    @property
    def written(self) -> list[str]:
        """What wrote, without dry runs: `PUT /v1/jobs/nightly`."""
        return [f"{method} {path}" for method, path, query in self.asked if method != "GET" and "dry_run" not in query]

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer a request as the API does."""
        seen: Seen = handler.request_seen  # type: ignore[attr-defined]
        query = urlsplit(seen.path).query
        event = api_event(
            seen.method,
            seen.route,
            query=dict(parse_qsl(query)),
            body=seen.body.decode() or None,
            content_type=handler.headers.get("Content-Type"),
            headers={name.lower(): value for name, value in seen.headers.items() if name.lower().startswith("i")},
        )
        with self._one_at_a_time:
            self.asked.append((seen.method, seen.route, query))
            self._before(seen.method, seen.route, query)
            answer = self._api.send(event)
        answering(answer.status, (answer.text or "").encode(), **answer.headers, Connection="close")(handler)


@contextmanager
def served_api(api: ApiClient) -> Iterator[ServedApi]:
    """The address of this API."""
    served = ServedApi(api)
    with http_target(served.answer) as server:
        served.address = server.url("")
        yield served
