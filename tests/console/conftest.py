"""A browser before the console's page, over a stage in memory whose clock the test moves."""

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
"""The night before Europe's clocks go forward."""


Open = Callable[..., Page]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One for all files here."""
    with browsing() as browser:
        yield browser


@pytest.fixture(scope="session")
def files() -> Mapping[str, bytes]:
    return built(built_files())


@pytest.fixture
def scheduler() -> Scheduler:
    """A stage without jobs; it is NOW, for the page, too."""
    return Scheduler(NOW)


@pytest.fixture
def console(scheduler: Scheduler, files: Mapping[str, bytes]) -> Iterator[ServedConsole]:
    """The page of `scheduler`."""
    with served_console(scheduler, files) as console:
        yield console


@pytest.fixture(scope="session")
def sampled(files: Mapping[str, bytes]) -> Iterator[ServedConsole]:
    """The page of a stage with jobs and a week of runs, for tests that change nothing."""
    scheduler = Scheduler("2026-03-21T12:00:00Z")
    fill(scheduler)
    with served_console(scheduler, files) as console:
        yield console


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh profile. A page that logs an error or fails fails its test."""
    with profile(browser) as context:
        yield context


@pytest.fixture
def open_page(context: BrowserContext) -> Open:
    """Opens the console at an address after `#`, by the scheduler's clock."""

    def open_at(console: ServedConsole, path: str = "/", theme: Literal["light", "dark"] = "light") -> Page:
        page = context.new_page()
        page.emulate_media(color_scheme=theme)
        page.clock.set_fixed_time(console.scheduler.now)
        page.goto(f"{console.url}#{path}")
        return page

    return open_at
