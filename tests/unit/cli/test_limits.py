"""`duecourse limits`."""

from typing import Any

from tests.unit.cli.imports.test_calendar_days import told

KEY = {"key": "crm-eu", "concurrency": 5, "updated_at": "2026-11-21T09:00:00.000Z", "updated_by": "anna"}
ACTIVE = {
    "id": "report.20261121T064700Z",
    "job_id": "report",
    "state": "RUNNING",
    "started_at": "2026-11-21T06:47:00.412Z",
}
WAITING = {"id": "export.20261121T064800Z", "job_id": "export", "due": "2026-11-21T06:48:00Z", "place": 1}
FULL: dict[str, Any] = KEY | {"active": [ACTIVE], "waiting": 12, "queue": [WAITING]}


def test_limits_are_listed_with_their_waiting_runs() -> None:
    jobs_alone = KEY | {"key": "erp", "concurrency": None, "updated_at": None, "updated_by": None, "waiting": 3}
    listed = told({"items": [KEY | {"waiting": 0}, jobs_alone], "next_cursor": "x"}, "limits", "list")
    assert [line.split() for line in listed.output.splitlines()[1:3]] == [
        ["crm-eu", "5", "0", "anna"],
        ["erp", "of", "its", "jobs", "3"],
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
