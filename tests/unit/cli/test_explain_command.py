"""`duecourse explain` asks on the job's own clock."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.unit.cli.served import JOB, RUN, duecourse, served

SKIPPED: Mapping[str, Any] = {
    "at": "2026-11-21T01:30:00Z",
    "verdict": "paused",
    "sentence": "The job was paused by anna.",
    "facts": {},
    "run": None,
    "nearest": {"before": "2026-11-20T01:30:00Z", "after": "2026-11-22T01:30:00Z"},
}


class Stage:
    """Explains everything the same way; the job is Berlin's."""

    def __init__(self, **explained: Any) -> None:
        self.asked: list[str] = []
        self.previews = 0
        self.explained = {**SKIPPED, **explained}

    def __call__(self, path: str, query: Mapping[str, str]) -> object:
        if path.endswith("/explain"):
            self.asked.append(query["at"])
            return {**self.explained, "at": query["at"]}
        if path == "/v1/schedules/preview":
            self.previews += 1
            at = [{"at": f"2026-11-21T0{hour}:30:00Z", "wall": "", "mark": None} for hour in (1, 2)]
            late = {"at": "2099-01-01T00:00:00Z", "wall": "", "mark": None}
            return {"understood_as": "", "canonical": "", "occurrences": [*at, late], "tzdata": ""}
        return {**JOB, "timezone": "Europe/Berlin"}


def test_a_time_of_day_is_that_of_the_jobs_clock() -> None:
    stage = Stage()
    with served(stage) as api:
        shown = duecourse(api, "explain", "nightly", "--at", "2026-11-21 02:30")
    assert stage.asked == ["2026-11-21T01:30:00+00:00"]
    assert shown.stdout == "2026-11-21 02:30:00+01:00  paused: The job was paused by anna.\n"


def test_a_night_is_explained_occurrence_by_occurrence() -> None:
    stage = Stage()
    with served(stage) as api:
        shown = duecourse(api, "explain", "nightly", "--last-night", "--json")
    assert stage.asked == ["2026-11-21T01:30:00+00:00", "2026-11-21T02:30:00+00:00"]
    assert [each["verdict"] for each in json.loads(shown.stdout)["items"]] == ["paused", "paused"]


def test_without_a_time_it_is_the_last_occurrence() -> None:
    stage = Stage(run=RUN, verdict="fired")
    with served(stage) as api:
        shown = duecourse(api, "explain", "nightly")
    assert stage.asked[1] == "2026-11-20T01:30:00+00:00"
    assert f"duecourse runs show {RUN['id']}" in shown.stdout


def test_a_time_between_occurrences_names_those_next_to_it() -> None:
    with served(Stage(verdict="not_an_occurrence")) as api:
        shown = duecourse(api, "explain", "nightly", "--at", "12:00")
    assert "next to that: 2026-11-20 02:30:00+01:00, 2026-11-22 02:30:00+01:00" in shown.stdout


def test_explain_takes_one_time() -> None:
    with served(Stage()) as api:
        refused = duecourse(api, "explain", "nightly", "--at", "02:30", "--last-night")
    assert (refused.exit_code, refused.stderr) == (2, "duecourse: give --at or --last-night, not both\n")
