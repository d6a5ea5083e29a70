"""The list of runs."""

import json
import re

import pytest
from playwright.sync_api import Route, expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.browser import assert_fits
from tests.support.console import ServedConsole

DIED = "/runs/refunds.20260322T060000Z"
HOSTILE = "<img src=x onerror=\"document.title='taken'\"> \u202eآخر\u202c " + "x" * 10_000


def test_runs_page_finds_unsuccessful_runs_across_jobs_by_error(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/runs")
    expect(page.get_by_role("link", name="flaky-import").first).to_be_visible()
    page.get_by_role("combobox", name="Find runs").fill("no such account")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"#/runs\?error=no\+such\+account"))
    expect(page.get_by_role("link", name="refunds")).to_have_count(1)
    expect(page.get_by_role("link", name="flaky-import")).to_have_count(0)


def test_runs_page_lists_everything_of_the_job_named_in_the_address(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/runs?job=nightly-report&state=SUCCEEDED&since=2026-03-27T00:00:00Z")
    expect(page.get_by_text("Runs of nightly-report in the selected states, newest occurrence first.")).to_be_visible()
    expect(page.get_by_role("link", name="2026-03-28 02:00")).to_be_visible()
    expect(page.get_by_role("row")).to_have_count(3)


def test_runs_page_lists_everything_of_all_jobs_newest_first(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/runs")
    expect(page.get_by_role("row")).to_have_count(51)
    latest = page.get_by_role("row").nth(1)
    expect(latest).to_contain_text("SUCCEEDED")
    expect(latest.get_by_role("link", name="2026-03-28 13:0")).to_be_visible()
    dead = page.get_by_role("row").filter(has_text="DEAD").first
    expect(dead).to_contain_text("http.500")
    expect(dead).to_contain_text("no space left on device")
    first = latest.inner_text()
    page.get_by_role("button", name="Next page").click()
    expect(page).to_have_url(re.compile("page=2"))
    expect(latest).not_to_have_text(first)
    second = latest.inner_text()
    page.reload()
    expect(latest).to_contain_text(second.split("\n", 1)[0])
    page.go_back()
    expect(latest).to_contain_text(first.split("\n", 1)[0])


def test_runs_page_keeps_its_rows_while_the_next_page_is_slow(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/runs")
    expect(page.get_by_role("row")).to_have_count(51)
    held = list[Route]()
    page.route(re.compile("/v1/runs.*cursor="), lambda route: route.continue_() if held else held.append(route))
    page.get_by_role("button", name="Next page").click()
    expect(page).to_have_url(re.compile("page=2"))
    expect(page.get_by_role("row")).to_have_count(51)
    page.evaluate("location.hash = '/runs?tag=crm'")
    expect(page.get_by_role("row").nth(1)).to_contain_text("SUCCEEDED")
    for route in held:
        route.abort()


def test_runs_page_cancels_the_unfinished_runs_that_it_lists(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    body = {"schedule": "* * * * *", "overlap": "queue", "completion": "callback"}
    scheduler.client.create_job(body | {"id": "slow", "target": {"type": "http", "url": "https://example.com/hook"}})
    scheduler.advance(minutes=5)
    page = open_page(console, "/runs?state=QUEUED&job=slow")
    waiting = page.get_by_role("row").filter(has_text="QUEUED")
    expect(waiting.first).to_be_visible()
    count = waiting.count()
    page.get_by_role("button", name="Cancel these runs").click()
    dialog = page.get_by_role("dialog", name="Cancel runs?")
    expect(dialog.get_by_text(re.compile(rf"^{count} runs will be cancelled"))).to_be_visible()
    assert_fits(page)
    dialog.get_by_role("button", name="Cancel the runs").click()
    expect(page.get_by_text(f"The cancellation of {count} runs has started.")).to_be_visible()
    expect(page.get_by_text("Cancel QUEUED runs of the job slow")).to_be_visible()
    scheduler.advance(seconds=10)
    ended = scheduler.client.find_runs(job="slow", state=["CANCELLED"]).items
    assert len(ended) == count
    page.evaluate("location.hash = '/runs?state=DEAD'")
    expect(page.get_by_role("button", name="Cancel these runs")).to_have_count(0)


def test_runs_page_cancels_runs_that_an_estimate_did_not_reach(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    target = {"type": "http", "url": "https://example.com/hook"}
    scheduler.client.create_job({"id": "remind", "schedule": None, "target": target})
    scheduler.client.run_job("remind", delay_seconds=7200)
    page = open_page(console, "/runs?state=QUEUED&tag=none")
    answer = {"runs": 0, "skipped": {"out_of_scope": 2}, "more": False}
    page.route("**/v1/operations/estimate", lambda route: route.fulfill(json=answer))
    page.get_by_role("button", name="Cancel these runs").click()
    none = "There are no runs to cancel that match the filters. 2 skipped (without your tags)."
    expect(page.get_by_text(none)).to_be_visible()
    answer |= {"skipped": {}, "more": True}
    page.get_by_role("button", name="Cancel these runs").click()
    dialog = page.get_by_role("dialog", name="Cancel runs?")
    expect(dialog).to_contain_text("an unknown number of runs will be cancelled. Not all runs were counted.")
    dialog.get_by_role("button", name="Cancel the runs").click()
    expect(page.get_by_text("The cancellation of an unknown number of runs has started.")).to_be_visible()


def test_runs_page_delayed_runs_of_all_jobs_are_listed_and_cancelled(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    for name in ("remind", "report"):
        target = {"type": "http", "url": "https://example.com/hook"}
        scheduler.client.create_job({"id": name, "schedule": None, "target": target})
    for name, hours in (("remind", 30), ("report", 3), ("remind", 2)):
        scheduler.client.run_job(name, delay_seconds=hours * 3600)
    page = open_page(console, "/load")
    page.get_by_role("link", name="2 of them delayed").click()
    expect(page.get_by_text("Delayed runs follow, the next one first.")).to_be_visible()
    rows = page.get_by_role("row").filter(has_text="QUEUED")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("Delayed: due in 2 h")
    expect(rows.nth(1)).to_contain_text("report")
    assert_fits(page)
    page.get_by_role("button", name="Cancel these runs").click()
    page.get_by_role("dialog", name="Cancel runs?").get_by_role("button", name="Cancel the runs").click()
    expect(page.get_by_text("The cancellation of 3 runs has started.")).to_be_visible()
    scheduler.advance(seconds=10)
    assert scheduler.client.find_runs(state=["QUEUED"]).items == ()
    assert len(scheduler.client.find_runs(state=["CANCELLED"]).items) == 3


def test_runs_page_empty_result_offers_to_clear_the_filters(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/runs?error=nobody+knows")
    page.get_by_role("button", name="Clear the filters").click()
    expect(page.get_by_role("link", name="broken-export").first).to_be_visible()


NONSENSE = {
    "a page of HTML": {"status": 200, "content_type": "text/html", "body": "<h1>Log in to the network</h1>"},
    "half of an answer": {"status": 200, "content_type": "application/json", "body": '{"items": ['},
    "503": {"status": 503, "content_type": "application/problem+json", "body": "{}"},
}


@pytest.mark.parametrize("answer", NONSENSE)
def test_runs_page_invalid_response_is_reported_and_can_be_retried(
    sampled: ServedConsole, open_page: Open, answer: str
) -> None:
    page = open_page(sampled, "/nowhere")
    broken = [NONSENSE[answer]]
    page.route(re.compile("/v1/runs"), lambda route: route.fulfill(**broken[0]) if broken else route.continue_())
    page.get_by_role("link", name="Runs", exact=True).click()
    for _ in range(4):
        with page.expect_response(re.compile("/v1/runs")):
            page.clock.fast_forward(10_000)
    said = "The API is busy" if answer == "503" else "The response is not from the API"
    expect(page.get_by_text(said)).to_be_visible()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    broken.clear()
    page.clock.fast_forward(10_000)
    expect(page.get_by_role("link", name="broken-export").first).to_be_visible()


def test_runs_page_rate_limited_requests_are_retried_after_the_delay_that_the_api_sets(
    sampled: ServedConsole, open_page: Open
) -> None:
    page = open_page(sampled, "/nowhere")
    answers = [429]

    def limited(route: Route) -> None:
        if answers:
            route.fulfill(status=answers.pop(), headers={"retry-after": "7"}, json={"title": "Too many requests"})
        else:
            route.continue_()

    page.route(re.compile("/v1/runs"), limited)
    page.get_by_role("link", name="Runs", exact=True).click()
    expect(page.get_by_text(re.compile(r"The page tries again in [1-7] s\."))).to_be_visible()
    page.clock.fast_forward(1_000)
    expect(page.get_by_text(re.compile(r"The page tries again in [1-6] s\."))).to_be_visible()
    page.clock.fast_forward(7_000)
    expect(page.get_by_role("link", name="broken-export").first).to_be_visible()
    for _ in range(7):
        page.clock.fast_forward(1_000)
    expect(page.get_by_text("Too many requests")).to_have_count(0)


@pytest.mark.parametrize("path", ["/runs", "/dead-letters", DIED])
def test_runs_page_shows_hostile_error_text_literally(sampled: ServedConsole, open_page: Open, path: str) -> None:
    page = open_page(sampled, "/nowhere")

    def hostile(route: Route) -> None:
        body = route.fetch().json()
        for run in body.get("items", [body]):
            run.update({"error": HOSTILE, "reason": HOSTILE, "note": HOSTILE, "requested_by": HOSTILE})
        route.fulfill(json=body)

    page.route(re.compile("/v1/(runs|dead-letters)"), hostile)
    page.evaluate(f"location.hash = {json.dumps(path)}")
    expect(page.get_by_text("<img src=x onerror=").first).to_be_visible()
    assert page.locator("img").count() == 0
    assert "taken" not in page.title()
    assert_fits(page)
