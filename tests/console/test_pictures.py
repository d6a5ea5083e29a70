"""The pictures of the documentation: each is a page of the sample stage, and made here.

`make pictures` keeps them in docs/pictures; a plain test run makes them and keeps none.
"""

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.console.conftest import Open
from tests.support.console import ServedConsole
from tests.support.template import ROOT

PICTURES = {
    "overview": "/",
    "jobs": "/jobs",
    "job": "/jobs/nightly-report",
    "create": "/jobs/new",
    "workflow-run": "/workflows/month-end/runs/20260322T060000Z",
    "dead-letters": "/dead-letters",
}
"""What they show, by their names."""


@pytest.mark.parametrize("name", PICTURES)
def test_screenshots_each_picture_is_made(sampled: ServedConsole, open_page: Open, name: str, tmp_path: Path) -> None:
    page = open_page(sampled, PICTURES[name])
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_load_state("networkidle")
    kept = os.environ.get("DUECOURSE_PICTURES")
    file = (ROOT / kept if kept else tmp_path) / f"{name}.png"
    page.screenshot(path=file)
    assert file.stat().st_size > 10_000, "it shows more than an empty page"


def test_screenshots_every_picture_in_the_documentation_is_made() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {
        line.split("pictures/", 1)[1].split(".png", 1)[0]
        for page in pages
        for line in page.read_text().splitlines()
        if "pictures/" in line and ".png" in line
    }
    assert shown <= set(PICTURES)
