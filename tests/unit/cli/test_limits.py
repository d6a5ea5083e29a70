"""`duecourse limits`."""

import json
from typing import Any

from tests.unit.cli.imports.test_calendar_days import told
from tests.unit.cli.served import RUN, duecourse, served

KEY = {
    "key": "crm-eu",
    "concurrency": 5,
    "rate": None,
    "breaker": None,
    "updated_at": "2026-11-21T09:00:00.000Z",
    "updated_by": "anna",
}
RATED = {"id": "export.20261121T064900Z", "job_id": "export", "next_attempt_at": "2026-11-21T06:49:10.000Z"}
ACTIVE = {
    "id": "report.20261121T064700Z",
    "job_id": "report",
    "state": "RUNNING",
    "started_at": "2026-11-21T06:47:00.412Z",
}
WAITING = {"id": "export.20261121T064800Z", "job_id": "export", "due": "2026-11-21T06:48:00Z", "place": 1}
FULL: dict[str, Any] = KEY | {
    "active": [ACTIVE],
    "waiting": 12,
    "queue": [WAITING],
    "waiting_for_rate": 0,
    "rate_queue": [],
    "paused_until": None,
    "waiting_for_breaker": 0,
    "breaker_state": "closed",
    "breaker_failures": 0,
    "breaker_open_until": None,
    "complete": True,
}


def test_limits_are_listed_with_their_waiting_runs() -> None:
    jobs_alone = KEY | {
        "key": "erp",
        "concurrency": None,
        "updated_at": None,
        "updated_by": None,
        "waiting": 3,
        "waiting_for_rate": 2,
        "waiting_for_breaker": 1,
    }
    stored = KEY | {"waiting": 0, "waiting_for_rate": 0, "waiting_for_breaker": 0}
    listed = told({"items": [stored, jobs_alone], "next_cursor": "x"}, "limits", "list")
    assert [line.split() for line in listed.output.splitlines()[1:3]] == [
        ["crm-eu", "5", "of", "its", "jobs", "0", "0", "0", "anna"],
        ["erp", "of", "its", "jobs", "of", "its", "jobs", "3", "2", "1"],
    ]
    assert "duecourse limits list --cursor x" in listed.output


def test_limits_key_is_shown_with_active_and_waiting_runs() -> None:
    shown = told(FULL, "limits", "show", "crm-eu").output
    assert shown.startswith("crm-eu: limit 5, 1 active, 12 waiting\n")
    assert "report.20261121T064700Z" in shown
    assert "export.20261121T064800Z" in shown
    about_to_start = told(FULL | {"active": [ACTIVE | {"state": None, "started_at": None}]}, "limits", "show", "crm-eu")
    assert "STARTING" in about_to_start.output


def test_limits_are_set_deleted_and_released() -> None:
    assert "limit 5, 1 active, 12 waiting" in told(FULL, "limits", "set", "crm-eu", "5").output
    assert "is deleted" in told({}, "limits", "delete", "crm-eu", "--yes").output
    released = told(FULL | {"active": []}, "limits", "release", "crm-eu", ACTIVE["id"], "--yes")
    assert "limit 5, 0 active, 12 waiting" in released.output


def test_limits_rate_is_set_and_shown_with_the_runs_that_wait() -> None:
    found = FULL | {"rate": {"per_minute": 60, "burst": 10}, "waiting_for_rate": 1, "rate_queue": [RATED]}
    said = told(found, "limits", "set", "crm-eu", "--per-minute", "60", "--burst", "10").output
    assert "limit 5, rate 60/min, burst 10, 1 active, 12 waiting, 1 waiting for the rate" in said
    shown = told(found, "limits", "show", "crm-eu").output
    assert "export.20261121T064900Z" in shown
    paused = told(found | {"paused_until": "2026-11-21T07:00:00.000Z"}, "limits", "show", "crm-eu").output
    assert "1 waiting for the rate, paused until 2026-11-21 07:00:00+00:00" in paused
    for arguments, problem in ((["--burst", "2"], "--per-minute"), ([], "--per-minute")):
        refused = told(found, "limits", "set", "crm-eu", *arguments)
        assert (refused.exit_code, problem in refused.output) == (2, True)


