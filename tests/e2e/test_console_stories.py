"""What people do with the console on the real stack: pause a job and ask why it did not run, edit one, run a workflow
again, read what others wrote. Creating a job, its death and redrive, and logins: test_tokens.py.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Page, expect

from duecourse.cli.local.demo.dead_letters import job_of
from duecourse.cli.local.demo.receiver import OK_PATH
from duecourse.cli.local.emulator import aws
from tests.support.browser import profile
from tests.support.http_target import answering, http_target
from tests.support.waiting import awaited

from .conftest import System, run_in

BERLIN = ZoneInfo("Europe/Berlin")
IMAGE = '<img src=x onerror="window.broken = true">'
REVERSED = "\u202egnp.exe"
"""What stands after it is read from right to left."""


@pytest.fixture
def page(system: System, browser: Browser) -> Iterator[Page]:
    """A page of a fresh profile, on the console's overview."""
    with profile(browser) as context:
        page = context.new_page()
        page.goto(address(system, "/"))
        yield page


@pytest.fixture
def left(system: System) -> Iterator[list[str]]:
    """The ids of jobs that are deleted after the test, the stack being everybody's."""
    jobs: list[str] = []
    yield jobs
    for job_id in jobs:
        system.client.delete_job(job_id)


@pytest.fixture
def create(system: System, left: list[str]) -> Callable[..., None]:
    """Creates a job whose target answers well."""

    def create(job_id: str, **document: Any) -> None:
        target = {"type": "http", "url": system.receiver.url + OK_PATH}
        system.client.create_job({"id": job_id, "target": target, **document})
        left.append(job_id)

    return create


def address(system: System, path: str) -> str:
    return f"{system.stack.console}#{path}"


def test_console_stories_paused_job_shows_who_paused_it_and_why_at_an_instant_when_another_job_ran(
    system: System, page: Page, create: Callable[..., None]
) -> None:
    same = {"schedule": "rate(5 seconds)", "anchor": "2026-01-01T00:00:00Z"}
    create("story-held", **same)
    page.goto(address(system, "/jobs/story-held"))
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("The data are wrong")
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("by local: The data are wrong")).to_be_visible()
    create("story-going", **same, max_runs=1)
    due = awaited("the other job's run", run_in(system, "story-going", "SUCCEEDED")).occurrence
    shown = f"{due:%Y-%m-%d %H:%M:%S}"
    why = re.compile(r"It did not run: the job has been paused since .* by local \(The data are wrong\)")
    page.get_by_role("tab", name="Explain").click()
    page.get_by_label("Date", exact=True).fill(shown[:10])
    page.get_by_label("Time (UTC)").fill(shown[11:])
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_text(f"{shown} UTC: the job was paused")).to_be_visible()
    expect(page.get_by_text(why)).to_be_visible()
    page.goto(address(system, f"/why?job=story-held&at={due:%Y-%m-%dT%H:%M:%SZ}"))
    expect(page.get_by_role("region", name="Explanation")).to_contain_text(why)
    expect(page.get_by_label("Time (UTC)")).to_have_value(shown[11:])
    called = {call.job_id for call in system.log.calls if call.scheduled_at == due}
    assert called & {"story-held", "story-going"} == {"story-going"}


def test_console_stories_edit_across_a_dst_change_is_saved_and_reopened_with_its_note(
    system: System, page: Page, create: Callable[..., None]
) -> None:
    night = next_gap(datetime.now(BERLIN) + timedelta(days=3))
    before = (night - timedelta(days=1)).replace(hour=0)
    create("story-night", schedule="30 1 * * *", start=f"{before.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}")
    page.goto(address(system, "/jobs/story-night/edit"))
    expression = page.get_by_role("textbox", name="Expression", exact=True)
    zone = page.get_by_role("button", name=re.compile("^Time zone"))
    coming = page.get_by_role("region", name="Next occurrences")
    expression.fill("30 2 * * *")
    zone.click()
    page.get_by_role("combobox", expanded=True).fill("Europe/Berlin")
    page.get_by_role("option", name="Europe/Berlin").click()
    moved = f"{night:%Y-%m-%d} 03:00:00 +02:00 Europe/Berlin"
    note = "The clocks in Europe/Berlin go forward: 02:30 does not exist on that day. The job runs at 03:00"
    expect(coming.get_by_role("listitem").filter(has_text=moved)).to_contain_text(note)
    page.get_by_role("button", name="Review changes").click()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page).to_have_url(re.compile("#/jobs/story-night$"))
    page.get_by_role("tab", name="Next").click()
    rows = page.get_by_role("grid", name="Next occurrences").get_by_role("row")
    expect(rows.filter(has_text=f"{night:%Y-%m-%d} 03:00:00+02:00")).to_contain_text(note)
    page.goto(address(system, "/jobs/story-night/edit"))
    expect(expression).to_have_value("30 2 * * *")
    expect(zone).to_contain_text("Europe/Berlin")
    expect(coming.get_by_role("listitem").filter(has_text=moved)).to_contain_text(note)


