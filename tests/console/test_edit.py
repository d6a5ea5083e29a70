"""Making a job and editing it: the form, the JSON beside it, and what comes next while it is written."""

import json
import re
from typing import Any

from playwright.sync_api import BrowserContext, Page, Route, expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.console.test_jobs import HOSTILE, TARGET
from tests.support.browser import accessibility_faults
from tests.support.console import ServedConsole


def shown(page: Page) -> dict[str, Any]:
    """The JSON beside the form."""
    found: dict[str, Any] = json.loads(_text(page))
    return found


def _text(page: Page) -> str:
    return page.get_by_role("textbox", name="The job as JSON").input_value()


def write(page: Page, **fields: str) -> None:
    for name, text in fields.items():
        page.get_by_role("textbox", name=name.replace("_", " "), exact=True).fill(text)


def choose(page: Page, field: str, option: str) -> None:
    page.get_by_role("button", name=re.compile(f"^{field}")).click()
    page.get_by_role("option", name=option).click()


def test_job_editor_form_creates_a_job_that_fires(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    page = open_page(console, "/jobs/new")
    write(page, Id="hourly", Name="Every hour", Expression="15 * * * *", URL="https://shop.example/sync")
    write(page, Tags="crm, eu", Payload='{"day": "{{due_at}}"}', Attempts="2")
    coming = page.get_by_role("region", name="Next occurrences")
    expect(coming).to_contain_text("every hour at minute 15, UTC")
    expect(coming.get_by_role("listitem")).to_have_count(10)
    expect(coming.get_by_role("listitem").first).to_have_text("2026-03-28 12:15:00 +00:00 UTC (in 15 min)")
    assert shown(page) == {
        "id": "hourly",
        "name": "Every hour",
        "schedule": "15 * * * *",
        "timezone": "UTC",
        "target": {"type": "http", "url": "https://shop.example/sync"},
        "tags": ["crm", "eu"],
        "payload": {"day": "{{due_at}}"},
        "retry": {"max_attempts": 2},
    }
    page.get_by_role("button", name="Create job").click()
    expect(page).to_have_url(re.compile("#/jobs/hourly$"))
    (call,) = scheduler.advance(hours=1)
    assert (call.job_id, call.payload) == ("hourly", {"day": "2026-03-28T12:15:00Z"})


def test_job_editor_offline_reports_an_error_and_creates_nothing_on_reconnection(
    scheduler: Scheduler, console: ServedConsole, context: BrowserContext, open_page: Open
) -> None:
    page = open_page(console)
    page.get_by_role("link", name="Create job").click()
    write(page, Id="hourly", Expression="15 * * * *", URL="https://shop.example/sync")
    context.set_offline(True)
    page.get_by_role("button", name="Create job").click()
    expect(page.get_by_text("The API cannot be reached").first).to_be_visible()
    page.get_by_role("navigation").get_by_role("link", name="Overview").click()
    page.get_by_role("dialog", name="Leave without saving?").get_by_role("button", name="Leave").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    with page.expect_response(re.compile("/v1/stats")):
        context.set_offline(False)
        page.clock.fast_forward(60_000)
    assert scheduler.client.list_jobs().items == ()


def test_job_editor_login_of_a_call_has_fields_of_its_own(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    page = open_page(console, "/jobs/new")
    write(page, URL="https://shop.example/sync")
    choose(page, "Authentication", "User name and password")
    write(page, User_name="duecourse", Password="shop")
    basic = {"type": "basic", "username": "duecourse", "secret": "shop"}
    assert shown(page)["target"]["auth"] == basic
    choose(page, "Authentication", "OAuth")
    write(page, Token_URL="https://login.example/token", Client_id="jobs", Client_secret="login", Scope="sync")
    oauth = {"type": "oauth", "token_url": "https://login.example/token", "client_id": "jobs", "secret": "login"}
    assert shown(page)["target"]["auth"] == {**oauth, "scope": "sync"}
    choose(page, "Authentication", "Token of the stage")
    write(page, Audience="https://shop.example")
    assert shown(page)["target"]["auth"] == {"type": "oidc", "audience": "https://shop.example"}
    choose(page, "Authentication", "None")
    assert "auth" not in shown(page)["target"]


def test_job_editor_form_and_json_stay_in_sync(scheduler: Scheduler, console: ServedConsole, open_page: Open) -> None:
    page = open_page(console, "/jobs/new")
    text = page.get_by_role("textbox", name="The job as JSON")
    text.fill(
        '{"id": "a", "schedule": "rate(5 minutes)", "of_tomorrow": {"x": 1}, "target": {"type": "sqs", "queue": "q"}}'
    )
    expect(page.get_by_role("textbox", name="Number")).to_have_value("5")
    expect(page.get_by_role("textbox", name="Queue")).to_have_value("q")
    write(page, Number="1", Queue="orders")
    assert shown(page) == {
        "id": "a",
        "schedule": "rate(1 minute)",
        "of_tomorrow": {"x": 1},
        "target": {"type": "sqs", "queue": "orders"},
    }
    text.fill('{"id": "a", ')
    expect(page.get_by_text("Invalid JSON")).to_be_visible()
    expect(page.get_by_role("textbox", name="Queue")).to_be_disabled()
    expect(page.get_by_role("textbox", name="Queue")).to_have_value("orders")
    page.get_by_role("button", name="Reset to the values of the form").click()
    assert shown(page)["of_tomorrow"] == {"x": 1}

    write(page, Payload="{")
    expect(page.get_by_text("This is not valid JSON")).to_be_visible()
    expect(page.get_by_role("button", name="Create job")).to_be_disabled()
    write(page, Payload="")
    choose(page, "Kind of target", "Lambda function")
    write(page, Function="report")
    assert shown(page)["target"] == {"type": "lambda", "function": "report"}
    page.get_by_role("button", name="Once").click()
    write(page, When_Time="10:30:00")
    assert shown(page)["schedule"] == "at(2026-03-29T10:30:00)"
    page.get_by_role("button", name="Start from").click()
    page.get_by_role("menuitem", name="Run on demand").click()
    dialog = page.get_by_role("dialog", name="Replace your input?")
    expect(dialog).to_contain_text("These values will be lost: schedule, target.")
    dialog.get_by_role("button", name="Replace").click()
    expect(dialog).to_be_hidden()
    assert shown(page)["schedule"] is None
    expect(page.get_by_text("The job runs only on demand.")).to_be_visible()


def test_job_editor_form_has_several_schedules(scheduler: Scheduler, console: ServedConsole, open_page: Open) -> None:
    page = open_page(console, "/jobs/new")
    write(page, Id="report", Expression="0 9 * * MON-FRI", URL="https://shop.example/report")
    page.get_by_role("button", name="Add a schedule").click()
    write(page, Schedule_2="0 25 * * 6")
    assert shown(page)["schedule"] == ["0 9 * * MON-FRI", "0 25 * * 6"]
    page.get_by_role("button", name="Create job").click()
    expect(page.get_by_text("25 is out of range").first).to_be_visible()
    write(page, Schedule_2="0 11 * * 6")
    expect(page.get_by_role("region", name="Next occurrences")).to_contain_text("at 11:00 on Saturday, UTC")
    assert accessibility_faults(page) == []
    page.get_by_role("button", name="Create job").click()
    expect(page).to_have_url(re.compile("#/jobs/report$"))
    expect(page.get_by_role("main")).to_contain_text("0 11 * * 6")
    assert [call.run_id for call in scheduler.advance(days=3)] == [
        "report.20260330T090000Z",
        "report.20260331T090000Z",
    ]
    page = open_page(console, "/jobs/report/edit")
    page.get_by_role("button", name="Remove schedule 1").click()
    assert shown(page)["schedule"] == "0 11 * * 6"


def test_job_editor_copies_an_existing_job(scheduler: Scheduler, console: ServedConsole, open_page: Open) -> None:
    scheduler.client.create_job({"id": "nightly", "schedule": "0 3 * * *", "target": TARGET, "tags": ["finance"]})
    page = open_page(console, "/jobs/nightly")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Create a copy").click()
    expect(page.get_by_role("heading", level=1, name="Create job")).to_be_visible()
    assert "id" not in shown(page)
    write(page, Id="nightly-eu")
    page.get_by_role("button", name="Create job").click()
    expect(page.get_by_role("heading", level=1, name="nightly-eu")).to_be_visible()
    one, other = scheduler.client.get_job("nightly"), scheduler.client.get_job("nightly-eu")
    assert (other.schedule, other.target, other.tags) == (one.schedule, one.target, one.tags)


def test_job_editor_shows_refusals_at_their_fields(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    page = open_page(console, "/jobs/new")
    write(page, Expression="61 * * * *")
    when = page.get_by_role("textbox", name="Expression")
    expect(when).to_have_accessible_description(re.compile("61"))
    expect(when).to_have_attribute("aria-invalid", "true")
    write(page, Id=HOSTILE, Name="n" * 10_000, Expression="0 3 * * *", URL="ftp://nowhere", Attempts="0")
    page.get_by_role("button", name="Retries, callbacks").click()
    shortest = page.get_by_role("textbox", name="Minimum delay")
    shortest.fill("-1")
    page.get_by_role("button", name="Retries, callbacks").click()
    expect(shortest).to_be_hidden()
    page.get_by_role("button", name="Create job").click()
    name = page.get_by_role("textbox", name="Name", exact=True)
    expect(name).to_have_accessible_description(re.compile("is too long: at most 256 characters are allowed"))
    expect(page.get_by_role("textbox", name="URL")).to_have_accessible_description(re.compile("must begin with https"))
    expect(page.get_by_role("textbox", name="Attempts")).to_have_accessible_description(re.compile("from 1 to 100"))
    expect(page.get_by_role("textbox", name="Id", exact=True)).to_be_focused()
    expect(shortest).to_have_accessible_description(re.compile("from 0 to 86400"))
    assert accessibility_faults(page) == []
    shortest.fill("1")
    expect(shortest).to_be_focused()
    write(page, Id="mended", Name=HOSTILE, URL="https://a.example/", Attempts="1", Description=HOSTILE)
    expect(name).not_to_have_attribute("aria-invalid", "true")
    page.get_by_role("button", name="Create job").click()
    expect(page).to_have_url(re.compile("#/jobs/mended$"))
    assert scheduler.client.get_job("mended").name == HOSTILE
    page.goto(f"{console.url}#/jobs/mended/edit")
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value(HOSTILE)
    assert page.title() != "owned"


def test_job_editor_explains_the_effect_of_a_dst_change(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job(
        {"id": "nightly", "schedule": "30 1 * * *", "timezone": "Europe/Berlin", "target": TARGET, "payload": {"a": 1}}
    )
    page = open_page(console, "/jobs/nightly/edit")
    write(page, Expression="30 2 * * *")
    coming = page.get_by_role("region", name="Next occurrences")
    expect(coming.get_by_role("listitem").first).to_contain_text(
        "02:30 does not exist on that day. The job runs at 03:00"
    )
    page.get_by_role("button", name="Daylight saving, start and end, missed occurrences").click()
    choose(page, "If the time does not exist", "Skip the run")
    expect(coming.get_by_role("listitem").first).to_contain_text("Skipped")
    page.get_by_role("button", name="Review changes").click()
    changes = page.get_by_role("dialog").get_by_role("table")
    expect(changes.get_by_role("row", name=re.compile("schedule 30 1 .* 30 2"))).to_be_visible()
    expect(changes.get_by_role("row", name=re.compile("dst_gap next skip"))).to_be_visible()
    expect(changes.get_by_role("rowheader")).to_have_count(2)
    runs = page.get_by_role("region", name="Changed runs")
    expect(runs).to_contain_text("29 moved, 1 removed")
    expect(runs.get_by_role("listitem").first).to_have_text("2026-03-29 01:30 is removed")
    expect(runs.get_by_role("listitem").nth(1)).to_have_text("2026-03-30 01:30 \N{RIGHTWARDS ARROW} 2026-03-30 02:30")
    expect(runs).to_contain_text(
        "A month, without the target: 30 runs ($0.0002) \N{RIGHTWARDS ARROW} 29 runs ($0.0002)."
    )
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page).to_have_url(re.compile("#/jobs/nightly$"))
    job = scheduler.client.get_job("nightly")
    assert (job.schedule, job.dst_gap, job.payload) == ("30 2 * * *", "skip", {"a": 1})
    assert scheduler.advance(hours=23) == []


def test_job_editor_conflict_shows_the_other_changes_and_reapplies_own_changes(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job({"id": "shared", "schedule": "0 3 * * *", "target": TARGET})
    page = open_page(console, "/jobs/shared/edit")
    write(page, Name="mine", Attempts="7")
    scheduler.client.patch_job("shared", {"name": "theirs", "owner": "them"})
    page.get_by_role("button", name="Review changes").click()
    told = page.get_by_role("dialog", name="This job was changed by another user")
    expect(told.get_by_role("row", name=re.compile("owner"))).to_contain_text("them")
    expect(told.get_by_role("row", name=re.compile("name"))).to_contain_text("also changed by you")
    told.get_by_role("button", name="Apply my changes to the new version").click()
    expect(page.get_by_role("textbox", name="Owner")).to_have_value("them")
    page.get_by_role("button", name="Review changes").click()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page).to_have_url(re.compile("#/jobs/shared$"))
    job = scheduler.client.get_job("shared")
    assert (job.name, job.owner, job.retry.max_attempts) == ("mine", "them", 7)


def test_job_editor_unsaved_changes_survive_expired_login_and_leaving(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job({"id": "kept", "schedule": "0 3 * * *", "target": TARGET})
    page = open_page(console, "/jobs/kept/edit")
    write(page, Name="not lost")

    def expired(route: Route) -> None:
        route.fulfill(status=401, json={"message": "Unauthorized"})

    page.route("**/v1/jobs/kept*", expired)
    page.get_by_role("button", name="Review changes").click()
    expect(page.get_by_text("Your login has expired")).to_be_visible()
    page.unroute("**/v1/jobs/kept*")
    page.reload()
    expect(page.get_by_text("Unsaved changes restored")).to_be_visible()
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value("not lost")
    page.get_by_role("link", name="Stage").click()
    question = page.get_by_role("dialog", name="Leave without saving?")
    question.get_by_role("button", name="Cancel").click()
    expect(page).to_have_url(re.compile("kept/edit$"))
    page.get_by_role("link", name="Stage").click()
    question.get_by_role("button", name="Leave").click()
    expect(page.get_by_role("heading", level=1, name="Stage")).to_be_visible()
    page.goto(f"{console.url}#/jobs/kept/edit")
    page.get_by_role("button", name="Start over").click()
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value("")
    page.get_by_role("link", name="Stage").click()
    expect(page.get_by_role("heading", level=1, name="Stage")).to_be_visible()


def test_job_editor_creation_with_lost_response_creates_one_job(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    page = open_page(console, "/jobs/new")
    write(page, URL="https://shop.example/sync")

    def lost(route: Route) -> None:
        route.fetch()
        route.fulfill(status=503, json={"message": "Service Unavailable"})

    page.route("**/v1/jobs", lost)
    page.get_by_role("button", name="Create job").click()
    expect(page.get_by_text("The API is busy")).to_be_visible()
    page.unroute("**/v1/jobs")
    page.reload()
    expect(page.get_by_role("textbox", name="URL")).to_have_value("https://shop.example/sync")
    page.get_by_role("button", name="Create job").click()
    expect(page.get_by_role("heading", name="Create job")).to_be_hidden()
    assert len(list(scheduler.client.list_jobs())) == 1


def test_job_editor_save_with_lost_response_is_saved_once_and_not_reported_as_a_conflict(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    signed = {"id": "shared", "schedule": "0 3 * * *", "target": {**TARGET, "sign": {"secret": "hooks"}}}
    before = scheduler.client.create_job(signed)
    page = open_page(console, "/jobs/shared/edit")
    write(page, **{"Signing secret": ""})

    def lost(route: Route) -> None:
        if route.request.method == "PUT" and "dry_run" not in route.request.url:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route("**/v1/jobs/shared*", lost)
    page.get_by_role("button", name="Review changes").click()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_text("The API cannot be reached")).to_be_visible()
    page.unroute("**/v1/jobs/shared*")
    page.get_by_role("button", name="Review changes").click()
    expect(page.get_by_text("Saved shared")).to_be_visible()
    expect(page).to_have_url(re.compile("#/jobs/shared$"))
    after = scheduler.client.get_job("shared")
    assert before.target["sign"] == {"secret": "hooks"}
    assert not after.target.get("sign")


def test_job_editor_explains_why_editing_is_not_possible(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.put_workflow(
        "flow", {"schedule": None, "jobs": {"step": {"job_id": "step", "job": {"target": TARGET}}}}
    )
    scheduler.client.create_job({"id": "over", "schedule": "at(2026-03-28T12:30:00)", "target": TARGET})
    scheduler.advance(hours=1)
    page = open_page(console, "/jobs/step/edit")
    expect(page.get_by_text("This job is a step of a workflow")).to_be_visible()
    expect(page.get_by_role("textbox", name="Expression")).to_have_count(0)
    page.goto(f"{console.url}#/jobs/flow/edit")
    expect(page.get_by_text("This job is a workflow")).to_be_visible()
    page.goto(f"{console.url}#/jobs/nobody/edit")
    expect(page.get_by_role("heading", name="Job not found")).to_be_visible()
    page.goto(f"{console.url}#/jobs/over/edit")
    expect(page.get_by_text("This job is completed")).to_be_visible()
    expect(page.get_by_text("The schedule has no future occurrences.")).to_be_visible()


def test_job_editor_shows_json_as_a_tab_on_a_narrow_screen(sampled: ServedConsole, open_page: Open) -> None:
    page = open_page(sampled, "/jobs/nightly-report/edit")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.get_by_role("textbox", name="Owner")).to_have_value("finance")
    page.get_by_role("tab", name="JSON").click()
    expect(page).to_have_url(re.compile(r"\?view=json$"))
    assert shown(page)["owner"] == "finance"


def test_job_editor_limits_and_notices_have_fields_and_errors_are_at_their_lines(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    page = open_page(console, "/jobs/new")
    write(page, Id="export", URL="https://shop.example/sync")
    page.get_by_role("button", name="Retries, callbacks, deadlines, events").click()
    write(page, Concurrency_key="crm", Concurrency_limit="500", Rate_per_minute="60", Rate_key="crm")
    page.get_by_role("button", name="Add notice").click()
    page.get_by_role("textbox", name="Job that delivers notice 1").fill("tell-slack")
    assert shown(page)["concurrency"] == {"key": "crm", "limit": 500}
    assert shown(page)["rate"] == {"per_minute": 60, "key": "crm"}
    assert shown(page)["notify"] == [{"on": ["dead"], "to": {"job": "tell-slack"}}]
    page.get_by_role("button", name="Create job").click()
    line = next(number for number, each in enumerate(_text(page).split("\n"), 1) if '"limit"' in each)
    expect(page.get_by_text(re.compile(rf"^Line {line}: concurrency/limit: "))).to_be_visible()
    write(page, Concurrency_key="", Concurrency_limit="")
    assert "concurrency" not in shown(page)
    page.get_by_role("button", name="Create job").click()
    expect(page.get_by_role("heading", level=1, name="export")).to_be_visible()
    rate = scheduler.client.get_job("export").rate
    assert rate is not None
    assert (rate.key, rate.per_minute) == ("crm", 60)


def test_job_editor_start_is_chosen_with_a_date_picker(console: ServedConsole, open_page: Open) -> None:
    page = open_page(console, "/jobs/new")
    page.get_by_role("button", name="Exclusions, daylight saving").click()
    page.get_by_label("Date", exact=True).first.fill("2026-12-01")
    assert "start" not in shown(page)
    page.get_by_label("Time (UTC)").first.fill("08:30")
    assert shown(page)["start"] == "2026-12-01T08:30:00Z"
    page.get_by_role("textbox", name="The job as JSON").fill('{"id": "a",\n"schedule": }')
    expect(page.get_by_text("Line 2: the JSON is not valid")).to_be_visible()


def test_job_editor_form_has_the_connector_of_a_private_network_and_the_job_page_shows_it(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    page = open_page(console, "/jobs/new")
    write(page, Id="invoices", Expression="15 * * * *", URL="http://erp.corp.example/invoices", Connector="office")
    expect(page.get_by_role("region", name="Next occurrences").get_by_role("listitem")).to_have_count(10)
    assert shown(page)["target"] == {"type": "http", "url": "http://erp.corp.example/invoices", "via": "office"}
    page.get_by_role("button", name="Create job").click()
    expect(page.get_by_text("POST http://erp.corp.example/invoices via office")).to_be_visible()
    (call,) = scheduler.advance(hours=1)
    assert call.target["via"] == "office"