def test_limits_breaker_is_set_and_shown() -> None:
    found = FULL | {"breaker": {"failures": 5, "open_seconds": 60}, "waiting_for_breaker": 2}
    said = told(found, "limits", "set", "crm-eu", "--failures", "5").output
    assert "limit 5, circuit breaker 5 failures, 60 s, 1 active, 12 waiting, 2 waiting for the circuit breaker" in said
    opened = {"breaker_state": "open", "breaker_failures": 7, "breaker_open_until": "2026-11-21T07:00:00.000Z"}
    waits = {"state": "QUEUED", "waiting_for": "breaker", "breaker_key": "crm-eu"}
    runs = [{**RUN, **waits}, {**RUN, **waits, "id": "other.20261121T030000Z", "breaker_key": "crm-us"}]
    answers = {"/v1/runs": {"items": runs, "next_cursor": None}}
    with served(lambda path, _query: answers.get(path, found | opened)) as api:
        shown = duecourse(api, "limits", "show", "crm-eu").output
    assert "the circuit breaker is open until 2026-11-21 07:00:00+00:00 after 7 failures" in shown
    assert RUN["id"] in shown
    assert "other" not in shown
    assert shown.endswith("close the circuit breaker: duecourse limits close crm-eu\n")
    half = found | opened | {"breaker_state": "half_open", "waiting_for_breaker": 0}
    assert "one attempt tests the target" in told(half, "limits", "show", "crm-eu").output
    refused = told(found, "limits", "set", "crm-eu", "--open-seconds", "60")
    assert (refused.exit_code, "--failures" in refused.output) == (2, True)


def test_limits_key_is_held_and_closed() -> None:
    held = told(FULL | {"paused_until": "2026-11-21T07:00:00.000Z"}, "limits", "hold", "crm-eu", "600").output
    assert "paused until 2026-11-21 07:00:00+00:00" in held
    assert told(FULL, "limits", "close", "crm-eu").output == "crm-eu: limit 5, 1 active, 12 waiting\n"


def test_limits_key_of_dots_is_a_usage_error() -> None:
    """Two dots in a path would be the limits of all keys."""
    refused = told(FULL, "limits", "show", "..")
    assert (refused.exit_code, "limit_key must not be empty, a dot or two dots" in refused.output) == (2, True)


def test_limits_numbers_of_waiting_runs_that_are_not_complete_are_said_to_be_minimums() -> None:
    few = FULL | {"waiting": 999, "waiting_for_rate": 2, "waiting_for_breaker": 3}
    said = told(few, "limits", "hold", "crm-eu", "60").output
    assert "999 waiting, 2 waiting for the rate, 3 waiting for the circuit breaker" in said
    many = few | {"waiting": 1000, "complete": False}
    said = " ".join(told(many, "limits", "hold", "crm-eu", "60").output.split())
    assert "at least 1000 waiting, at least 2 waiting for the rate, at least 3 waiting for the circuit breaker" in said
    none = " ".join(told(FULL | {"complete": False}, "limits", "hold", "crm-eu", "60").output.split())
    assert none.endswith(
        "1 active, 12 waiting; only the newest runs that wait for the rate or the circuit breaker were examined"
    )
    page: dict[str, Any] = {"items": [], "next_cursor": None, "complete": False}
    listed = told(page, "limits", "list")
    assert "Only the newest waiting runs were examined: other keys may have waiting runs" in listed.output
    assert "examined" not in told(page | {"complete": True}, "limits", "list").output
    assert json.loads(told(page, "limits", "list", "--json").stdout) == page
