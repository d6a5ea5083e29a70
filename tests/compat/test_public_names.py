"""docs/releases.md: what a release has made public stays, and what it accepted needs nothing more."""

import json
from copy import deepcopy
from typing import Any

import pytest

from tests.support.public_names import broken, public
from tests.support.release_code import RELEASES, releases


@pytest.fixture(scope="module")
def now() -> dict[str, Any]:
    """What is public now."""
    return public()


@pytest.mark.parametrize("release", releases())
def test_compatibility_names_that_a_release_has_made_public_are_still_there(release: str, now: dict[str, Any]) -> None:
    recorded = json.loads((RELEASES / release / "public.json").read_text())
    assert list(broken(recorded, now)) == [], "docs/releases.md says what is stable"


def test_compatibility_recorded_names_cover_every_part_of_the_promise(now: dict[str, Any]) -> None:
    assert {part for part, names in now["kept"].items() if len(names) > 10} == set(now["kept"])
    for part, name in (
        ("http", "GET /v1/jobs/{job_id} answers 200 with Job"),
        ("http", "Job.state"),
        ("http", 'RunState may be "SUCCEEDED"'),
        ("http", "POST /v1/jobs has header Idempotency-Key"),
        ("command", "duecourse jobs list --json"),
        ("command", "duecourse jobs list reads DUECOURSE_API"),
        ("http", "Run.reason is null or string"),
        ("http", "Job always has state"),
        ("http", 'JobRequest.timezone defaults to "UTC"'),
        ("http", 'POST /v1/jobs answers 409.type may be "/problems/job-exists"'),
        ("command", "variable DUECOURSE_PROFILE"),
        ("command", "profile field issuer"),
        ("json", "Diagnosis.checks[].do is null or string"),
        ("json", "Listed.total.matching is always present"),
        ("json", "TzdataReport.items[].count"),
        ("python", "duecourse.client.Client.create_job(job)"),
        ("python", "duecourse.client.NotFoundError is a ApiError"),
        ("python", "duecourse.schedules.next(expr) can be argument 0"),
        ("python", "duecourse_cdk.ScheduledJob(schedule)"),
        ("settings", "lanes.pollers.minimum"),
        ("actions", "run_settled"),
        ("actions", "run_settled has lateness_seconds"),
        ("metrics", "RunsDead"),
    ):
        assert name in now["kept"][part]


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("http", "GET /v1/jobs has query tag"),
        ("http", "Run.attempts"),
        ("command", "duecourse jobs pause --until"),
        ("python", "duecourse.schedules.next(after)"),
        ("metrics", "Lateness"),
        ("actions", "run_called"),
    ],
)
def test_compatibility_name_that_disappears_is_found(now: dict[str, Any], part: str, name: str) -> None:
    later = deepcopy(now)
    later["kept"][part].remove(name)
    assert broken(now, later) == [f"gone from {part}: {name}"]


@pytest.mark.parametrize(
    ("part", "demand", "found"),
    [
        ("http", "RunRequest needs reason", True),
        ("http", "POST /v1/jobs needs Idempotency-Key", True),
        ("http", "NewRequest needs reason", False),
        ("command", "duecourse jobs pause needs until", True),
        ("command", "duecourse jobs rest needs until", False),
        ("python", "duecourse.client.Client.pause_job needs until", True),
    ],
)
def test_compatibility_new_demand_on_what_exists_is_found(
    now: dict[str, Any], part: str, demand: str, *, found: bool
) -> None:
    later = deepcopy(now)
    later["demanded"][part].append(demand)
    assert broken(now, later) == ([f"new in {part}: {demand}"] if found else [])


@pytest.mark.parametrize(
    ("name", "change", "found"),
    [
        ("JobRequest.name maxLength", -1, "narrower limit: JobRequest.name maxLength 256 -> 255"),
        ("JobRequest.name maxLength", 1, None),
        ("SkipRequest.count minimum", 1, "narrower limit: SkipRequest.count minimum 1 -> 2"),
        ("SkipRequest.count minimum", -1, None),
    ],
)
def test_compatibility_limit_that_becomes_narrower_is_found(
    now: dict[str, Any], name: str, change: int, found: str | None
) -> None:
    later = deepcopy(now)
    later["limited"][name] += change
    assert broken(now, later) == ([] if found is None else [found])


def test_compatibility_new_limit_of_an_existing_field_is_found(now: dict[str, Any]) -> None:
    later = deepcopy(now)
    later["limited"] |= {"Job.id maxLength": 5, "NewRequest.id maxLength": 5}
    assert broken(now, later) == ["new limit: Job.id maxLength 5"]


def test_compatibility_additions_are_no_break(now: dict[str, Any]) -> None:
    later = deepcopy(now)
    for names in later["kept"].values():
        names.append("something new")
    assert broken(now, later) == []
