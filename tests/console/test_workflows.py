"""Workflows, and their runs."""

import re
from typing import Any

from playwright.sync_api import expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.browser import PATIENCE_MS
from tests.support.console import ServedConsole

TARGET = {"type": "http", "url": "https://shop.example/hooks"}
HOSTILE = '<img src=x onerror="window.broken = true">'
RUN = "/workflows/close/runs/20260328T130000Z"


def put(scheduler: Scheduler, extract: dict[str, Any] | None = None, **more: object) -> None:
    scheduler.client.put_workflow(
        "close",
        {
            "schedule": "0 * * * *",
            "jobs": {
                "extract": {"job_id": "extract", "job": {"target": TARGET, **(extract or {})}},
                "orders": {"job_id": "orders", "job": {"target": TARGET}, "after": ["extract"]},
                "refunds": {
                    "job_id": "refunds",
                    "job": {"target": TARGET, "retry": {"max_attempts": 1}},
                    "after": ["extract"],
                },
                "book": {"job_id": "book", "job": {"target": TARGET}, "after": ["orders", "refunds"]},
            },
            **more,
        },
    )


def test_workflow_pages_rerun_from_the_failed_one_of_four_steps_succeeds(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    put(scheduler)
    scheduler.answer("refunds", status=422, body={"error": HOSTILE}, times=1)
    scheduler.advance(minutes=61)
    page = open_page(console, RUN)
    steps = page.get_by_role("grid", name="Steps of the run")
    expect(steps.get_by_role("row", name=re.compile("refunds DEAD"))).to_contain_text("<img src=x")
    expect(steps.get_by_role("row", name=re.compile("book SKIPPED"))).to_contain_text("an upstream step failed")
    expect(page.get_by_text("2 succeeded, 1 failed, 1 stopped by a failure")).to_be_visible()
    graph = page.get_by_role("region", name=re.compile("Graph of"))
    expect(graph.get_by_role("link", name="refunds")).to_have_attribute("href", "#/runs/refunds.20260328T130000Z")
    assert page.evaluate("window.broken") is None
    page.set_viewport_size({"width": 1280, "height": 900})
    rerun = steps.get_by_role("button", name="Rerun from here: refunds")
    box = rerun.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 1280
    rerun.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("runs 2 steps: refunds, book.")
    dialog.get_by_role("button", name="Run 2 steps").click()
    expect(page.get_by_text("2 succeeded, 1 due or active, 1 waiting")).to_be_visible()
    calls = scheduler.advance(seconds=30)
    assert [call.job_id for call in calls] == ["refunds", "book"]
    page.reload()  # it asks again by itself, too; later
    expect(page.get_by_text("4 succeeded")).to_be_visible()
    expect(page.get_by_text("close.20260328T130000Z from refunds")).to_be_visible()
    expect(steps.get_by_role("row", name=re.compile("orders SUCCEEDED"))).to_contain_text("Not run again")
    page.goto(f"{console.url}#/workflows/close?tab=runs")
    expect(page.get_by_role("grid", name="Runs").get_by_role("row").filter(has_text="rerun")).to_have_count(1)


def test_workflow_pages_dead_run_is_redriven_or_rerun_from_its_failed_steps_in_the_header(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    put(scheduler)
    scheduler.answer("refunds", status=422, times=1)
    scheduler.advance(hours=1)
    page = open_page(console, RUN)
    expect(page.get_by_text("A step failed", exact=True)).to_be_visible()
    page.get_by_role("button", name="Rerun from failed steps").click()
    dialog = page.get_by_role("dialog", name="Rerun from refunds")
    expect(dialog).to_contain_text("runs 2 steps: refunds, book.")
    dialog.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Redrive").click()
    dialog = page.get_by_role("dialog", name="Redrive this run")
    expect(dialog).to_contain_text("refunds restarts with a new set of attempts")
    dialog.get_by_role("button", name="Redrive").click()
    expect(page.get_by_text("The run was redriven.")).to_be_visible()
    assert [call.job_id for call in scheduler.advance(minutes=1)] == ["refunds", "book"]
    page.reload()
    expect(page.get_by_text("4 succeeded")).to_be_visible()


def test_workflow_pages_step_with_items_links_to_its_items_which_cannot_be_rerun(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    mail = {"job": {"target": TARGET}, "for_each": "{{workflow.payload}}", "max_failed": 1}
    scheduler.client.put_workflow("close", {"schedule": "0 * * * *", "payload": ["a", "b"], "jobs": {"mail": mail}})
    scheduler.advance(minutes=61)
    page = open_page(console, RUN)
    page.get_by_role("link", name="Items of mail").click()
    expect(page.get_by_role("heading", name="Items of a step")).to_be_visible()
    way = page.get_by_role("navigation", name="Breadcrumbs")
    expect(way.get_by_role("link", name="close--mail")).to_have_attribute("href", "#/jobs/close--mail")
    expect(page.get_by_role("link", name="close--mail", exact=True).last).to_have_attribute(
        "href", "#/jobs/close--mail"
    )
    steps = page.get_by_role("grid", name="Steps of the run")
    expect(steps.get_by_role("link", name="1", exact=True)).to_have_attribute(
        "href", "#/runs/close--mail.20260328T130000Z.i1"
    )
    expect(steps.get_by_role("button", name="Rerun from here: 0")).to_be_disabled()


def test_workflow_pages_run_shows_pending_upstream_steps_and_is_cancelled_with_their_count(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    put(scheduler, extract={"completion": "callback"})
    scheduler.advance(hours=1)
    page = open_page(console, RUN)
    steps = page.get_by_role("grid", name="Steps of the run")
    waits = steps.get_by_role("row", name=re.compile("orders WAITS"))
    expect(waits).to_contain_text("Waits for all upstream steps to succeed; not ended yet: extract")
    expect(page.get_by_text("1 due or active, 3 waiting")).to_be_visible()
    page.get_by_role("button", name="Cancel", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("4 steps have not ended")
    dialog.get_by_role("button", name="Cancel the run").click()
    expect(dialog).to_be_hidden()
    scheduler.advance(minutes=1)
    left = steps.get_by_role("row", name=re.compile("orders LEFT"))
    expect(left).to_contain_text(
        "the run of its workflow had ended", timeout=PATIENCE_MS
    )  # by itself, while it is not over


def test_workflow_pages_forecast_shows_the_predicted_end_and_the_remaining_critical_path(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    put(scheduler, {"completion": "callback", "completion_seconds": 7200}, finish_by=60, deadline_seconds=7200)
    scheduler.advance(minutes=61)
    page = open_page(console, RUN)
    expect(page.get_by_text("Predicted end")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_text("(steps with fewer than 3 earlier runs: 4)")).to_be_visible()
    expect(page.get_by_text("extract (unknown)")).to_be_visible()
    scheduler.client.cancel_run("close.20260328T130000Z")
    scheduler.advance(minutes=1)
    page.reload()
    expect(page.get_by_text("CANCELLED").first).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_text("Predicted end")).to_have_count(0)


def test_workflow_pages_list_links_to_a_graph_whose_steps_are_links(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/workflows")
    row = page.get_by_role("row").filter(has_text="month-end")
    expect(row.get_by_role("img", name=re.compile("^Last 7 runs, oldest first: DEAD, SUCCEEDED"))).to_be_visible()
    page.get_by_role("searchbox", name="Find workflows").fill("th-en")
    expect(page).to_have_url(re.compile("search=th-en"))
    page.get_by_role("link", name="month-end").click()
    grid = page.get_by_role("region", name="Steps and last runs")
    expect(grid.get_by_role("link", name=re.compile("^refunds: DEAD"))).to_have_attribute(
        "href", "#/runs/refunds.20260322T060000Z"
    )
    expect(grid.get_by_role("columnheader")).to_have_count(8)
    page.get_by_role("tab", name="Runs", exact=True).click()
    runs = page.get_by_role("grid", name="Runs")
    expect(runs.get_by_role("columnheader", name="Occurrence")).to_contain_text("UTC")
    expect(runs.get_by_role("link", name="2026-03-28 06:00", exact=True)).to_have_attribute(
        "href", "#/workflows/month-end/runs/20260328T060000Z"
    )
    page.get_by_role("tab", name="Steps", exact=True).click()
    jobs = page.get_by_role("grid", name="Steps of the workflow")
    expect(jobs.get_by_role("row", name=re.compile("^book"))).to_contain_text("orders, refunds")
    graph = page.get_by_role("region", name=re.compile("Graph of month-end"))
    graph.get_by_role("link", name="refunds").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="refunds")).to_be_visible()
    expect(page.get_by_role("link", name="month-end")).to_be_visible()


def test_workflow_pages_graph_shows_hundreds_of_steps(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    jobs = {
        f"job-{number:03}": {"job_id": f"job-{number:03}", "job": {"target": TARGET}, "after": after(number)}
        for number in range(400)
    }
    scheduler.client.put_workflow("wide", {"schedule": None, "jobs": jobs})
    page = open_page(console, "/workflows/wide")
    graph = page.get_by_role("region", name=re.compile("Graph of wide"))
    links = graph.get_by_role("link", name=re.compile("^job-"))
    expect(links).to_have_count(400)
    place = "each => { const {x, y} = each.getBoundingClientRect(); return `${x} ${y}`; }"
    assert len(set(links.evaluate_all(f"links => links.map({place})"))) == 400
    graph.get_by_role("searchbox", name="Find a step").fill("job-377")
    expect(graph.get_by_role("link", name="job-377")).to_be_in_viewport()
    size = graph.get_by_role("link", name="job-377").bounding_box()
    assert size is not None
    assert size["height"] > 12, "it can be read"


def after(number: int) -> list[str]:
    """Forty side by side, each after one of those before."""
    return [] if number < 40 else [f"job-{number - 40:03}"]


def test_workflow_pages_steps_are_shown_regardless_of_their_names(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    names = ["constructor", "__proto__", "toString"]
    jobs = {
        name: {"job_id": name, "job": {"target": TARGET}, "after": names[:number]} for number, name in enumerate(names)
    }
    scheduler.client.put_workflow("odd", {"schedule": "0 * * * *", "jobs": jobs})
    page = open_page(console, "/workflows/odd?tab=jobs")
    graph = page.get_by_role("region", name=re.compile("Graph of odd"))
    table = page.get_by_role("grid", name="Steps of the workflow")
    for name in names:
        expect(graph.get_by_role("link", name=name)).to_be_visible()
        expect(table.get_by_role("link", name=name)).to_be_visible()
    scheduler.client.pause_job("odd")  # another answer, which the page merges with the one before
    expect(page.get_by_text("PAUSED").first).to_be_visible(timeout=PATIENCE_MS)
    for name in names:
        expect(graph.get_by_role("link", name=name)).to_be_visible()
        expect(table.get_by_role("link", name=name)).to_be_visible()
    scheduler.client.resume_job("odd")
    scheduler.advance(hours=1)
    page = open_page(console, RUN.replace("close", "odd"))
    for name in names:
        expect(page.get_by_role("region", name=re.compile("Graph of")).get_by_role("link", name=name)).to_be_visible()


def test_workflow_pages_report_a_missing_workflow_and_a_missing_run(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/workflows/gone")
    expect(page.get_by_role("heading", name="Workflow not found")).to_be_visible()
    page = open_page(sampled, "/workflows/month-end/runs/20200101T000000Z")
    expect(page.get_by_role("heading", name="Run not found")).to_be_visible()


def test_workflow_pages_page_of_its_run_leads_to_the_steps(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/runs/month-end.20260322T060000Z")
    page.get_by_role("link", name="View the steps").click()
    expect(page.get_by_role("heading", level=1, name="Workflow run")).to_be_visible()
