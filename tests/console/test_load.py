"""The load of the next 24 hours, and jobs of a busy minute that are spread."""

import re

from playwright.sync_api import Route, expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.browser import accessibility_faults, assert_fits
from tests.support.console import ServedConsole

HTTP = {"type": "http", "url": "https://shop.example/hooks"}


def test_load_page_names_the_busiest_minutes_and_their_jobs(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/load")
    fullest = page.get_by_role("listitem").filter(has_text=re.compile(r"\d runs: "))
    expect(fullest.filter(has_text="2026-03-29 08:00:00 Europe/Berlin")).to_contain_text("month-end (1)")
    expect(fullest.get_by_role("link", name="month-end")).to_have_attribute("href", "#/jobs/month-end")


def test_load_page_jobs_of_a_busy_minute_are_spread_after_their_new_minutes_are_shown(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    for number in range(12):
        scheduler.client.create_job({"id": f"bill-{number:02}", "schedule": "0 2 * * *", "target": HTTP})
    scheduler.client.create_job({"id": "each-minute", "schedule": "* 2 * * *", "target": HTTP})
    page = open_page(console, "/load")
    minute = page.get_by_role("listitem").filter(has_text="13 runs: ")
    minute.get_by_role("button", name="Spread these jobs").click()
    dialog = page.get_by_role("dialog", name="Spread these jobs")
    expect(dialog).to_contain_text("The busiest minute of these jobs: 13 runs now, 2 runs afterwards.")
    expect(dialog.get_by_role("row")).to_have_count(11)
    dialog.get_by_role("button", name="Next page").click()
    expect(dialog.get_by_role("row", name="each-minute")).to_contain_text("needs intervals longer than a minute")
    dialog.get_by_role("textbox", name="Spread within (minutes)").fill("1")
    expect(dialog).to_contain_text("Must be a whole number from 2 to 60.")
    dialog.get_by_role("textbox", name="Spread within (minutes)").fill("6")
    expect(dialog).to_contain_text("13 runs now, 3 runs afterwards.")
    assert scheduler.client.get_job("bill-00").spread is None
    assert accessibility_faults(page) == []
    dialog.get_by_role("button", name="Spread 12 jobs").click()
    expect(page.get_by_text("12 jobs spread within 6 minutes.")).to_be_visible()
    spreads = [scheduler.client.get_job(f"bill-{number:02}").spread for number in range(12)]
    assert sorted(each.offset_minutes for each in spreads if each is not None) == sorted([*range(6), *range(6)])
    expect(page.get_by_role("listitem").filter(has_text="13 runs: ")).to_have_count(0)


def test_load_page_spread_of_a_busy_minute_fits_a_phone(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    for number in range(12):
        scheduler.client.create_job({"id": f"invoices-of-{number:02}", "schedule": "0 2 * * *", "target": HTTP})
    page = open_page(console, "/load")
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="Spread these jobs").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("12 runs now, 1 run afterwards.")
    assert_fits(page)


def test_load_page_spread_says_that_jobs_of_the_minute_are_not_in_the_plan(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    for number in range(3):
        scheduler.client.create_job({"id": f"bill-{number}", "schedule": "0 2 * * *", "target": HTTP})

    def named_two(route: Route) -> None:
        route.continue_(url=route.request.url.replace("largest=1000", "largest=2"))

    page = open_page(console, "/load")
    page.route("**/v1/upcoming?**", named_two)
    page.get_by_role("button", name="Spread these jobs").first.click()
    dialog = page.get_by_role("dialog", name="Spread these jobs")
    expect(dialog).to_contain_text("The plan does not include all jobs of this minute: 1 run of other jobs remains.")
    dialog.get_by_role("button", name="Spread 2 jobs").click()
    expect(page.get_by_text("2 jobs spread within 30 minutes.")).to_be_visible()
