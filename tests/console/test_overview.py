"""The overview: what failed or is late, the load to come, and why a job did not run."""

import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import BrowserContext, Page, Route, expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.browser import accessibility_faults, assert_fits
from tests.support.console import SETTINGS, ServedConsole, served_console

HTTP = {"type": "http", "url": "https://shop.example/hooks"}


def test_overview_counts_and_links_what_needs_attention(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled)
    expect(page.get_by_role("link", name="Paused jobs: 1")).to_have_attribute("href", "#/jobs?state=PAUSED")
    expect(
        page.get_by_role("link", name=re.compile("^Failed permanently in the last 24 hours: [1-9]"))
    ).to_have_attribute("href", re.compile("state=DEAD&since=2026-03-27T13%3A00%3A00Z"))
    expect(page.get_by_role("link", name=re.compile("failed permanently$"))).to_be_visible()


def test_overview_without_jobs_links_the_form_that_creates_one(console: ServedConsole, open_page: Open) -> None:
    page = open_page(console)
    page.get_by_role("link", name="Create job").click()
    expect(page.get_by_role("heading", name="Create job")).to_be_visible()


def test_overview_failed_jobs_are_named_and_redriven(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    for job_id in ("export", "mail"):
        scheduler.client.create_job(
            {"id": job_id, "schedule": "0 * * * *", "target": HTTP, "retry": {"max_attempts": 1}}
        )
    scheduler.answer("export", status=500, body="the disk is full", times=2)
    scheduler.advance(hours=2, minutes=1)
    page = open_page(console)
    failed = page.get_by_role("listitem").filter(has=page.get_by_role("button", name="Redrive export"))
    expect(failed).to_contain_text("2 runs")
    expect(failed).to_contain_text("the disk is full")
    expect(page.get_by_role("button", name="Redrive mail")).to_have_count(0)
    expect(page.get_by_text("No job is overdue.")).to_be_visible()
    failed.get_by_role("button", name="Redrive export").click()
    dialog = page.get_by_role("dialog", name="Redrive dead runs")
    dialog.get_by_role("button", name="Redrive 2 runs").click()
    expect(dialog).to_contain_text("2 redriven")
    dialog.get_by_role("button", name="Close").last.click()
    scheduler.advance(seconds=5)
    assert len(scheduler.client.list_runs("export", state="SUCCEEDED").items) == 2
    page.reload()
    expect(page.get_by_text("No runs failed permanently.")).to_be_visible()


def test_overview_dead_runs_are_found_beside_more_skipped_runs_than_are_read(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    nightly = {"schedule": "5 12 * * *", "target": HTTP, "retry": {"max_attempts": 1}}
    for number in range(12):
        scheduler.client.create_job({"id": f"nightly-{number}", **nightly})
        scheduler.answer(f"nightly-{number}", status=500, body="the disk is full")
    minutely = {"schedule": "* * * * *", "target": HTTP, "completion": "callback", "overlap": "skip"}
    scheduler.client.create_job({"id": "minutely", **minutely})
    scheduler.advance(hours=8, minutes=40)
    page = open_page(console)
    expect(page.get_by_role("button", name=re.compile("^Redrive nightly-"))).to_have_count(6)
    expect(page.get_by_role("heading", name="Jobs with dead runs (12)")).to_be_visible()
    expect(page.get_by_role("link", name="and 6 more jobs")).to_be_visible()
    expect(page.get_by_text("No runs failed permanently.")).to_have_count(0)
    expect(page.get_by_role("link", name="Failed permanently in the last 24 hours: 12")).to_be_visible()
    for outcome in ("12 failed permanently", "0 will be retried", "0 cancelled", "at least 500 skipped"):
        expect(page.get_by_role("link", name=outcome, exact=True)).to_be_visible()
    expect(page.get_by_text("not all runs were counted")).to_be_visible()
    expect(
        page.get_by_title(re.compile("12 failed permanently, 0 will be retried, 0 cancelled, at least 39 skipped$"))
    ).to_have_count(1)


def test_overview_redrive_of_a_job_includes_its_dead_runs_that_were_not_loaded(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job(
        {"id": "export", "schedule": "* * * * *", "target": HTTP, "retry": {"max_attempts": 1}, "overlap": "allow"}
    )
    scheduler.answer("export", status=500, times=510)
    scheduler.advance(minutes=510)
    page = open_page(console)
    expect(page.get_by_text("at least 500 runs")).to_be_visible()
    page.get_by_role("button", name="Redrive export").click()
    dialog = page.get_by_role("dialog", name="Redrive dead runs")
    dialog.get_by_role("spinbutton", name="Pace").fill("1000")
    dialog.get_by_role("button", name="Redrive 510 runs").click()
    expect(dialog).to_contain_text("510 redriven", timeout=30_000)
    scheduler.advance(minutes=1)
    assert scheduler.client.list_dead_runs().items == ()


def test_overview_offline_shows_no_confirmation_that_nothing_failed(
    console: ServedConsole, context: BrowserContext, open_page: Open
) -> None:
    page = open_page(console)
    expect(page.get_by_text("No runs failed permanently.")).to_be_visible()
    context.set_offline(True)
    page.clock.fast_forward(60_000)
    expect(page.get_by_text("The API cannot be reached").first).to_be_visible(timeout=30_000)
    expect(page.get_by_text("No runs failed permanently.")).to_have_count(0, timeout=30_000)


def test_overview_runs_in_progress_are_named(scheduler: Scheduler, console: ServedConsole, open_page: Open) -> None:
    page = open_page(console)
    expect(page.get_by_text("There are no such runs.")).to_be_visible()
    scheduler.client.create_job({"id": "render", "schedule": "0 * * * *", "target": HTTP, "completion": "callback"})
    scheduler.advance(hours=1, seconds=5)
    page.clock.fast_forward(2_000)
    run = page.get_by_role("listitem").filter(has_text="waiting (for a callback or for steps)")
    expect(run.get_by_role("link", name="render")).to_have_attribute("href", "#/runs/render.20260328T130000Z")


def test_overview_upcoming_load_names_the_busiest_minutes_and_their_jobs(
    sampled: ServedConsole, open_page: Open
) -> None:
    page = open_page(sampled)
    fullest = page.get_by_role("listitem").filter(has_text=re.compile(r"\d runs: "))
    expect(fullest.filter(has_text="2026-03-29 08:00:00 Europe/Berlin")).to_contain_text("month-end (1)")
    expect(fullest.get_by_role("link", name="month-end")).to_have_attribute("href", "#/jobs/month-end")


def test_overview_jobs_of_a_busy_minute_are_spread_after_their_new_minutes_are_shown(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    for number in range(12):
        scheduler.client.create_job({"id": f"bill-{number:02}", "schedule": "0 2 * * *", "target": HTTP})
    scheduler.client.create_job({"id": "each-minute", "schedule": "* 2 * * *", "target": HTTP})
    page = open_page(console)
    minute = page.get_by_role("listitem").filter(has_text="13 runs: ")
    minute.get_by_role("button", name="Spread these jobs").click()
    dialog = page.get_by_role("dialog", name="Spread these jobs")
    expect(dialog).to_contain_text("The busiest minute of these jobs: 13 runs now, 2 runs afterwards.")
    expect(dialog.get_by_role("row")).to_have_count(11)
    dialog.get_by_role("button", name="Next page").click()
    expect(dialog.get_by_role("row", name="each-minute")).to_contain_text("needs intervals longer than a minute")
    dialog.get_by_role("textbox", name="Spread within (minutes)").fill("1")
    expect(dialog).to_contain_text("Must be a whole number from 2 to 60.")
    dialog.get_by_role("textbox", name="Spread within (minutes)").fill("6")
    expect(dialog).to_contain_text("13 runs now, 3 runs afterwards.")
    assert scheduler.client.get_job("bill-00").spread is None
    assert accessibility_faults(page) == []
    dialog.get_by_role("button", name="Spread 12 jobs").click()
    expect(page.get_by_text("12 jobs spread within 6 minutes.")).to_be_visible()
    spreads = [scheduler.client.get_job(f"bill-{number:02}").spread for number in range(12)]
    assert sorted(each.offset_minutes for each in spreads if each is not None) == sorted([*range(6), *range(6)])
    expect(page.get_by_role("listitem").filter(has_text="13 runs: ")).to_have_count(0)


def test_overview_spread_of_a_busy_minute_fits_a_phone(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    for number in range(12):
        scheduler.client.create_job({"id": f"invoices-of-{number:02}", "schedule": "0 2 * * *", "target": HTTP})
    page = open_page(console)
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="Spread these jobs").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("12 runs now, 1 run afterwards.")
    assert_fits(page)


def test_overview_late_and_inactive_jobs_are_named(sampled: ServedConsole, open_page: Open) -> None:
    def troubled(route: Route) -> None:
        wrong = {"late": 7, "late_jobs": ["month-end", *"bcdefg"], "uncounted": 1, "uncounted_jobs": ["broken"]}
        route.fulfill(json={**route.fetch().json(), **wrong})

    page = open_page(sampled, "/nowhere")
    page.route("**/v1/upcoming**", troubled)
    page.get_by_role("navigation").get_by_role("link", name="Overview").click()
    late, silent = page.get_by_role("region", name="Overdue now"), page.get_by_role("region", name="Not firing")
    expect(late).to_contain_text("Overdue now: 7")
    expect(late.get_by_role("link")).to_have_text(["month-end", "b", "c", "d", "e"])
    expect(late).to_contain_text("and 2 more")
    expect(late.get_by_role("link", name="month-end")).to_have_attribute("href", "#/jobs/month-end")
    expect(silent.get_by_role("link", name="broken")).to_have_attribute("href", "#/jobs/broken")


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


def test_overview_paused_job_is_explained_at_a_time_in_its_own_zone(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job(
        {"id": "report", "schedule": "0 2 * * *", "timezone": "America/New_York", "target": HTTP}
    )
    scheduler.client.pause_job("report", note="the template is wrong")
    scheduler.advance(days=1)
    page = open_page(console)
    page.get_by_role("button", name="Explain", exact=True).click()
    page.get_by_label("Job", exact=True).fill("rep")
    page.get_by_role("option", name="report").click()
    page.get_by_label("Date", exact=True).fill("2026-03-29")
    page.get_by_label("Time (America/New_York)").fill("02:00")
    page.get_by_role("button", name="Explain").click()
    answer = page.get_by_role("region", name="Explanation")
    expect(answer).to_contain_text("paused")
    expect(page).to_have_url(re.compile(r"job=report&at=2026-03-29T06%3A00%3A00Z"))
    page.reload()
    expect(answer).to_contain_text("paused")


def test_overview_time_is_read_in_the_labelled_zone_while_suggestions_load(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job(
        {"id": "report", "schedule": "0 2 * * *", "timezone": "America/New_York", "target": HTTP}
    )
    page = open_page(console)
    page.get_by_role("button", name="Explain", exact=True).click()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(re.compile("prefix=report"), hold)
    with page.expect_request(re.compile("prefix=report")):
        page.get_by_label("Job", exact=True).fill("report")
        page.get_by_label("Date", exact=True).fill("2026-03-29")
        page.get_by_label("Time (America/New_York)").fill("02:00")
    page.get_by_role("button", name="Explain").click()
    expect(page).to_have_url(re.compile(r"job=report&at=2026-03-29T06%3A00%3A00Z"))
    for route in held:
        route.abort()


def test_overview_invalid_input_is_reported_at_its_field(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled)
    page.get_by_role("button", name="Explain", exact=True).click()
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_text("Enter a job.")).to_be_visible()
    expect(page.get_by_text("Choose a date and a time.")).to_be_visible()
    page.get_by_label("Job", exact=True).fill("no-such-job")
    page.get_by_label("Date", exact=True).fill("2026-03-29")
    page.get_by_label(re.compile("^Time [(]")).fill("02:00")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_text("no-such-job").last).to_be_visible()
    night = page.get_by_role("link", name="Last night")
    expect(night).to_have_attribute("href", "#/jobs/no-such-job?tab=why&at=last-night")


def test_overview_stopped_clock_is_reported_with_its_runbook(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/nowhere")
    page.route("**/v1/stats", _late)
    page.get_by_role("navigation").get_by_role("link", name="Overview").click()
    expect(page.get_by_text("Ticks are not running")).to_be_visible()
    expect(page.get_by_text("runbooks.md#ticks-missing")).to_be_visible()


def _late(route: Route) -> None:
    answer = route.fetch()
    route.fulfill(
        json={**answer.json(), "status": "late", "tick": {"last": "2026-03-28T11:50:00Z", "age_seconds": 600}}
    )


FIGURES = {
    "since": "2026-03-27T12:30:00Z",
    "step_seconds": 1800,
    "lateness": [{"at": "2026-03-28T11:30:00Z", "median_seconds": 0.4, "p99_seconds": 75.0}],
    "outcomes": [
        {"at": "2026-03-27T23:00:00Z", "succeeded": 1200, "retried": 0, "dead": 0},
        {"at": "2026-03-28T11:30:00Z", "succeeded": 34, "retried": 12, "dead": 3},
    ],
    "oldest_message_seconds": {"high": 4.0, "normal": 150.0, "low": None, "long": None},
    "objectives": [
        {"name": "lateness", "target": 0.99, "share": 0.98, "budget_used": 2.0},
        {"name": "availability", "target": 0.999, "share": 0.99997, "budget_used": 0.03},
    ],
}


def _with_metrics(page: Page, figures: object, error: str | None = None) -> Page:
    """The overview where CloudWatch says this."""
    page.route("**/v1/stage/metrics", lambda route: route.fulfill(json={"figures": figures, "error": error}))
    page.get_by_role("navigation").get_by_role("link", name="Overview").click()
    return page


def test_overview_lateness_and_outcomes_of_the_last_day_are_charted_by_half_hour(
    sampled: ServedConsole, open_page: Open
) -> None:
    page, asked = open_page(sampled, "/nowhere"), list[str]()
    page.on("request", lambda request: asked.append(request.url.rpartition("/v1/")[2]))
    _with_metrics(page, FIGURES)
    lateness = page.get_by_role("region", name="Lateness")
    expect(lateness.get_by_role("img", name="in intervals of 30 minutes; 1 min 15 s at most")).to_be_visible()
    expect(lateness.get_by_title("12:30: median 0.4 s, p99 1 min 15 s")).to_have_count(1)
    expect(lateness.get_by_title("12:00: no runs started")).to_have_count(1)
    outcomes = page.get_by_role("region", name="Outcomes")
    expect(outcomes).to_contain_text("1,234 succeeded, 12 retried, 3 failed permanently")
    expect(outcomes.get_by_title("03-28: 1200 succeeded, 0 retried, 0 failed permanently")).to_have_count(1)
    objectives = page.get_by_role("region", name="Objectives")
    expect(objectives).to_contain_text("99% of runs should start within 5 s: 98% (200% of the error budget used)")
    expect(objectives).to_contain_text("99.9% of API requests should succeed: 99.99% (3% of the error budget used)")
    assert asked.count("stage/metrics") == 1, "each request costs money"
    light = accessibility_faults(page)
    page.get_by_role("button", name="Use the dark theme").click()
    expect(page.get_by_role("button", name="Use the light theme")).to_be_visible()
    assert (light, accessibility_faults(page)) == ([], [])


def test_overview_stage_without_metrics_shows_no_data_yet(sampled: ServedConsole, open_page: Open) -> None:
    page = _with_metrics(open_page(sampled, "/nowhere"), {**FIGURES, "lateness": [], "outcomes": []})
    expect(page.get_by_role("region", name="Lateness")).to_contain_text("No data yet.")
    expect(page.get_by_role("region", name="Outcomes")).to_contain_text("No data yet.")


def test_overview_unreadable_metrics_are_shown_as_unknown_with_the_reason(
    sampled: ServedConsole, open_page: Open
) -> None:
    page = _with_metrics(open_page(sampled, "/nowhere"), None, "CloudWatch's metrics could not be read: not authorized")
    expect(page.get_by_text("Unknown: CloudWatch's metrics could not be read: not authorized")).to_be_visible()


def test_overview_login_without_ops_scope_neither_shows_nor_requests_metrics(
    scheduler: Scheduler, files: Mapping[str, bytes], context: BrowserContext, open_page: Open
) -> None:
    login = {"auth": "jwt", "issuer": "https://login.example", "client_id": "console"}
    context.add_init_script(_logged_in(scheduler, "jobs:read", "jobs:write"))
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    with served_console(scheduler, files, {**SETTINGS, **login}) as console:
        page = open_page(console)
        expect(page.get_by_role("heading", name="Unsuccessful runs in the last 24 hours")).to_be_visible()
        page.wait_for_load_state("networkidle")
        expect(page.get_by_role("heading", name="Stage metrics, last 24 hours")).to_have_count(0)
    assert any(url.endswith("/v1/stats") for url in asked)
    assert not [url for url in asked if url.endswith("/v1/stage/metrics")]


def _logged_in(scheduler: Scheduler, *scopes: str) -> str:
    """A script that gives the page the session of a login with these scopes."""
    claims = urlsafe_b64encode(json.dumps({"scope": " ".join(scopes), "sub": "mara"}).encode()).decode().rstrip("=")
    user = {
        "access_token": f"e30.{claims}.",
        "token_type": "Bearer",
        "expires_at": int(scheduler.now.timestamp()) + 3600,
        "profile": {"sub": "mara"},
    }
    key, kept = json.dumps("oidc.user:https://login.example:console"), json.dumps(json.dumps(user))
    return f"if (location.host) sessionStorage.setItem({key}, {kept})"


def test_overview_fits_a_phone(sampled: ServedConsole, open_page: Open) -> None:
    page: Page = open_page(sampled, "/nowhere")
    page.set_viewport_size({"width": 390, "height": 844})
    page.route("**/v1/stage/metrics", lambda route: route.fulfill(json={"figures": FIGURES, "error": None}))
    page.goto(sampled.url)
    expect(page.get_by_role("heading", name="The busiest minutes")).to_be_visible()
    expect(page.get_by_role("region", name="Outcomes")).to_be_visible()
    assert_fits(page)
