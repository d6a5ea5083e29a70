"""The worst requests about runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmarks.requests.cases import AT, JOB, LARGE, Case, Event, compact, get, send
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import JobState
from duecourse.domain.jobs.shadow import ShadowPing
from duecourse.domain.runs.logs import MAX_PORTION_BYTES
from duecourse.domain.runs.operations import MAX_KEPT, MAX_RUNNING
from duecourse.domain.runs.workers import GROUP_SIZE, GROUPS, Sighting, WorkerGroup
from tests.support.api_events import api_event
from tests.support.jobs import NOON, cursor, job
from tests.support.runs import TOKEN

if TYPE_CHECKING:
    from benchmarks.requests.measure import Desk

LETTERS = 1000
"""The number of dead runs, and of runs that wait for a retry. They belong to 400 jobs."""

DELAYED, DELAY = 500, 10 * 86_400
"""The number of delayed runs of 100 jobs, and the seconds until the first one is due. The clock does not reach it."""

WRONG = "dc1.default.2.never-given-out"
"""A token that is not valid for any run."""

LATER = "2026-11-21T13:00:00Z"
"""An instant after all records, at which a run of the workflow waits for its last job."""

NONE_SUCH = "e" * 199 + "!"
"""An error that no run has."""


def store_workers(desk: Desk) -> None:
    """Store as many workers as a tenant can have, each with a dead run of its own. The clock does not reach the end of
    the hour in which they are listed.
    """
    for number in range(GROUPS):
        numbers = range(number * GROUP_SIZE, (number + 1) * GROUP_SIZE)
        runs = (f"wide-{each % 400:03}.{AT[:11]}{each // 400:04}Z" for each in numbers)
        names = (f"{'w' * 96}{each:04}" for each in numbers)
        sightings = tuple(Sighting(name, NOON + DELAY, run, 2) for name, run in zip(names, runs, strict=True))
        desk.client.runs.workers.replace("default", number, WorkerGroup(sightings, 1))


def store_shadow(desk: Desk) -> None:
    """Store a shadow job that runs each minute, with a ping for each minute of a week."""
    since = NOON - 8 * DAY_SECONDS
    made = job("* * * * *", id="shadow", at=since, payload=LARGE, state=JobState.PAUSED, shadow_since=since)
    if not desk.client.jobs.create(made, replace(cursor(made, NOON), occurrence=None, due=None)):
        raise AssertionError(made.id)
    for position in range(int(NOON) - 7 * DAY_SECONDS, int(NOON), 60):
        desk.client.jobs.shadow_pings.put("default", made.id, ShadowPing(position, position + 2))


def of_runs() -> Iterator[Case]:
    """Yield the requests that run jobs, backfill, list runs and dead letters, and the commands and callbacks."""
    yield send(
        "POST /v1/jobs/{job_id}/run", "a payload of 200 KB", lambda: {"payload": LARGE}, "/v1/jobs/large-000/run", 202
    )
    yield send(
        "POST /v1/jobs/{job_id}/run/batch",
        "100 delayed runs with payloads of 2 KB",
        lambda: {"runs": [{"delay_seconds": 7200, "payload": "x" * 2000}] * 100},
        "/v1/jobs/large-000/run/batch",
    )
    yield from _backfills()
    skip = "POST /v1/jobs/{job_id}/skip-next"
    yield send(skip, "100 occurrences", lambda: {"count": 100}, "/v1/jobs/0busy-001/skip-next")
    yield get("GET /v1/jobs/{job_id}/warnings", "20 runs with 20 attempts", "/v1/jobs/dying/warnings")
    yield Case("POST /v1/jobs/{job_id}/test-notice", "10 jobs of 40 KB that deliver the notice", _test_notice, 202)
    yield get("POST /v1/jobs/{job_id}/ping", "a payload of 200 KB", "/v1/jobs/silent/ping")
    yield get("GET /v1/jobs/{job_id}/shadow", "a job of each minute with its pings", "/v1/jobs/shadow/shadow")
    promoted = "/v1/jobs/shadow/promote"
    # Its last pings are missing by now.
    yield send("POST /v1/jobs/{job_id}/promote", "a job of each minute with its pings", dict, promoted, 409)
    explain = "GET /v1/jobs/{job_id}/explain"
    yield get(explain, "an instant after 400 records", "/v1/jobs/dying/explain", at=LATER)
    yield get(explain, "a job of a workflow with 1,000 jobs", "/v1/jobs/m0999/explain", at=LATER)
    yield get(explain, "a job with 27 exclusions, which leave one minute a year", "/v1/jobs/zzz-000/explain", at=LATER)
    yield get(explain, "a job with 10 schedules, 24 exclusions and a calendar", "/v1/jobs/many-001/explain", at=LATER)
    later = "2026-12-20T00:00:01Z"
    yield get(
        explain, "an instant after the 10,000 runs that 26 exclusions leave", "/v1/jobs/zzz-halved/explain", at=later
    )
    yield from _lists()
    cancel = "POST /v1/runs/cancel"
    unended = {"state": ["RETRYING"], "limit": 1000}
    yield send(cancel, "1,000 runs of 400 jobs", lambda: unended)
    yield send(
        cancel,
        "500 runs of a job, none of which has the error",
        lambda: {**unended, "job_id": "dying", "error": NONE_SUCH},
    )
    redrive = "POST /v1/dead-letters/redrive"
    yield send(redrive, "1,000 runs of 400 jobs", lambda: {"limit": 1000})
    yield send(redrive, "a dry run of the same request", lambda: {"limit": 1000, "dry_run": True})
    yield send(redrive, "1,000 runs, none of which has the error", lambda: {"limit": 1000, "error": NONE_SUCH})
    yield from _operations()
    yield get("GET /v1/runs/{run_id}", "20 attempts", f"/v1/runs/dying.{AT}")
    payload = "GET /v1/runs/{run_id}/payload"
    yield get(payload, "a payload of 200 KB", f"/v1/runs/large-000.{AT}/payload")
    yield get(payload, "the results of 20 upstream steps", f"/v1/runs/m0999.{AT}/payload")
    yield get("GET /v1/runs/{run_id}/log", "256 KB", f"/v1/runs/dying.{AT}/log")
    yield get("POST /v1/runs/{run_id}/cancel", "a run that waits", f"/v1/runs/waiting.{AT}/cancel", 202)
    yield get("POST /v1/runs/{run_id}/redrive", "20 attempts", f"/v1/runs/dying.{AT}/redrive", 202)
    yield Case("PATCH /v1/runs/{run_id}", "a payload of 200 KB", _reschedule, 200)
    discard = "POST /v1/runs/{run_id}/discard"
    yield get(discard, "20 attempts", f"/v1/runs/dying.{AT}/discard", 200)
    mark = "POST /v1/runs/{run_id}/mark-succeeded"
    yield send(mark, "a run that waits", lambda: {"reason": "x" * 500}, f"/v1/runs/waiting.{AT}/mark-succeeded", 202)
    yield from _callbacks()


def _reschedule(desk: Desk) -> Event:
    event = compact("POST", "/v1/jobs/often/run", {"delay_seconds": 7200, "payload": 1})
    run_id = json.loads(desk.answer(event)["body"])["id"]
    return compact("PATCH", f"/v1/runs/{run_id}", {"delay_seconds": 9000, "payload": desk.another(LARGE)})


FILTER = {"kind": "redrive", "error": NONE_SUCH}


def _operations() -> Iterator[Case]:
    estimate = "POST /v1/operations/estimate"
    yield Case("POST /v1/operations", "a tenant with 24 operations", _with_room, 202)
    yield send(estimate, "1,000 runs of 400 jobs", lambda: {"kind": "redrive"})
    yield send(estimate, "1,000 runs, none of which has the error", lambda: FILTER)
    yield get("GET /v1/operations", "24 operations")
    for method, action in (("GET", ""), ("POST", "/cancel")):
        route = f"{method} /v1/operations/{{operation_id}}{action}"
        yield Case(route, "an error text of 200 characters", _of_operation(method, action))


def _with_room(desk: Desk) -> Event:
    """Return the creation of an operation, after all others but four have ended."""
    store = desk.client.jobs.operations
    for _ in range(MAX_KEPT + MAX_RUNNING):
        running = [each for each in store.all("default").items if each.is_running(desk.clock.now())]
        for each in running[MAX_RUNNING - 2 :]:
            store.cancel(each, now=desk.clock.now())
        desk.send("/v1/operations", FILTER)
    for each in [each for each in store.all("default").items if each.is_running(desk.clock.now())][:1]:
        store.cancel(each, now=desk.clock.now())
    return compact("POST", "/v1/operations", FILTER)


def _of_operation(method: str, action: str) -> Callable[[Desk], Event]:
    def event(desk: Desk) -> Event:
        _with_room(desk)
        items = desk.client.jobs.operations.all("default").items
        name = next(each.id for each in items if each.is_running(desk.clock.now()))
        return api_event(method, f"/v1/operations/{name}{action}", content_type=None)

    return event


def _test_notice(desk: Desk) -> Event:
    job_id = f"told-{next(desk.numbers)}"
    rules = [{"on": ["dead"], "to": {"job": f"wide-{number:03}"}} for number in range(10)]
    desk.send("/v1/jobs", JOB | {"id": job_id, "notify": rules})
    return api_event("POST", f"/v1/jobs/{job_id}/test-notice", content_type=None)


def _lists() -> Iterator[Case]:
    route = "GET /v1/jobs/{job_id}/runs"
    yield get(route, "100 runs with 20 attempts", "/v1/jobs/dying/runs", limit="100")
    yield get(route, "500 runs, none of which has the state", "/v1/jobs/dying/runs", state="WAITING")
    yield get(
        route, "100 waiting runs of a job that runs every second for two weeks", "/v1/jobs/lagging/runs", limit="100"
    )
    for route in ("GET /v1/runs", "GET /v1/dead-letters"):
        yield get(route, "100 runs with 20 attempts", limit="100")
        yield get(route, "500 runs, none of which has the error", error=NONE_SUCH)
        yield get(route, "500 runs, none of which has the tag", tag="nothing")
    yield get("GET /v1/runs", "1,000 runs of 400 jobs in every state", limit="100", tag="wide")
    yield get("GET /v1/runs", "500 delayed runs, none of which has the tag", state="QUEUED", tag="nothing")
    yield get("GET /v1/runs", "500 runs of a job, none of which has the error", job="dying", error=NONE_SUCH)
    yield get("GET /v1/workers", f"{GROUPS * GROUP_SIZE} workers, each with a run of its own")
    yield get("GET /v1/dead-letters", "one job's runs among those of others", job_id="wide-000")


def _backfills() -> Iterator[Case]:
    route, span = "POST /v1/jobs/{job_id}/backfill", {"from": "2026-11-14T00:00:00Z", "to": "2026-11-20T22:40:00Z"}
    often, ages = "/v1/jobs/often/backfill", {"from": "1970-01-01T00:00:00Z", "to": "2026-11-20T00:00:00Z"}
    yield send(route, "a dry run of 10,000 occurrences", lambda: span, often)
    yield send(
        route,
        "a dry run of too many occurrences, with jitter and 40 exclusions",
        lambda: ages,
        "/v1/jobs/0busy-000/backfill",
        422,
    )
    yield send(route, "a dry run of 57 years for a job that is rarely due", lambda: ages, "/v1/jobs/zz-000/backfill")
    yield send(route, "10,000 occurrences", lambda: span | {"dry_run": False}, often, 202)


def _callbacks() -> Iterator[Case]:
    bodies: dict[str, tuple[str, Any]] = {
        "heartbeat": ("4 KB", {"note": "n" * 200, "x": [[]] * 1280}),
        "log": ("64 KB", {"text": "l" * MAX_PORTION_BYTES}),
        "complete": ("a result of 200 KB", {"result": LARGE}),
        "fail": ("32 KB", {"error": "e" * 2000, "x": [[]] * 10_000}),
    }
    for action, (worst, body) in bodies.items():
        route = f"POST /v1/runs/{{run_id}}/{action}"
        yield Case(route, "246 KB with a wrong token", _callback(action, {"result": [[]] * 82_000}, WRONG), 401)
        status = {"complete": 202, "log": 200}.get(action, 422)
        yield Case(route, f"{worst} with the right token", _callback(action, body, str(TOKEN)), status)


def _callback(action: str, body: Any, token: str) -> Callable[[Desk], Event]:
    headers = {"authorization": f"Bearer {token}"}
    return lambda _: compact("POST", f"/v1/runs/waiting.{AT}/{action}", body, headers=headers)
