"""The frame around the console's pages."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from playwright.sync_api import expect

from tests.console.conftest import Open
from tests.support.browser import accessibility_faults
from tests.support.console import ServedConsole

pytestmark = pytest.mark.long

PAGES = (
    "/",
    "/jobs",
    "/jobs/new",
    "/jobs/nightly-report/edit",
    "/runs",
    "/workflows",
    "/dead-letters",
    "/stage",
    "/nowhere",
)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_no_serious_fault(
    sampled: ServedConsole, open_page: Open, path: str, theme: Literal["light", "dark"]
) -> None:
    page = open_page(sampled, path, theme)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_load_state("networkidle")

    assert accessibility_faults(page) == []


def test_the_menu_leads_to_every_page(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled)
    for name in ("Jobs", "Runs", "Workflows", "Dead letters", "Stage", "Overview"):
        page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("heading", level=1, name=re.compile(name))).to_be_visible()


def test_an_address_of_nothing_says_so(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/nowhere")
    expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()
