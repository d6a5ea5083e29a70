"""The frame around the console's pages."""

import re

import pytest
from playwright.sync_api import Route, expect

from tests.console.conftest import Open
from tests.support.browser import accessibility_faults
from tests.support.console import ServedConsole

PAGES = (
    *(
        "/",
        "/jobs",
        "/jobs/new",
        "/runs",
        "/workers",
        "/workflows",
        "/calendars",
        "/limits",
        "/keys",
        "/dead-letters",
        "/stage",
        "/nowhere",
    ),
    *("/jobs/broken-export", "/jobs/nightly-report/edit", "/runs/refunds.20260322T060000Z"),
    *("/workflows/month-end", "/workflows/month-end/runs/20260322T060000Z"),
)


@pytest.mark.parametrize("path", PAGES)
def test_page_frame_has_no_serious_axe_violations_in_either_theme(
    sampled: ServedConsole, open_page: Open, path: str
) -> None:
    page = open_page(sampled, path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_load_state("networkidle")
    light = accessibility_faults(page)
    page.get_by_role("button", name="Use the dark theme").click()
    expect(page.get_by_role("button", name="Use the light theme")).to_be_visible()
    assert (light, accessibility_faults(page)) == ([], [])


@pytest.mark.parametrize("path", ["/", "/jobs", "/jobs/nightly-report"])
def test_page_frame_has_no_serious_axe_violations_on_a_small_screen(
    sampled: ServedConsole, open_page: Open, path: str
) -> None:
    page = open_page(sampled, path)
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    closed = accessibility_faults(page)
    page.get_by_role("button", name="Open side navigation").click()
    expect(page.get_by_role("link", name="Dead letters", exact=True)).to_be_visible()
    assert (closed, accessibility_faults(page)) == ([], [])


def test_page_frame_first_tab_stop_skips_the_menu(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/jobs")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("Tab")
    link = page.get_by_role("button", name="Skip to content")
    expect(link).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('#content').contains(document.activeElement)")
    expect(page).to_have_url(re.compile("#/jobs$"))


def test_page_frame_keeps_the_focus_when_a_list_is_loaded(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/v1/jobs?*limit=50*", hold)
    page.get_by_role("navigation").get_by_role("link", name="Jobs", exact=True).click()
    page.get_by_role("button", name="Actions").focus()
    focused = page.evaluate_handle("document.activeElement")
    assert held
    for each in held:
        each.continue_()
    expect(page.get_by_text("nightly-report", exact=True)).to_be_visible()
    expect(page.get_by_role("columnheader", name="Note")).to_be_visible()
    assert page.evaluate("before => before === document.activeElement", focused)


def test_page_frame_menu_links_to_every_page(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled)
    for name in ("Jobs", "Runs", "Workflows", "Calendars", "Limits", "Dead letters", "Stage", "Overview"):
        page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("heading", level=1, name=re.compile(name))).to_be_visible()


def test_page_frame_title_names_the_current_page(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/jobs/hourly-sync")
    expect(page).to_have_title("hourly-sync · Jobs · Duecourse test")
    page.get_by_role("navigation").get_by_role("link", name="Runs", exact=True).click()
    expect(page).to_have_title("Runs · Duecourse test")


def test_page_frame_detail_pages_show_breadcrumbs(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/workflows/month-end/runs/20260322T060000Z")
    way = page.get_by_role("navigation", name="Breadcrumbs")
    expect(way.get_by_role("link", name="20260322T060000Z")).to_be_visible()
    way.get_by_role("link", name="month-end").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="month-end")).to_be_visible()
    way.get_by_role("link", name="Workflows").click()
    expect(page.get_by_role("heading", level=1, name="Workflows")).to_be_visible()
    expect(way).to_have_count(0)


def test_page_frame_bar_stays_above_what_sticks_below_it(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/jobs")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 300})
        expect(page.get_by_role("link", name="nightly-report")).to_be_visible()
        page.evaluate("scrollTo(0, 400)")
        bars = "#top-bar, header, nav, [class*=toolbar]"
        at = "([y, bars]) => document.elementFromPoint(innerWidth / 2, y).closest(bars) !== null"
        tops = [page.evaluate(at, [y, bars]) for y in (0, 20, 60)]
        assert tops == [True, True, True], "no row shows through"
        assert page.locator("#top-bar").bounding_box()["y"] == 0  # type: ignore[index]


def test_page_frame_address_may_end_with_a_slash(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/nowhere")
    page.goto(f"{sampled.url}/#/jobs")
    expect(page.get_by_role("link", name="nightly-report")).to_be_visible()
    expect(page).to_have_url(f"{sampled.url}#/jobs")


def test_page_frame_unknown_address_is_reported(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/nowhere")
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
