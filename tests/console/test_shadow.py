"""A shadow job in the console: its badge, the comparison with the other scheduler, and the promotion."""

from typing import Any

from playwright.sync_api import expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.browser import accessibility_faults
from tests.support.console import ServedConsole

BODY: dict[str, Any] = {"schedule": "0 * * * *", "target": {"type": "http", "url": "https://shop.example/hooks"}}


def test_shadow_job_page_shows_the_comparison_and_promotes(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    made = scheduler.client.put_job("hourly", BODY, shadow=True)
    assert made.shadow_since is not None
    page = open_page(console, "/jobs/hourly")
    expect(page.get_by_text("Shadow", exact=True)).to_be_visible()
    expect(page.get_by_text("Nothing could be compared yet")).to_be_visible()
    scheduler.advance(hours=1, minutes=5)
    page.reload()
    expect(page.get_by_text("No pings: the other scheduler is probably not connected")).to_be_visible()
    scheduler.advance(minutes=55)
    scheduler.client.ping_job("hourly")
    scheduler.advance(minutes=30)
    scheduler.client.ping_job("hourly")
    page.reload()
    table = page.get_by_role("grid", name="Disagreements with the other scheduler")
    expect(table).to_contain_text("Ping: only the other scheduler ran")
    expect(page.get_by_text("The schedules disagree")).to_be_visible()
    assert accessibility_faults(page) == []
    page.get_by_role("button", name="Promote").click()
    page.get_by_role("dialog").get_by_role("button", name="Promote").click()
    expect(page.get_by_text("hourly was not promoted")).to_be_visible()
    scheduler.client.promote_job("hourly", force=True)
    page.reload()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.get_by_text("Shadow", exact=True)).to_have_count(0)
