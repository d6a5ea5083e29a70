"""The list of all tenants: for operators of a stage that has an operator tenant."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, Route, expect

from duecourse.testing import Scheduler
from tests.console.conftest import NOW, Open
from tests.support.browser import accessibility_faults, layout_faults
from tests.support.console import SETTINGS, ServedConsole, served_console

PLACES = "Find tenants by a part of their name"


def tenant(name: str | None, **more: Any) -> dict[str, Any]:
    return {
        "tenant": name,
        "state": "active",
        "jobs": 0,
        "paused": 0,
        "quota_used": 0,
        "running": 0,
        "waiting": 0,
        "oldest_waiting_seconds": None,
        "runs_per_day": 0,
        "dollars_per_day": 0.0,
        **more,
    }


LIST: dict[str, Any] = {
    "as_of": "2026-03-28T02:00:00Z",
    "quota": 10_000,
    "all_runs_counted": True,
    "objectives": [
        {"name": "lateness", "target": 0.99, "share": 0.9987, "budget_used": 0.13},
        {"name": "availability", "target": 0.999, "share": None, "budget_used": None},
    ],
    "tenants": [
        tenant("retail", jobs=9_120, paused=31, quota_used=9_118, runs_per_day=1_312_840, dollars_per_day=8.0214),
        tenant(
            "logistics-europe-west-and-nordics",
            jobs=412,
            quota_used=412,
            running=12,
            waiting=1_204,
            oldest_waiting_seconds=5_400,
            runs_per_day=9_888,
            dollars_per_day=0.0604,
        ),
        tenant("billing", jobs=37, quota_used=37, runs_per_day=37, dollars_per_day=0.0002),
        tenant("trial", state="suspended", jobs=8, paused=8, quota_used=8),
        tenant("former-customer", state="erased"),
    ],
}


@pytest.fixture(scope="module")
def operated(files: Mapping[str, bytes]) -> Iterator[ServedConsole]:
    """The page of a stage that has an operator tenant."""
    with served_console(Scheduler(NOW), files, SETTINGS | {"operator_view": True}) as console:
        yield console


def answering(page: Page, body: dict[str, Any], status: int = 200) -> None:
    def answer(route: Route) -> None:
        kind = "application/json" if status == 200 else "application/problem+json"
        route.fulfill(json=body, status=status, headers={"content-type": kind})

    page.route("**/v1/tenants", answer)


def at_tenants(
    open_page: Open,
    console: ServedConsole,
    body: dict[str, Any] = LIST,
    width: int = 1440,
    theme: Literal["light", "dark"] = "light",
) -> Page:
    page = open_page(console, "/nowhere", theme)
    page.set_viewport_size({"width": width, "height": 900})
    answering(page, body)
    page.goto("about:blank")
    page.goto(f"{console.url}#/tenants")
    expect(page.get_by_role("heading", level=1, name="Tenants")).to_be_visible()
    return page


def sort_by(page: Page, column: str) -> None:
    page.get_by_role("columnheader", name=column).get_by_role("button").first.click(
        force=True
    )  # its sticky copy is above it


def names(page: Page) -> list[str]:
    return [cell.inner_text() for cell in page.get_by_role("rowheader").all()]


def test_tenants_page_lists_the_figures_and_the_objectives(operated: ServedConsole, open_page: Open) -> None:
    page = at_tenants(open_page, operated)
    expect(page.get_by_role("heading", level=1)).to_contain_text("(5)")
    row = page.get_by_role("row", name=re.compile("^logistics"))
    for text in ("active", "412", "4%", "12", "1,204", "1 h 30 min", "9,888", "$0.06"):
        expect(row).to_contain_text(text)
    expect(page.get_by_role("row", name=re.compile("^billing"))).to_contain_text("< $0.01")
    expect(page.get_by_role("row", name=re.compile("^trial"))).to_contain_text("suspended")
    expect(page.get_by_role("region", name="Objectives")).to_contain_text("13% of the error budget used")
    expect(page.get_by_text(re.compile("Jobs were counted at"))).to_be_visible()


def test_tenants_page_sorts_by_any_column_and_finds_by_name(operated: ServedConsole, open_page: Open) -> None:
    page = at_tenants(open_page, operated)
    expect(page.get_by_role("rowheader")).to_have_count(5)
    assert names(page)[0] == "retail"
    sort_by(page, "Longest wait")
    expect(page.get_by_role("rowheader").first).to_have_text("logistics-europe-west-and-nordics")
    sort_by(page, "Tenant")
    expect(page.get_by_role("rowheader").first).to_have_text("billing")
    page.get_by_role("searchbox", name=PLACES).fill("TRI")
    expect(page.get_by_role("rowheader")).to_have_count(1)
    page.get_by_role("searchbox", name=PLACES).fill("nothing")
    expect(page.get_by_text("No tenants match. Change the text.")).to_be_visible()


def test_tenants_page_shows_a_thousand_tenants_in_pages_and_the_others_last(
    operated: ServedConsole, open_page: Open
) -> None:
    many = [tenant(f"tenant-{number:04}", jobs=number) for number in range(1000)]
    page = at_tenants(
        open_page, operated, LIST | {"tenants": [*many, tenant(None, jobs=50)], "all_runs_counted": False}
    )
    expect(page.get_by_role("rowheader")).to_have_count(50)
    expect(page.get_by_text("the actual numbers may be higher")).to_be_visible()
    page.get_by_role("button", name=re.compile(r"\b21\b")).click()
    expect(page.get_by_role("rowheader")).to_have_text(["All others"])


def test_tenants_page_says_before_the_first_count_that_there_is_none(operated: ServedConsole, open_page: Open) -> None:
    page = at_tenants(open_page, operated, LIST | {"as_of": None, "tenants": [], "objectives": None})
    expect(page.get_by_text("Jobs have not been counted yet. A daily check counts them.")).to_be_visible()
    expect(page.get_by_text("No tenant has jobs yet.")).to_be_visible()


def test_tenants_page_is_in_the_menu_only_if_the_api_lists_tenants(operated: ServedConsole, open_page: Open) -> None:
    page = open_page(operated, "/nowhere")
    answering(page, LIST)
    page.reload()
    menu = page.get_by_role("navigation")
    menu.get_by_role("link", name="Tenants", exact=True).click()
    expect(page).to_have_title("Tenants · Duecourse test")
    refused = {"type": "/problems/not-operator", "title": "Forbidden", "status": 403, "detail": "Use another token."}
    page.unroute("**/v1/tenants")
    answering(page, refused | {"errors": [], "request_id": "r"}, 403)
    page.reload()
    expect(page.get_by_text("Use another token.")).to_be_visible()
    expect(menu.get_by_role("link", name="Stage", exact=True)).to_be_visible()
    expect(menu.get_by_role("link", name="Tenants", exact=True)).to_have_count(0)


def test_tenants_page_of_a_stage_without_operators_asks_for_nothing(sampled: ServedConsole, open_page: Open) -> None:
    page, asked = open_page(sampled, "/nowhere"), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{sampled.url}#/tenants")
    expect(page.get_by_text("This stage has no operator tenant.")).to_be_visible()
    assert not [url for url in asked if "/v1/tenants" in url]


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_tenants_page_fits_its_window_and_is_accessible(
    operated: ServedConsole, open_page: Open, width: int, theme: Literal["light", "dark"], tmp_path: Path
) -> None:
    page = at_tenants(open_page, operated, width=width, theme=theme)
    expect(page.get_by_text("logistics-europe-west-and-nordics")).to_be_visible()
    page.screenshot(path=Path(os.environ.get("DUECOURSE_SHOTS", tmp_path)) / f"tenants-{width}-{theme}.png")
    assert layout_faults(page) == []
    assert accessibility_faults(page) == []
