"""Chromium for the console's tests: the one that npm has installed, or the one in DUECOURSE_CHROME."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.support.shared import filled_once
from tests.support.template import ROOT

QUIET = (
    *("--headless=shell", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
"""Options that prevent requests other than those of the page."""
PATIENCE_MS = 120_000
"""The timeout of a test that hangs. It has no other effect."""
WIDE = "the page has"
LAYOUT_SECONDS = 30
"""The maximum time for the layout of a page after a change of its size."""
LAYOUT = """() => {
  const faults = [];
  const width = document.documentElement.scrollWidth;
  if (width > innerWidth) faults.push(`the page has ${width} px in a window of ${innerWidth} px`);
  for (const cell of document.querySelectorAll("td:not([colspan]), th")) {
    const style = getComputedStyle(cell);
    const lines = (cell.clientHeight - parseFloat(style.paddingBlockStart) - parseFloat(style.paddingBlockEnd)) / 20;
    if (lines > 3.5) faults.push(`a cell has ${Math.round(lines)} lines: ${cell.textContent.slice(0, 60)}`);
  }
  return faults;
}"""
"""Lines of Cloudscape's tables are 20 px high."""
BROWSERS = ROOT / ".build" / "chromium"
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"


def chromium() -> str:
    """Return the path of the browser: $DUECOURSE_CHROME, or the one of the lock, which is extracted once under
    `.build/chromium`.
    """
    if named := os.environ.get("DUECOURSE_CHROME"):
        return named
    return str(filled_once(BROWSERS / _locked_version(), _extract) / "chromium")


def _locked_version() -> str:
    package = json.loads((ROOT / "console" / "package.json").read_text())
    version: str = package["devDependencies"]["@sparticuz/chromium"]
    return version


def _extract(folder: Path) -> None:
    """Extract the package. It extracts to the temporary folder, and takes an existing file for a complete one (version
    147).
    """
    subprocess.run(["node", "browser.mjs"], cwd=ROOT / "console", check=True, env={**os.environ, "TMPDIR": str(folder)})


@contextmanager
def browsing() -> Iterator[Browser]:
    """Yield a browser for the duration of the context."""
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(QUIET))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def profile(browser: Browser) -> Iterator[BrowserContext]:
    """Yield a new profile in Berlin with a large screen. At the end, raises AssertionError with the errors that its
    pages have logged (a browser logs violations of a content security policy) and the exceptions in them.
    """
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, timezone_id="Europe/Berlin", locale="en-GB", reduced_motion="reduce"
    )
    context.set_default_timeout(PATIENCE_MS)
    faults: list[str] = []
    context.on("weberror", lambda fault: faults.append(str(fault.error)))
    context.on("console", lambda said: faults.append(said.text) if _is_fault(said.type, said.text) else None)
    yield context
    for page in context.pages:
        page.unroute_all(behavior="ignoreErrors")  # a handler may still wait for a response of the page that closes
    context.close()
    assert not faults, faults


def _is_fault(kind: str, text: str) -> bool:
    return kind == "error" and "Failed to load resource" not in text  # an answer of the API, which the page shows


def accessibility_faults(page: Page) -> list[str]:
    """Return axe's serious and critical findings (WCAG 2.1 A and AA) in the current page, one per line."""
    page.evaluate(AXE.read_text())
    found: dict[str, Any] = page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']})")
    return [
        f"{fault['id']} ({fault['impact']}): {json.dumps([each['html'][:160] for each in fault['nodes'][:3]])}"
        for fault in found["violations"]
        if fault["impact"] in {"serious", "critical"}
    ]


def layout_faults(page: Page, beginning: str = "") -> list[str]:
    """Return elements that are wider than the window, and table cells with more than three lines, one per line, of
    those that begin with this text. Scripts adapt the page after a change of its size, so only lasting faults count.
    """
    # Not with `wait_for_function`, which evaluates its text again in the page: the console's policy forbids that.
    end = time.monotonic() + LAYOUT_SECONDS
    while True:
        found = [fault for fault in page.evaluate(LAYOUT) if fault.startswith(beginning)]
        if not found or time.monotonic() > end:
            return found
        page.wait_for_timeout(100)


def assert_fits(page: Page) -> None:
    """Fail if the page stays wider than the window."""
    assert layout_faults(page, WIDE) == []
