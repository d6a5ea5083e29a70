"""Every page fits every screen: no page is wider than its window, and no cell has more than three lines."""

from collections.abc import Iterator, Mapping

import httpx
import pytest
from playwright.sync_api import Page, expect

from duecourse.client.bodies import HttpTarget, JobRequest
from duecourse.testing import Scheduler
from tests.console.conftest import NOW, Open
from tests.support.browser import layout_faults
from tests.support.console import ServedConsole, served_console

HTTP: HttpTarget = {"type": "http", "url": f"https://shop.example/{'orders-' * 40}"}
LONG = "import-of-the-orders-of-the-district-"
NAME = "Import of the orders of the district, with all of its branches, for the report of the controllers"
TRIED, WAITS = f"{LONG}tried", f"{LONG}waits"
PAYLOAD = {"district-of-the-branch": "orders-" * 60, "rows": [{"name": NAME}] * 20}
LISTS = ("/", "/jobs", "/runs", "/workflows", "/calendars", "/limits", "/dead-letters", "/stage")
PAGES = (*LISTS, "/jobs/new", f"/jobs/{LONG}00", f"/jobs/{LONG}00/edit", "/workflows/month-end")
WIDTHS = (390, 1280, 1440)
SCREENS = 5


@pytest.fixture(scope="module")
def filled(files: Mapping[str, bytes]) -> Iterator[ServedConsole]:
    """A stage with many jobs, long texts and a hundred dead runs."""
    scheduler = Scheduler(NOW)
    for number in range(60):
        job_id = f"{LONG}{number:02}"
        scheduler.client.create_job(
            {
                "id": job_id,
                "name": NAME,
                "schedule": f"{number} * * * *",
                "timezone": "America/Argentina/ComodRivadavia",
                "target": HTTP,
                "owner": "the-team-of-the-district",
                "tags": [f"district-of-the-branch-{tag}" for tag in range(4)],
                "retry": {"max_attempts": 1},
            }
        )
        if number % 2 == 0:
            scheduler.answer(job_id, status=500, body={"error": "no space left on device " * 80})
    step = {"job": {"target": HTTP, "retry": {"max_attempts": 1}}}
    names = [f"step-of-the-month-end-{number}" for number in range(6)]
    steps = {name: step | {"job_id": name, "after": names[:place][-2:]} for place, name in enumerate(names)}
    scheduler.client.put_workflow("month-end", {"name": NAME, "schedule": "0 * * * *", "jobs": steps})  # type: ignore[typeddict-item]
    scheduler.answer(names[3], status=422, body={"error": "no such account " * 80})
    once: JobRequest = {"name": NAME, "schedule": "0 * * * *", "max_runs": 1, "target": HTTP, "payload": PAYLOAD}
    scheduler.client.create_job(once | {"id": TRIED})
    busy = {"error": "no space left on device " * 80}
    scheduler.answer(TRIED, times=3, status=503, headers={"Retry-After": "60"}, body=busy)
    scheduler.answer(TRIED, body={"rows": ["orders-of-the-district" * 6] * 40})
    scheduler.client.create_job(once | {"id": WAITS, "completion": "callback", "completion_seconds": 86_400})
    scheduler.advance(hours=4)
    (waiting,) = [call for call in scheduler.calls if call.job_id == WAITS]
    said = {"progress": 0.5, "note": "district-of-the-branch-" * 8}
    headers = {"Authorization": f"Bearer {waiting.callback_token}"}
    with httpx.Client(base_url=scheduler.url, transport=scheduler.transport, headers=headers) as target:
        assert target.post(f"/v1/runs/{waiting.run_id}/heartbeat", json=said).is_success
    for number in range(0, 60, 7):
        scheduler.client.pause_job(f"{LONG}{number:02}", note="The template is being rewritten. " * 8)
    with served_console(scheduler, files) as console:
        yield console


@pytest.mark.parametrize("width", WIDTHS)
def test_layout_pages_with_many_long_rows_fit(filled: ServedConsole, open_page: Open, width: int) -> None:
    assert _faults(open_page(filled, "/nowhere"), filled.url, PAGES, width) == {}


@pytest.mark.parametrize("width", WIDTHS)
def test_layout_run_and_workflow_run_pages_fit(filled: ServedConsole, open_page: Open, width: int) -> None:
    """A dead run, one after retries, one that waits for its callback; the run of a workflow, and one of its steps."""
    page = open_page(filled, "/nowhere")
    jobs = (f"{LONG}00", TRIED, WAITS, "month-end", "step-of-the-month-end-3")
    runs = [filled.scheduler.client.list_runs(job).items[0] for job in jobs]
    assert [run.state for run in runs] == ["DEAD", "SUCCEEDED", "WAITING", "DEAD", "DEAD"]
    paths = (*(f"/runs/{run.id}" for run in runs), f"/workflows/month-end/runs/{runs[3].id.removeprefix('month-end.')}")
    assert not (faults := _faults(page, filled.url, paths, width)), faults


@pytest.mark.parametrize("width", WIDTHS)
def test_layout_pages_without_data_fit(console: ServedConsole, open_page: Open, width: int) -> None:
    assert _faults(open_page(console, "/nowhere"), console.url, (*LISTS, "/jobs/new", "/nowhere"), width) == {}


def test_layout_twenty_runs_fill_a_large_screen(filled: ServedConsole, open_page: Open) -> None:
    page = open_page(filled, "/nowhere")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{filled.url}#/runs")
    expect(page.get_by_role("row").nth(20)).to_be_visible()
    seen = [row.bounding_box() for row in page.get_by_role("row").all()]
    assert sum(1 for box in seen if box is not None and box["y"] + box["height"] <= 900) >= 15
    assert {round(box["height"]) for box in seen[1:] if box is not None} <= {38, 39, 40, 41}, "each has one line"


@pytest.mark.parametrize("path", ["/jobs", "/runs", "/dead-letters"])
def test_layout_phone_shows_cards_with_the_job_name_first(filled: ServedConsole, open_page: Open, path: str) -> None:
    page = open_page(filled, "/nowhere")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{filled.url}#{path}")
    card = page.locator("main li").filter(has=page.get_by_role("link", name=LONG)).last
    expect(card).to_be_visible()
    assert card.inner_text().startswith(LONG)
    assert page.evaluate("document.documentElement.scrollHeight") <= SCREENS * 844


def test_layout_whole_error_is_shown_on_request(filled: ServedConsole, open_page: Open) -> None:
    page = open_page(filled, "/runs?state=DEAD")
    page.get_by_role("row").nth(1).get_by_role("button", name="no space left on device").click()
    shown = page.get_by_role("dialog")
    expect(shown).to_contain_text("no space left on device " * 7)
    page.keyboard.press("Escape")
    expect(shown).to_have_count(0)


def _faults(page: Page, url: str, paths: tuple[str, ...], width: int) -> dict[tuple[str, str], list[str]]:
    """What does not fit, by page and theme."""
    page.set_viewport_size({"width": width, "height": 900})
    found = {}
    for theme in ("light", "dark"):
        page.evaluate("theme => localStorage.setItem('duecourse-theme', theme)", theme)
        for path in paths:
            page.goto("about:blank")  # within one document the network is idle once, whatever is requested later
            page.goto(f"{url}#{path}")
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            page.wait_for_load_state("networkidle")
            if faults := layout_faults(page):
                found[path, theme] = faults
    return found
