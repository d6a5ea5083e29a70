"""The stage's page: findings, alarms with their runbooks, limits, release, and what the login may do."""

import re
from typing import Any

from playwright.sync_api import Page, Route, expect

from tests.console.conftest import Open
from tests.support.browser import assert_fits
from tests.support.console import ServedConsole


def test_stage_page_shows_release_scopes_checks_and_unreadable_parts(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/stage")
    alarms = page.get_by_role("region", name="alarms")
    expect(alarms).to_contain_text("could not be checked: a stage in memory has no CloudWatch")
    expect(page.get_by_text("The alarms could not be read.")).to_be_visible()
    expect(page.get_by_role("region", name="tick")).to_contain_text("the last tick ran")
    expect(page.get_by_text("of 100,000 jobs")).to_be_visible()
    expect(page.get_by_text("jobs:read, jobs:write, ops")).to_be_visible()
    expect(page.get_by_text("Release of the API")).to_be_visible()


def test_stage_page_shows_clock_and_lanes_with_the_oldest_message(sampled: ServedConsole, open_page: Open) -> None:
    ages = {"high": 4.0, "normal": 150.0, "low": None, "long": None}
    figures = {"since": "2026-03-27T12:30:00Z", "step_seconds": 1800, "lateness": [], "outcomes": [], "objectives": []}
    page = open_page(sampled, "/nowhere")
    page.route(
        "**/v1/stage/metrics",
        lambda route: route.fulfill(json={"figures": {**figures, "oldest_message_seconds": ages}, "error": None}),
    )
    page.get_by_role("navigation").get_by_role("link", name="Stage").click()
    expect(page.get_by_text("Ticks are running")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("^normal")).get_by_role("cell").last).to_have_text("2 min 30 s")
    expect(page.get_by_role("row", name=re.compile("^low")).get_by_role("cell").last).to_have_text("no data")


def test_stage_page_alarm_shows_its_start_and_its_runbook(sampled: ServedConsole, open_page: Open) -> None:
    page = _at_stage(
        open_page(sampled, "/nowhere"),
        alarms={
            "count": 41,
            "without_data": 2,
            "ringing": [
                {
                    "name": "targets-failing",
                    "since": "2026-03-28T11:00:00Z",
                    "description": "[page] runs <b>died</b> First: read the error Runbook: https://docs.example",
                    "runbook": "https://docs.example/runbooks.md#targets-failing",
                }
            ],
        },
    )
    alarm = page.get_by_role("region", name="targets-failing")
    expect(alarm).to_contain_text("2026-03-28 12:00:00 Europe/Berlin (1 h ago)")
    expect(alarm.get_by_text("[page] runs <b>died</b>", exact=True)).to_be_visible()
    expect(alarm.get_by_text("First: read the error", exact=True)).to_be_visible()
    expect(alarm.get_by_role("link", name="targets-failing")).to_have_attribute(
        "href", "https://docs.example/runbooks.md#targets-failing"
    )
    expect(page.get_by_text("(1 of 41)")).to_be_visible()
    expect(page.get_by_text("Alarms without data: 2.")).to_be_visible()


def test_stage_page_reports_a_different_api_release(sampled: ServedConsole, open_page: Open) -> None:
    page = _at_stage(open_page(sampled, "/nowhere"), version="9.9.9")
    expect(page.get_by_text("9.9.9: a deployment is in progress, or this page is outdated")).to_be_visible()


def test_stage_page_fits_a_phone(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/nowhere")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{sampled.url}#/stage")
    expect(page.get_by_text("of 100,000 jobs")).to_be_visible()
    assert_fits(page)


def _at_stage(page: Page, **changes: Any) -> Page:
    """The page of a stage whose answer has these fields."""

    def answer(route: Route) -> None:
        route.fulfill(json={**route.fetch().json(), **changes})

    page.route("**/v1/stage", answer)
    page.get_by_role("navigation").get_by_role("link", name="Stage").click()
    return page


def test_stage_page_shows_capacity_for_peaks_of_stages_that_have_it(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/nowhere")

    def with_a_peak(route: Route) -> None:
        stats = route.fetch().json()
        peak = {"at": "2026-03-28T12:35:00Z", "runs": 500_000, "at_least": True}
        entry = {"at": "2026-03-28T12:00:00Z", "says": "normal bulk: 200 pollers", "dollars": 0.5}
        queue = {"queue": "normal bulk", "pollers": 200, "until": "2026-03-28T12:38:00Z"}
        parts = {"peaks": [peak], "queues": [queue], "history": [entry]}
        route.fulfill(json=stats | {"prescale": {"dollars_per_day": 15, "spent_today": 0.5, **parts}})

    page.get_by_role("navigation").get_by_role("link", name="Stage").click()
    expect(page.get_by_text("Ticks are running")).to_be_visible()
    expect(page.get_by_text("Capacity for peaks")).to_have_count(0)
    page.route("**/v1/stats", with_a_peak)
    page.reload()
    expect(page.get_by_text("Capacity for peaks")).to_be_visible()
    expect(page.get_by_text("at least 500,000 runs")).to_be_visible()
    expect(page.get_by_text("normal bulk: 200 until")).to_be_visible()
    expect(page.get_by_text("$0.50 of $15.00")).to_be_visible()
    expect(page.get_by_text("normal bulk: 200 pollers ($0.50)")).to_be_visible()


def test_stage_page_lanes_and_capacity_for_peaks_fit_a_phone(sampled: ServedConsole, open_page: Open) -> None:
    full = {"waiting": 1_000_000, "in_flight": 120_000, "delayed": 9_000_000}
    queue = "production_normal_bulk_queue_of_the_stage"

    def busy(route: Route) -> None:
        stats = route.fetch().json()
        peak = {"at": "2026-03-28T12:35:00Z", "runs": 500_000, "at_least": True}
        entry = {"at": "2026-03-28T12:00:00Z", "says": f"{queue}_{queue}: 200 pollers", "dollars": 0.5}
        queues = [{"queue": queue, "pollers": 200, "until": "2026-03-28T12:38:00Z"}]
        parts = {"peaks": [peak], "queues": queues, "history": [entry]}
        prescale = {"dollars_per_day": 15, "spent_today": 0.5, **parts}
        route.fulfill(json=stats | {"lanes": dict.fromkeys(stats["lanes"], full), "prescale": prescale})

    page = open_page(sampled, "/nowhere")
    page.set_viewport_size({"width": 390, "height": 844})
    page.route("**/v1/stats", busy)
    page.goto(f"{sampled.url}#/stage")
    texts = page.get_by_text(re.compile(rf"{queue}.*200 "))
    expect(texts).to_have_count(2)
    expect(page.get_by_role("cell", name="9,000,000")).to_have_count(4)
    for text in texts.all():
        assert text.evaluate("each => each.scrollWidth <= each.clientWidth")
    assert page.locator(".lanes").evaluate("table => table.offsetWidth <= table.parentElement.clientWidth")
    assert_fits(page)
