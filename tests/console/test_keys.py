"""API keys: listed, created with a URL that is shown once, and revoked."""

from playwright.sync_api import expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.browser import accessibility_faults
from tests.support.console import ServedConsole

JOB = {"id": "report", "schedule": None, "target": {"type": "http", "url": "https://shop.example/hooks"}}


def test_keys_page_creates_a_key_and_shows_its_url_once(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job(JOB)
    page = open_page(console, "/keys")
    expect(page.get_by_text("There are no API keys yet. Choose Create API key.")).to_be_visible()
    page.get_by_role("button", name="Create API key").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Job").fill("nothing")
    dialog.get_by_role("button", name="Create API key").click()
    expect(dialog.get_by_text('There is no job "nothing".')).to_be_visible()
    dialog.get_by_label("Job").fill("report")
    dialog.get_by_label("Description").fill("GitHub")
    dialog.get_by_label("Days until expiry").fill("30")
    dialog.get_by_role("button", name="Create API key").click()
    expect(dialog.get_by_text("it cannot be shown again")).to_be_visible()
    url = dialog.locator("code").inner_text()
    assert "/v1/hooks/dck_default." in url
    assert accessibility_faults(page) == []
    dialog.get_by_role("button", name="Close", exact=True).last.click()
    row = page.get_by_role("row").filter(has_text="GitHub")
    expect(row).to_contain_text("Never")
    expect(row.get_by_role("link", name="report")).to_have_attribute("href", "#/jobs/report")
    assert url.rpartition("/")[2] not in page.content()
    assert accessibility_faults(page) == []


def test_keys_page_shows_the_secret_of_a_signed_key_once(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    scheduler.client.create_job(JOB)
    page = open_page(console, "/keys")
    page.get_by_role("button", name="Create API key").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Job").fill("report")
    dialog.get_by_label("Require signatures").check()
    dialog.get_by_role("button", name="Create API key").click()
    expect(dialog.get_by_role("button", name="Copy the secret")).to_be_visible()
    secret = dialog.locator("code").last.inner_text()
    assert len(secret) == 64
    assert accessibility_faults(page) == []
    dialog.get_by_role("button", name="Close", exact=True).last.click()
    page.set_viewport_size({"width": 1600, "height": 900})
    expect(page.get_by_role("row").filter(has_text="report")).to_contain_text("Yes")
    assert secret not in page.content()


def test_keys_page_creates_a_key_with_scopes_and_shows_its_text_once(
    scheduler: Scheduler, console: ServedConsole, open_page: Open
) -> None:
    page = open_page(console, "/keys")
    page.get_by_role("button", name="Create API key").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("radio", name="Call the API").check()
    expect(dialog.get_by_label("Job", exact=True)).to_have_count(0)
    expect(dialog.get_by_label("Require signatures")).to_have_count(0)
    dialog.get_by_label("Description").fill("Grafana")
    dialog.get_by_role("checkbox", name="Read").uncheck()
    expect(dialog.get_by_role("button", name="Create API key")).to_be_disabled()
    dialog.get_by_role("checkbox", name="Read").check()
    dialog.get_by_role("checkbox", name="Write").check()
    dialog.get_by_label("Tags").fill("team-a, team-b")
    assert accessibility_faults(page) == []
    dialog.get_by_role("button", name="Create API key").click()
    expect(dialog.get_by_role("button", name="Copy the key")).to_be_visible()
    text = dialog.locator("code").first.inner_text()
    assert text.startswith("dck_default.")
    expect(dialog.get_by_text("/key/v1")).to_be_visible()
    assert accessibility_faults(page) == []
    dialog.get_by_role("button", name="Close", exact=True).last.click()
    row = page.get_by_role("row").filter(has_text="Grafana")
    expect(row).to_contain_text("jobs:read:tag=team-a jobs:read:tag=team-b jobs:write:tag=team-a jobs:write:tag=team-b")
    assert text not in page.content()
    assert accessibility_faults(page) == []
    (key,) = scheduler.client.list_keys().items
    row.get_by_role("button", name=f"Revoke the key {key.id}").click()
    expect(page.get_by_text(f"Systems that use the key {key.id} can no longer call the API.")).to_be_visible()


def test_keys_page_revokes_a_key(scheduler: Scheduler, console: ServedConsole, open_page: Open) -> None:
    scheduler.client.create_job(JOB)
    made = scheduler.client.create_key("run:report", description="GitHub")
    page = open_page(console, "/keys")
    page.get_by_role("button", name=f"Revoke the key {made.id}").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke the key").click()
    expect(page.get_by_text(f"The key {made.id} is revoked.")).to_be_visible()
    expect(page.get_by_text("There are no API keys yet. Choose Create API key.")).to_be_visible()
    assert scheduler.client.list_keys().items == ()


def test_keys_page_does_not_say_that_there_are_no_keys_if_they_cannot_be_read(
    console: ServedConsole, open_page: Open
) -> None:
    page = open_page(console, "/nowhere")
    page.route("**/v1/keys", lambda route: route.fulfill(status=500, json={"message": "Internal Server Error"}))
    page.goto(f"{console.url}#/keys")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    expect(page.get_by_text("There are no API keys yet. Choose Create API key.")).to_have_count(0)
    page.unroute("**/v1/keys")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("There are no API keys yet. Choose Create API key.")).to_be_visible()
