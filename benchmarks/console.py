"""Measure the first load of the console's pages in a browser, on the local stack.

    python -m benchmarks.console [--jobs 10000] [--runs 10] [--visits 5] [--json]

Deploys stage local, creates the jobs and the records of their last runs, and opens the console in Chromium with an
empty cache, --visits times. The result has the compressed transfer size of the first page, the time until its figures
are visible, the time that its scripts block the browser, and the load times of the list of jobs and of its next page.
For each page, it has the number and the compressed size of the API's responses, the time until the first row is
visible, the processor time that the emulator used until then, and the layout shift. Except for the first page, the
console's files are in the browser's cache. The transfer includes all requests until the page is idle. The requests for
the load of all jobs are counted separately, because they end last and grow with the number of jobs. Unlike on AWS, the
functions share this machine's processors with the browser and the emulator, and there is no network latency.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from playwright.sync_api import Browser, Page, expect

from benchmarks.about import about
from benchmarks.arguments import positive
from duecourse.cli.local.emulator.ministack import MiniStack
from duecourse.client import Client
from duecourse.client.bodies import JobRequest, SqsTarget
from duecourse.domain.runs.states import RunState
from duecourse.stores.run_item import to_item
from tests.support.browser import browsing
from tests.support.deployed import deploy
from tests.support.emulators import client, ministack
from tests.support.jobs import NOON, job
from tests.support.runs import run

MAX_TRANSFER_BYTES = 350_000
MAX_INTERACTIVE_SECONDS = 2.0
MADE = 100
"""The number of jobs that the API creates, in one request."""

MOST_WRITTEN = 25
"""The maximum number of items of a BatchWriteItem (Amazon DynamoDB API Reference)."""

COUNTED = re.compile(r"^Dead letters: (at least )?\d")
"""Matches a figure of the overview that requires a response of the API. It is a link, so the page is usable when it is
visible.
"""
MAX_ROW_SECONDS = 1.0
"""Without the processor time of the emulator, which stands for DynamoDB and API Gateway: it reads a page of an index by
comparing the whole table.
"""

EARLIER_VISITS = 2
"""Chromium stores the compiled scripts of a page at its second visit (V8 blog, "Code caching for JavaScript
developers"), so this is the state of a page that is in use.
"""

ROW = "tbody tr a[href]"
PAGES = {
    "overview": ("/", "h2:has-text('Needs attention')"),
    "jobs": ("/jobs", ROW),
    "jobs, search by a part of the name": ("/jobs?search=b-0009", ROW),
    "runs": ("/runs", ROW),
    "runs, dead": ("/runs?state=DEAD", ROW),
    "runs of a job": ("/jobs/job-00001?tab=runs", ROW),
    "dead letters": ("/dead-letters", ROW),
    "load": ("/load", "main a[href^='#/jobs/']"),
    "workflows": ("/workflows", "text=There are no workflows yet"),
    "calendars": ("/calendars", "text=There are no calendars yet"),
    "limits": ("/limits", "main table"),
    "stage": ("/stage", "main h2"),
}
"""The pages with what is their first row, or stands for it: the stage has no workflows and calendars."""

PARENT, USED = 1, 11
"""The positions after the name of a program in `/proc/<pid>/stat` (proc_pid_stat(5)): its parent, and the ticks that it
used in user mode, which those in the kernel follow.
"""

WALK = "/v1/upcoming"
WATCH_LONG_TASKS = """
window.blocked = 0;
new PerformanceObserver((list) => { for (const each of list.getEntries()) window.blocked += each.duration - 50; })
  .observe({type: "longtask", buffered: true});
"""
"""Total blocking time as Lighthouse computes it: the part of each task beyond 50 ms."""


LAYOUT_SHIFT = """new Promise((resolve) => {
  let shift = 0;
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) if (!each.hadRecentInput) shift += each.value;
  }).observe({type: "layout-shift", buffered: true});
  setTimeout(() => resolve(shift), 100);
})"""
"""The sum of all shifts. The Cumulative Layout Shift of Web Vitals, their largest session, is at most this sum."""
MAX_SHIFT = 0.1


def main() -> int:
    """Measure, and print the result. Return 1 if a budget is missed."""
    given = _arguments()
    with TemporaryDirectory(prefix="duecourse-console-") as folder, ministack(Path(folder)) as endpoint:
        print("deploying ...", file=sys.stderr)
        outputs = deploy(endpoint)
        api = f"{endpoint}/_aws/execute-api/{outputs['ApiId']}"
        print(f"making {given.jobs} jobs ...", file=sys.stderr)
        make(endpoint, api, outputs["JobsTable"], given.jobs)
        print(f"making {given.jobs * given.runs} runs ...", file=sys.stderr)
        make_runs(endpoint, outputs["RunsTable"], given.jobs, given.runs)
        with browsing() as browser:
            first_page(browser, api)  # warm up the functions, so that cold starts are not measured
            visits = [first_page(browser, api) for _ in range(given.visits)]
            lists = [job_list(browser, api) for _ in range(given.visits)]
            pages = {name: page_figures(browser, api, *of, given.visits) for name, of in PAGES.items()}
    figures = {
        "first_page": {name: median(visit[name] for visit in visits) for name in visits[0]},
        "job_list": {name: median(visit[name] for visit in lists) for name in lists[0]},
        "pages": pages,
        "jobs": given.jobs,
        "runs": given.jobs * given.runs,
        "visits": given.visits,
    }
    kept = {
        "first_page_at_most_350_kb": all(visit["transferred_bytes"] <= MAX_TRANSFER_BYTES for visit in visits),
        "first_row_of_each_page_within_1_s_without_the_emulator": all(
            page["first_row_seconds"] - page["emulator_seconds"] <= MAX_ROW_SECONDS for page in pages.values()
        ),
        "layout_shift_of_each_page_at_most_0.1": all(page["layout_shift"] <= MAX_SHIFT for page in pages.values()),
        "first_page_within_2_s": figures["first_page"]["interactive_seconds"] <= MAX_INTERACTIVE_SECONDS,
    }
    document = {**about("console", ["ministack", "playwright"]), **figures, "budgets": kept}
    print(json.dumps(document, indent=2) if given.json else json.dumps(figures, indent=2))
    return 0 if all(kept.values()) else 1


def make(endpoint: str, api: str, table: str, count: int) -> None:
    """Create daily jobs that come due in the hours from the second to the 22nd after this one. Raises AssertionError if
    a job is rejected.

    The API creates only some of the jobs, because each transaction copies the emulator's whole table. Their records are
    copied under the other ids.
    """
    hour = datetime.now(UTC).hour
    target: SqsTarget = {"type": "sqs", "queue": "duecourse-target-nobody"}
    jobs: list[JobRequest] = [
        {"id": f"job-{number:05}", "schedule": f"{number % 60} {(hour + 2 + number % 20) % 24} * * *", "target": target}
        for number in range(min(count, MADE))
    ]
    with Client(api, trust_env=False) as caller:
        refused = [made.problem for made in caller.create_jobs(jobs).items if made.problem]
    assert not refused, refused[0]
    dynamodb = client("dynamodb", endpoint)
    models = [json.dumps(records(dynamodb, table, f"job-{number:05}")) for number in range(len(jobs))]
    copies = [
        {"PutRequest": {"Item": item}}
        for number in range(len(jobs), count)
        for item in json.loads(models[number % len(jobs)].replace(f"job-{number % len(jobs):05}", f"job-{number:05}"))
    ]
    for begin in range(0, len(copies), MOST_WRITTEN):
        left = dynamodb.batch_write_item(RequestItems={table: copies[begin : begin + MOST_WRITTEN]})["UnprocessedItems"]
        assert not left, left


def make_runs(endpoint: str, table: str, jobs: int, each: int) -> None:
    """Write the records of each job's last runs, which ended in the last day: 3% are dead, and 2% were skipped."""
    dynamodb, now = client("dynamodb", endpoint), int(datetime.now(UTC).timestamp())
    failure = {"error": "POST https://example.com answered 503 Service Unavailable", "code": "http.503"}
    items = []
    for number in range(jobs * each):
        share, ago = number * 7_919 % 100, number * 86_400 // (jobs * each)
        state = RunState.DEAD if share < 3 else RunState.SKIPPED if share < 5 else RunState.SUCCEEDED
        changes = failure if state is RunState.DEAD else {}
        made = run(job(id=f"job-{number % jobs:05}"), state, after=now - int(NOON) - ago - 60, **changes)
        items.append({"PutRequest": {"Item": to_item(made)}})
    for begin in range(0, len(items), MOST_WRITTEN):
        left = dynamodb.batch_write_item(RequestItems={table: items[begin : begin + MOST_WRITTEN]})["UnprocessedItems"]
        assert not left, left


