"""The overview: the clock, what there is to look at, the load to come, and why a job did not run."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.console import ServedConsole

pytestmark = pytest.mark.long

HTTP = {"type": "http", "url": "https://shop.example/hooks"}


def test_the_overview_counts_what_there_is_to_look_at_and_links_to_it(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled)
    expect(page.get_by_text("The clock ticks")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("^high"))).to_contain_text("0")
    expect(page.get_by_role("link", name="Paused jobs: 1")).to_have_attribute("href", "#/jobs?state=PAUSED")
    expect(page.get_by_role("link", name=re.compile("^Failed for good in the last 24 hours: [1-9]"))).to_have_attribute(
        "href", re.compile("state=DEAD&since=2026-03-27T13%3A00%3A00Z")
    )
    expect(page.get_by_role("link", name=re.compile("failed for good$"))).to_be_visible()


def test_the_load_to_come_names_the_fullest_minutes_and_their_jobs(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled)
    fullest = page.get_by_role("listitem").filter(has_text="runs, most of them of")
    expect(fullest.filter(has_text="2026-03-29 08:00:00 Europe/Berlin")).to_contain_text("month-end (1)")
    expect(fullest.get_by_role("link", name="month-end")).to_have_attribute("href", "#/jobs/month-end")


def test_jobs_that_are_late_or_do_not_fire_are_named(sampled: ServedConsole, open_page: Open) -> None:
    def troubled(route: Route) -> None:
        wrong = {"late": 4, "late_jobs": ["month-end", "b", "c", "d"], "uncounted": 1, "uncounted_jobs": ["broken"]}
        route.fulfill(json={**route.fetch().json(), **wrong})

    page = open_page(sampled, "/nowhere")
    page.route("**/v1/upcoming**", troubled)
    page.get_by_role("navigation").get_by_role("link", name="Overview").click()
    late, silent = page.get_by_title("A run is due for a minute"), page.get_by_title("Their place in the schedule")
    expect(late).to_have_text(re.compile(r"Late now\s*4\s*month-end\s*b\s*c\s*and 1 more"))
    expect(late.get_by_role("link", name="month-end")).to_have_attribute("href", "#/jobs/month-end")
    expect(silent.get_by_role("link", name="broken")).to_have_attribute("href", "#/jobs/broken")


def test_a_paused_job_is_explained_by_a_time_of_its_own_zone(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job(
        {"id": "report", "schedule": "0 2 * * *", "timezone": "America/New_York", "target": HTTP}
    )
    scheduler.client.pause_job("report", note="the template is wrong")
    scheduler.advance(days=1)
    page = open_page(console)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_label("Job", exact=True).fill("rep")
    page.get_by_role("option", name="report").click()
    page.get_by_label("When it was due (America/New_York)").fill("2026-03-29 02:00")
    page.get_by_role("button", name="Explain").click()

    answer = page.get_by_role("region", name="The answer")
    expect(answer).to_contain_text("paused")
    expect(page).to_have_url(re.compile(r"job=report&at=2026-03-29T06%3A00%3A00Z"))
    page.reload()
    expect(answer).to_contain_text("paused")


def test_what_was_asked_wrongly_is_said_at_its_field(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_text("Name a job.")).to_be_visible()
    expect(page.get_by_text("Write it as 2026-03-29 02:00, with seconds if need be.")).to_be_visible()
    page.get_by_label("Job", exact=True).fill("no-such-job")
    page.get_by_label(re.compile("^When it was due")).fill("2026-03-29 02:00")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_text("no-such-job").last).to_be_visible()


def test_a_clock_that_stands_is_told_with_its_runbook(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/nowhere")
    page.route("**/v1/stats", _late)
    page.get_by_role("navigation").get_by_role("link", name="Overview").click()
    expect(page.get_by_text("The clock does not tick")).to_be_visible()
    expect(page.get_by_text("runbooks.md#ticks-missing")).to_be_visible()


def _late(route: Route) -> None:
    answer = route.fetch()
    route.fulfill(
        json={**answer.json(), "status": "late", "tick": {"last": "2026-03-28T11:50:00Z", "age_seconds": 600}}
    )


def test_the_overview_fits_a_phone(sampled: ServedConsole, open_page: Open) -> None:
    page: Page = open_page(sampled, "/nowhere")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(sampled.url)
    expect(page.get_by_role("heading", name="The fullest minutes")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
