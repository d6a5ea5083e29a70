"""`duecourse jobs get` of a job that uses a calendar."""

import json
from pathlib import Path

from tests.integration.api.test_workflows_over_http import Desk
from tests.integration.cli.conftest import Run
from tests.support.api import HTTP_TARGET
from tests.support.api_events import json_event
from tests.support.served_api import ServedApi


def test_job_calendar_moves_the_next_occurrences_that_are_shown(run: Run, api: ServedApi, tmp_path: Path) -> None:
    assert run("calendars", "put", "weekends", "* * * * SAT,SUN").exit_code == 0
    body = {
        "id": "closing",
        "schedule": "0 18 L * *",
        "calendar": "weekends",
        "on_excluded": "previous",
        "target": HTTP_TARGET,
    }
    document = tmp_path / "closing.json"
    document.write_text(json.dumps(body))
    assert run("jobs", "create", str(document)).exit_code == 0

    shown = run("jobs", "get", "closing").stdout

    assert "calendar      weekends" in shown
    assert "if excluded   previous" in shown
    assert "2027-01-29 18:00:00" in shown  # the last day of January is a Sunday
    assert "moved from 2027-01-31 18:00" in shown


def test_job_calendar_list_is_applied_exported_and_shown(run: Run, api: ServedApi, tmp_path: Path) -> None:
    assert run("calendars", "put", "weekends", "* * * * SAT,SUN").exit_code == 0
    assert run("calendars", "put", "company", "2027-01-29").exit_code == 0
    both = ["weekends", "company"]
    job = {
        "id": "closing",
        "schedule": "0 18 L * *",
        "calendar": both,
        "on_excluded": "previous",
        "target": HTTP_TARGET,
    }
    document = tmp_path / "closing.json"
    document.write_text(json.dumps(job))
    assert run("apply", "-f", str(document), "--yes").exit_code == 0
    again = run("apply", "-f", str(document), "--yes")
    assert "unchanged" in again.output, again.output

    shown = run("jobs", "get", "closing").stdout
    assert "calendar      weekends, company" in shown
    assert "2027-01-28 18:00:00" in shown  # Friday 29 January is excluded by the other calendar
    assert json.loads(run("jobs", "export", "closing", "-o", "json").stdout)["calendar"] == both
    assert run("jobs", "patch", "closing", "--yes", "--set", "calendar=company").exit_code == 0
    assert json.loads(run("jobs", "get", "closing", "--json").stdout)["calendar"] == "company"
    assert run("jobs", "patch", "closing", "--yes", "--set", 'calendar=["company","weekends"]').exit_code == 0
    assert json.loads(run("jobs", "get", "closing", "--json").stdout)["calendar"] == ["company", "weekends"]


def test_job_calendar_entries_are_added_and_removed_one_by_one(run: Run, api: ServedApi) -> None:
    window = "2026-12-05T20:00:00Z/2026-12-06T02:00:00Z"
    assert run("calendars", "put", "erp", "2026-12-24", "--description", "ERP").exit_code == 0
    assert "erp has version 2 with 2 entries" in run("calendars", "add", "erp", window).output
    unknown = run("calendars", "remove", "erp", "2026-12-25")
    assert (unknown.exit_code, "erp has no entry 2026-12-25" in unknown.output) == (1, True)
    assert "erp has version 3 with 1 entry" in run("calendars", "remove", "erp", "2026-12-24").output
    last = run("calendars", "remove", "erp", window)
    assert (last.exit_code, "duecourse calendars delete erp" in last.output) == (1, True)
    shown = json.loads(run("calendars", "show", "erp", "--json").stdout)
    assert (shown["exclude"], shown["description"]) == ([window], "ERP")


def test_job_calendar_entry_is_added_to_the_entries_of_a_simultaneous_change(
    run: Run, api: ServedApi, desk: Desk
) -> None:
    assert run("calendars", "put", "erp", "2026-12-24").exit_code == 0
    others = iter(["2026-12-25"])

    def overtake(method: str, path: str, _query: str) -> None:
        if method == "PUT" and (day := next(others, None)) is not None:
            desk.api.send(json_event("PUT", path, {"exclude": ["2026-12-24", day]}))

    api.before_each(overtake)
    assert "erp has version 3 with 1 entry" in run("calendars", "add", "erp", "2026-12-26").output
    assert json.loads(run("calendars", "show", "erp", "--json").stdout)["exclude"] == ["2026-12-24/2026-12-26"]
