"""The requests about concurrency limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchmarks.requests.cases import Case, Event, compact, get
from duecourse.domain.ids import key_queue
from duecourse.domain.jobs.job import MAX_ACTIVE_LIMIT
from duecourse.domain.runs.overlap import Lock
from tests.support.api_events import api_event
from tests.support.jobs import NOON

if TYPE_CHECKING:
    from benchmarks.requests.measure import Desk

KEY = "k" * 64
PATH = f"/v1/limits/{KEY}"
HELD_UNTIL = NOON + 10**7
LIMITS = 100


def limits() -> Iterator[str]:
    """Yield the paths of the stored limits, of which the first key has runs."""
    yield PATH
    for number in range(1, LIMITS):
        yield f"/v1/limits/key-{number:03}"


def places() -> Iterator[tuple[int, str]]:
    """Yield the places of the first key, each with the number of the wide job whose run has it."""
    for number in range(MAX_ACTIVE_LIMIT):
        yield number, f"wide-{number:03}"


def of_limits() -> Iterator[Case]:
    """Yield the requests that write, read, list, delete and release."""
    yield get("GET /v1/limits", "100 limits", limit="100")
    yield get("GET /v1/limits/{limit_key}", "100 active runs after 20 attempts", PATH)
    yield Case("PUT /v1/limits/{limit_key}", "100 active runs after 20 attempts", _put, 200)
    yield Case("DELETE /v1/limits/{limit_key}", "a stored limit", _delete, 204)
    yield Case("POST /v1/limits/{limit_key}/release", "100 active runs after 20 attempts", _release)
    yield Case("POST /v1/limits/{limit_key}/hold", "100 active runs after 20 attempts", _hold)
    yield Case("POST /v1/limits/{limit_key}/close", "100 active runs after 20 attempts", _close)


def hold(desk: Desk, place: int, holder: str, rank: int) -> None:
    """Give a place of the first key to a run."""
    store = desk.client.runs
    before = store.locks("default", key_queue(KEY)).get(place)
    if store.lock("default", key_queue(KEY), Lock(holder, HELD_UNTIL, rank), before, place=place) is not None:
        raise AssertionError(holder)


def _put(desk: Desk) -> Event:
    return compact("PUT", PATH, {"concurrency": 1 + next(desk.numbers) % MAX_ACTIVE_LIMIT})


def _delete(desk: Desk) -> Event:
    path = f"/v1/limits/unused-{next(desk.numbers)}"
    desk.send(path, {"concurrency": 1}, "PUT")
    return api_event("DELETE", path, content_type=None)


def _release(desk: Desk) -> Event:
    holder = desk.holders[0]
    hold(desk, 0, holder, desk.rank)
    return compact("POST", f"{PATH}/release", {"run_id": holder})


def _hold(_desk: Desk) -> Event:
    return compact("POST", f"{PATH}/hold", {"seconds": 60})


def _close(desk: Desk) -> Event:
    desk.send(f"{PATH}/hold", {"seconds": 60}, "POST")
    return api_event("POST", f"{PATH}/close", content_type=None)
