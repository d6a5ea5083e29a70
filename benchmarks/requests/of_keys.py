"""The requests about API keys, and to trigger URLs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchmarks.requests.cases import LARGE, Case, Event, compact, get
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import MAX_DESCRIPTION
from duecourse.domain.runs.api_keys import MAX_KEYS, ApiKey, key_text
from tests.support.api_events import api_event
from tests.support.jobs import NOON

if TYPE_CHECKING:
    from benchmarks.requests.measure import Desk

TEXT = key_text("default", "k" * 32)
SPARE = 10
"""The number of keys that the tenant may still create."""


def of_keys() -> Iterator[Case]:
    """Yield the requests that create, list and revoke keys, and those that start runs with one."""
    yield Case("POST /v1/keys", f"with {MAX_KEYS - SPARE} existing keys", _create, 201)
    yield get("GET /v1/keys", f"{MAX_KEYS - SPARE} keys")
    yield Case("DELETE /v1/keys/{key_id}", f"one of {MAX_KEYS - SPARE} keys", _delete, 204)
    yield Case("POST /v1/hooks/{key}", "a payload of 200 KB", lambda desk: _trigger(desk, f"/{TEXT.text}"), 202)
    yield Case("POST /v1/hooks", "a payload of 200 KB", lambda desk: _trigger(desk, ""), 202)


def store_keys(desk: Desk) -> None:
    """Store the tenant's keys; the first one starts the job `often`."""
    for number in range(MAX_KEYS - SPARE):
        _store(desk, f"{number:02}" * 16 if number else "k" * 32)


def _store(desk: Desk, secret: str) -> ApiKey:
    text, store = key_text("default", secret), desk.client.jobs.api_keys
    job = desk.client.jobs.get("default", "often")
    if job is None:
        raise AssertionError("often")
    generation, until = job.created_generation, int(NOON) + 366 * DAY_SECONDS
    key = ApiKey("default", text.id, text.hash, "often", generation, "d" * MAX_DESCRIPTION, NOON, "ann", until, 6000)
    if not store.add(key, store.all("default").version):
        raise AssertionError(key.id)
    return key


def _create(_desk: Desk) -> Event:
    body = {"scope": "run:often", "debounce_seconds": 60, "debounce_key": "{{payload.a}}" * 9}
    return compact("POST", "/v1/keys", body | {"description": "d" * MAX_DESCRIPTION})


def _delete(desk: Desk) -> Event:
    key = _store(desk, f"unused-{next(desk.numbers):08}")
    return api_event("DELETE", f"/v1/keys/{key.id}", content_type=None)


def _trigger(desk: Desk, path: str) -> Event:
    return compact("POST", f"/v1/hooks{path}", desk.another(LARGE), headers={"authorization": f"Bearer {TEXT.text}"})
