"""The overview: what needs attention, what runs now, and the load to come."""

import re
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from duecourse.client.bodies import HttpTarget, JobRequest
from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.browser import accessibility_faults, assert_fits
from tests.support.console import ServedConsole

HTTP: HttpTarget = {"type": "http", "url": "https://shop.example/hooks"}
STATS = re.compile("/v1/stats")
ONCE: JobRequest = {"target": HTTP, "schedule": "0 * * * *", "retry": {"max_attempts": 1}}


def test_overview_of_an_empty_stage_shows_the_first_step(console: ServedConsole, open_page: Open) -> None:
    page = open_page(console)
    expect(page.get_by_role("heading", name="The first step")).to_be_visible()
    expect(page.get_by_role("heading", name="Needs attention")).to_have_count(0)
    page.get_by_role("link", name="Create the first job").click()
    expect(page.get_by_role("heading", name="Create job")).to_be_visible()


def test_overview_names_what_is_wrong_and_redrives_it(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    notes: JobRequest = {"owner": "finance", "tags": ["crm"], "runbook_url": "https://wiki.example/export"}
    scheduler.client.create_job({"id": "export", **ONCE, **notes})
    scheduler.client.create_job({"id": "mail", **ONCE})
    scheduler.answer("export", status=500, body="the disk is full", times=2)
    scheduler.advance(hours=2, minutes=1)
    page = open_page(console)
    expect(page.get_by_role("status").first).to_have_text(re.compile("^1 job failing · 15:01:00$"))
    failed = page.get_by_role("listitem").filter(has=page.get_by_role("button", name="Redrive export"))
    expect(failed).to_contain_text("dead ×2")
    expect(failed).to_contain_text(re.compile("http.500 ?the disk is full"))
    expect(failed).to_contain_text("since 1 h ago, last 1 min ago")
    expect(failed.get_by_role("img", name="Last 2 runs, oldest first: DEAD, DEAD")).to_be_visible()
    expect(failed.get_by_role("link", name="Runbook")).to_have_attribute("href", "https://wiki.example/export")
    expect(page.get_by_role("button", name="Redrive mail")).to_have_count(0)
    assert accessibility_faults(page) == []
    failed.get_by_role("button", name="Only owner finance").click()
    expect(page).to_have_url(re.compile("owner=finance"))
    expect(failed).to_be_visible()
    page.go_back()
    failed.get_by_role("button", name="Redrive export").click()
    dialog = page.get_by_role("dialog", name="Redrive dead runs")
    dialog.get_by_role("button", name="Redrive 2 runs").click()
    expect(page.get_by_text("The redrive of 2 runs has started.")).to_be_visible()
    scheduler.advance(seconds=10)
    assert len(scheduler.client.list_runs("export", state="SUCCEEDED").items) == 2
    page.reload()
    expect(page.get_by_role("status").first).to_have_text(re.compile("^Nothing needs attention · "))


def test_overview_job_is_paused_with_a_reason(scheduler: Scheduler, console: ServedConsole, open_page: Open) -> None:
    scheduler.client.create_job({"id": "export", **ONCE})
    scheduler.answer("export", status=500)
    scheduler.advance(hours=1)
    page = open_page(console)
    page.get_by_role("button", name="Pause export").click()
    dialog = page.get_by_role("dialog", name="Pause export")
    dialog.get_by_role("textbox", name="Reason").fill("the disk is full")
    dialog.get_by_role("textbox", name="Reason").press("Enter")
    expect(dialog).to_have_count(0)
    expect(page.get_by_text("paused", exact=True)).to_be_visible()
    assert scheduler.client.get_job("export").paused_because == "the disk is full"


def test_overview_dead_runs_are_found_beside_more_skipped_runs_than_are_read(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    for number in range(12):
        scheduler.client.create_job({"id": f"nightly-{number:02}", **ONCE, "schedule": "5 12 * * *"})
        scheduler.answer(f"nightly-{number:02}", status=500, body="the disk is full")
    minutely: JobRequest = {"schedule": "* * * * *", "target": HTTP, "completion": "callback", "overlap": "skip"}
    scheduler.client.create_job({"id": "minutely", **minutely})
    scheduler.advance(hours=8, minutes=40)
    page = open_page(console)
    expect(page.get_by_role("heading", name="Needs attention (12)")).to_be_visible()
    expect(page.get_by_role("status").first).to_have_text(re.compile("^12 jobs failing · "))
    redrives = page.get_by_role("button", name=re.compile("^Redrive nightly-"))
    expect(redrives).to_have_count(10)
    page.get_by_role("button", name="Next page").click()
    expect(redrives).to_have_count(2)
    expect(page).to_have_url(re.compile("page=2"))
    page.go_back()
    expect(redrives).to_have_count(10)


def test_overview_redrive_of_a_job_includes_its_dead_runs_that_were_not_loaded(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job(
        {"id": "export", "schedule": "* * * * *", "target": HTTP, "retry": {"max_attempts": 1}, "overlap": "allow"}
    )
    scheduler.answer("export", status=500, times=510)
    scheduler.advance(minutes=510)
    page = open_page(console)
    expect(page.get_by_role("status").first).to_have_text(re.compile("^at least 1 job failing"))
    page.get_by_role("button", name="Redrive export").click()
    dialog = page.get_by_role("dialog", name="Redrive dead runs")
    dialog.get_by_role("spinbutton", name="Pace").fill("1000")
    dialog.get_by_role("button", name="Redrive 510 runs").click()
    expect(page.get_by_text("The redrive of 510 runs has started.")).to_be_visible()
    scheduler.advance(minutes=2)
    assert scheduler.client.list_dead_runs().items == ()


def test_overview_is_not_green_without_a_connection_or_with_a_truncated_read(
    scheduler: Scheduler, console: ServedConsole, context: BrowserContext, open_page: Open
) -> None:
    scheduler.client.create_job({"id": "export", **ONCE})
    page = open_page(console)
    expect(page.get_by_role("status").first).to_have_text(re.compile("^Nothing needs attention · 13:00:00$"))
    context.set_offline(True)
    page.clock.set_fixed_time(scheduler.now + timedelta(minutes=1))
    page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
    expect(page.get_by_role("status").first).to_have_text(re.compile("^No problem among the data that were read"))
    context.set_offline(False)

    def cut(route: Route) -> None:
        route.fulfill(json={"items": [], "next_cursor": "there-is-more"})

    page.route(re.compile("/v1/runs.state=DEAD"), cut)
    page.reload()
    expect(page.get_by_role("status").first).to_have_text(re.compile("not known: jobs failing"))
    expect(page.get_by_text("Nothing needs attention")).to_have_count(0)


def test_overview_is_not_green_with_a_filter_whose_jobs_are_unknown(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job({"id": "export", "owner": "finance", **ONCE})
    scheduler.answer("export", status=500)
    scheduler.advance(hours=1, minutes=1)
    page = open_page(console, "/nowhere")
    asked = list[str]()

    def endless(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(json={"items": [], "next_cursor": str(len(asked))})

    def refused(route: Route) -> None:
        route.fulfill(status=403, json={"title": "Forbidden", "detail": "No."})

    for handler in (endless, refused):
        page.unroute_all()
        page.route(re.compile(r"/v1/jobs\?owner=finance"), handler)
        page.goto("about:blank")
        page.goto(f"{console.url}#/?owner=finance")
        expect(page.get_by_role("status").first).to_have_text(re.compile("; not known: jobs failing"))
    assert len(asked) == 10


def test_overview_runs_in_progress_are_named_with_their_usual_duration(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job({"id": "render", "schedule": "0 * * * *", "target": HTTP, "completion": "callback"})
    page = open_page(console)
    expect(page.get_by_text("There are no such runs.")).to_be_visible()
    scheduler.advance(hours=1)
    (call,) = scheduler.calls
    scheduler.advance(minutes=4)
    assert call.callback_token is not None
    scheduler.client.complete_run(call.run_id, call.callback_token)
    scheduler.advance(hours=1, minutes=6)
    page.clock.set_fixed_time(scheduler.now)
    page.reload()
    run = page.get_by_role("listitem").filter(has_text="waiting, 10 min (usually 4 min)")
    expect(run.get_by_role("link", name="render")).to_have_attribute("href", "#/runs/render.20260328T140000Z")


def test_overview_makes_at_most_fifteen_requests_a_minute(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/nowhere")
    page.clock.install(time=sampled.scheduler.now)
    page.reload()
    page.get_by_role("navigation").get_by_role("link", name="Overview").click()
    expect(page.get_by_role("button", name="Redrive broken-export")).to_be_visible()
    page.wait_for_load_state("networkidle")
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url.rpartition("/v1/")[2]))
    for _ in range(12):
        page.clock.run_for(5_000)
        page.wait_for_timeout(100)  # for the responses, which take no time of the page's clock
    assert 5 <= len(asked) <= 15, asked


def test_overview_late_and_inactive_jobs_are_named(sampled: ServedConsole, open_page: Open) -> None:
    def troubled(route: Route) -> None:
        wrong = {"late": 7, "late_jobs": ["month-end", *"bcdefg"], "uncounted": 1, "uncounted_jobs": ["broken"]}
        route.fulfill(json={**route.fetch().json(), **wrong})

    page = open_page(sampled, "/nowhere")
    page.route("**/v1/upcoming**", troubled)
    page.get_by_role("navigation").get_by_role("link", name="Overview").click()
    expect(page.get_by_role("status").first).to_have_text(re.compile("^1 job failing, 7 overdue, 1 not firing · "))
    late = page.get_by_role("listitem").filter(has_text="overdue")
    expect(late).to_have_count(7)
    expect(late.get_by_role("link", name="month-end")).to_have_attribute("href", "#/jobs/month-end")
    expect(page.get_by_role("listitem").filter(has_text="does not fire").get_by_role("link")).to_have_text(["broken"])


def test_overview_load_of_many_jobs_is_counted_completely_within_the_request_limit(
    sampled: ServedConsole, open_page: Open
) -> None:
    asked = list[str]()

    def limited(route: Route) -> None:
        cursor = parse_qs(urlsplit(route.request.url).query).get("cursor", ["1"])[0]
        asked.append(cursor)
        if asked.count(cursor) == 1:
            route.fulfill(status=429, json={"title": "Too many requests"}, headers={"Retry-After": "1"})
            return
        following = None if cursor == "5" else str(int(cursor) + 1)
        first = route.fetch(url=re.sub("&cursor=[0-9]", "", route.request.url)).json()
        route.fulfill(json={**first, "jobs": 1000, "paused": 2, "next_cursor": following})

    page = open_page(sampled, "/nowhere")
    page.route("**/v1/upcoming**", limited)
    page.get_by_role("navigation").get_by_role("link", name="Overview").click()
    expect(page.get_by_role("link", name="Paused jobs: 10")).to_be_visible(timeout=60_000)
    assert asked == [each for each in "12345" for _ in range(2)]


def test_overview_stopped_clock_is_reported_with_its_runbook(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/nowhere")
    page.route(STATS, _late)
    page.get_by_role("navigation").get_by_role("link", name="Overview").click()
    expect(page.get_by_text("Ticks are not running")).to_be_visible()
    expect(page.get_by_text("runbooks.md#ticks-missing")).to_be_visible()


def test_overview_runs_of_the_last_24_hours_are_drawn_by_hour(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled)
    chart = page.get_by_role("img", name=re.compile("^Runs that succeeded or failed permanently, by hour; [0-9]+ at"))
    expect(chart.locator(".bars-bar")).to_have_count(24)
    expect(chart.locator(".bars-unknown")).to_have_count(0)
    expect(page.get_by_text(re.compile("^[0-9]+ succeeded, [0-9]+ failed permanently$"))).to_be_visible()
    bars = [bar.get_attribute("title") or "" for bar in chart.locator(".bars-bar").all()]
    assert re.fullmatch("14:00: [1-9] succeeded, 0 failed permanently", bars[0]), bars[0]
    assert any("1 failed permanently" in bar for bar in bars)


def test_overview_hours_before_the_first_count_are_hatched(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job({"id": "export", **ONCE})
    page = open_page(console)
    expect(page.get_by_text("No runs have been counted.")).to_be_visible()
    scheduler.advance(hours=2)
    page.clock.set_fixed_time(scheduler.now)
    page.reload()
    expect(page.get_by_text("Counted since 03-28 14:00")).to_be_visible()
    assert page.locator(".bars-unknown").count() == 22
    assert accessibility_faults(page) == []


def test_overview_chart_says_that_it_is_not_up_to_date_or_not_known(
    sampled: ServedConsole, context: BrowserContext, open_page: Open
) -> None:
    page = open_page(sampled)
    expect(page.locator(".bars-bar")).to_have_count(24)
    context.set_offline(True)
    page.clock.set_fixed_time(sampled.scheduler.now + timedelta(minutes=1))
    page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
    expect(page.get_by_text("Not up to date: as of 03-28 13:00")).to_be_visible(timeout=60_000)
    expect(page.locator(".bars-bar")).to_have_count(24)
    context.set_offline(False)
    page.route(STATS, lambda route: route.fulfill(status=403, json={"title": "Forbidden", "detail": "No."}))
    page.reload()
    expect(page.locator(".hours").get_by_text("Not known")).to_be_visible()
    expect(page.locator(".bars-bar")).to_have_count(0)


@pytest.mark.parametrize("width", [390, 1280])
def test_overview_chart_keeps_its_place_while_the_page_loads(
    sampled: ServedConsole, open_page: Open, width: int
) -> None:
    page = open_page(sampled, "/nowhere")
    page.set_viewport_size({"width": width, "height": 900})
    waiting = list[Route]()

    def hold(route: Route) -> None:
        waiting.append(route)

    page.route(STATS, hold)
    page.get_by_role("heading", level=1).wait_for()
    page.goto(sampled.url)
    hours = page.locator(".hours")
    expect(hours.get_by_text("Loading")).to_be_visible()
    before = hours.bounding_box()
    while not waiting:
        page.wait_for_timeout(10)
    for route in waiting:
        route.continue_()
    expect(hours.locator(".bars-bar")).to_have_count(24)
    after = hours.bounding_box()
    assert before is not None
    assert after is not None
    assert after["height"] == before["height"]


def _late(route: Route) -> None:
    answer = route.fetch()
    route.fulfill(
        json={**answer.json(), "status": "late", "tick": {"last": "2026-03-28T11:50:00Z", "age_seconds": 600}}
    )


def test_overview_fits_a_phone(sampled: ServedConsole, open_page: Open) -> None:
    page: Page = open_page(sampled, "/nowhere")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(sampled.url)
    expect(page.get_by_role("button", name="Redrive broken-export")).to_be_visible()
    assert_fits(page)
