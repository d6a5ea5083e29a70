"""A job's page."""

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.browser import accessibility_faults, layout_faults
from tests.support.console import ServedConsole

TARGET = {"type": "http", "url": "https://shop.example/hooks"}
HOSTILE = '<img src=x onerror="window.broken = true">'


def create(scheduler: Scheduler, schedule: str = "0 * * * *", **more: object) -> None:
    scheduler.client.create_job({"id": "report", "schedule": schedule, "target": TARGET, **more})


def choose(page: Page, action: str) -> None:
    """An action of the menu More."""
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name=action).click()


def test_job_page_pauses_with_a_note_and_explains_the_missed_run(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    create(scheduler, timezone="Europe/Berlin")
    page = open_page(console, "/jobs/report")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("The data are wrong")
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("by local: The data are wrong")).to_be_visible()
    scheduler.advance(hours=2)
    page.get_by_role("tab", name="Explain").click()
    page.get_by_label("Date", exact=True).fill("2026-03-28")
    page.get_by_label("Time (Europe/Berlin)").fill("14:00")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_text("2026-03-28 14:00:00 Europe/Berlin: the job was paused")).to_be_visible()
    assert "tab=why&at=2026-03-28T13%3A00%3A00Z" in page.url
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("dialog").get_by_label("Catch up on the occurrences during the pause").check()
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    expect(page.get_by_text("ACTIVE")).to_be_visible()
    caught_up = [call.run_id for call in scheduler.advance(minutes=1)]
    assert caught_up == ["report.20260328T130000Z", "report.20260328T140000Z"]
    page.get_by_role("tab", name="Runs").click()
    page.get_by_role("button", name="State All except upcoming").click()
    page.get_by_role("option", name="Caught up").click()
    expect(page.get_by_role("grid", name="Runs").get_by_role("row")).to_have_count(2)
    page.get_by_role("tab", name="Changes").click()
    changes = page.get_by_role("grid", name="Changes")
    expect(changes.get_by_role("row", name=re.compile("local paused"))).to_contain_text("The data are wrong")


