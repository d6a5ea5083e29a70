"""The pull workers: a list that is empty, short, or long, and the worker of a run."""

from typing import Any

from playwright.sync_api import Page, Route, expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.browser import accessibility_faults
from tests.support.console import ServedConsole

JOB: dict[str, Any] = {
    "id": "reindex",
    "schedule": "*/5 * * * *",
    "target": {"type": "http", "url": "https://shop.example/hooks"},
    "completion": "callback",
    "heartbeat_seconds": 60,
    "retry": {"max_attempts": 2},
}


def _listing(page: Page, workers: list[dict[str, Any]], *, complete: bool = True) -> None:
    def answer(route: Route) -> None:
        route.fulfill(json={"items": workers, "complete": complete})

    page.route("**/v1/workers", answer)


def test_workers_page_says_that_no_worker_has_named_itself(console: ServedConsole, open_page: Open) -> None:
    page = open_page(console, "/workers")
    expect(page.get_by_text("No worker has named itself in the last hour.")).to_be_visible()
    expect(page.get_by_role("textbox")).to_have_count(0)


def test_workers_page_shows_who_works_and_who_fell_silent(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job(JOB)
    (call,) = scheduler.advance(minutes=6)
    assert call.callback_token is not None
    scheduler.client.heartbeat_run(call.run_id, call.callback_token, progress=0.4, worker="host-7")
    page = open_page(console, "/workers")
    row = page.get_by_role("row").filter(has_text="host-7")
    expect(row).to_contain_text("Working")
    expect(row.get_by_role("link", name=call.run_id)).to_have_attribute("href", f"#/runs/{call.run_id}")
    scheduler.advance(minutes=3)
    page.reload()
    expect(row).to_contain_text("Silent")
    assert accessibility_faults(page) == []
    row.get_by_role("link", name="All runs of the worker host-7").click()
    expect(page.get_by_role("heading", level=1, name="Runs")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="reindex")).to_have_count(1)
    expect(page.get_by_text("Worker = host-7")).to_be_visible()
    page.goto(f"{console.url}#/runs/{call.run_id}")
    expect(page.get_by_role("row").filter(has_text="Attempt 1")).to_contain_text("host-7")


def test_workers_page_of_three_hundred_has_pages_and_finds_by_name(console: ServedConsole, open_page: Open) -> None:
    page = open_page(console, "/")
    worker = {
        "status": "seen",
        "seen_at": "2026-03-22T06:00:00.000Z",
        "run_id": "reindex.20260322T060000Z",
        "job_id": "reindex",
        "attempt": 1,
        "run_state": "SUCCEEDED",
    }
    _listing(page, [worker | {"name": f"host-{number:03}"} for number in range(300)], complete=False)
    page.goto(f"{console.url}#/workers")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Workers (300)")
    expect(page.get_by_role("row")).to_have_count(51)
    expect(page.get_by_text("Some workers may be missing")).to_be_visible()
    page.get_by_role("button", name="Page 6").click()
    expect(page.get_by_role("row").filter(has_text="host-299")).to_be_visible()
    page.get_by_role("searchbox").fill("host-12")
    expect(page.get_by_text("10 matches").first).to_be_visible()
    expect(page.get_by_role("row")).to_have_count(11)
    assert accessibility_faults(page) == []
