"""The common parts of the worst known requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.support.api import HTTP_TARGET
from tests.support.api_events import api_event

if TYPE_CHECKING:
    from benchmarks.requests.measure import Desk

Event = dict[str, Any]

LARGE: dict[str, Any] = {"rows": [[]] * 67_000}
"""A payload of the maximum size, 200 KB: many small values take the most time to parse and the most memory."""

JOB: dict[str, Any] = {"schedule": None, "target": HTTP_TARGET}

WIDE: dict[str, Any] = {
    "schedule": "*/7 3-4,9-11 1-28 * *",
    "timezone": "Europe/Berlin",
    "target": {
        "type": "http",
        "url": f"https://example.com/{'u' * 2000}",
        "headers": {f"x-{number:02}": "v" * 600 for number in range(50)},
    },
    "name": "n" * 256,
    "owner": "o" * 128,
    "description": "d" * 500,
    "runbook_url": f"https://example.com/{'r' * 2000}",
    "exclude": [f"2027-{1 + number // 20:02}-{1 + number % 20:02}T12:00:00Z" for number in range(24)],
    "tags": ["wide", "t" * 64],
    "payload": {"rows": [[]] * 1300},
}
"""A job whose item has the maximum size, with all data that is not in a separate item: 40 KB."""

FAT = {name: WIDE[name] for name in ("target", "name", "owner", "description", "runbook_url", "payload")} | {
    "schedule": None,
    "tags": ["fat"],
}
"""The same for a job of a workflow."""

FAT_NAMES = [f"fat-{number:03}" for number in range(300)]

AT = "20261121T120000Z"
"""The occurrence of the runs."""


@dataclass(frozen=True, slots=True)
class Case:
    """A request to a route, created again for each measurement. The preparation in `event` is not measured. `status` is
    the expected status of the response: a request that is rejected early would say nothing about other requests.
    """

    route: str
    worst: str
    event: Callable[[Desk], Event]
    status: int = 200


def get(route: str, worst: str, path: str | None = None, status: int = 200, **query: str) -> Case:
    """Return a request without a body."""
    method, where = route.split()
    return Case(route, worst, lambda _: api_event(method, path or where, query=query, content_type=None), status)


def send(
    route: str, worst: str, body: Callable[[], Any], path: str | None = None, status: int = 200, **query: str
) -> Case:
    """Return a request with a JSON body."""
    method, where = route.split("?", maxsplit=1)[0].split()
    return Case(route, worst, lambda _: compact(method, path or where, body(), query=query), status)


def compact(method: str, path: str, value: Any, **more: Any) -> Event:
    """Return a request with the maximum content in its body."""
    return api_event(method, path, body=json.dumps(value, separators=(",", ":")), **more)


def names(count: int) -> list[str]:
    """Return similar names of the maximum length."""
    return [f"{'a' * 30}{number:04}{'a' * 30}" for number in range(count)]


def unknown_fields(size: int) -> dict[str, Any]:
    """Return a job with the maximum number of unknown fields."""
    return JOB | {f"schedul{number:05}": 1 for number in range(size // 17)}


def edges(count: int, each: int) -> dict[str, Any]:
    """Return steps with `each` upstream steps, up to the maximum number of edges of a workflow."""
    first: Mapping[str, Any] = {f"i{number}": {} for number in range(each)}
    return {**first, **{f"j{number}": {"after": list(first)} for number in range(count)}}


def joined(*groups: Iterable[Case]) -> Iterator[Case]:
    """Yield all cases of some groups."""
    for group in groups:
        yield from group
