"""Requests to all routes that are drawn by chance, valid and invalid: those that are refused change nothing, nor do dry
runs and reads, and a dry run has the status of the request.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any
from urllib.parse import quote

import pytest

from duecourse.api.routes.table import ROUTES
from duecourse.domain.ids import RunName
from duecourse.stores.table import ENDED
from tests.support.unchanged import (
    CALLERS,
    CHAIN,
    DAILY,
    KEY,
    MANUAL,
    NEVER,
    PAST,
    PLAIN,
    SOON,
    Asked,
    Office,
    changes,
    tokens,
    workflow,
)

JOBS = ("daily", "manual", "theirs", "once", "later", "pinged", "chain", "ended", "chain--fetch", "ended--one", "new",
        "nope", "x" * 64)  # fmt: skip
CALENDARS = ("bank", "always", "nowhere", "new")
LATE = "2027-06-01T00:00:00Z"
ODD = (None, "", 0, -1, 2**63, True, [], {}, "nope", "nowhere", "always", "bank", "theirs", "chain--fetch", NEVER, PAST,
       SOON, LATE, "daily", "rate(1 second)", "at(2026-11-21T12:03:30)", "\ud800", "{{", ["a", "a"])  # fmt: skip
JOB_BODIES = (
    DAILY,
    MANUAL,
    {**DAILY, "calendar": "bank"},
    {**DAILY, "calendar": ["bank", "always"]},
    {**DAILY, "calendar": "nowhere"},
    {**DAILY, "end": PAST},
    {**DAILY, "exclude": ["* * * * *"]},
    {**PLAIN, "schedule": "at(2026-11-21T12:04:00)", "spread": {"within_minutes": 10}},
    {**PLAIN, "schedule": "rate(1 minute)", "max_runs": 2, "missed": {"policy": "run_all"}},
    {**MANUAL, "tags": ["b"]},
    {**MANUAL, "overlap": "queue", "concurrency": {"key": "crm", "limit": 1}},
    {**MANUAL, "expect_every": 3600},
)
STEPS: tuple[Mapping[str, Any], ...] = (
    CHAIN["jobs"],
    {"fetch": {"job": {**PLAIN, "name": "changed"}}, "more": {"job": PLAIN, "after": ["fetch"]}},
    {"fetch": {}, "load": {"after": ["fetch"], "job": {**PLAIN, "priority": "high"}}},
    {"manual": {"job_id": "manual"}, "one": {"job": PLAIN}},
    {"daily": {"job_id": "daily", "job": PLAIN}},
    {"other": {"job_id": "chain--fetch", "job": {**PLAIN, "name": "taken"}}},
    {"theirs": {"job_id": "theirs", "job": {**PLAIN, "name": "ours"}}, "new": {"job": PLAIN}},
    {"nope": {"job_id": "nope"}, "new": {"job": PLAIN}},
    {"once": {"job_id": "once"}, "new": {"job": PLAIN}},
    {f"s{number}": {"job": PLAIN} for number in range(6)},
)
OWN: tuple[Mapping[str, Any], ...] = (
    {},
    {"calendar": "bank"},
    {"calendar": "nowhere"},
    {"calendar": ["bank", "always"]},
    {"schedule": None},
    {"schedule": "at(2026-11-21T12:04:00)"},
    {"end": PAST},
    {"exclude": ["* * * * *"]},
    {"tags": ["b"]},
    {"schedule": "@daily", "spread": {"within_minutes": 30}},
)
HOUR = {"from": "2026-11-20T00:00:00Z", "to": "2026-11-21T12:00:00Z"}
MANY = ({"tag": "a"}, {"ids": ["daily", "nope", "once"]}, {"all": True}, {"tag": "nope"})
OPERATIONS = (
    {"kind": "redrive"},
    {"kind": "redrive", "job_id": "nope"},
    {"kind": "redrive", "state": ["QUEUED"]},
    {"kind": "discard", "note": "sent again"},
    {"kind": "discard", "note": "x" * 10_000},
    {"kind": "cancel", "job_id": "daily", "per_minute": 60, "limit": 1},
    {"kind": "cancel", "tag": "a", "state": ["RETRYING", "QUEUED"]},
)
BODIES: dict[tuple[str, str], tuple[Any, ...]] = {
    ("POST", "/v1/jobs"): tuple({**body, "id": "new"} for body in JOB_BODIES),
    ("POST", "/v1/jobs/batch"): (
        {"jobs": [{**JOB_BODIES[0], "id": "new"}, {**JOB_BODIES[4], "id": "newer"}]},
        {"jobs": []},
    ),
    ("PUT", "/v1/jobs/<job_id>"): JOB_BODIES,
    ("PATCH", "/v1/jobs/<job_id>"): (
        {"calendar": "nowhere"},
        {"calendar": "always"},
        {"schedule": None},
        {"schedule": "@daily"},
        {"schedule": NEVER},
        {"tags": ["b"]},
        {"name": "changed"},
        {"end": PAST},
    ),
    ("POST", "/v1/jobs/<job_id>/pause"): ({}, {"until": PAST}, {"until": SOON}, {"from": SOON, "until": LATE}),
    ("POST", "/v1/jobs/<job_id>/resume"): ({}, {"catch_up": True}),
    ("POST", "/v1/jobs/<job_id>/promote"): ({}, {"force": True}),
    ("POST", "/v1/jobs/pause"): tuple(
        {**each, **more} for each in MANY for more in ({}, {"until": SOON}, {"until": PAST})
    ),
    ("POST", "/v1/jobs/resume"): MANY,
    ("POST", "/v1/jobs/spread"): ({"ids": ["daily", "nope"], "within_minutes": 30},),
    ("POST", "/v1/jobs/<job_id>/run"): (
        {},
        {"at": PAST},
        {"at": SOON},
        {"payload": "{{"},
        {"payload": 1},
        {"delay_seconds": 10**7},
    ),
    ("POST", "/v1/jobs/<job_id>/run/batch"): ({"runs": [{}, {"at": PAST}]}, {"runs": [{}, {"payload": "{{"}]}),
    ("POST", "/v1/jobs/<job_id>/backfill"): (
        {**HOUR, "dry_run": False},
        {**HOUR, "dry_run": False, "at_once": 1, "only": "all"},
        {**HOUR, "from": "2020-01-01T00:00:00Z", "dry_run": False},
        {"from": HOUR["to"], "to": HOUR["from"], "dry_run": False},
    ),
    ("POST", "/v1/jobs/<job_id>/skip-next"): ({}, {"count": 3}, {"count": 0}),
    ("POST", "/v1/runs/<run_id>/heartbeat"): ({},),
    ("POST", "/v1/runs/<run_id>/complete"): ({"result": 1},),
    ("POST", "/v1/runs/<run_id>/fail"): ({"error": "no"},),
    ("PATCH", "/v1/runs/<run_id>"): ({"delay_seconds": 7200}, {"at": "2026-11-20T10:00:00"}, {"payload": 1}, {}),
    ("POST", "/v1/runs/<run_id>/log"): ({"text": "a line\n", "number": 1}, {"text": "", "number": 0}, {}),
    ("POST", "/v1/runs/<run_id>/mark-succeeded"): ({"reason": "it is done"}, {"reason": ""}, {}),
    ("POST", "/v1/runs/<run_id>/discard"): ({}, {"note": "sent again"}, {"note": "x" * 10_000}),
    ("POST", "/v1/runs/<run_id>/rerun"): ({"from": ["fetch"]}, {"from": ["load"]}, {"from": ["nope"]}),
    ("POST", "/v1/runs/cancel"): (
        {"state": ["QUEUED"], "job_id": "daily"},
        {"state": ["WAITING"], "job_id": "nope"},
        {"state": ["RETRYING"]},
    ),
    ("POST", "/v1/dead-letters/redrive"): ({}, {"job_id": "nope"}, {"job_id": "daily"}, {"tag": "a"}),
    ("POST", "/v1/operations"): OPERATIONS,
    ("POST", "/v1/operations/estimate"): OPERATIONS,
    ("PUT", "/v1/workflows/<workflow_id>"): tuple(workflow(steps, **own) for steps in STEPS for own in OWN),
    ("PUT", "/v1/calendars/<calendar_id>"): (
        {"exclude": ["2026-12-25"]},
        {"exclude": ["* * * * *"]},
        {"exclude": ["nope"]},
        {"exclude": ["2026-12-24"], "cursor": "MWo6YQ"},
    ),
    ("PUT", "/v1/limits/<limit_key>"): ({"concurrency": 2}, {}, {"rate": {"per_minute": 1, "burst": 1}}),
    ("POST", "/v1/limits/<limit_key>/release"): ({"run_id": "daily.20261121T120000Z"}, {"run_id": "nope"}),
    ("POST", "/v1/limits/<limit_key>/hold"): ({"seconds": 60}, {"seconds": 0}),
    ("POST", "/v1/keys"): ({"scope": "run:daily"}, {"scope": "run:nope"}, {"scope": "read"}),
    ("POST", "/v1/hooks/<key>"): (None, {"payload": 1}, "{{"),
    ("POST", "/v1/hooks"): (None, {"payload": 1}),
    ("POST", "/v1/schedules/preview"): ({"schedule": "rate(1 hour)"}, {"schedule": NEVER}),
}
PLACES: dict[str, tuple[str, ...]] = {
    "job_id": JOBS,
    "workflow_id": JOBS,
    "run_id": ("daily.20261121T120000Z", "nope.20261121T120000Z", "chain.20261121T120300Z", "nope"),
    "instant": ("20261121T120300Z", "nope"),
    "calendar_id": CALENDARS,
    "limit_key": ("crm", "nope", "é"),
    "key": (KEY.text, "nope"),
    "key_id": (KEY.id, "nope"),
    "operation_id": ("op-nonce-1", "nope", "é"),
}
OF_A_CHANGE = {"if-match": ('"1-1"', "*", "nope"), "if-none-match": ("*",), "idempotency-key": ("k", "l", "\x00")}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of a body whose value may be replaced."""
    if path:
        yield path
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from leaves(each, (*path, name))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from leaves(each, (*path, index))


