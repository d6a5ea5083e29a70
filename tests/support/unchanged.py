"""A stage in memory with jobs in many states, and requests to its API that it may refuse.

`Office.stored` is everything that the stage stores and has sent, so that two of them show whether a request changed it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.runs.api_keys import ApiKey, key_text
from duecourse.stores.keys import API_KEY_PREFIX, RATE
from duecourse.stores.run_counts import PREFIX as RAN_PREFIX
from duecourse.stores.table import Scan, Table
from duecourse.stores.tenants import SEATS_PREFIX
from duecourse.testing.stores import MemoryStores
from tests.support.api import HTTP_TARGET, Answered, ApiClient, api_settings
from tests.support.api_events import api_event, jwt_caller
from tests.support.jobs import NOON
from tests.support.world import World

QUOTA = 16
KEY = key_text("default", "k" * 32)
CALLERS: dict[str, tuple[str, ...]] = {
    "everything": ("jobs:read", "jobs:write", "ops"),
    "writer": ("jobs:read", "jobs:write"),
    "of a tag": ("jobs:read:tag=a", "jobs:write:tag=a"),
    "reader": ("jobs:read",),
}
PLAIN = {"target": HTTP_TARGET, "tags": ["a"]}
MANUAL = {**PLAIN, "schedule": None}
DAILY = {**PLAIN, "schedule": "0 3 * * *"}
PAST, SOON, NEVER = "2026-11-21T10:00:00Z", "2026-11-22T10:00:00Z", "0 0 30 2 *"


def workflow(steps: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """The body of a workflow."""
    return {"schedule": "0 2 * * *", "tags": ["a"], "jobs": dict(steps), **fields}


CHAIN = workflow({"fetch": {"job": PLAIN}, "load": {"job": PLAIN, "after": ["fetch"]}})


def tokens(rate: int) -> dict[str, int]:
    """The settings for this number of requests per second."""
    return {"requests_per_second": rate, "burst": rate}


@dataclass(frozen=True)
class Asked:
    """A request. `body` None: without a body."""

    method: str
    path: str
    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    caller: str = "everything"

    @property
    def rehearsed(self) -> Asked | None:
        """The dry run of the request. None if its route has none."""
        if (self.method, self.path) in DRY_BODIES and isinstance(self.body, dict):
            return replace(self, body=self.body | {"dry_run": True})
        if self.method in ("PUT", "PATCH") and self.path.startswith(("/v1/jobs/", "/v1/workflows/")):
            return replace(self, query={**self.query, "dry_run": "true"})
        return None


DRY_BODIES = {
    ("POST", "/v1/jobs/daily/backfill"),
    ("POST", "/v1/jobs/nope/backfill"),
    ("POST", "/v1/dead-letters/redrive"),
    ("POST", "/v1/runs/cancel"),
}


class Office:
    """The stage and its API."""

    def __init__(self, quota: int = QUOTA) -> None:
        stores = MemoryStores()
        self.tables = stores.tables
        self.world = World(stores)
        self.settings = api_settings(auth="jwt", job_quota=quota, operator_tenant="default", **tokens(100_000))
        self.connect()

    def connect(self) -> None:
        """Let the API use the stores that the world has now."""
        world = self.world
        self.api = ApiClient.of(world, settings=self.settings, wait_queues=world.wait_queues, mark=world.mark)

    def filled(self) -> Office:
        """Add jobs, workflows, runs and calendars in many states."""
        for path, body in (
            ("/v1/calendars/bank", {"exclude": ["2026-12-25"]}),
            ("/v1/calendars/always", {"exclude": ["* * * * *"]}),
            ("/v1/jobs/daily", {**DAILY, "calendar": "bank", "notify": [{"on": ["dead"], "to": {"job": "manual"}}]}),
            ("/v1/jobs/manual", MANUAL),
            ("/v1/jobs/theirs", {**MANUAL, "tags": ["b"]}),
            (
                "/v1/jobs/once",
                {**PLAIN, "schedule": "at(2026-11-21T12:00:30)", "after_completion": {"delete_after_seconds": None}},
            ),
            ("/v1/jobs/later", {**PLAIN, "schedule": "at(2026-11-25T00:00:00)"}),
            ("/v1/jobs/pinged", {**MANUAL, "expect_every": 3600}),
            ("/v1/workflows/chain", CHAIN),
            ("/v1/workflows/ended", workflow({"one": {"job": PLAIN}}, schedule="at(2026-11-21T12:00:40)")),
            ("/v1/limits/crm", {"concurrency": 1}),
        ):
            answer = self.ask(Asked("PUT", path, body))
            assert answer.status == 201, answer.text
        key = ApiKey("default", KEY.id, KEY.hash, "manual", self.job("manual").created_generation, "", NOON, "",
                     int(NOON) + DAY_SECONDS)  # fmt: skip
        assert self.world.jobs.api_keys.add(key, 0)
        self.world.until(NOON + 180)
        return self

    def job(self, name: str) -> Any:
        """The stored job."""
        return self.world.jobs.get("default", name)

    @property
    def job_ids(self) -> set[str]:
        """The ids of all jobs."""
        return {*self.world.jobs.page_ids("default", None, limit=1000, after=None).items}

    def ask(self, asked: Asked) -> Answered:
        """Send the request."""
        self.api.caller = jwt_caller("default", *CALLERS[asked.caller])
        text = None if asked.body is None else json.dumps(asked.body)
        return self.api.send(
            api_event(asked.method, asked.path, query=dict(asked.query), body=text, headers=dict(asked.headers))
        )

    def stored(self) -> dict[str, Any]:
        """All items of both tables except the caller's tokens, and all messages."""
        found = dict[str, object]()
        for table in Table:
            for item in self.tables.scan(Scan(table)).items:
                partition, sort = item["PK"]["S"], item["SK"]["S"]
                if sort == RATE:
                    continue  # a refused request costs tokens
                if sort.startswith(RAN_PREFIX):
                    continue  # a process writes the counts of earlier requests at a later one
                if sort.startswith(API_KEY_PREFIX):
                    item.pop("last_used_at", None)
                found[f"{partition} {sort}"] = item
                if sort.startswith(SEATS_PREFIX):
                    # A request that looks for a free seat takes those of jobs that have ended.
                    jobs = (self.job(name) for name in item.get("holders", {}).get("SS", ()))
                    found[f"{partition} {sort}"] = {job.id for job in jobs if job and job.seated and job.counts}
        return {where: item for where, item in found.items() if item} | {"sent": list(self.world.wheel.sent)}


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What differs, for a failure's message."""
    return {
        name: (before.get(name), after.get(name))
        for name in before.keys() | after.keys()
        if before.get(name) != after.get(name)
    }
