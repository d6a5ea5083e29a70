"""Logging in and out."""

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from playwright.sync_api import BrowserContext, Route, expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.browser import accessibility_faults
from tests.support.console import SETTINGS, served_console
from tests.support.issuer import issuing


def test_login_logout_persists_where_the_issuer_has_no_logout_address(
    scheduler: Scheduler, files: Mapping[str, bytes], open_page: Open
) -> None:
    with issuing() as issuer:
        issuer.logs_in = ("acme", "jobs:read")
        settings = {**SETTINGS, "auth": "oidc", "issuer": issuer.url, "client_id": "console"}
        with served_console(scheduler, files, settings) as console:
            page = open_page(console, "/jobs")
            # A page that is left while it loads reports an error.
            expect(page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()
            page.get_by_role("button", name="acme-user").click()
            page.get_by_role("menuitem", name="Log out").click()
            expect(page.get_by_role("heading", name="You are logged out")).to_be_visible()
            assert accessibility_faults(page) == []
            page.reload()
            page.get_by_role("link", name="Log in").click()
            expect(page.get_by_role("button", name=re.compile("acme-user"))).to_be_visible()
            expect(page.get_by_role("heading", level=1, name="Overview")).to_be_visible()


def test_login_stays_in_the_tab_where_it_started(
    scheduler: Scheduler, files: Mapping[str, bytes], open_page: Open, context: BrowserContext
) -> None:
    with issuing() as issuer:
        issuer.logs_in = ("acme", "jobs:read")
        settings = {**SETTINGS, "auth": "oidc", "issuer": issuer.url, "client_id": "console"}
        asked: list[str] = []

        def at_the_issuer(route: Route) -> None:
            asked.append(issuer.login(dict(parse_qsl(urlsplit(route.request.url).query))))
            route.fulfill(status=200, content_type="text/html", body="<h1>Who are you?</h1>")

        with served_console(scheduler, files, settings) as console:
            context.route(re.compile(re.escape(f"{issuer.url}/authorize")), at_the_issuer)
            first, second = open_page(console, "/jobs"), open_page(console, "/workflows")
            for page in (first, second):
                expect(page.get_by_role("heading", name="Who are you?")).to_be_visible()
            other = context.new_page()
            other.goto(f"{console.url}?logged-out")
            assert [key for key in other.evaluate("Object.keys(localStorage)") if "oidc" in key] == []
            second.goto(asked[0])  # the answer to the first tab
            expect(second.get_by_text("The console could not start")).to_be_visible()
            first.goto(asked[0])
            expect(first.get_by_role("heading", name="Jobs", level=1)).to_be_visible()
            second.goto(asked[1])
            expect(second.get_by_role("heading", name="Workflows", level=1)).to_be_visible()
            assert [key for key in other.evaluate("Object.keys(localStorage)") if "oidc" in key] == []
