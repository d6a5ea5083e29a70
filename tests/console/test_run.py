"""The page of one run."""

import re

from playwright.sync_api import Page, expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.browser import accessibility_faults
from tests.support.console import ServedConsole

HTTP = {"type": "http", "url": "https://shop.example/hooks"}
NOON = "export.20260328T120500Z"


def _job(scheduler: Scheduler, **more: object) -> None:
    job = {"id": "export", "schedule": "5 12 * * *", "target": HTTP, "payload": {"region": "north"}}
    scheduler.client.create_job({**job, **more})


def _ask_again(page: Page) -> None:
    """What waits for its next look at the API looks now."""
    page.clock.fast_forward(10_000)


def test_run_page_manual_redrive_of_a_dead_run_succeeds(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    _job(scheduler, retry={"max_attempts": 2, "backoff": "fixed", "min_seconds": 60})
    scheduler.answer("export", status=500, body={"error": "no space left"}, times=2)
    scheduler.advance(minutes=10)
    page = open_page(console, "/runs")
    page.get_by_role("row", name="export").get_by_role("link", name="2026-03-28").click()
    expect(page.get_by_role("heading", level=1, name=f"Run {NOON}")).to_be_visible()
    expect(page.get_by_text("DEAD", exact=True)).to_be_visible()
    expect(page.get_by_text("The last attempt failed", exact=True)).to_be_visible()
    expect(page.get_by_role("img", name="The run's attempts and waits over")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="failed")).to_have_count(2)
    page.get_by_role("button", name="Redrive").click()
    dialog = page.get_by_role("dialog", name="Redrive the run?")
    expect(dialog).to_contain_text('"region": "north"')
    dialog.get_by_role("button", name="Redrive").click()
    expect(page.get_by_text("The run was redriven.")).to_be_visible()
    scheduler.advance(seconds=5)
    _ask_again(page)
    expect(page.get_by_text("SUCCEEDED", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Redrive")).to_have_count(0)
    expect(page.get_by_text(re.compile("^0 s in 3 attempts; .* from the first start to the end$"))).to_be_visible()


def test_run_page_discards_a_dead_run_with_a_note(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    _job(scheduler, retry={"max_attempts": 1})
    scheduler.answer("export", status=500, times=1)
    scheduler.advance(minutes=10)
    page = open_page(console, f"/runs/{NOON}")
    page.get_by_role("button", name="Discard").click()
    dialog = page.get_by_role("dialog", name="Discard the run?")
    dialog.get_by_label("Note").fill("exported by hand")
    assert accessibility_faults(page) == []
    dialog.get_by_role("button", name="Discard").click()
    expect(page.get_by_text("The run was discarded.")).to_be_visible()
    expect(page.get_by_text("exported by hand")).to_be_visible()
    expect(page.get_by_role("button", name="Discard")).to_have_count(0)
    expect(page.get_by_text("DEAD", exact=True)).to_be_visible()


def test_run_page_reschedules_a_delayed_run(scheduler: Scheduler, console: ServedConsole, open_page: Open) -> None:
    _job(scheduler, schedule=None)
    run = scheduler.client.run_job("export", delay_seconds=7200)
    page = open_page(console, f"/runs/{run.id}")
    page.get_by_role("button", name="Reschedule").click()
    dialog = page.get_by_role("dialog", name="Reschedule the run?")
    dialog.get_by_label("Time").fill("23:30:00")
    dialog.get_by_role("button", name="Reschedule").click()
    expect(page.get_by_text("The run was rescheduled.")).to_be_visible()
    expect(page.get_by_text("23:30:00").first).to_be_visible()
    assert scheduler.client.get_run(run.id).due != run.due
    assert accessibility_faults(page) == []


def test_run_page_marks_a_waiting_run_as_succeeded(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    _job(scheduler, completion="callback")
    scheduler.advance(minutes=10)
    page = open_page(console, f"/runs/{NOON}")
    expect(page.get_by_text("WAITING", exact=True)).to_be_visible()
    page.get_by_role("button", name="Mark as succeeded").click()
    dialog = page.get_by_role("dialog", name="Mark the run as succeeded?")
    assert accessibility_faults(page) == []
    dialog.get_by_role("button", name="Mark as succeeded").click()
    expect(dialog).to_contain_text("reason")
    dialog.get_by_label("Reason").fill("the report arrived")
    dialog.get_by_role("button", name="Mark as succeeded").click()
    expect(page.get_by_text("The run is being marked as succeeded.")).to_be_visible()
    scheduler.advance(seconds=5)
    _ask_again(page)
    expect(page.get_by_text("SUCCEEDED", exact=True)).to_be_visible()
    expect(page.get_by_text("the report arrived")).to_be_visible()


def test_run_page_starts_an_ended_run_again_with_its_payload(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    _job(scheduler, schedule=None)
    scheduler.client.run_job("export", payload={"order": 9007199254740993})
    (call,) = scheduler.advance(seconds=1)
    page = open_page(console, f"/runs/{call.run_id}")
    expect(page.get_by_text("The payload of the request that started the run.")).to_be_visible()
    page.get_by_role("button", name="Run again").click()
    dialog = page.get_by_role("dialog", name="Run export again?")
    expect(dialog).to_contain_text("with the payload of this run")
    dialog.get_by_role("button", name="Run again").click()
    expect(dialog).to_be_hidden()
    (again,) = scheduler.advance(seconds=1)
    assert again.payload == {"order": 9007199254740993}
    expect(page).to_have_url(re.compile(re.escape(again.run_id)))


def test_run_page_shows_the_request_as_the_target_received_it(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    _job(scheduler, schedule=None, payload=None)
    scheduler.client.run_job("export", payload={"region": "south", "run": "{{run_id}}"})
    (call,) = scheduler.advance(seconds=1)
    page = open_page(console, f"/runs/{call.run_id}")
    expect(page.get_by_text("The payload of the request that started the run.")).to_be_visible()
    expect(page.get_by_text(f'"run": "{call.run_id}"')).to_be_visible()
    scheduler.client.delete_job("export")
    page.reload()
    expect(page.get_by_text("The job and its payload were deleted")).to_be_visible()


def test_run_page_cancels_before_the_next_attempt(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    _job(scheduler, retry={"max_attempts": 5, "backoff": "fixed", "min_seconds": 600})
    scheduler.answer("export", status=503)
    scheduler.advance(minutes=6)
    page = open_page(console, f"/runs/{NOON}")
    expect(page.get_by_text("waiting for the next attempt")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the run").click()
    expect(page.get_by_text("The run is being cancelled.")).to_be_visible()
    scheduler.advance(seconds=5)
    _ask_again(page)
    expect(page.get_by_text("CANCELLED", exact=True)).to_be_visible()


def test_run_page_shows_numbers_as_they_were_sent(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    _job(scheduler, payload={"order": 9007199254740993})
    scheduler.answer("export", status=200, body={"receipt": 9007199254740995})
    scheduler.advance(minutes=6)
    page = open_page(console, f"/runs/{NOON}")
    expect(page.get_by_text('"receipt": 9007199254740995')).to_be_visible()
    expect(page.get_by_text('"order": 9007199254740993')).to_be_visible()


def test_run_page_shows_progress_during_the_work(scheduler: Scheduler, console: ServedConsole, open_page: Open) -> None:
    _job(scheduler, completion="callback", heartbeat_seconds=600)
    (call,) = scheduler.advance(minutes=6)
    assert call.callback_token is not None
    page = open_page(console, f"/runs/{NOON}")
    expect(page.get_by_text("waiting for the callback")).to_be_visible()
    scheduler.client.heartbeat_run(NOON, call.callback_token, progress=0.4, note="reads page 4 of 10")
    _ask_again(page)
    expect(page.get_by_role("progressbar", name="Progress")).to_have_attribute("value", "40")
    expect(page.get_by_text("reads page 4 of 10")).to_be_visible()
    scheduler.client.complete_run(NOON, call.callback_token)
    scheduler.advance(seconds=1)
    _ask_again(page)
    expect(page.get_by_text("reads page 4 of 10")).to_be_hidden()


def test_run_page_links_to_job_workflow_and_log_entries(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/runs/refunds.20260322T060000Z")

    def leads(name: str, address: str | re.Pattern[str]) -> None:
        link = page.get_by_role("main").get_by_role("link", name=re.compile(name))
        expect(link).to_have_attribute("href", address)

    leads("^refunds$", "#/jobs/refunds")
    leads("^month-end$", "#/workflows/month-end/runs/20260322T060000Z")
    leads("^Why it ran", "#/jobs/refunds?tab=why&at=2026-03-22T06%3A00%3A00Z")
    leads("Log lines", re.compile("^https://eu-central-1.console.aws.amazon.com/cloudwatch/"))


def test_run_page_reports_an_address_without_a_run(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/runs/nightly.20200101T000000Z")
    expect(page.get_by_role("heading", name="Run not found")).to_be_visible()


def test_run_page_shows_where_the_result_is_or_why_the_bucket_rejected_it(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    _job(scheduler, schedule=None, results={"bucket": "acme-reports", "prefix": "daily/"})
    scheduler.answer("export", body={"text": "x" * 5_000})
    scheduler.client.run_job("export")
    (call,) = scheduler.advance(seconds=1)
    page = open_page(console, f"/runs/{call.run_id}")
    path = call.run_id.removeprefix("export.")
    expect(page.get_by_text(f"Stored at s3://acme-reports/daily/export/{path}/1.json")).to_be_visible()


def test_run_page_shows_lateness_execution_and_the_run_before(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    schedule = {"schedule": "0 13 * * *", "target": {"type": "stepfunctions", "machine": "duecourse-target-import"}}
    scheduler.client.put_job("import", {**schedule, "completion": "end", "then": [{"job": "report"}]})
    scheduler.client.put_job("report", {"schedule": None, "target": {"type": "http", "url": "https://example.com/r"}})
    scheduler.advance_to("2026-03-28T12:59:00Z")
    scheduler.outage_until("2026-03-28T13:00:45Z")
    scheduler.advance(minutes=10)
    run_id = "import.20260328T130000Z"
    page = open_page(console, f"/runs/{run_id}")
    expect(page.get_by_role("img", name="Where it came from: 45 s in the queue")).to_be_visible()
    expect(page.get_by_text(f"{run_id}/1", exact=True)).to_be_visible()
    expect(page.get_by_text("waiting for its execution")).to_be_visible()
    scheduler.end(run_id, {"rows": 3})
    (after,) = scheduler.client.list_runs("report").items
    page = open_page(console, f"/runs/{after.id}")
    page.get_by_text("the end of").get_by_role("link", name=run_id).click()
    expect(page.get_by_role("heading", level=1, name=run_id)).to_be_visible()


LAMBDA = {"type": "lambda", "function": "duecourse-target-export", "log": True}


def test_run_page_log_of_a_function_is_shown_for_each_attempt(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    _job(scheduler, target=LAMBDA, retry={"max_attempts": 2, "backoff": "fixed", "min_seconds": 60})
    scheduler.answer("export", status=500, log="START\nno space\x1b[31m left\x1b[0m\n", times=1)
    scheduler.answer("export", log="START <b>bold</b>\nEND\n")
    scheduler.advance(minutes=10)
    page = open_page(console, f"/runs/{NOON}")
    page.get_by_role("tab", name="Log").click()
    log = page.get_by_role("region", name="The log of the run")
    expect(log.get_by_role("heading", name="Attempt 1")).to_be_visible()
    expect(log).to_contain_text("no space left")
    expect(log).to_contain_text("START <b>bold</b>")
    expect(page.get_by_role("checkbox", name="Scroll to new lines")).to_have_count(0)
    log.focus()
    expect(log).to_be_focused()
    assert accessibility_faults(page) == []


def test_run_page_log_is_followed_while_the_run_is_in_progress(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    _job(scheduler, completion="callback")
    (call,) = scheduler.advance(minutes=10)
    page = open_page(console, f"/runs/{NOON}?tab=log")
    expect(page.get_by_text("There are no lines yet.")).to_be_visible()
    lines = [f"invoice {number} sent" for number in range(100)]
    text = "".join(f"{line}\n" for line in lines)
    scheduler.client.append_run_log(call.run_id, call.callback_token or "", text)
    _ask_again(page)
    log = page.get_by_role("region", name="The log of the run")
    expect(log).to_contain_text("invoice 99 sent")
    assert log.evaluate("box => box.scrollTop + box.clientHeight >= box.scrollHeight - 1")
    page.get_by_role("checkbox", name="Scroll to new lines").uncheck()
    log.evaluate("box => { box.scrollTop = 0 }")
    scheduler.client.append_run_log(call.run_id, call.callback_token or "", text + "the last one\n")
    _ask_again(page)
    expect(log).to_contain_text("the last one")
    assert log.evaluate("box => box.scrollTop") == 0
    assert log.inner_text().count("invoice 0 sent") == 1


def test_run_page_log_fits_a_phone(scheduler: Scheduler, console: ServedConsole, open_page: Open) -> None:
    _job(scheduler, target=LAMBDA)
    scheduler.answer("export", log="x" * 2000 + "\n")
    scheduler.advance(minutes=10)
    page = open_page(console, f"/runs/{NOON}?tab=log")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.get_by_role("region", name="The log of the run")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= 390")


def test_run_page_without_a_log_says_how_to_write_one_and_reads_it_only_in_its_tab(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    _job(scheduler)
    scheduler.advance(minutes=10)
    asked: list[str] = []
    page = open_page(console, f"/runs/{NOON}")
    page.on("request", lambda request: asked.append(request.url))
    expect(page.get_by_role("heading", name="Payload")).to_be_visible()
    assert not [url for url in asked if url.endswith("/log")]
    page.get_by_role("tab", name="Log").click()
    expect(page.get_by_text("There is no log.")).to_be_visible()
    assert [url for url in asked if url.endswith("/log")]


def test_run_page_log_that_cannot_be_read_shows_the_error(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    _job(scheduler)
    scheduler.advance(minutes=10)
    page = open_page(console, f"/runs/{NOON}")
    problem = {"type": "/problems/internal", "title": "Internal error", "status": 500, "detail": "The store failed."}
    page.route("**/log", lambda route: route.fulfill(status=500, json=problem))
    page.get_by_role("tab", name="Log").click()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
