"""`duecourse upcoming` adds up the pages of all jobs and draws them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from tests.unit.cli.served import duecourse, served


def bucket(at: str, **jobs: int) -> dict[str, object]:
    return {"at": at, "runs": sum(jobs.values()), "jobs": [{"id": name, "runs": runs} for name, runs in jobs.items()]}


PAGES = {
    "": [bucket("2026-11-22T19:00:00Z", nightly=2), bucket("2026-11-22T20:00:00Z", nightly=1, hourly=60)],
    "2": [bucket("2026-11-22T19:00:00Z", hourly=1_200)],
}


class Stage:
    def __init__(self) -> None:
        self.asked: list[Mapping[str, str]] = []

    def __call__(self, path: str, query: Mapping[str, str]) -> object:
        assert path == "/v1/upcoming"
        self.asked.append(query)
        at, last = query.get("cursor", ""), "cursor" in query
        window = {"from": "2026-11-22T18:00:00Z", "to": "2026-11-23T18:00:00Z", "step": 3600}
        wrong = {"late": 1, "late_jobs": [f"late{at}"], "uncounted": 0, "uncounted_jobs": []}
        if last:
            wrong |= {"uncounted": 11, "uncounted_jobs": ["broken"]}
        return {**window, **wrong, "buckets": PAGES[at], "next_cursor": None if last else "2"}


def test_the_pages_of_all_jobs_are_one_chart() -> None:
    stage = Stage()
    with served(stage) as api:
        lines = duecourse(api, "upcoming", TZ="UTC").stdout.splitlines()

    assert [query.get("cursor") for query in stage.asked] == [None, "2"]
    assert len({(query["from"], query["to"], query["step"]) for query in stage.asked}) == 1
    assert re.search(r"1,202 +█+ +hourly \(1,200\), nightly \(2\)", lines[1])
    assert re.search(r" 61 +[█▏▎▍▌▋▊▉]+ +hourly \(60\), nightly \(1\)", lines[2])


def test_the_fullest_minutes_are_asked_for_by_the_minute() -> None:
    stage = Stage()
    with served(stage) as api:
        shown = duecourse(api, "upcoming", "--hot", "1", "--json")
    assert stage.asked[0]["step"] == "60"
    (hottest,) = json.loads(shown.stdout)["items"]
    assert hottest == {"at": "2026-11-22T19:00:00Z", "runs": 1_202, "jobs": {"nightly": 2, "hourly": 1_200}}


def test_a_step_that_is_none_is_said_so() -> None:
    with served(Stage()) as api:
        assert "--step: 'often' is none; write 1m, 10m or 1h" in duecourse(api, "upcoming", "--step", "often").stderr
        assert "--step: must be from 1m" in duecourse(api, "upcoming", "--step", "1s").stderr


def test_jobs_that_are_late_or_do_not_fire_are_named() -> None:
    with served(Stage()) as api:
        said = duecourse(api, "upcoming").stderr.splitlines()
    assert said == [
        "2 jobs are late (a run is due, and in no lane yet): late, late2",
        "11 jobs do not fire (their place in the schedule cannot be read): broken, ...",
    ]
