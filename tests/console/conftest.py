"""A browser with the console's page, and a stage in memory whose clock the test advances."""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from duecourse.testing import Scheduler
from infra.console_files import built_files
from tests.support.browser import browsing, profile
from tests.support.console import ServedConsole, built, served_console
from tests.support.console_samples import fill

NOW = "2026-03-28T12:00:00Z"
"""The day before clocks in Europe are advanced."""


Open = Callable[..., Page]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One browser for all files in this folder."""
    with browsing() as browser:
        yield browser


@pytest.fixture(scope="session")
def files() -> Mapping[str, bytes]:
    return built(built_files())


@pytest.fixture
def scheduler() -> Scheduler:
    """A stage without jobs. Its time, and that of the page, is NOW."""
    return Scheduler(NOW)


@pytest.fixture
def console(scheduler: Scheduler, files: Mapping[str, bytes]) -> Iterator[ServedConsole]:
    """The console's page for `scheduler`."""
    with served_console(scheduler, files) as console:
        yield console


@pytest.fixture(scope="session")
def sampled(files: Mapping[str, bytes]) -> Iterator[ServedConsole]:
    """The console's page for a stage with jobs and a week of runs, for tests that change nothing."""
    scheduler = Scheduler("2026-03-21T12:00:00Z")
    fill(scheduler)
    with served_console(scheduler, files) as console:
        yield console


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A new browser profile. The test fails if a page logs an error or crashes."""
    with profile(browser) as context:
        yield context


@pytest.fixture
def open_page(context: BrowserContext) -> Open:
    """A function that opens the console at an address after `#`, with the scheduler's clock."""

    def open_at(console: ServedConsole, path: str = "/", theme: Literal["light", "dark"] = "light") -> Page:
        page = context.new_page()
        page.emulate_media(color_scheme=theme)
        page.clock.set_fixed_time(console.scheduler.now)
        page.goto(f"{console.url}#{path}")
        return page

    return open_at