def next_gap(day: datetime) -> datetime:
    """The first 02:30 from `day` on that the clocks of Berlin do not show."""
    first = day.replace(hour=2, minute=30, second=0, microsecond=0)
    nights = (first + timedelta(days=days) for days in range(400))
    return next(night for night in nights if night.astimezone(UTC).astimezone(BERLIN).hour != night.hour)


def test_console_stories_workflow_of_four_steps_is_rerun_from_the_failed_one(
    system: System, page: Page, left: list[str]
) -> None:
    answers = {"/story-refunds": answering(422, IMAGE.encode())}

    def behave(handler: BaseHTTPRequestHandler) -> None:
        answers.get(handler.path, answering(200))(handler)

    with http_target(behave) as target:
        after = {"story-extract": [], "story-orders": ["story-extract"], "story-refunds": ["story-extract"]}
        after["story-book"] = ["story-orders", "story-refunds"]
        steps = {
            name: {"job_id": name, "after": before, "job": {"target": {"type": "http", "url": target.url(f"/{name}")}}}
            for name, before in after.items()
        }
        system.client.put_workflow("story-close", {"schedule": None, "jobs": steps})
        left.extend(["story-close", *steps])
        page.goto(address(system, "/workflows/story-close"))
        page.get_by_role("button", name="Run now").click()
        page.get_by_role("dialog").get_by_role("button", name="Start the run").click()
        page.get_by_role("link", name=re.compile(r"^story-close\.")).first.click()

        jobs = page.get_by_role("grid", name="Steps of the run")
        graph = page.get_by_role("region", name=re.compile("Graph of"))
        expect(jobs.get_by_role("row", name=re.compile("story-book SKIPPED"))).to_contain_text(
            "an upstream step failed"
        )
        expect(jobs.get_by_role("row", name=re.compile("story-refunds DEAD"))).to_contain_text(IMAGE)
        expect(graph).to_contain_text(re.compile("story-refunds *DEAD"))
        expect(graph).to_contain_text(re.compile("story-orders *SUCCEEDED"))

        answers.clear()
        jobs.get_by_role("button", name="Rerun from here: story-refunds").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("runs 2 steps: story-refunds, story-book.")
        dialog.get_by_role("button", name="Run 2 steps").click()
        expect(page.get_by_text("4 succeeded")).to_be_visible()
        expect(graph).to_contain_text(re.compile("story-refunds *SUCCEEDED"))
        expect(jobs.get_by_role("row", name=re.compile("story-orders SUCCEEDED"))).to_contain_text("Not run again")
        called = [seen.path.removeprefix("/") for seen in target.seen]
        assert sorted(called) == sorted([*after, "story-refunds"])

    take_dead_letters(system, {"story-close", "story-refunds"})


def take_dead_letters(system: System, jobs: set[str]) -> None:
    """Delete a message of each of these jobs from the dead-letter queue, where it arrives some time after the death."""
    sqs, queue = aws.client(system.stack.endpoint, "sqs"), system.stack.outputs.dead_letter_queue_url
    missing = set(jobs)

    def taken() -> bool:
        found = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=0)
        for message in found.get("Messages", ()):
            if (job := job_of(message["Body"])) in missing:
                sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
                missing.discard(job)
        return not missing

    awaited(f"the dead letters of {jobs}", taken)


def test_console_stories_hostile_text_is_shown_literally_under_the_served_policy(
    system: System, page: Page, create: Callable[..., None]
) -> None:
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    long = IMAGE + "x" * 10_000
    create(
        "story-hostile",
        schedule="0 0 1 1 *",
        name=IMAGE + REVERSED,
        description=REVERSED + IMAGE,
        owner=IMAGE,
        payload={IMAGE: long},
    )
    run = system.client.run_job("story-hostile")
    awaited("the end of its run", run_in(system, "story-hostile", "SUCCEEDED"))
    system.client.pause_job("story-hostile", note=IMAGE + REVERSED)

    served = page.reload()
    assert served.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    page.goto(address(system, "/jobs?prefix=story-hostile"))
    expect(page.get_by_role("grid").get_by_text(IMAGE + REVERSED).first).to_be_visible()
    page.goto(address(system, "/jobs/story-hostile"))
    expect(page.get_by_role("heading", level=1, name=IMAGE)).to_be_visible()
    expect(page.get_by_text(f"by local: {IMAGE}")).to_be_visible()
    page.get_by_role("tab", name="Definition").click()
    expect(page.get_by_text("x" * 10_000)).to_be_visible()
    page.goto(address(system, f"/runs/{run.id}"))
    expect(page.get_by_text("x" * 10_000)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "the text is broken into lines"
    page.goto(address(system, "/jobs/story-hostile/edit"))
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value(IMAGE + REVERSED)
    assert (page.evaluate("window.broken"), dialogs) == (None, [])
