"""The switch for the time zone of all pages."""

import re

from playwright.sync_api import Page, expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.console import ServedConsole

TARGET = {"type": "http", "url": "https://shop.example/hooks"}
SWITCH = re.compile("^Times: ")


def choose(page: Page, zone: str) -> None:
    page.get_by_role("button", name=SWITCH).click()
    page.get_by_role("menuitemcheckbox", name=zone).click()


def test_time_zone_switch_applies_to_all_pages_and_persists(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    job = {"id": "report", "schedule": "0 2 * * *", "timezone": "America/New_York", "target": TARGET}
    scheduler.client.create_job(job)
    page = open_page(console, "/jobs/report")
    main = page.get_by_role("main")
    expect(main.get_by_text("2026-03-29 02:00:00 America/New_York").first).to_be_visible()
    choose(page, "My time zone")
    expect(main.get_by_text("2026-03-29 08:00:00 Europe/Berlin").first).to_be_visible()
    choose(page, "UTC")
    expect(main.get_by_text("2026-03-29 06:00:00 UTC").first).to_be_visible()
    page.reload()
    expect(main.get_by_text("2026-03-29 06:00:00 UTC").first).to_be_visible()
    other = open_page(console, "/jobs")
    expect(other.get_by_role("columnheader", name="Next occurrence")).to_contain_text("UTC")
    expect(other.get_by_text("2026-03-29 06:00", exact=True)).to_be_visible()
    choose(other, "The job's time zone")
    expect(main.get_by_text("2026-03-29 02:00:00 America/New_York").first).to_be_visible()  # in the first tab


def test_time_zone_shown_applies_to_entered_times(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job({"id": "report", "schedule": None, "timezone": "America/New_York", "target": TARGET})
    page = open_page(console, "/jobs/report")
    choose(page, "UTC")
    page.get_by_role("button", name="Run now").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Start later").check()
    dialog.get_by_label("Date", exact=True).fill("2026-03-28")
    dialog.get_by_label("Time (UTC)").fill("13:00")
    dialog.get_by_role("button", name="Start the run").click()
    expect(dialog).to_be_hidden()
    (call,) = scheduler.advance(hours=2)
    assert f"{call.at:%H:%M}" == "13:00"
