"""The console's first page and its list of jobs on the local stack, as a browser loads them for the first time.

    python -m benchmarks.console [--jobs 10000] [--visits 5] [--json]

Deploys stage local, makes the jobs, and opens the console in Chromium with an empty cache, --visits times: what the
first page transfers (compressed, all that it loads until it is quiet; the walk through the load of all jobs, which ends
last and grows with them, apart), when its figures can be seen, how long its scripts block the browser, and how long
the list of jobs and its next page take. The emulator's functions share this machine's processors with the browser,
which they don't on AWS; there is no distance to the network here.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from playwright.sync_api import Browser, Page, expect

from benchmarks.about import about
from benchmarks.arguments import positive
from duecourse.client import Client
from duecourse.client.bodies import JobRequest, SqsTarget
from tests.support.browser import browsing
from tests.support.deployed import deploy
from tests.support.emulators import client, ministack

MAX_TRANSFER_BYTES = 350_000
MAX_INTERACTIVE_SECONDS = 2.0
MADE = 100
"""Jobs that the API makes, with one request."""

MOST_WRITTEN = 25
"""Items of a BatchWriteItem (Amazon DynamoDB API Reference)."""

COUNTED = re.compile(r"^Dead letters: \d")
"""A figure of the overview that the API has to answer for; it is a link, so the page can be used then."""
WALK = "/v1/upcoming"
WATCH_LONG_TASKS = """
window.blocked = 0;
new PerformanceObserver((list) => { for (const each of list.getEntries()) window.blocked += each.duration - 50; })
  .observe({type: "longtask", buffered: true});
"""
"""Total blocking time as Lighthouse adds it up: what tasks take beyond 50 ms."""


def main() -> int:
    """Measure and print; the status is 1 where a budget is missed."""
    given = _arguments()
    with TemporaryDirectory(prefix="duecourse-console-") as folder, ministack(Path(folder)) as endpoint:
        print("deploying ...", file=sys.stderr)
        outputs = deploy(endpoint)
        api = f"{endpoint}/_aws/execute-api/{outputs['ApiId']}"
        print(f"making {given.jobs} jobs ...", file=sys.stderr)
        make(endpoint, api, outputs["JobsTable"], given.jobs)
        with browsing() as browser:
            first_page(browser, api)  # the functions' cold starts are nobody's browser
            visits = [first_page(browser, api) for _ in range(given.visits)]
            lists = [job_list(browser, api) for _ in range(given.visits)]
    figures = {
        "first_page": {name: median(visit[name] for visit in visits) for name in visits[0]},
        "job_list": {name: median(visit[name] for visit in lists) for name in lists[0]},
        "jobs": given.jobs,
        "visits": given.visits,
    }
    kept = {
        "first_page_at_most_350_kb": all(visit["transferred_bytes"] <= MAX_TRANSFER_BYTES for visit in visits),
        "first_page_within_2_s": figures["first_page"]["interactive_seconds"] <= MAX_INTERACTIVE_SECONDS,
    }
    document = {**about("console", ["ministack", "playwright"]), **figures, "budgets": kept}
    print(json.dumps(document, indent=2) if given.json else json.dumps(figures, indent=2))
    return 0 if all(kept.values()) else 1


def make(endpoint: str, api: str, table: str, count: int) -> None:
    """Daily jobs that come due in the hours from the second to the 22nd after this one. Raises AssertionError with a
    refusal.

    The API makes some, whose records are copied under other ids: a transaction copies the emulator's whole table.
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
    models = [json.dumps(records(dynamodb, table, job["id"])) for job in jobs]
    copies = [
        {"PutRequest": {"Item": item}}
        for number in range(len(jobs), count)
        for item in json.loads(models[number % len(jobs)].replace(f"job-{number % len(jobs):05}", f"job-{number:05}"))
    ]
    for begin in range(0, len(copies), MOST_WRITTEN):
        left = dynamodb.batch_write_item(RequestItems={table: copies[begin : begin + MOST_WRITTEN]})["UnprocessedItems"]
        assert not left, left


def records(dynamodb: Any, table: str, job: str) -> list[dict[str, Any]]:
    """What the jobs table keeps under a job."""
    found = dynamodb.query(
        TableName=table,
        KeyConditionExpression="PK = :job",
        ExpressionAttributeValues={":job": {"S": f"JOB#default#{job}"}},
    )
    items: list[dict[str, Any]] = found["Items"]
    return items


@contextmanager
def visit(browser: Browser) -> Iterator[tuple[Page, list[tuple[str, int]]]]:
    """A page of a browser that was never here, and the addresses and sizes (bytes) of what it receives."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
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
    """The overview."""
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
    """The list of jobs, its first page and the next one."""
    with visit(browser) as (page, _):
        page.goto(f"{api}/console#/jobs", wait_until="commit")
        expect(page.get_by_role("link", name="job-00000", exact=True)).to_be_visible()
        seen = float(page.evaluate("performance.now()")) / 1000
        begun = monotonic()
        page.get_by_role("button", name="Next page").click()
        expect(page.get_by_role("link", name="job-00000", exact=True)).to_have_count(0)
        return {"first_rows_seconds": round(seen, 2), "next_page_seconds": round(monotonic() - begun, 2)}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=positive, default=10_000, help="jobs in the stage")
    parser.add_argument("--visits", type=positive, default=5, help="how often each page is opened")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
