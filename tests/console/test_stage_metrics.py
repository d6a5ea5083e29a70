"""The stage's metrics of the last day, which only operators see."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping

from playwright.sync_api import BrowserContext, Page, expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.browser import accessibility_faults, assert_fits
from tests.support.console import SETTINGS, ServedConsole, served_console

FIGURES = {
    "since": "2026-03-27T12:30:00Z",
    "step_seconds": 1800,
    "lateness": [{"at": "2026-03-28T11:30:00Z", "median_seconds": 0.4, "p99_seconds": 75.0}],
    "outcomes": [
        {"at": "2026-03-27T23:00:00Z", "succeeded": 1200, "retried": 0, "dead": 0},
        {"at": "2026-03-28T11:30:00Z", "succeeded": 34, "retried": 12, "dead": 3},
    ],
    "oldest_message_seconds": {"high": 4.0, "normal": 150.0, "low": None, "long": None},
    "objectives": [
        {"name": "lateness", "target": 0.99, "share": 0.98, "budget_used": 2.0},
        {"name": "availability", "target": 0.999, "share": 0.99997, "budget_used": 0.03},
    ],
}


def _with_metrics(page: Page, figures: object, error: str | None = None) -> Page:
    """The page of the stage where CloudWatch says this."""
    page.route("**/v1/stage/metrics", lambda route: route.fulfill(json={"figures": figures, "error": error}))
    page.get_by_role("navigation").get_by_role("link", name="Stage").click()
    return page


def test_stage_metrics_lateness_and_outcomes_of_the_last_day_are_charted_by_half_hour(
    sampled: ServedConsole, open_page: Open
) -> None:
    page, asked = open_page(sampled, "/nowhere"), list[str]()
    page.on("request", lambda request: asked.append(request.url.rpartition("/v1/")[2]))
    _with_metrics(page, FIGURES)
    lateness = page.get_by_role("region", name="Lateness")
    expect(lateness.get_by_role("img", name="in intervals of 30 minutes; 1 min 15 s at most")).to_be_visible()
    expect(lateness.get_by_title("12:30: median 0.4 s, p99 1 min 15 s")).to_have_count(1)
    expect(lateness.get_by_title("12:00: no runs started")).to_have_count(1)
    outcomes = page.get_by_role("region", name="Outcomes")
    expect(outcomes).to_contain_text("1,234 succeeded, 12 retried, 3 failed permanently")
    expect(outcomes.get_by_title("03-28: 1200 succeeded, 0 retried, 0 failed permanently")).to_have_count(1)
    objectives = page.get_by_role("region", name="Objectives")
    expect(objectives).to_contain_text("99% of runs should start within 5 s: 98% (200% of the error budget used)")
    expect(objectives).to_contain_text("99.9% of API requests should succeed: 99.99% (3% of the error budget used)")
    assert asked.count("stage/metrics") == 1, "each request costs money"
    light = accessibility_faults(page)
    page.get_by_role("button", name="Use the dark theme").click()
    expect(page.get_by_role("button", name="Use the light theme")).to_be_visible()
    assert (light, accessibility_faults(page)) == ([], [])


def test_stage_metrics_without_values_show_no_data_yet(sampled: ServedConsole, open_page: Open) -> None:
    page = _with_metrics(open_page(sampled, "/nowhere"), {**FIGURES, "lateness": [], "outcomes": []})
    expect(page.get_by_role("region", name="Lateness")).to_contain_text("No data yet.")
    expect(page.get_by_role("region", name="Outcomes")).to_contain_text("No data yet.")


def test_stage_metrics_unreadable_are_shown_as_unknown_with_the_reason(sampled: ServedConsole, open_page: Open) -> None:
    page = _with_metrics(open_page(sampled, "/nowhere"), None, "CloudWatch's metrics could not be read: not authorized")
    expect(page.get_by_text("Unknown: CloudWatch's metrics could not be read: not authorized")).to_be_visible()


def test_stage_metrics_login_without_ops_scope_neither_shows_nor_requests_metrics(
    scheduler: Scheduler, files: Mapping[str, bytes], context: BrowserContext, open_page: Open
) -> None:
    login = {"auth": "jwt", "issuer": "https://login.example", "client_id": "console"}
    context.add_init_script(_logged_in(scheduler, "jobs:read", "jobs:write"))
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    with served_console(scheduler, files, {**SETTINGS, **login}) as console:
        page = open_page(console, "/stage")
        expect(page.get_by_role("heading", name="Ticks and lanes")).to_be_visible()
        page.wait_for_load_state("networkidle")
        expect(page.get_by_role("heading", name="Stage metrics, last 24 hours")).to_have_count(0)
    assert any(url.endswith("/v1/stats") for url in asked)
    assert not [url for url in asked if url.endswith("/v1/stage/metrics")]


def _logged_in(scheduler: Scheduler, *scopes: str) -> str:
    """A script that gives the page the session of a login with these scopes."""
    claims = urlsafe_b64encode(json.dumps({"scope": " ".join(scopes), "sub": "mara"}).encode()).decode().rstrip("=")
    user = {
        "access_token": f"e30.{claims}.",
        "token_type": "Bearer",
        "expires_at": int(scheduler.now.timestamp()) + 3600,
        "profile": {"sub": "mara"},
    }
    key, kept = json.dumps("oidc.user:https://login.example:console"), json.dumps(json.dumps(user))
    return f"if (location.host) sessionStorage.setItem({key}, {kept})"


def test_stage_metrics_fit_a_phone(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/nowhere")
    page.set_viewport_size({"width": 390, "height": 844})
    page.route("**/v1/stage/metrics", lambda route: route.fulfill(json={"figures": FIGURES, "error": None}))
    page.goto(f"{sampled.url}#/stage")
    expect(page.get_by_role("region", name="Outcomes")).to_be_visible()
    assert_fits(page)
