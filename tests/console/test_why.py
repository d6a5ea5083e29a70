"""Why a job did not run at a time."""

import re

from playwright.sync_api import Route, expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.console import ServedConsole

HTTP = {"type": "http", "url": "https://shop.example/hooks"}


def test_why_page_paused_job_is_explained_at_a_time_in_its_own_zone(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job(
        {"id": "report", "schedule": "0 2 * * *", "timezone": "America/New_York", "target": HTTP}
    )
    scheduler.client.pause_job("report", note="the template is wrong")
    scheduler.advance(days=1)
    page = open_page(console, "/why")
    page.get_by_label("Job", exact=True).fill("rep")
    page.get_by_role("option", name="report").click()
    page.get_by_label("Date", exact=True).fill("2026-03-29")
    page.get_by_label("Time (America/New_York)").fill("02:00")
    page.get_by_role("button", name="Explain").click()
    answer = page.get_by_role("region", name="Explanation")
    expect(answer).to_contain_text("paused")
    expect(page).to_have_url(re.compile(r"job=report&at=2026-03-29T06%3A00%3A00Z"))
    page.reload()
    expect(answer).to_contain_text("paused")


def test_why_page_time_is_read_in_the_labelled_zone_while_suggestions_load(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job(
        {"id": "report", "schedule": "0 2 * * *", "timezone": "America/New_York", "target": HTTP}
    )
    page = open_page(console, "/why")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(re.compile("prefix=report"), hold)
    with page.expect_request(re.compile("prefix=report")):
        page.get_by_label("Job", exact=True).fill("report")
        page.get_by_label("Date", exact=True).fill("2026-03-29")
        page.get_by_label("Time (America/New_York)").fill("02:00")
    page.get_by_role("button", name="Explain").click()
    expect(page).to_have_url(re.compile(r"job=report&at=2026-03-29T06%3A00%3A00Z"))
    for route in held:
        route.abort()


def test_why_page_invalid_input_is_reported_at_its_field(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled)
    page.get_by_role("link", name="Why did it not run?").click()
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_text("Enter a job.")).to_be_visible()
    expect(page.get_by_text("Choose a date and a time.")).to_be_visible()
    page.get_by_label("Job", exact=True).fill("no-such-job")
    page.get_by_label("Date", exact=True).fill("2026-03-29")
    page.get_by_label(re.compile("^Time [(]")).fill("02:00")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_text("no-such-job").last).to_be_visible()
    night = page.get_by_role("link", name="Last night")
    expect(night).to_have_attribute("href", "#/jobs/no-such-job?tab=why&at=last-night")
