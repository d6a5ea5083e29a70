"""The requests about the service itself, one of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchmarks.requests.cases import Case, Event, get
from duecourse.checks.tenants import TenantFigures
from duecourse.domain.instants import DAY_SECONDS, to_iso
from duecourse.domain.maintenance.tenants import MAX_NAMED, TenantReport
from duecourse.domain.targets.oidc import CONFIGURATION_PATH, KEYS_PATH
from duecourse.usecases.maintenance.tenants import FRESH_SECONDS
from tests.support.api_events import api_event
from tests.support.jobs import NOON

if TYPE_CHECKING:
    from benchmarks.requests.measure import Desk

TENANTS = {
    f"{number:04}-{'t' * 59}": TenantFigures(1_000_000, 1_000_000, 1_000_000, 1_000_000_000, "suspended")
    for number in range(MAX_NAMED)
}
"""Tenants whose figures need the most space."""


def of_service() -> Iterator[Case]:
    """Yield the requests for health, the API's description, the stage and its figures."""
    for path in ("health", "openapi.json", "stage", "stage/metrics"):
        yield get(f"GET /v1/{path}", "without parameters")
    for path in (CONFIGURATION_PATH, KEYS_PATH):
        yield get(f"GET {path}", "without parameters")
    since = to_iso(int(NOON) - 31 * DAY_SECONDS)
    yield get("GET /v1/stats", "1,000 dead runs, and 31 days by hour", by="hour", since=since)
    yield Case("GET /v1/tenants", "1,000 tenants, read a minute ago", tenants)


def tenants(desk: Desk) -> Event:
    """Return a request whose response is not cached from the previous one."""
    desk.client.reports.keep(TenantReport(desk.clock.now(), TENANTS))
    desk.clock.advance(FRESH_SECONDS)
    return api_event("GET", "/v1/tenants", content_type=None)
