"""The pictures of the documentation: each is a page of the sample stage, and made here.

`make pictures` keeps them in docs/pictures; a plain test run makes them and keeps none. `make pictures SIZES=all`
also keeps those of a phone, of a wide screen and of the dark theme, to be looked at; git does not have these.
"""

import os
import re
from pathlib import Path
from typing import Literal

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

WIDTHS = {390: 844, 1280: 900, 1440: 900}
"""The widths of a phone, a laptop and a desktop, with their heights (CSS pixels)."""

UNREAD = re.compile("Loading|Drawing|Reading|Counting")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PICTURES)
def test_screenshots_each_picture_is_made(
    sampled: ServedConsole, open_page: Open, name: str, width: int, theme: Literal["light", "dark"], tmp_path: Path
) -> None:
    page = open_page(sampled, "/none", theme)
    page.set_viewport_size({"width": width, "height": WIDTHS[width]})
    page.goto("about:blank")
    page.goto(f"{sampled.url}#{PICTURES[name]}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_load_state("networkidle")
    expect(page.locator("main")).not_to_contain_text(UNREAD)
    kept = os.environ.get("DUECOURSE_PICTURES")
    documented = (width, theme) == (1280, "light")
    folder = ROOT / kept if kept and (documented or os.environ.get("DUECOURSE_SIZES") == "all") else tmp_path
    file = folder / (f"{name}.png" if documented else f"{name}-{width}-{theme}.png")
    page.screenshot(path=file)
    assert file.stat().st_size > 10_000, "it shows more than an empty page"
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_screenshots_every_picture_in_the_documentation_is_made() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {
        line.split("pictures/", 1)[1].split(".png", 1)[0]
        for page in pages
        for line in page.read_text().splitlines()
        if "pictures/" in line and ".png" in line
    }
    assert shown <= set(PICTURES)
