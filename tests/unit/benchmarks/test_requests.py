"""What a request may cost is in the documentation as it was measured last."""

import json

from benchmarks.requests.cost import MAX_MB, MAX_MS, Cost, table
from benchmarks.results import RESULTS
from duecourse.api.routes.table import ROUTES
from tests.support.template import ROOT

MEASURED = json.loads((RESULTS / "requests.json").read_text())


def test_measured_requests_are_shown_in_the_documentation() -> None:
    page = (ROOT / "docs" / "security.md").read_text()
    shown = page.partition("<!-- requests -->\n")[2].partition("\n<!-- /requests -->")[0]
    assert shown == table([Cost(**case) for case in MEASURED["cases"]])


def test_measured_requests_cover_every_api_route() -> None:
    measured = {case["route"].partition("?")[0] for case in MEASURED["cases"]}
    assert measured == {f"{each.method} {each.path.replace('<', '{').replace('>', '}')}" for each in ROUTES}


def test_measured_requests_meet_the_budget_scaled_by_their_tokens() -> None:
    def cost(tokens: int, cpu_ms: float, memory_mb: float) -> Cost:
        return Cost("GET /v1/jobs", "all", 200, tokens, cpu_ms, memory_mb)

    assert cost(1, MAX_MS, MAX_MB).kept
    assert not cost(1, MAX_MS + 1, 1).kept
    assert not cost(2, 1, 2 * MAX_MB + 1).kept
    assert cost(2, 2 * MAX_MS, 2 * MAX_MB).kept


def test_measured_requests_are_within_the_budgets() -> None:
    assert all(MEASURED["budgets"].values())
    assert all(Cost(**case).kept for case in MEASURED["cases"])
