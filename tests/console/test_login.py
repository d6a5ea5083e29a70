"""Logging in and out."""

from __future__ import annotations

import re
from collections.abc import Mapping

from playwright.sync_api import expect

from duecourse.testing import Scheduler
from tests.console.conftest import Open
from tests.support.browser import accessibility_faults
from tests.support.console import SETTINGS, served_console
from tests.support.issuer import issuing


def test_whoever_logs_out_stays_logged_out_where_the_issuer_has_no_address_for_it(
    scheduler: Scheduler, files: Mapping[str, bytes], open_page: Open
) -> None:
    with issuing() as issuer:
        issuer.logs_in = ("acme", "jobs:read")
        settings = {**SETTINGS, "auth": "oidc", "issuer": issuer.url, "client_id": "console"}
        with served_console(scheduler, files, settings) as console:
            page = open_page(console, "/jobs")
            page.get_by_role("button", name="acme-user").click()
            page.get_by_role("menuitem", name="Log out").click()

            expect(page.get_by_role("heading", name="You are logged out")).to_be_visible()
            assert accessibility_faults(page) == []
            page.reload()
            page.get_by_role("link", name="Log in").click()
            expect(page.get_by_role("button", name=re.compile("acme-user"))).to_be_visible()