def with_value(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The body with another value in one place."""
    if not path:
        return new
    first, *rest = path
    copy = dict(value) if isinstance(value, Mapping) else list(value)
    copy[first] = with_value(value[first], tuple(rest), new)
    return copy


WRITES = [route for route in ROUTES if route.method != "GET"]
OF_SEVERAL = [route for route in WRITES if route.method in ("PUT", "PATCH")]
"""The routes that are drawn more often: most others change one item."""


def drawn(random: Random) -> Asked:
    """A request to one of all routes."""
    route = random.choice(random.choice((ROUTES, WRITES, OF_SEVERAL)))
    path = route.path
    for name, values in PLACES.items():
        if f"<{name}>" in path:
            path = path.replace(f"<{name}>", quote(random.choice(values)))
    body = random.choice(BODIES.get((route.method, route.path), (None,)))
    if body is not None and random.random() < 0.2 and (places := list(leaves(body))):
        body = with_value(body, random.choice(places), random.choice(ODD))
    headers = {name: random.choice(values) for name, values in OF_A_CHANGE.items() if random.random() < 0.1}
    if route.path == "/v1/hooks":
        headers["authorization"] = f"Bearer {random.choice((KEY.text, 'nope'))}"
    caller = random.choice(("everything", "everything", *CALLERS))
    return Asked(route.method, path, body, headers=headers, caller=caller)


def test_any_refused_request_has_a_body_for_every_route_that_reads_one() -> None:
    assert {(route.method, route.path) for route in WRITES if route.body is not None} <= BODIES.keys()


def check(office: Office, asked: Asked, *, rehearse: bool = True) -> None:
    """Send the dry run of the request, if there is one, and then the request."""
    stored, rehearsed, dry = office.stored(), None, asked.rehearsed
    if dry is not None and rehearse:
        rehearsed = office.ask(dry)
        assert changes(stored, office.stored()) == {}, dry
    answer = office.ask(asked)
    assert answer.status < 500, (asked, answer.text)
    if answer.status >= 400 or asked.method == "GET":
        assert changes(stored, office.stored()) == {}, asked
    if rehearsed is not None:
        said = (rehearsed.status // 100, rehearsed.json.get("type"), rehearsed.json.get("errors"))
        assert said == (answer.status // 100, answer.json.get("type"), answer.json.get("errors")), (
            asked,
            rehearsed.text,
            answer.text,
        )


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.extended) for seed in range(4, 60))]
)
def test_any_refused_request_changes_nothing(seed: int) -> None:
    random = Random(seed)
    office = Office(quota=random.choice((11, 13, 16, 100))).filled()
    for number in range(100):
        check(office, drawn(random))
        if number % 5 == 4:
            office.world.until(office.world.clock.now() + 30)


@pytest.mark.parametrize(
    "seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.extended) for seed in range(2, 20))]
)
def test_any_refused_request_without_tokens_changes_nothing(seed: int) -> None:
    random = Random(seed)
    office = Office().filled()
    office.settings = replace(office.settings, **tokens(2))
    office.connect()
    for _ in range(200):
        check(office, drawn(random), rehearse=False)
        office.world.until(office.world.clock.now() + random.choice((0, 0, 1, 5)))


@pytest.mark.parametrize(
    "seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.extended) for seed in range(2, 20))]
)
def test_any_refused_request_without_a_queue_tells_the_truth(seed: int) -> None:
    random = Random(seed)
    office = Office().filled()
    office.world.wheel.refuse, office.world.wheel.refuse_operations = lambda _: True, True
    kinds = set[str]()
    for asked in (Asked("POST", "/v1/jobs/manual/run"), *(drawn(random) for _ in range(200))):
        stored = office.stored()
        answer = office.ask(asked)
        made = {name: item for name, item in office.stored().items() if name not in stored and " INPUT#.m" in name}
        if answer.status >= 400:
            kinds.add(answer.json["type"])
            if "othing was changed" in answer.text:
                assert changes(stored, office.stored()) == {}, (asked, answer.text)
        for name, item in made.items():
            if ENDED.partition not in item:  # it is due at once
                job_id, suffix = name.partition(" ")[0].rpartition("#")[2], name.rpartition("#")[2]
                run_id = RunName(job_id, int(item["occurrence"]["N"]), suffix)
                assert office.ask(Asked("GET", f"/v1/runs/{run_id}")).status == 404, (asked, answer.text)
    assert "/problems/lane-unavailable" in kinds
