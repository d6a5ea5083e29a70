"""The requests about the service itself: there is one of each."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.requests.cases import Case, get


def of_service() -> Iterator[Case]:
    """Health, description, stage and figures."""
    for path in ("health", "openapi.json", "stage", "stage/metrics"):
        yield get(f"GET /v1/{path}", "as it is")
    yield get("GET /v1/stats", "1,000 dead runs")