def test_job_page_it_warns_of_skipped_runs_and_has_deadlines(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    create(scheduler, "* * * * *", completion="callback", finish_by="06:00", on_deadline="cancel")
    scheduler.advance(minutes=30)
    page = open_page(console, "/jobs/report")
    expect(page.get_by_text("20 of the last 20 runs were skipped or merged.")).to_be_visible()
    assert layout_faults(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert layout_faults(page) == []
    page.get_by_role("tab", name="Definition").click()
    expect(page.get_by_label("The job as JSON")).to_contain_text('"finish_by": "06:00"')


def test_job_page_pauses_until_a_time_and_shows_the_end(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    create(scheduler, timezone="Europe/Berlin")
    page = open_page(console, "/jobs/report")
    page.get_by_role("button", name="Pause").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("Maintenance")
    dialog.get_by_role("button", name="End None").click()
    page.get_by_role("option", name="At a specific time").click()
    dialog.get_by_label("Time (Europe/Berlin)").fill("06:00:00")
    dialog.get_by_role("button", name="Pause").click()
    expect(dialog.get_by_text("Enter both a date and a time.")).to_be_visible()
    dialog.get_by_label("Date", exact=True).fill("2026-03-30")
    dialog.get_by_label("Catch up on the occurrences during the pause").check()
    dialog.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("until 2026-03-30 06:00:00 Europe/Berlin").first).to_be_visible()
    page.get_by_role("tab", name="Next").click()
    expect(page.get_by_text("The job is paused until 2026-03-30 06:00:00 Europe/Berlin")).to_be_visible()
    rows = page.get_by_role("grid", name="Next occurrences").get_by_role("row")
    expect(rows.nth(1)).to_contain_text("2026-03-30 06:00:00")


def test_job_page_plans_a_pause_and_removes_the_plan(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    create(scheduler, "0 23 * * *", timezone="Europe/Berlin")
    page = open_page(console, "/jobs/report")
    page.get_by_role("button", name="Pause").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Start later").check()
    dialog.get_by_label("Date", exact=True).fill("2026-03-30")
    dialog.get_by_role("button", name="Pause").click()
    expect(dialog.get_by_text("The start of the pause is incomplete")).to_be_visible()
    dialog.get_by_label("Time (Europe/Berlin)").fill("22:00:00")
    dialog.get_by_role("button", name="End None").click()
    page.get_by_role("option", name="After 4 hours").click()
    dialog.get_by_label("Catch up on the occurrences during the pause").check()
    assert (layout_faults(page), accessibility_faults(page)) == ([], [])
    dialog.get_by_role("button", name="Pause").click()
    shown = page.get_by_text("planned pause from 2026-03-30 22:00:00 Europe/Berlin")
    expect(shown.first).to_be_visible()
    assert scheduler.client.get_job("report").planned_pause == "2026-03-30T20:00:00Z/2026-03-31T00:00:00Z/catch_up"
    page.get_by_role("tab", name="Next").click()
    rows = page.get_by_role("grid", name="Next occurrences").get_by_role("row")
    expect(rows.filter(has_text="2026-03-31 02:00:00")).to_contain_text("Moved from 2026-03-30 23:00")
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Remove the planned pause").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(shown).to_have_count(0)
    assert scheduler.client.get_job("report").planned_pause is None


def test_job_page_exclusions_are_among_its_facts_and_in_the_next_occurrences(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    create(scheduler, "0 14 * * *", exclude=["2026-03-29"])
    page = open_page(console, "/jobs/report?tab=next")
    expect(page.get_by_text("2026-03-29", exact=True)).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    excluded = page.get_by_role("listitem").filter(has_text="2026-03-29 14:00:00")
    expect(excluded).to_contain_text("Excluded by the job")


def test_job_page_record_of_several_occurrences_is_counted_as_such(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    create(scheduler, "* * * * *")
    scheduler.advance(minutes=2)
    scheduler.client.pause_job("report")
    scheduler.advance(minutes=5)
    scheduler.client.resume_job("report")
    page = open_page(console, "/jobs/report")
    runs = scheduler.client.list_runs("report", from_="1970-01-01T00:00:00Z").items
    total = sum(run.count for run in runs)
    assert total > len(runs)
    expect(page.get_by_text(f"The last {total} occurrences ({len(runs)} runs)")).to_be_visible()


def test_job_page_explains_the_last_occurrence_and_the_last_night_on_click(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    create(scheduler, "0 2 * * *", timezone="Europe/Berlin", retry={"max_attempts": 1})
    scheduler.answer("report", status=422, body={"error": "no such account"})
    scheduler.advance(days=1)
    page = open_page(console, "/jobs/report?tab=why")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_text("Choose a date and a time.")).to_be_visible()
    answer = page.get_by_role("region", name="Explanation")
    for question in ("Last occurrence", "Last night"):
        page.get_by_role("button", name=question).click()
        expect(answer).to_contain_text("2026-03-29 03:00:00 Europe/Berlin")
        expect(answer.get_by_role("link", name="Run report.20260329T010000Z")).to_be_visible()
    expect(answer).to_contain_text("From 2026-03-28 18:00:00 to 2026-03-29 08:00:00 Europe/Berlin: 1 failed.")
    page.reload()
    expect(answer).to_contain_text("1 failed.")
    scheduler.client.create_job({"id": "noon", "schedule": "0 12 * * *", "target": TARGET})
    page = open_page(console, "/jobs/noon?tab=why&at=last-night")
    expect(page.get_by_role("region", name="Explanation")).to_contain_text("no occurrences.")
    page.get_by_role("button", name="Last occurrence").click()
    expect(page.get_by_text("The job has had no occurrence yet.")).to_be_visible()


def test_job_page_skips_next_occurrences_after_confirmation_despite_a_lost_response(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    create(scheduler)
    page = open_page(console, "/jobs/report?tab=next")
    choose(page, "Skip next occurrences")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("starting with 2026-03-28 13:00:00 UTC")
    dialog.get_by_label("Number").fill("2")

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/skip-next", lose, times=1)
    dialog.get_by_role("button", name="Skip").click()
    expect(dialog).to_contain_text("The API cannot be reached")
    dialog.get_by_role("button", name="Skip").click()
    said = "These occurrences will not run: 2026-03-28 13:00:00 UTC, 2026-03-28 14:00:00 UTC"
    expect(page.get_by_text(said)).to_be_visible()
    coming = page.get_by_role("grid", name="Next occurrences")
    expect(coming.get_by_role("row", name=re.compile("Skipped on request"))).to_have_count(2)
    page.get_by_role("tab", name="Timeline").click()
    expect(page.get_by_role("group", name=re.compile("Timeline: 2 skipped"))).to_be_visible()
    scheduler.advance(hours=3)
    assert [call.run_id for call in scheduler.calls] == ["report.20260328T150000Z"]


def _range(dialog: Locator) -> None:
    """Choose six hours of a night for a backfill."""
    dialog.get_by_label("Date", exact=True).first.fill("2026-03-27")
    dialog.get_by_label("Date", exact=True).last.fill("2026-03-27")
    dialog.get_by_label("Time (Europe/Berlin)").last.fill("06:00")


def test_job_page_backfill_shows_its_runs_and_cost_first(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    create(scheduler, timezone="Europe/Berlin")
    page = open_page(console, "/jobs/report")
    choose(page, "Backfill")
    dialog = page.get_by_role("dialog")
    _range(dialog)
    dialog.get_by_label("Maximum active runs").fill("3")
    dialog.get_by_role("button", name="Dry run").click()
    expect(dialog).to_contain_text("at most 1 run would be active at a time")
    expect(dialog.get_by_text("6 runs for less than $0.01")).to_be_visible()
    expect(dialog).to_contain_text("From 2026-03-27 00:00:00 Europe/Berlin to 2026-03-27 05:00:00 Europe/Berlin")
    expect(dialog).to_contain_text("Occurrences in the range: 6 missing.")
    assert scheduler.calls == ()
    dialog.get_by_role("button", name="Start 6 runs").click()
    expect(page.get_by_text("6 runs of report will start, one every 1 s.")).to_be_visible()
    assert len(scheduler.advance(minutes=1)) == 6
    choose(page, "Backfill")
    _range(dialog)
    dialog.get_by_role("button", name="Dry run").click()
    expect(dialog.get_by_text("No runs would start. Occurrences in the range: 6 succeeded.")).to_be_visible()


def test_job_page_starts_run_with_own_payload_and_deletes_the_job(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    create(scheduler, schedule="0 0 1 1 *")
    page = open_page(console, "/jobs/report?tab=runs")
    page.get_by_role("button", name="Run now").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Payload").fill('{"day": ')
    dialog.get_by_role("button", name="Start the run").click()
    expect(dialog.get_by_text("The payload is not JSON")).to_be_visible()
    dialog.get_by_label("Payload").fill('{"order": 12345678901234567890}')
    dialog.get_by_role("button", name="Start the run").click()
    expect(dialog.get_by_text("Affected values: /order.")).to_be_visible()
    dialog.get_by_label("Payload").fill('{"day": 7}')
    dialog.get_by_role("button", name="Start the run").click()
    expect(page.get_by_text("Run requested: report.2026")).to_be_visible()
    (call,) = scheduler.advance(seconds=5)
    assert call.payload == {"day": 7}
    choose(page, "Delete")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()
    expect(page.get_by_text("report is deleted.")).to_be_visible()


def test_job_page_run_dialog_shows_the_payload_of_the_job_and_its_notice_leaves_with_the_page(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    create(scheduler, schedule="0 0 1 1 *", payload={"day": "{{date}}"})
    scheduler.client.create_job(
        {"id": "exact", "schedule": None, "target": TARGET, "payload": {"order": 9007199254740993}}
    )
    page = open_page(console, "/jobs/report")
    dialog = page.get_by_role("dialog")

    def run() -> None:
        dialog.get_by_role("button", name="Start the run").click()
        expect(page.get_by_text("Run requested:")).to_be_visible()

    page.get_by_role("button", name="Run now").click()
    payload = dialog.get_by_label("Payload")
    expect(payload).to_have_value('{\n  "day": "{{date}}"\n}')
    sent = list[str | None]()
    page.on("request", lambda request: sent.append(request.post_data) if request.method == "POST" else None)
    run()
    assert sent == [None], "the job's own payload is not sent again"
    page.get_by_role("link", name="Jobs").first.click()
    page.get_by_role("link", name="exact").click()
    expect(page.get_by_role("heading", level=1, name="exact")).to_be_visible()
    expect(page.get_by_text("Run requested:")).to_have_count(0)
    page.get_by_role("button", name="Run now").click()
    expect(payload).to_have_value("")  # the browser would round its number
    run()
    calls = {call.job_id: call.payload for call in scheduler.advance(seconds=5)}
    assert calls == {"report": {"day": "2026-03-28"}, "exact": {"order": 9007199254740993}}


def test_job_page_late_response_of_closed_dialog_leaves_the_next_dialog_unchanged(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    create(scheduler, schedule="0 0 1 1 *")
    page = open_page(console, "/jobs/report")
    asked: list[Route] = []

    def hold(route: Route) -> None:
        asked.append(route)

    page.route(re.compile("/pause$"), hold)
    page.get_by_role("button", name="Pause").click()
    with page.expect_request(re.compile("/pause$")):
        page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Run now").click()
    payload = page.get_by_role("dialog").get_by_label("Payload")
    payload.fill('{"day": 7}')
    page.mouse.click(5, 600)  # beside the dialog
    problem = {"type": "/problems/job-changed", "title": "Conflict", "detail": "It is being changed."}
    asked[0].fulfill(status=409, json=problem)
    expect(page.get_by_text("Conflict: It is being changed.")).to_be_visible()
    expect(payload).to_have_value('{"day": 7}')
    expect(page.get_by_role("dialog").get_by_text("Conflict")).to_be_hidden()


def test_job_page_opens_with_last_occurrences_linked_to_their_runs(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/jobs/flaky-import")
    grid = page.get_by_role("group", name=re.compile(r"Last occurrences: 60 ran"))
    expect(grid.get_by_role("link")).to_have_count(60)
    expect(page.get_by_text("The last 60 occurrences, oldest first")).to_be_visible()
    latest = grid.get_by_role("link", name=re.compile("^2026-03-28 12:00:00 UTC: ran"))
    latest.focus()
    page.keyboard.press("ArrowLeft")
    before = grid.get_by_role("link", name=re.compile("^2026-03-28 11:30:00 UTC: ran"))
    expect(before).to_be_focused()
    expect(page.get_by_role("tabpanel")).to_contain_text("2026-03-28 11:30:00 UTC: ran")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"#/runs/flaky-import\.20260328T113000Z$"))


def test_job_page_without_runs_shows_when_the_first_is_due(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    create(scheduler)
    page = open_page(console, "/jobs/report")
    expect(page.get_by_text("The first occurrence is 2026-03-28 13:00:00 UTC")).to_be_visible()


@pytest.mark.parametrize("width", [390, 1280, 1440])
def test_job_page_fits_without_overflow_and_shows_all_tabs(sampled: ServedConsole, open_page: Open, width: int) -> None:
    page = open_page(sampled, "/jobs/flaky-import")
    page.set_viewport_size({"width": width, "height": 900})
    for tab in page.get_by_role("tab").all():
        tab.click()
        expect(page.get_by_role("tabpanel")).to_be_visible()
        page.wait_for_load_state("networkidle")
        assert layout_faults(page) == []
    if width >= 1280:
        expect(page.get_by_role("button", name=re.compile("Scroll"))).to_have_count(0)


def test_job_page_timeline_shows_the_outcome_of_each_occurrence(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/jobs/broken-export?tab=timeline")
    timeline = page.get_by_role("group", name=re.compile(r"Timeline: \d+ failed, \d+ upcoming"))
    mark = timeline.get_by_role("link", name=re.compile("2026-03-28 08:15:00 UTC: failed.*no space left on device"))
    mark.focus()
    page.keyboard.press("ArrowLeft")
    expect(timeline.get_by_role("link", name=re.compile("2026-03-28 04:15:00 UTC"))).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"#/runs/broken-export\.20260328T081500Z$"))
    page.go_back()
    page.get_by_role("button", name="View as table").click()
    row = page.get_by_role("grid", name="Occurrences").get_by_role("row", name=re.compile("2026-03-28 08:15:00 UTC"))
    expect(row).to_contain_text("failed")
    expect(row.get_by_role("link", name="Run")).to_have_attribute("href", "#/runs/broken-export.20260328T081500Z")
    page.get_by_text("Day", exact=True).click()
    expect(page.get_by_text("2026-03-28 08:00", exact=True)).to_be_visible()
    expect(page.get_by_text(re.compile("^2026-03-28, UTC: "))).to_be_visible()
    assert "zoom=day" in page.url
    page.get_by_role("button", name="Earlier").click()
    expect(page.get_by_text(re.compile("^2026-03-27, UTC: 6 failed$"))).to_be_visible()


def test_job_page_next_occurrences_show_dst_changes(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/jobs/nightly-report?tab=next")
    rows = page.get_by_role("grid", name="Next occurrences").get_by_role("row")
    expect(rows).to_have_count(11)
    expect(rows.filter(has_text="2026-03-29 03:00:00+02:00")).to_contain_text("go forward")


def test_job_page_metrics_are_described_in_words_beside_the_charts(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/jobs/hourly-sync?tab=figures")
    expect(page.get_by_text(re.compile(r"^\d+ runs: median .*, longest")).first).to_be_visible()
    expect(page.get_by_role("application", name="Duration")).to_be_visible()


def test_job_page_shows_foreign_text_literally(scheduler: Scheduler, console: ServedConsole, open_page: Open) -> None:
    create(scheduler, name=HOSTILE, description=HOSTILE, owner=HOSTILE, retry={"max_attempts": 1})
    scheduler.answer("report", status=422, body={"error": HOSTILE})
    scheduler.advance(hours=1)
    page = open_page(console, "/jobs/report")
    expect(page.get_by_role("heading", level=1, name=HOSTILE)).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("failed.*<img src=x"))).to_be_visible()
    page.get_by_role("tab", name="Timeline").click()
    page.get_by_role("button", name="View as table").click()
    expect(page.get_by_role("grid", name="Occurrences")).to_contain_text("<img src=x")
    assert page.evaluate("window.broken") is None


def test_job_page_reports_an_unknown_id(sampled: ServedConsole, open_page: Open) -> None:
    expect(open_page(sampled, "/jobs/gone").get_by_role("heading", name="Job not found")).to_be_visible()
