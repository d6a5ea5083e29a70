"""The editor of workflows: JSON, the graph beside it, and the API's check while it is written."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.browser import accessibility_faults, layout_faults
from tests.support.console import ServedConsole

TARGET = {"type": "http", "url": "https://shop.example/hooks"}
JOBS: dict[str, Any] = {
    "extract": {"job_id": "extract", "job": {"target": TARGET}},
    "load": {"job_id": "load", "after": ["extract"], "job": {"target": TARGET}},
}


def text_of(page: Page) -> Locator:
    return page.get_by_role("textbox", name="The workflow as JSON")


def write(page: Page, document: object) -> None:
    text_of(page).fill(json.dumps(document))


def test_workflow_editor_creates_from_json_that_the_api_validates_while_typing(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    page = open_page(console, "/workflows")
    page.get_by_role("button", name="Create workflow").or_(page.get_by_role("link", name="Create workflow")).click()
    expect(page.get_by_role("heading", level=1, name="Create workflow")).to_be_visible()
    check = page.get_by_role("region", name="API validation")
    graph = page.get_by_role("region", name=re.compile("^Graph of the steps"))
    expect(check).to_contain_text("Creates my-workflow--extract, my-workflow--load, my-workflow.")
    jobs = {**JOBS, "load": {"job_id": "load", "after": ["extrakt"], "job": {"target": TARGET}}}
    write(page, {"id": "close", "schedule": "0 * * * *", "jobs": jobs})
    expect(check).to_contain_text("extrakt")
    expect(graph.get_by_text("load", exact=True)).to_be_visible()
    text_of(page).fill('{"id": "close"')
    expect(page.get_by_text("Invalid JSON")).to_be_visible()
    expect(page.get_by_role("button", name="Create workflow")).to_be_disabled()
    write(page, {"id": "close", "schedule": "0 * * * *", "jobs": JOBS})
    expect(check).to_contain_text("The workflow is valid")
    expect(check).to_contain_text("every hour at minute 0, UTC")
    assert not scheduler.client.list_jobs().items
    page.get_by_role("button", name="Create workflow").click()
    expect(page.get_by_role("heading", level=1, name="close")).to_be_visible()
    assert [call.job_id for call in scheduler.advance(hours=1)] == ["extract", "load"]


def test_workflow_editor_shows_own_changes_and_concurrent_changes_by_another_user(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.put_workflow("close", {"schedule": "0 * * * *", "jobs": JOBS})
    page = open_page(console, "/workflows/close")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Edit").click()
    expect(page.get_by_role("heading", level=1, name="Edit close")).to_be_visible()
    document = json.loads(text_of(page).input_value())
    assert document["jobs"]["load"]["after"] == ["extract"]
    document["jobs"]["report"] = {"after": ["load"], "job": {"target": TARGET}}
    write(page, document)
    expect(page.get_by_role("region", name="API validation")).to_contain_text("Creates close--report.")
    scheduler.client.put_workflow("close", {"schedule": "30 * * * *", "jobs": JOBS})
    page.get_by_role("button", name="Review changes").click()
    dialog = page.get_by_role("dialog", name="This workflow was changed by another user")
    expect(dialog.get_by_role("row", name=re.compile("^schedule"))).to_contain_text("30 * * * *")
    dialog.get_by_role("button", name="Apply my changes to the new version").click()
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Review changes").click()
    dialog = page.get_by_role("dialog", name="Save close?")
    expect(dialog).to_contain_text("Creates close--report.")
    expect(dialog.get_by_role("row", name=re.compile("^jobs.report"))).to_be_visible()
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1, name="close", exact=True)).to_be_visible()
    stored = scheduler.client.get_workflow("close")
    assert (stored.schedule, list(stored.jobs)) == ("30 * * * *", ["extract", "load", "report"])


def test_workflow_editor_does_not_replace_an_existing_workflow_with_a_new_one(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.put_workflow("close", {"schedule": "0 * * * *", "jobs": JOBS})
    page = open_page(console, "/workflows/new")
    write(page, {"id": "close", "schedule": None, "jobs": JOBS})
    expect(page.get_by_role("region", name="API validation")).to_contain_text("close already exists")


@pytest.mark.parametrize("path", ["/workflows/new", "/workflows/month-end/edit"])
def test_workflow_editor_is_accessible_and_fits_every_window(
    sampled: ServedConsole, open_page: Open, path: str
) -> None:
    page = open_page(sampled, path)
    expect(page.get_by_role("region", name="API validation")).to_contain_text("The workflow is valid")
    assert accessibility_faults(page) == []
    for width in (390, 1280, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert layout_faults(page) == []
