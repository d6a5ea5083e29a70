"""Limits of concurrency keys: active and waiting runs, and what operators change."""

import re

from playwright.sync_api import Route, expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.browser import accessibility_faults
from tests.support.console import ServedConsole

HTTP = {"type": "http", "url": "https://shop.example/hooks"}


def waiting(scheduler: Scheduler) -> tuple[str, str]:
    """A run that is active, and one of another job that waits for it."""
    for job_id in ("export", "mail"):
        scheduler.client.create_job(
            {
                "id": job_id,
                "schedule": None,
                "target": HTTP,
                "completion": "callback",
                "payload": {"region": "eu"},
                "concurrency": {"key": "crm-{{payload.region}}", "limit": 1},
            }
        )
    first, second = (scheduler.client.run_job(job_id).id for job_id in ("export", "mail"))
    scheduler.advance(seconds=1)
    return first, second


def test_limits_page_lists_keys_and_shows_their_runs(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    page = open_page(console, "/limits")
    expect(page.get_by_text("No key has a stored limit, rate or circuit breaker, or waiting runs.")).to_be_visible()
    first, second = waiting(scheduler)
    page.reload()
    row = page.get_by_role("row").filter(has_text="crm-eu")
    expect(row).to_contain_text("Set in the jobs")
    expect(row.get_by_role("gridcell", name="1 for a place", exact=True)).to_be_visible()
    expect(page.get_by_role("columnheader", name="Set by")).to_be_in_viewport(ratio=1)
    row.get_by_role("link", name="crm-eu").click()
    expect(
        page.get_by_text(
            "Limit: Set in the jobs. Rate: Set in the jobs. Active runs: 1. "
            "Waiting for a place: 1. Waiting for the rate: 0."
        )
    ).to_be_visible()
    expect(page.get_by_role("grid", name="Active runs").get_by_role("link", name=first)).to_be_visible()
    expect(page.get_by_role("grid", name="Runs that wait for a place").get_by_role("link", name=second)).to_be_visible()
    assert accessibility_faults(page) == []


def test_limits_page_lists_nothing_after_a_key_without_waiting_runs(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.put_limit("crm-eu", concurrency=5)
    page = open_page(console, "/limits")
    expect(
        page.get_by_role("row").filter(has_text="crm-eu").get_by_role("gridcell", name="0", exact=True)
    ).to_be_visible()


def test_limits_page_changes_and_deletes_a_limit(scheduler: Scheduler, console: ServedConsole, open_page: Open) -> None:
    waiting(scheduler)
    page = open_page(console, "/limits/crm-eu")
    page.get_by_role("spinbutton", name="Maximum active runs").fill("2")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The limits of crm-eu are saved.")).to_be_visible()
    scheduler.advance(seconds=1)
    page.reload()
    expect(
        page.get_by_text(
            "Limit: 2. Rate: Set in the jobs. Active runs: 2. Waiting for a place: 0. Waiting for the rate: 0."
        )
    ).to_be_visible()
    page.get_by_role("button", name="Delete the limit").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete the limit").click()
    expect(page.get_by_text("The limit of crm-eu is deleted.")).to_be_visible()
    assert scheduler.client.get_limit("crm-eu").concurrency is None


def test_limits_page_releases_a_place(scheduler: Scheduler, console: ServedConsole, open_page: Open) -> None:
    first, second = waiting(scheduler)
    page = open_page(console, "/limits/crm-eu")
    page.get_by_role("button", name=f"Release the place of {first}").click()
    page.get_by_role("dialog").get_by_role("button", name="Release the place").click()
    expect(page.get_by_text("The place was released.")).to_be_visible()
    scheduler.advance(seconds=1)
    assert scheduler.client.get_run(second).state == "WAITING"


def test_limits_run_page_says_what_the_run_waits_for(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    _, second = waiting(scheduler)
    page = open_page(console, f"/runs/{second}")
    expect(page.get_by_role("link", name="crm-eu")).to_have_attribute("href", "#/limits/crm-eu")
    expect(page.get_by_text("Waits for the concurrency key")).to_be_visible()
    expect(page.get_by_text("1 of 1")).to_be_visible()
    expect(page.get_by_text("In the wait queue since")).to_be_visible()


def test_limits_page_and_run_page_show_a_run_that_waits_for_a_rate(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job(
        {"id": "export", "schedule": None, "target": HTTP, "overlap": "allow", "rate": {"key": "crm", "per_minute": 1}}
    )
    for _ in range(2):
        scheduler.client.run_job("export")
    scheduler.advance(seconds=1)
    page = open_page(console, "/limits/crm")
    table = page.get_by_role("grid", name="Runs that wait for the rate")
    assert accessibility_faults(page) == []
    table.get_by_role("link").first.click()
    expect(page.get_by_text("Waits for the rate of the key")).to_be_visible()
    expect(page.get_by_text("Next attempt")).to_be_visible()


def test_limits_page_and_run_page_show_a_run_that_waits_for_a_circuit_breaker(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    breaker = {"failures": 1, "open_seconds": 60}
    job = {"id": "export", "schedule": None, "target": HTTP, "overlap": "allow", "breaker": breaker}
    scheduler.client.create_job(job | {"retry": {"max_attempts": 1}})
    scheduler.answer("export", status=503)
    for _ in range(2):
        run = scheduler.client.run_job("export")
        scheduler.advance(seconds=1)
    page = open_page(console, "/limits")
    page.get_by_role("link", name="shop.example").click()
    expect(page.get_by_text("The circuit breaker is open after 1 failed attempt")).to_be_visible()
    expect(page.get_by_text("Waiting for the circuit breaker: 1.")).to_be_visible()
    waits = page.get_by_role("grid", name="Runs that wait for the circuit breaker")
    expect(
        waits.get_by_role("row").filter(has_text=run.id).get_by_role("gridcell", name="1", exact=True)
    ).to_be_visible()
    assert accessibility_faults(page) == []
    page.get_by_role("button", name="Let attempts start").click()
    page.get_by_role("dialog").get_by_role("button", name="Let attempts start").click()
    expect(page.get_by_text("Attempts with shop.example start again.")).to_be_visible()
    expect(page.get_by_text("The circuit breaker is open")).to_have_count(0)
    page.get_by_role("button", name="Hold for one hour").click()
    page.get_by_role("dialog").get_by_role("button", name="Hold the key").click()
    expect(page.get_by_text("or an operator holds the key")).to_be_visible()
    page = open_page(console, f"/runs/{run.id}")
    expect(page.get_by_text("Waits for the circuit breaker")).to_be_visible()
    expect(page.get_by_role("link", name="shop.example")).to_be_visible()


def test_limits_page_creates_a_rate_and_a_circuit_breaker_and_confirms_zero(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    page = open_page(console, "/limits")
    page.get_by_role("button", name="Create limit").click()
    dialog = page.get_by_role("dialog", name="Create limit")
    dialog.get_by_role("textbox", name="Key").fill("crm")
    dialog.get_by_role("spinbutton", name="Attempts per minute").fill("40000")
    dialog.get_by_role("spinbutton", name="Failures that open the breaker").fill("5")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_text("must be a number from 1 to 30000")).to_be_visible()
    dialog.get_by_role("spinbutton", name="Attempts per minute").fill("30")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1, name="crm")).to_be_visible()
    limit = scheduler.client.get_limit("crm")
    assert limit.rate is not None
    assert limit.breaker is not None
    assert (limit.rate.per_minute, limit.rate.burst) == (30, 1)
    assert (limit.breaker.failures, limit.breaker.open_seconds) == (5, 60)
    page.get_by_role("spinbutton", name="Maximum active runs").fill("0")
    page.get_by_role("button", name="Save").click()
    question = page.get_by_role("dialog", name="Stop all runs with this key?")
    assert scheduler.client.get_limit("crm").concurrency is None
    question.get_by_role("button", name="Save a limit of 0").click()
    expect(page.get_by_text("Limit: 0 (no run starts).")).to_be_visible()
    assert scheduler.client.get_limit("crm").concurrency == 0


def test_limits_page_does_not_overwrite_what_another_user_has_saved(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.put_limit("crm", concurrency=5)
    page = open_page(console, "/limits/crm")
    page.get_by_role("spinbutton", name="Maximum active runs").fill("7")
    scheduler.advance(seconds=1)
    scheduler.client.put_limit("crm", concurrency=6)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The limits of this key were changed in the meantime")).to_be_visible()
    assert scheduler.client.get_limit("crm").concurrency == 6
    page.get_by_role("button", name="Discard").click()
    expect(page.get_by_role("spinbutton", name="Maximum active runs")).to_have_value("6")


def test_limits_page_says_that_not_all_waiting_runs_were_counted(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    def uncounted(route: Route) -> None:
        route.fulfill(json={**route.fetch().json(), "complete": False})

    page = open_page(console, "/nowhere")
    page.route("**/v1/limits**", uncounted)
    page.goto(f"{console.url}#/limits")
    told = page.get_by_text("Not all waiting runs were counted")
    expect(told).to_be_visible()
    expect(page.get_by_text("No key was found.")).to_be_visible()
    scheduler.client.put_limit("crm", concurrency=5)
    page.goto(f"{console.url}#/limits/crm")
    expect(page.get_by_role("heading", level=1, name="crm")).to_be_visible()
    expect(told).to_be_visible()
    page.goto(f"{console.url}#/")
    expect(page.get_by_role("status").first).to_have_text(re.compile("; not known: breakers open"))
