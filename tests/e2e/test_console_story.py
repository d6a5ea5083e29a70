"""The console on the deployed stack, where time is real: what people do there first."""

from __future__ import annotations

import re
from http.server import BaseHTTPRequestHandler

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import System
from tests.support.browser import PATIENCE_MS
from tests.support.http_target import answering, http_target

pytestmark = [pytest.mark.long, pytest.mark.emulator]


def fill(page: Page, **fields: str) -> None:
    for name, text in fields.items():
        page.get_by_role("textbox", name=name.replace("_", " "), exact=True).fill(text)


def test_a_job_made_with_the_form_fires_dies_and_is_redriven_by_hand(
    system: System, browser: Browser, request: pytest.FixtureRequest
) -> None:
    status = 500

    def behave(handler: BaseHTTPRequestHandler) -> None:
        answering(status)(handler)

    request.addfinalizer(lambda: system.client.delete_job("by-hand"))
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    with http_target(behave) as target:
        page.goto(f"{system.stack.console}#/jobs/new")
        fill(page, Id="by-hand", URL=target.url("/work"), Attempts="1")
        page.get_by_role("button", name="Every", exact=True).click()
        fill(page, How_many="5")
        page.get_by_role("button", name="Of what").click()
        page.get_by_role("option", name="seconds").click()
        page.get_by_role("button", name="Create job").click()
        expect(page).to_have_url(re.compile("#/jobs/by-hand$"))

        page.get_by_role("tab", name="Runs").click()
        dead = page.get_by_role("row").filter(has_text="DEAD")
        expect(dead.first).to_be_visible()
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("dialog").get_by_role("button", name="Pause").click()
        expect(page.get_by_text("PAUSED")).to_be_visible()

        status = 200
        dead.first.get_by_role("link").first.click()
        page.get_by_role("button", name="Redrive").click()
        page.get_by_role("dialog").get_by_role("button", name="Redrive").click()
        expect(page.get_by_text("SUCCEEDED", exact=True)).to_be_visible()
        assert {seen.path for seen in target.seen} == {"/work"}
    context.close()
