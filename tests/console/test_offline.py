"""The console without a connection: nothing is queued, and one message says how old the data are."""

import re
from datetime import timedelta

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.console.test_edit import write
from tests.support.console import ServedConsole

HTTP = {"type": "http", "url": "https://shop.example/hooks"}


def _reconnected(page: Page, context: BrowserContext) -> None:
    """Wait for the first response after the connection is back, and for requests that would follow it."""
    with page.expect_response(re.compile("/v1/")):
        context.set_offline(False)
    page.wait_for_timeout(3_000)


def test_offline_discarded_edit_is_not_sent_on_reconnection(
    scheduler: Scheduler, console: ServedConsole, context: BrowserContext, open_page: Open
) -> None:
    scheduler.client.create_job({"id": "hourly", "schedule": "0 * * * *", "target": HTTP, "description": "before"})
    page = open_page(console, "/jobs/hourly")
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Edit").click()
    write(page, Description="after")
    page.get_by_role("button", name="Review changes").click()
    dialog = page.get_by_role("dialog", name="Save hourly?")
    expect(dialog).to_be_visible()
    context.set_offline(True)
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_text(re.compile("^Offline, data of 13:00:00$"))).to_be_visible()
    expect(page.get_by_text("The API cannot be reached")).to_have_count(1)
    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("dialog", name="Leave without saving?").get_by_role("button", name="Leave").click()
    expect(page.get_by_role("heading", level=1, name="hourly")).to_be_visible()
    _reconnected(page, context)
    assert scheduler.client.get_job("hourly").description == "before"


def test_offline_discarded_calendar_is_not_sent_on_reconnection(
    scheduler: Scheduler, console: ServedConsole, context: BrowserContext, open_page: Open
) -> None:
    page = open_page(console, "/calendars")
    page.get_by_role("link", name="Create calendar").click()
    page.get_by_label("Id", exact=True).fill("de-bank")
    page.get_by_label("Exclusions").fill("2026-12-24")
    context.set_offline(True)
    page.get_by_role("button", name="Create calendar").click()
    page.get_by_role("navigation", name="Side navigation").get_by_role("link", name="Calendars").click()
    expect(page.get_by_role("heading", level=1, name="Calendars")).to_be_visible()
    _reconnected(page, context)
    assert scheduler.client.list_calendars().items == ()


def test_offline_bar_is_the_only_message_of_an_outage_and_goes_with_it(
    console: ServedConsole, context: BrowserContext, open_page: Open
) -> None:
    page = open_page(console)
    expect(page.get_by_role("heading", level=1, name="Overview")).to_be_visible()
    page.wait_for_load_state("networkidle")
    page.route("**/v1/**", lambda route: route.abort())
    page.clock.set_fixed_time(console.scheduler.now + timedelta(minutes=1))
    page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
    expect(page.get_by_text(re.compile("^The API cannot be reached, data of 13:00:00$"))).to_have_count(1)
    expect(page.get_by_text("The API cannot be reached")).to_have_count(1)
    page.unroute_all()
    page.clock.set_fixed_time(console.scheduler.now + timedelta(minutes=2))
    page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
    expect(page.get_by_text("The API cannot be reached")).to_have_count(0)


@pytest.mark.parametrize("path", ["/keys"])
def test_offline_page_whose_file_was_not_loaded_is_shown_after_the_reconnection(
    console: ServedConsole, context: BrowserContext, open_page: Open, path: str
) -> None:
    page = open_page(console)
    expect(page.get_by_role("heading", level=1, name="Overview")).to_be_visible()
    context.set_offline(True)
    page.evaluate("path => location.hash = path", path)
    expect(page.get_by_text(re.compile("^Offline, "))).to_be_visible()
    context.set_offline(False)
    expect(page.get_by_role("heading", level=1, name="API keys")).to_be_visible()
