"""`duecourse runs list` across jobs, `runs show` with its attempts, `runs tail`."""

from __future__ import annotations

import json
import signal
from _thread import interrupt_main
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.unit.cli.served import JOB, RUN, duecourse, served, told


def test_what_failed_since_a_time_is_asked_for_by_one_request() -> None:
    asked: list[tuple[str, Mapping[str, str]]] = []

    def answer(path: str, query: Mapping[str, str]) -> object:
        asked.append((path, query))
        return {"items": [RUN], "next_cursor": "2"}

    with served(answer) as api:
        shown = duecourse(
            api, "runs", "list", "--failed", "--since", "2026-11-21T00:00:00Z", "--tag", "billing", "--error", "busy"
        )

    ((path, query),) = asked
    assert path == "/v1/runs"
    assert query == {
        "state": "DEAD,RETRYING",
        "since": "2026-11-21T00:00:00+00:00",
        "tag": "billing",
        "error": "busy",
        "limit": "20",
    }
    assert "nightly.20261121T030000Z" in shown.stdout
    assert shown.stdout.splitlines()[-1] == (
        "more: duecourse runs list --state DEAD --state RETRYING --since 2026-11-21T00:00:00Z --tag billing "
        "--error busy --cursor 2"
    )


def test_today_is_the_day_of_the_jobs_zone() -> None:
    asked: list[Mapping[str, str]] = []

    def answer(path: str, query: Mapping[str, str]) -> object:
        if path == "/v1/jobs/nightly":
            return {**JOB, "timezone": "Pacific/Kiritimati"}
        asked.append(query)
        return {"items": [RUN], "next_cursor": None}

    with served(answer) as api:
        shown = duecourse(api, "runs", "list", "nightly", "--state", "DEAD", "--since", "2026-11-21")

    assert asked[0]["since"] == "2026-11-20T10:00:00+00:00"
    assert "2026-11-21 17:00:00+14:00" in shown.stdout, "03:00 in UTC, on the job's clock"


def test_names_are_ids_alone_for_scripts() -> None:
    page = {"items": [RUN, RUN], "next_cursor": None}
    assert told(page, "runs", "list", "-o", "name").stdout == f"{RUN['id']}\n{RUN['id']}\n"


def test_a_run_is_shown_with_its_attempts() -> None:
    attempt = {"number": 1, "started_at": "2026-11-21T03:00:00Z", "ended_at": "2026-11-21T03:00:02.5Z"}
    attempts = [
        {**attempt, "outcome": "FAILED", "error": "answered 503", "code": "http.503"},
        {**attempt, "number": 2, "outcome": "FAILED", "error": "answered 502", "code": "http.502"},
    ]
    lines = told({**RUN, "attempt_list": attempts}, "runs", "show", RUN["id"]).stdout.splitlines()
    assert [line.split() for line in lines if "answered 50" in line][1:] == [
        ["1", "2026-11-21", "03:00:00Z", "2.5", "s", "FAILED", "answered", "503"],
        ["2", "2026-11-21", "03:00:00Z", "2.5", "s", "FAILED", "answered", "502"],
    ]


@contextmanager
def interruptible() -> Iterator[None]:
    """SIGINT counts, also where whoever started the tests has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_tail_shows_what_changes_from_now_on_until_it_is_interrupted() -> None:
    pages: list[Any] = [[], [{**RUN, "state": "RETRYING"}], [RUN]]

    def answer(path: str, query: Mapping[str, str]) -> object:
        assert path == "/v1/runs"
        if not pages:
            interrupt_main()  # Ctrl-C, once all was shown
            return {"items": [RUN], "next_cursor": None}
        return {"items": pages.pop(0), "next_cursor": None}

    with served(answer) as api, interruptible():
        shown = duecourse(api, "runs", "tail", "--every", "0.2", "--json")

    assert shown.exit_code == 0, shown.output
    assert [json.loads(line)["state"] for line in shown.stdout.splitlines()] == ["RETRYING", "DEAD"]


def test_a_job_is_run_by_hand_and_waited_for_and_the_exit_code_says_how_it_ended() -> None:
    begin = datetime.now(UTC) - timedelta(minutes=5)
    states = ["QUEUED", "SUCCEEDED"]

    def answer(path: str, _query: Mapping[str, str]) -> object:
        if path == "/v1/jobs/nightly":
            return JOB
        state = states.pop(0) if path.startswith("/v1/runs/") and len(states) > 1 else states[0]
        return {**RUN, "state": state, "reason": None, "error": None, "started_at": begin.isoformat()}

    with served(answer) as api:
        done = duecourse(api, "jobs", "run", "nightly", "--wait")
        states[:] = ["DEAD"]
        dead = duecourse(api, "jobs", "run", "nightly", "--wait", "--json")

    assert done.exit_code == 0, done.output
    assert "state         SUCCEEDED" in done.stdout
    assert " min ago)" in done.stdout
    assert (dead.exit_code, json.loads(dead.stdout)["state"]) == (1, "DEAD")


def test_a_pace_redrives_so_many_a_second_and_a_dry_run_none() -> None:
    asked: list[str] = []

    def answer(path: str, query: Mapping[str, str]) -> object:
        asked.append(path)
        if path.endswith("redrive"):
            return {"redriven": 2, "refused": 0, "more": len(asked) < 2, "next_cursor": "2" if len(asked) < 2 else None}
        return {"items": [RUN], "next_cursor": None}

    with served(answer) as api:
        paced = duecourse(api, "dead-letters", "redrive", "--pace", "20/s", "--yes")
        counted = duecourse(api, "dead-letters", "redrive", "--dry-run")
        wrong = duecourse(api, "dead-letters", "redrive", "--pace", "fast")

    assert paced.stdout == "4 redriven\n"
    assert counted.stdout == "1 dead run would be redriven\n"
    assert asked == ["/v1/dead-letters/redrive"] * 2 + ["/v1/dead-letters"]
    assert (wrong.exit_code, wrong.stderr) == (
        2,
        "duecourse: --pace: 'fast' is none; write 5/s or 30/m, at most 1000\n",
    )
