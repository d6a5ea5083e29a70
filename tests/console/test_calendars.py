"""Calendars: their days, which are changed as text, and the jobs that use them."""

import re

import pytest
from playwright.sync_api import Route, expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.browser import accessibility_faults, layout_faults
from tests.support.console import ServedConsole

HTTP = {"type": "http", "url": "https://shop.example/hooks"}


def test_calendars_page_creates_a_calendar(scheduler: Scheduler, console: ServedConsole, open_page: Open) -> None:
    page = open_page(console, "/calendars")
    expect(page.get_by_text("There are no calendars yet.")).to_be_visible()
    page.get_by_role("link", name="Create calendar").click()
    page.get_by_role("textbox", name="Id").fill("de-bank")
    page.get_by_role("textbox", name="Description").fill("Bank holidays")
    days = page.get_by_role("textbox", name="Exclusions")
    days.fill("2026-12-25\nnoon\n")
    create = page.get_by_role("button", name="Create calendar")
    create.click()
    expect(page.get_by_text(re.compile("^noon: "))).to_be_visible()
    days.fill("2026-12-25\n2026-12-24\n\n* * * * SAT,SUN\n")
    create.click()
    expect(page.get_by_text("The calendar de-bank is saved.")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("de-bank")
    expect(page.get_by_text("No job uses this calendar.")).to_be_visible()
    stored = scheduler.client.get_calendar("de-bank")
    assert (stored.exclude, stored.description) == (("2026-12-24/2026-12-25", "* * * * SAT,SUN"), "Bank holidays")
    expect(days).to_have_value("2026-12-24/2026-12-25\n* * * * SAT,SUN")
    page.get_by_role("navigation", name="Breadcrumbs").get_by_role("link", name="Calendars").click()
    expect(page.get_by_role("row").filter(has_text="de-bank")).to_contain_text("Bank holidays")


def test_calendars_page_changes_a_calendar_with_its_jobs_and_deletes_it(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.put_calendar("de-bank", ["2026-12-24"])
    scheduler.client.create_job({"id": "report", "schedule": "0 9 * * *", "target": HTTP, "calendar": "de-bank"})
    page = open_page(console, "/calendars/de-bank")
    expect(page.get_by_role("link", name="report")).to_have_attribute("href", "#/jobs/report")
    page.get_by_role("textbox", name="Exclusions").fill("2026-12-24\n2026-12-31")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The calendar de-bank is saved. 1 job changed.")).to_be_visible()
    delete = page.get_by_role("button", name="Delete the calendar")
    delete.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Delete the calendar").click()
    expect(dialog.get_by_text("de-bank is used by report")).to_be_visible()
    scheduler.client.delete_job("report")
    dialog.get_by_role("button", name="Delete the calendar").click()
    expect(page.get_by_text("The calendar de-bank is deleted.")).to_be_visible()
    expect(page.get_by_text("There are no calendars yet.")).to_be_visible()
    page.goto(f"{console.url}#/calendars/de-bank")
    expect(page.get_by_role("heading", name="Calendar not found")).to_be_visible()


def test_calendars_page_says_that_further_jobs_use_the_calendar(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    def further(route: Route) -> None:
        route.fulfill(json={**(response := route.fetch()).json(), "more_jobs": True}, headers=response.headers)

    scheduler.client.put_calendar("de-bank", ["2026-12-24"])
    page = open_page(console, "/nowhere")
    page.route("**/v1/calendars/de-bank", further)
    page.goto(f"{console.url}#/calendars/de-bank")
    expect(page.get_by_text("Jobs use this calendar, but could not be listed.")).to_be_visible()
    scheduler.client.create_job({"id": "report", "schedule": "0 9 * * *", "target": HTTP, "calendar": "de-bank"})
    page.reload()
    expect(page.get_by_text("report and others")).to_be_visible()


def test_calendars_page_does_not_overwrite_a_change_of_another_user(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.put_calendar("de-bank", ["2026-12-24"])
    page = open_page(console, "/calendars/de-bank")
    entries = page.get_by_role("textbox", name="Exclusions")
    expect(entries).to_have_value("2026-12-24")
    scheduler.client.put_calendar("de-bank", ["2026-12-25"])
    entries.fill("2026-12-24\n2026-12-31")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The calendar was changed in the meantime")).to_be_visible()
    assert scheduler.client.get_calendar("de-bank").exclude == ("2026-12-25",)
    page.get_by_role("button", name="Reload").click()
    expect(entries).to_have_value("2026-12-25")
    for days in ("2026-12-31", "2027-01-01"):  # the second save has the ETag of the first one
        entries.fill(days)
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("The calendar de-bank is saved.")).to_be_visible()
        expect(entries).to_have_value(days)
        page.get_by_role("button", name="Dismiss").first.click()
    assert scheduler.client.get_calendar("de-bank").exclude == ("2027-01-01",)
    page.goto(f"{console.url}#/calendars/new")
    page.get_by_role("textbox", name="Id").fill("de-bank")
    entries.fill("2026-12-24")
    page.get_by_role("button", name="Create calendar").click()
    expect(page.get_by_text("A calendar with this id already exists")).to_be_visible()
    assert scheduler.client.get_calendar("de-bank").exclude == ("2027-01-01",)


@pytest.mark.parametrize("width", [390, 1280, 1440])
def test_calendars_pages_fit_and_are_accessible(
    scheduler: Scheduler, console: ServedConsole, open_page: Open, width: int
) -> None:
    name = f"{'bank-holidays-' * 4}of"
    days = [f"2027-{month:02}-{day:02}" for month in range(1, 13) for day in (1, 11, 21)]
    scheduler.client.put_calendar(name, days, description="The holidays of all branches of the bank. " * 10)
    for number in range(12):
        job_id = f"import-of-the-orders-of-the-district-{number}"
        scheduler.client.create_job({"id": job_id, "schedule": "0 9 * * *", "target": HTTP, "calendar": name})
    page = open_page(console, "/nowhere")
    page.set_viewport_size({"width": width, "height": 900})
    for path in ("/calendars", "/calendars/new", f"/calendars/{name}"):
        page.goto("about:blank")
        page.goto(f"{console.url}#{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.wait_for_load_state("networkidle")
        assert (layout_faults(page), accessibility_faults(page)) == ([], []), path


def test_calendars_of_a_job_are_edited_as_a_list_and_linked(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    for name in ("de-bank", "company"):
        scheduler.client.put_calendar(name, ["2026-12-24"])
    scheduler.client.create_job({"id": "report", "schedule": "0 9 * * *", "target": HTTP, "calendar": "de-bank"})
    page = open_page(console, "/jobs/report/edit")
    page.get_by_role("button", name="Exclusions, daylight saving").click()
    calendars = page.get_by_role("textbox", name="Calendars")
    expect(calendars).to_have_value("de-bank")
    calendars.fill("de-bank, company")
    page.get_by_role("button", name="Review changes").click()
    changes = page.get_by_role("dialog").get_by_role("table")
    expect(changes.get_by_role("row", name=re.compile("calendar"))).to_contain_text("company")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="company")).to_have_attribute("href", "#/calendars/company")
    assert scheduler.client.get_job("report").calendar == ("de-bank", "company")