def records(dynamodb: Any, table: str, job: str) -> list[dict[str, Any]]:
    """Return the items of a job in the jobs table."""
    found = dynamodb.query(
        TableName=table,
        KeyConditionExpression="PK = :job",
        ExpressionAttributeValues={":job": {"S": f"JOB#default#{job}"}},
    )
    items: list[dict[str, Any]] = found["Items"]
    return items


def emulator_seconds() -> float:
    """Return the processor time (seconds) that the emulator has used, without the functions that it has started."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            command, state = (folder / "cmdline").read_text(), (folder / "stat").read_text().rpartition(")")[2].split()
            if MiniStack.command[-1] in command and int(state[PARENT]) == os.getpid():
                return (int(state[USED]) + int(state[USED + 1])) / os.sysconf("SC_CLK_TCK")
    raise ProcessLookupError(MiniStack.command[-1])


@contextmanager
def visit(browser: Browser, cached: str | None = None) -> Iterator[tuple[Page, list[tuple[str, int]]]]:
    """Open a page with an empty cache, or with the files that visits to the page at `cached` have left there. Yield it
    with the addresses and sizes (bytes) of its responses.
    """
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    for _ in range(EARLIER_VISITS if cached is not None else 0):
        earlier = context.new_page()
        earlier.goto(str(cached), wait_until="networkidle")
        earlier.close()
    page = context.new_page()
    page.add_init_script(WATCH_LONG_TASKS)
    addresses: dict[str, str] = {}
    received: list[tuple[str, int]] = []
    wire = context.new_cdp_session(page)
    wire.on("Network.responseReceived", lambda event: addresses.update({event["requestId"]: event["response"]["url"]}))
    wire.on(
        "Network.loadingFinished",
        lambda event: received.append((addresses.get(event["requestId"], ""), int(event["encodedDataLength"]))),
    )
    wire.send("Network.enable")
    yield page, received
    context.close()


def first_page(browser: Browser, api: str) -> dict[str, float]:
    """Return the figures of the overview."""
    with visit(browser) as (page, received):
        page.goto(f"{api}/console", wait_until="commit")
        expect(page.get_by_role("link", name=COUNTED)).to_be_visible()
        seen = float(page.evaluate("performance.now()")) / 1000
        page.wait_for_load_state("networkidle")
        walk = [size for address, size in received if WALK in address]
        return {
            "interactive_seconds": round(seen, 2),
            "blocked_seconds": round(float(page.evaluate("window.blocked")) / 1000, 2),
            "transferred_bytes": sum(size for _, size in received) - sum(walk),
            "requests": len(received) - len(walk),
            "load_bytes": sum(walk),
            "load_requests": len(walk),
        }


def job_list(browser: Browser, api: str) -> dict[str, float]:
    """Return the load times of the first page and the next page of the list of jobs."""
    with visit(browser) as (page, _):
        page.goto(f"{api}/console#/jobs", wait_until="commit")
        expect(page.get_by_role("link", name="job-00000", exact=True)).to_be_visible()
        seen = float(page.evaluate("performance.now()")) / 1000
        begun = monotonic()
        page.get_by_role("button", name="Next page").click()
        expect(page.get_by_role("link", name="job-00000", exact=True)).to_have_count(0)
        return {"first_rows_seconds": round(seen, 2), "next_page_seconds": round(monotonic() - begun, 2)}


def page_figures(browser: Browser, api: str, path: str, row: str, visits: int) -> dict[str, float]:
    """Return the medians of several visits to a page: the requests to the API and the bytes of their responses until
    the page is idle, the time until the first row is visible, the emulator's part of it, and the layout shift.
    """
    found = []
    for _ in range(visits):
        with visit(browser, f"{api}/console#{path}") as (page, received):
            used = emulator_seconds()
            page.goto(f"{api}/console#{path}", wait_until="commit")
            expect(page.locator(row).first).to_be_visible(timeout=60_000)
            seen, used = float(page.evaluate("performance.now()")) / 1000, emulator_seconds() - used
            page.wait_for_load_state("networkidle")
            asked = [size for address, size in received if "/v1/" in address]
            figures = {"requests": len(asked), "bytes": sum(asked), "first_row_seconds": round(seen, 2)}
            figures |= {"emulator_seconds": round(used, 2), "layout_shift": round(page.evaluate(LAYOUT_SHIFT), 3)}
            found.append(figures)
    return {name: median(each[name] for each in found) for name in found[0]}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=positive, default=10_000, help="jobs in the stage")
    parser.add_argument("--runs", type=positive, default=10, help="records of runs for each job")
    parser.add_argument("--visits", type=positive, default=5, help="how often each page is opened")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
