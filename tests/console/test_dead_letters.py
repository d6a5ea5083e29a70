"""Dead runs: by error, and redriven many at a time."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.browser import accessibility_faults
from tests.support.console import ServedConsole

HTTP = {"type": "http", "url": "https://shop.example/hooks"}


@pytest.fixture
def dead(scheduler: Scheduler) -> Scheduler:
    """Six runs of `export`, whose errors differ in a number, and six of `mail` are dead; the targets work again."""
    for job_id, error in (("export", "disk {} is full"), ("mail", "no route to the host")):
        scheduler.client.create_job(
            {
                "id": job_id,
                "schedule": "0 * * * *",
                "end": "2026-03-28T18:30:00Z",
                "target": HTTP,
                "tags": [job_id],
                "retry": {"max_attempts": 1},
            }
        )
        for number in range(6):
            scheduler.answer(job_id, status=500, body=error.format(number), times=1)
    scheduler.advance(hours=6, minutes=5)
    return scheduler


def _dialog(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Redrive dead runs")


def _succeeded(scheduler: Scheduler, job_id: str) -> int:
    return len(scheduler.client.list_runs(job_id, state="SUCCEEDED").items)


def test_dead_letters_error_group_is_inspected_and_redriven_at_a_limited_rate(
    dead: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    page = open_page(console, "/dead-letters")
    expect(page.get_by_text("All 12 dead runs are loaded.")).to_be_visible()
    group = page.get_by_role("row").filter(has_text="disk … is full")
    expect(group).to_contain_text("http.500")
    expect(group).to_contain_text(re.compile("5 h ago.*5 min ago"))
    group.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile("group="))
    expect(page.get_by_role("link", name=re.compile("^2026-"))).to_have_count(6)
    group.get_by_role("button", name="Redrive 6").click()
    assert accessibility_faults(page) == []
    _dialog(page).get_by_label("Pace").fill("200")
    _dialog(page).get_by_role("button", name="Redrive 6 runs").click()
    expect(_dialog(page)).to_contain_text("6 redriven")
    dead.advance(seconds=5)
    assert _succeeded(dead, "export") == 6
    assert _succeeded(dead, "mail") == 0


def test_dead_letters_filtered_redrive_is_an_operation_that_survives_a_reload_and_can_be_cancelled(
    dead: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    page = open_page(console, "/dead-letters?tag=mail")
    expect(page.get_by_text("6 dead runs are loaded")).to_be_visible()
    page.get_by_role("button", name="Redrive all runs that match the filters").click()
    expect(_dialog(page)).to_contain_text("All dead runs with the tag mail")
    expect(_dialog(page)).to_contain_text("6 runs will be redriven")
    _dialog(page).get_by_label("Pace").fill("0.2")
    assert accessibility_faults(page) == []
    _dialog(page).get_by_role("button", name="Redrive 6 runs").click()
    expect(_dialog(page)).to_have_count(0)
    expect(page.get_by_text("The redrive of 6 runs has started.")).to_be_visible()
    dead.advance(seconds=11)
    page.reload()
    expect(page.get_by_text("Redrive dead runs with the tag mail")).to_be_visible()
    expect(page.get_by_text(re.compile("^2 of 6 runs done, back to the runs of"))).to_be_visible()
    assert accessibility_faults(page) == []
    page.get_by_role("button", name=re.compile("^Cancel the operation")).click()
    expect(page.get_by_text("Cancelled", exact=True)).to_be_visible()
    dead.advance(seconds=60)
    assert _succeeded(dead, "mail") == 2
    assert _succeeded(dead, "export") == 0


def test_dead_letters_discarded_runs_leave_the_list_and_are_listed_elsewhere(
    dead: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    page = open_page(console, "/dead-letters?tag=mail")
    page.get_by_role("checkbox", name="mail.20260328T180000Z").check()
    page.get_by_role("button", name="Discard selected").click()
    dialog = page.get_by_role("dialog", name="Discard dead runs")
    expect(dialog).to_contain_text("1 run will be discarded: they stay dead, and are no longer listed here.")
    dialog.get_by_label("Note").fill("sent by hand")
    assert accessibility_faults(page) == []
    dialog.get_by_role("button", name="Discard 1 run").click()
    expect(dialog).to_contain_text("1 discarded")
    dialog.get_by_role("button", name="Close").first.click()
    expect(page.get_by_text("All 5 dead runs are loaded.")).to_be_visible()
    page.get_by_role("button", name="Discard all runs that match the filters").click()
    dialog.get_by_label("Note").fill("the route is back")
    dialog.get_by_role("button", name="Discard 5 runs").click()
    expect(page.get_by_text("The discard of 5 runs has started.")).to_be_visible()
    dead.advance(seconds=11)
    page.get_by_role("link", name="Discarded runs").click()
    expect(page.get_by_role("link", name=re.compile("^2026-"))).to_have_count(6)
    page.locator("a[href$='mail.20260328T180000Z']").click()
    expect(page.get_by_text("sent by hand")).to_be_visible()
    expect(page.get_by_role("button", name="Discard")).to_have_count(0)
    expect(page.get_by_role("button", name="Redrive")).to_be_enabled()


def test_dead_letters_estimate_that_ended_early_is_not_none(
    dead: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    page = open_page(console, "/dead-letters?tag=mail")
    answer = {"runs": 0, "skipped": {"job_deleted": 3}, "more": False}
    page.route("**/v1/operations/estimate", lambda route: route.fulfill(json=answer))
    redrive = page.get_by_role("button", name="Redrive all runs that match the filters")
    redrive.click()
    expect(_dialog(page)).to_contain_text("There are no dead runs to redrive. 3 skipped (of deleted jobs).")
    _dialog(page).get_by_role("button", name="Close").last.click()
    answer |= {"skipped": {}, "more": True}
    redrive.click()
    expect(_dialog(page)).to_contain_text("an unknown number of runs will be redriven")
    expect(_dialog(page)).to_contain_text("Not all runs were counted.")
    _dialog(page).get_by_role("button", name="Redrive an unknown number of runs").click()
    expect(page.get_by_text("The redrive of an unknown number of runs has started.")).to_be_visible()
    dead.advance(seconds=11)
    assert _succeeded(dead, "mail") == 6


def test_dead_letters_refused_selections_are_reported(dead: Scheduler, console: ServedConsole, open_page: Open) -> None:
    dead.client.delete_job("mail")
    page = open_page(console, "/dead-letters?error=no+route")
    page.get_by_role("checkbox", name="mail.20260328T180000Z").check()
    page.get_by_role("button", name="Redrive selected").click()
    _dialog(page).get_by_role("button", name="Redrive 1 run").click()
    expect(_dialog(page)).to_contain_text("0 redriven, 1 not redriven")
    expect(_dialog(page)).to_contain_text(re.compile("mail.20260328T180000Z .*deleted"))


def test_dead_letters_more_than_a_hundred_are_paginated(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job(
        {"id": "export", "schedule": "* * * * *", "target": HTTP, "retry": {"max_attempts": 1}, "overlap": "allow"}
    )
    scheduler.answer("export", status=500)
    scheduler.advance(minutes=104)
    page = open_page(console, "/dead-letters")
    page.get_by_role("button", name="Load more").click()
    expect(page.get_by_text("All 104 dead runs are loaded.")).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("^2026-"))).to_have_count(100)
    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_role("link", name=re.compile("^2026-"))).to_have_count(4)
    page.get_by_role("checkbox", name="All runs on this page").check()
    page.get_by_role("button", name="Redrive selected").click()
    expect(_dialog(page)).to_contain_text("4 runs will be redriven")
