"""duecourse explain, upcoming, and lists of runs and workflows.

- `duecourse explain` asks on the job's own clock.
- `duecourse upcoming` adds up the pages of all jobs and draws them.
- `duecourse runs list` across jobs, `runs show` with its attempts, `runs tail`.
- `duecourse runs` shows what came of a job, not what is still to come.
- `duecourse workflows` and `run rerun`: what they ask and print.
"""

import json
import re
import shlex
from _thread import interrupt_main
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args
from zoneinfo import ZoneInfo

import pytest
from click.testing import Result

from duecourse.cli.commands.runs import State
from duecourse.cli.commands.upcoming import aligned
from duecourse.cli.due_runs import DueRuns, due_runs
from duecourse.client import Page
from duecourse.client.models import Run
from duecourse.domain.runs.states import RunState
from duecourse.testing.clock import SettableClock
from duecourse.testing.stores import MemoryStores
from tests.support.api import ApiClient
from tests.support.http_target import documents, http_target
from tests.support.jobs import NOON as STORED_AT
from tests.support.jobs import cursor
from tests.support.jobs import job as stored_job
from tests.support.runs import run as stored_run
from tests.support.served_api import served_api
from tests.support.shown import shown_run
from tests.unit.cli.served import JOB, RUN, Answering, duecourse, interruptible, served, told

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


def test_cli_explain_reads_a_time_of_day_on_the_clock_of_the_job() -> None:
    stage = Stage()
    with served(stage) as api:
        shown = duecourse(api, "explain", "nightly", "--at", "2026-11-21 02:30")
    assert stage.asked == ["2026-11-21T01:30:00+00:00"]
    assert shown.stdout == "2026-11-21 02:30:00+01:00  paused: The job was paused by anna.\n"


def test_cli_explain_reports_a_time_in_a_clock_gap_with_the_sentence_alone() -> None:
    with served(Stage(verdict="gap", sentence="The clock of Europe/Berlin jumped over 2027-03-28T02:30:00.")) as api:
        shown = duecourse(api, "explain", "nightly", "--at", "2027-03-28 02:30")
    assert shown.stdout == "gap: The clock of Europe/Berlin jumped over 2027-03-28T02:30:00.\n"


def test_cli_explain_defaults_to_the_last_occurrence() -> None:
    stage = Stage(run=RUN, verdict="fired")
    with served(stage) as api:
        shown = duecourse(api, "explain", "nightly")
    assert stage.asked[1] == "2026-11-20T01:30:00+00:00"
    assert f"duecourse runs show {RUN['id']}" in shown.stdout


def test_cli_sentence_has_the_jobs_zone_too() -> None:
    stage = Stage(sentence="The job has been paused since 2026-11-20T17:51:51Z (2026-99-99T00:00:00Z).")
    with served(stage) as api:
        shown = duecourse(api, "explain", "nightly", "--at", "2026-11-21 02:30")
        document = json.loads(duecourse(api, "explain", "nightly", "--json").stdout)
    assert "since 2026-11-20 18:51:51+01:00 (2026-99-99T00:00:00Z)." in shown.stdout
    assert "since 2026-11-20T17:51:51Z" in document["items"][0]["sentence"], "programs get UTC"


def test_cli_explain_lists_the_nearest_occurrences_of_a_time_between_them() -> None:
    with served(Stage(verdict="not_an_occurrence")) as api:
        shown = duecourse(api, "explain", "nightly", "--at", "12:00")
    assert "nearest occurrences: 2026-11-20 02:30:00+01:00, 2026-11-22 02:30:00+01:00" in shown.stdout


@pytest.mark.parametrize("length", [20, 40, 59])
def test_cli_explain_lines_fit_the_terminal(length: int) -> None:
    run = {**RUN, "id": f"{'j' * length}.20261120T013000Z"}
    sentence = f"It ran and succeeded after 4 attempts, because {'k' * length} had answered 503 for half an hour."
    with served(Stage(run=run, verdict="fired", sentence=sentence)) as api:
        shown = duecourse(api, "explain", "nightly", FORCE_COLOR="1", COLUMNS="80").stdout
        piped = duecourse(api, "explain", "nightly").stdout
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert len(shown.splitlines()) > 2
    assert f"duecourse runs show {run['id']}" in re.sub(r" \\\n +", " ", shown)
    assert shown.splitlines()[1].startswith("    ")
    assert " ".join(shown.split()).replace("\\ ", "") == " ".join(piped.split())
    assert len(piped.splitlines()) == 2


def test_cli_explain_shows_the_last_manual_run_of_a_job_without_an_occurrence() -> None:
    for nearest, following in ((None, ""), ("2026-11-22T01:30:00Z", "; next occurrence at 2026-11-22 02:30:00+01:00")):
        stage = Stage(verdict="not_an_occurrence", nearest={"before": None, "after": nearest})

        def answer(path: str, query: Mapping[str, str], stage: Stage = stage) -> object:
            listed = path.endswith("/runs")
            return {"items": [RUN], "next_cursor": None} if listed else stage(path, query)

        with served(answer) as api:
            shown = duecourse(api, "explain", "nightly").stdout.splitlines()
        assert shown == [
            f"no occurrence yet; last manual run at 2026-11-21 04:00:00+01:00: DEAD{following}",
            f"    duecourse runs show {RUN['id']}",
        ]


def test_cli_explain_rejects_two_times() -> None:
    with served(Stage()) as api:
        refused = duecourse(api, "explain", "nightly", "--at", "02:30", "--last-night")
    assert (refused.exit_code, refused.stderr) == (
        2,
        "duecourse: --at and --last-night cannot be combined; use one of them\n",
    )


def bucket(at: str, **jobs: int) -> dict[str, object]:
    return {"at": at, "runs": sum(jobs.values()), "jobs": [{"id": name, "runs": runs} for name, runs in jobs.items()]}


PAGES = {
    "": [bucket("2026-11-22T19:00:00Z", nightly=2), bucket("2026-11-22T20:00:00Z", nightly=1, hourly=60)],
    "2": [bucket("2026-11-22T19:00:00Z", hourly=1_200)],
}


class UpcomingStage:
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
            wrong |= {"delayed_runs": [{"id": "remind.1", "job_id": "remind", "due": "2026-11-22T19:30:00Z"}]}
        return {**window, **wrong, "buckets": PAGES[at], "next_cursor": None if last else "2"}


class EmptyStage:
    def __call__(self, path: str, query: Mapping[str, str]) -> object:
        del path, query
        window = {"from": "2026-11-22T18:00:00Z", "to": "2026-11-23T18:00:00Z", "step": 60}
        none: dict[str, object] = {"late": 0, "late_jobs": [], "uncounted": 0, "uncounted_jobs": []}
        return {**window, **none, "buckets": [], "next_cursor": None}


def test_cli_upcoming_combines_the_pages_of_all_jobs_into_one_chart() -> None:
    stage = UpcomingStage()
    with served(stage) as api:
        lines = duecourse(api, "upcoming", TZ="UTC").stdout.splitlines()
    assert [query.get("cursor") for query in stage.asked] == [None, "2"]
    assert len({(query["from"], query["to"], query["step"]) for query in stage.asked}) == 1
    assert re.search(r"1,202 +█+ +hourly \(1,200\), nightly \(2\)", lines[1])
    assert lines[-1].startswith("1,263 runs until ")
    assert lines[-1].endswith(", 1 of them delayed (duecourse runs list --state QUEUED)")
    assert re.search(r" 61 +[█▏▎▍▌▋▊▉]+ +hourly \(60\), nightly \(1\)", lines[2])


@pytest.mark.parametrize(
    ("step", "zone", "begin"),
    [(3600, "UTC", "18:00"), (600, "UTC", "18:50"), (3600, "Asia/Kolkata", "18:30"), (86400, "Asia/Tokyo", "15:00")],
)
def test_cli_intervals_begin_at_whole_hours_of_the_local_clock(step: int, zone: str, begin: str) -> None:
    now = datetime(2026, 11, 26, 18, 58, tzinfo=UTC)
    assert aligned(now, step, ZoneInfo(zone)).isoformat() == f"2026-11-26T{begin}:00+00:00"


def test_cli_upcoming_requests_the_fullest_minutes_by_the_minute() -> None:
    stage = UpcomingStage()
    with served(stage) as api:
        shown = duecourse(api, "upcoming", "--hot", "1", "--json")
    assert stage.asked[0]["step"] == "60"
    (hottest,) = json.loads(shown.stdout)["items"]
    assert hottest == {"at": "2026-11-22T19:00:00Z", "runs": 1_202, "jobs": {"nightly": 2, "hourly": 1_200}}
    assert json.loads(shown.stdout)["delayed_runs"] == [
        {"id": "remind.1", "job": "remind", "due": "2026-11-22T19:30:00Z"}
    ]


def test_cli_upcoming_sorts_the_fullest_minutes_by_load_and_counts_the_runs_of_other_jobs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few, many = bucket("2026-11-22T19:00:00Z", nightly=2), bucket("2026-11-22T20:00:00Z", a=1, b=1, c=1)
    stage = UpcomingStage()
    monkeypatch.setitem(PAGES, "", [few, {**many, "runs": 5}])
    monkeypatch.setitem(PAGES, "2", [])
    with served(stage) as api:
        header, first, second, *_ = duecourse(api, "upcoming", "--hot", "2", TZ="UTC").stdout.splitlines()
        duecourse(api, "upcoming", "--hot", "2", "-o", "wide")
        duecourse(api, "upcoming", "--json")
    assert header.startswith("minute (UTC)")
    assert first.endswith("  a (1), b (1), c (1), +2 more")
    assert second.endswith("  nightly (2)")
    largest = [int(query["largest"]) for query in stage.asked[::2]]
    assert largest[0] == 3
    assert largest[1] in (6, 7)  # for 24 hours of minutes
    assert largest[2] == 10_000 // 25 or largest[2] == 10_000 // 24


def test_cli_upcoming_shows_the_runs_of_each_job() -> None:
    stage = UpcomingStage()
    with served(stage) as api:
        lines = duecourse(api, "upcoming", "--by-job", TZ="UTC").stdout.splitlines()
        shown = json.loads(duecourse(api, "upcoming", "--by-job", "--json").stdout)
        both = duecourse(api, "upcoming", "--by-job", "--hot", "2")
    assert {(query["step"], query["largest"]) for query in stage.asked} == {("172800", "1000")}
    assert [line.split() for line in lines[:3]] == [["job", "runs"], ["hourly", "1,260"], ["nightly", "3"]]
    assert lines[3].startswith("1,263 runs until ")
    assert shown["items"] == [{"job": "hourly", "runs": 1260}, {"job": "nightly", "runs": 3}]
    assert (shown["runs"], shown["not_named"]) == (1263, 0)
    assert "--hot and --by-job cannot be combined" in both.stderr


def test_cli_upcoming_by_job_counts_the_runs_of_jobs_that_the_api_does_not_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = bucket("2026-11-22T19:00:00Z", **{f"j{number:04}": 24 for number in range(1000)})
    monkeypatch.setitem(PAGES, "", [{**page, "runs": 28_800}])
    monkeypatch.setitem(PAGES, "2", [])
    with served(UpcomingStage()) as api:
        told = duecourse(api, "upcoming", "--by-job", TZ="UTC")
        shown = json.loads(duecourse(api, "upcoming", "--by-job", "--json").stdout)
    more, total = told.stdout.splitlines()[-2:]
    assert more == "4,800 more runs, of jobs that are not named: the API names 1,000 jobs on each page"
    assert total.startswith("28,800 runs until ")
    assert total.endswith(", 1 of them delayed (duecourse runs list --state QUEUED)")
    assert told.stderr.splitlines() == [
        "2 jobs are late (a run is due and not enqueued yet): late, late2",
        "11 jobs do not fire (their cursor cannot be read): broken, ...",
    ]
    assert len(shown.pop("items")) == 1000
    assert shown == {
        "runs": 28_800,
        "not_named": 4800,
        "delayed_runs": [{"id": "remind.1", "job": "remind", "due": "2026-11-22T19:30:00Z"}],
        "next_cursor": None,
        "late": 2,
        "uncounted": 11,
    }


def test_cli_upcoming_reports_an_invalid_step() -> None:
    with served(UpcomingStage()) as api:
        assert (
            "--step: 'often' is not an interval; write 1m, 10m or 1h"
            in duecourse(api, "upcoming", "--step", "often").stderr
        )
        assert "--step: must be from 1m" in duecourse(api, "upcoming", "--step", "1s").stderr


def test_cli_stage_is_simulated_under_the_busiest_minute_of_the_forecast() -> None:
    stage = UpcomingStage()
    with served(stage) as api:
        shown = duecourse(api, "simulate", "--hours", "12", "--times", "0.5", "--json")
    assert stage.asked[0]["step"] == "60"
    found = json.loads(shown.stdout)
    assert (found["stage"], found["busiest_runs"], found["busiest_at"]) == ("prod", 601, "2026-11-22T19:00:00Z")
    assert found["runs_of_month"] == round(1_263 * 0.5) * 2 * 30
    assert (shown.exit_code, found["met"]) == (0, True)


def test_cli_simulation_fits_a_narrow_terminal_and_has_settings_to_paste() -> None:
    with served(UpcomingStage()) as api:
        shown = duecourse(api, "simulate", "--burst", "3000", "--within", "5").stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert re.search(r"99 of 100 runs started +\+[0-9.]+ s +\+[0-9.]+ s", shown)
    assert json.loads(shown[shown.index("{") : shown.rindex("}") + 1])["lanes"]["normal"]["bulk_pollers"]


def test_cli_stage_without_runs_is_sufficient() -> None:
    with served(EmptyStage()) as api:
        shown = duecourse(api, "simulate")
    assert shown.stdout.endswith("the settings are sufficient\n")
    assert "stage prod: 0 runs a month" in shown.stdout


def test_cli_unknown_stage_is_not_simulated() -> None:
    with served(UpcomingStage()) as api:
        shown = duecourse(api, "simulate", "--stage", "test", "--burst", "5")
    assert (shown.exit_code, shown.stderr) == (
        1,
        (
            "duecourse: stage must be one of local, dev, prod, not 'test'; for a stage of another name, write "
            '{"like": "prod"} to settings/test.json\n'
        ),
    )


def test_cli_upcoming_lists_late_and_non_firing_jobs() -> None:
    with served(UpcomingStage()) as api:
        said = duecourse(api, "upcoming").stderr.splitlines()
    assert said == [
        "2 jobs are late (a run is due and not enqueued yet): late, late2",
        "11 jobs do not fire (their cursor cannot be read): broken, ...",
    ]


def test_cli_failed_runs_since_a_time_take_one_request() -> None:
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
        "more: duecourse runs list --failed --since 2026-11-21T00:00:00Z --tag billing --error busy --cursor 2"
    )


@pytest.mark.parametrize(("cursor", "said"), [(None, "No runs match."), ("2", "No runs on this page match.")])
def test_cli_empty_list_of_runs_says_so(cursor: str | None, said: str) -> None:
    with served(lambda path, query: {"items": [], "next_cursor": cursor}) as api:
        assert duecourse(api, "runs", "list", "--failed").stdout.splitlines()[0] == said
        assert duecourse(api, "runs", "list", "nightly", "--failed", "-o", "wide").stdout.splitlines()[0] == said
        assert duecourse(api, "runs", "list", "--failed", "-o", "name").stdout == ""


def test_cli_successful_runs_of_all_jobs_come_in_order_and_continue_on_the_next_page() -> None:
    api = ApiClient.over(MemoryStores(), SettableClock(STORED_AT + 7200))
    for number in range(90):
        job = stored_job("0 0 1 1 *", id=f"job-{number:02}")
        assert api.jobs.create(job, cursor(job))
        assert api.runs.write(stored_run(job, RunState.SUCCEEDED, after=(number * 7) % 90), None) is None
    with served_api(api) as server:
        listed = ("runs", "list", "--state", "SUCCEEDED", "-o", "name", "--limit", "50")
        table = duecourse(server.address, *listed, "-o", "table").stdout.splitlines()
        first = duecourse(server.address, *listed).stdout.splitlines()
        more = shlex.split(table[-1])[2:]
        rest = duecourse(server.address, *more, "-o", "name", "--limit", "50").stdout.splitlines()
    assert (len(first), len({*first, *rest})) == (50, 90)
    whole = [int(each.rpartition(".")[2][9:13]) for each in [*first, *rest]]
    assert whole == sorted(whole, reverse=True), "the run that ended last is first"


def test_cli_caught_up_runs_are_listed_with_the_number_of_occurrences() -> None:
    asked: list[Mapping[str, str]] = []

    def answer(path: str, query: Mapping[str, str]) -> object:
        assert path == "/v1/runs"
        asked.append(query)
        return {"items": [RUN | {"count": 24}, RUN], "next_cursor": "2"}

    with served(answer) as api:
        shown = duecourse(api, "runs", "list", "nightly", "--caught-up").stdout.splitlines()
        duecourse(api, "runs", "list", "--caught-up", "--json")
    assert asked[0] == {"job": "nightly", "state": ",".join(get_args(State)), "caught_up": "true", "limit": "20"}
    assert asked[1] == {"caught_up": "true", "limit": "20"}
    assert "covers" in shown[0]
    assert shown[-2:] == ["2 runs, 25 occurrences", "more: duecourse runs list nightly --caught-up --cursor 2"]


def test_cli_delayed_runs_of_all_jobs_are_listed_with_the_time_until_they_are_due() -> None:
    due = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=3, minutes=30)
    delayed = queued(due) | {"id": "remind.1", "job_id": "remind"}
    with served(lambda path, query: {"items": [delayed], "next_cursor": None}) as api:
        shown = duecourse(api, "runs", "list", "--state", "QUEUED")
    assert re.search(r"remind\.1 .* QUEUED .* in 3 h (29|30) min", shown.stdout)
    assert shown.stderr == "Not listed across jobs: enqueued occurrences. To list them for a job, name the JOB.\n"


def test_cli_today_is_the_local_day_and_table_times_are_local() -> None:
    asked: list[Mapping[str, str]] = []

    def answer(path: str, query: Mapping[str, str]) -> object:
        assert path == "/v1/runs"
        asked.append(query)
        return {"items": [RUN], "next_cursor": None}

    with served(answer) as api:
        shown = duecourse(
            api, "runs", "list", "nightly", "--state", "DEAD", "--since", "2026-11-21", TZ="Pacific/Kiritimati"
        )
    assert asked[0]["since"] == "2026-11-20T10:00:00+00:00"
    assert "occurrence (+14)" in shown.stdout
    assert "2026-11-21 17:00:00" in shown.stdout, "03:00 in UTC"


@pytest.mark.parametrize("output", ["table", "wide", "name"])
def test_cli_runs_of_a_job_since_a_time_include_all_states(output: str) -> None:
    api = ApiClient.over(MemoryStores(), SettableClock(STORED_AT + 7200))
    job = stored_job("0 0 1 1 *", id="nightly", tags=("billing",))
    assert api.jobs.create(job, cursor(job))
    for state, after, count in ((RunState.SUCCEEDED, 0, 12), (RunState.DEAD, 600, 1), (RunState.SUCCEEDED, -86400, 3)):
        for number in range(count):
            assert api.runs.write(stored_run(job, state, after=after + number), None) is None
    with served_api(api) as server:
        listed = ("runs", "list", "nightly", "-o", output)
        found = duecourse(server.address, *listed, "--since", "2026-11-21")
        tagged = duecourse(server.address, *listed, "--tag", "billing", "--until", "2026-11-21")
        failed = duecourse(server.address, *listed, "--failed", "--since", "2026-11-21")
    assert found.exit_code == 0, found.output
    assert found.stdout.count("nightly.20261121T12") == 13
    assert found.stdout.count("nightly.") == 13
    assert tagged.stdout.count("nightly.20261120T") == tagged.stdout.count("nightly.") == 3
    assert failed.stdout.count("nightly.") == 1


def test_cli_enqueued_runs_of_a_job_are_summarized_on_one_line_even_since_a_time() -> None:
    begin = datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=5)
    states: list[str | None] = []

    def answer(path: str, query: Mapping[str, str]) -> object:
        assert path == "/v1/runs"
        states.append(query.get("state"))
        return {"items": [queued(begin), {**RUN, "state": "SUCCEEDED"}], "next_cursor": "2"}

    with served(answer) as api:
        lines = duecourse(api, "runs", "list", "nightly", "--since", "3h", "--limit", "1").stdout.splitlines()
    assert lines[0] == f"1 queued until {begin:%Y-%m-%d %H:%M:%SZ}"
    assert [line for line in lines if "QUEUED" in line] == []
    assert lines[-1] == "more: duecourse runs list nightly --since 3h --limit 1 --cursor 2"
    assert set(states) == {",".join(RunState)}


def test_cli_names_are_those_of_the_table() -> None:
    begin = datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=5)

    def answer(path: str, query: Mapping[str, str]) -> object:
        return JOB if "limit" not in query else {"items": [queued(begin), RUN], "next_cursor": None}

    with served(answer) as api:
        shown = duecourse(api, "runs", "list", "nightly", "-o", "name")
    assert shown.stdout == f"{RUN['id']}\n"
    assert shown.stderr == f"1 queued until {begin:%Y-%m-%d %H:%M:%SZ}\n"


def test_cli_skipped_run_says_why_and_a_failed_one_which_address_was_called() -> None:
    target = {"type": "http", "method": "POST", "url": "https://example.com/hook?key=s3cret"}

    def answer(path: str, query: Mapping[str, str]) -> object:
        if path.endswith("/explain"):
            return {**SKIPPED, "verdict": "skipped", "sentence": "It did not run: it was missed.", "at": query["at"]}
        if path.startswith("/v1/jobs/"):
            return {**JOB, "timezone": "Europe/Berlin", "target": target}
        return {**RUN, "state": "SKIPPED", "reason": "missed", "error": None, "code": None}

    with served(answer) as api:
        lines = duecourse(api, "runs", "show", RUN["id"]).stdout.splitlines()
    assert "target        http POST https://example.com/hook" in lines
    assert "why           It did not run: it was missed." in lines
    assert lines[-1] == "duecourse explain nightly --at 2026-11-21T03:00:00Z"


def test_cli_names_only_output_contains_ids_for_scripts() -> None:
    page = {"items": [RUN, RUN], "next_cursor": None}
    assert told(page, "runs", "list", "-o", "name").stdout == f"{RUN['id']}\n{RUN['id']}\n"


def test_cli_run_is_shown_with_its_attempts() -> None:
    attempt = {"number": 1, "started_at": "2026-11-21T03:00:00Z", "ended_at": "2026-11-21T03:00:02.5Z"}
    attempts = [
        {**attempt, "outcome": "FAILED", "error": "answered 503", "code": "http.503"},
        {**attempt, "number": 2, "outcome": "FAILED", "error": "answered 502", "code": "http.502"},
    ]
    lines = told({**RUN, "attempt_list": attempts}, "runs", "show", RUN["id"]).stdout.splitlines()
    assert [line.split() for line in lines if "answered 50" in line][1:] == [
        ["1", "2026-11-21", "03:00:00", "2.5", "s", "FAILED", "answered", "503"],
        ["2", "2026-11-21", "03:00:00", "2.5", "s", "FAILED", "answered", "502"],
    ]


def test_cli_tail_shows_changes_from_now_on_until_interrupted() -> None:
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


def test_cli_tail_rejects_an_unknown_job() -> None:
    problem = {"title": "Not Found", "type": "/problems/unknown-job", "detail": 'There is no job "nightyl".'}
    with http_target(documents(lambda _: (404, problem))) as server:
        refused = duecourse(server.url(""), "runs", "tail", "nightyl", "--seconds", "0")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr == "duecourse: there is no job nightyl; list the jobs with duecourse jobs list\n"


def test_cli_tail_has_one_line_for_runs_that_are_queued_for_later() -> None:
    later = [f"2100-01-01T00:00:{second:02}Z" for second in range(10, 40, 10)]
    ahead = [{**RUN, "id": f"nightly.{due}", "state": "QUEUED", "due": due, "error": None} for due in later]
    pages: list[Any] = [[], [*ahead, RUN]]

    def answer(path: str, query: Mapping[str, str]) -> object:
        assert path == "/v1/jobs/nightly/runs"
        if not pages:
            interrupt_main()
            return {"items": [*ahead, RUN], "next_cursor": None}
        return {"items": pages.pop(0), "next_cursor": None}

    with served(answer) as api, interruptible():
        shown = duecourse(api, "runs", "tail", "nightly", "--every", "0.2")
    changed, queued = shown.stdout.splitlines()
    assert f"  {RUN['id']}  DEAD 3/3" in changed
    assert queued == "3 queued until 2100-01-01 00:00:30Z"
    assert shown.stderr == "following nightly; Ctrl-C stops\n"


def test_cli_job_is_run_on_request_and_the_exit_code_reports_its_end() -> None:
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


NOW = datetime(2026, 11, 21, 9, 0, 0, tzinfo=UTC)
TEN_SECONDS = timedelta(seconds=10)


class History:
    """A job's runs, newest first, in pages; it knows how often it was asked."""

    def __init__(self, ahead: int, past: int) -> None:
        self.runs = [self._run(step) for step in range(ahead, -past, -1)]
        self.asked = 0

    def _run(self, step: int) -> Run:
        return shown_run(f"tick.{step}", NOW + step * TEN_SECONDS, "QUEUED" if step > 0 else "SUCCEEDED")

    def page(self, limit: int, cursor: str | None) -> Page[Run]:
        assert 1 <= limit <= 100
        self.asked += 1
        start = int(cursor or 0)
        end = start + limit
        return Page(tuple(self.runs[start:end]), str(end) if end < len(self.runs) else None)

    def due(self, limit: int, cursor: str | None = None) -> DueRuns:
        return due_runs(self.page, limit=limit, cursor=cursor, now=NOW)


@pytest.mark.parametrize("limit", [1, 20, 50, 100])
@pytest.mark.parametrize("ahead", [0, 1, 83, 100, 840])
def test_cli_due_runs_are_found_behind_all_future_ones(ahead: int, limit: int) -> None:
    history = History(ahead, 150)
    found = history.due(limit)
    assert [run.id for run in found.due] == [f"tick.{-step}" for step in range(limit)]
    assert len(found.ahead) == ahead
    assert history.asked <= 3 + ahead // 100


def test_cli_next_page_of_runs_begins_after_the_shown_ones() -> None:
    history = History(83, 150)
    first = history.due(20)
    second = history.due(20, first.next_cursor)
    assert [run.id for run in second.due] == [f"tick.{-step}" for step in range(20, 40)]
    assert second.ahead == ()


def test_cli_due_runs_take_one_request_without_future_ones() -> None:
    history = History(0, 150)
    history.due(20)
    assert history.asked == 1


def test_cli_job_that_has_not_run_yet_has_only_future_runs() -> None:
    found = History(83, 0).due(20)
    assert (found.due, len(found.ahead), found.next_cursor) == ((), 83, None)


def test_cli_overdue_run_is_shown() -> None:
    history = History(2, 1)
    found = due_runs(history.page, limit=20, cursor=None, now=NOW + TEN_SECONDS)
    assert [run.id for run in found.due] == ["tick.1", "tick.0"]
    assert [run.id for run in found.ahead] == ["tick.2"]


def test_cli_runs_are_shown_by_their_ids_and_future_ones_on_one_line() -> None:
    begin = datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=5)
    ahead = [queued(begin + step * TEN_SECONDS) for step in range(3, -1, -1)]

    def answer(_path: str, query: Mapping[str, str]) -> object:
        if "limit" not in query:
            return JOB
        start = int(query.get("cursor", "0"))
        end = start + int(query["limit"])
        found = [*ahead, RUN, RUN][start:end]
        return {"items": found, "next_cursor": str(end) if end < 6 else None}

    with served(answer) as api:
        lines = duecourse(api, "runs", "list", "nightly", "--limit", "1").stdout.splitlines()
    assert lines[0] == f"4 queued until {begin + 3 * TEN_SECONDS:%Y-%m-%d %H:%M:%SZ}"
    assert [line for line in lines if "QUEUED" in line] == []
    assert len([line for line in lines if re.match(rf"{re.escape(RUN['id'])}  2026-11-21 03:00:00  DEAD", line)]) == 1
    assert lines[-1] == "more: duecourse runs list nightly --limit 1 --cursor 5"


def queued(due: datetime) -> Mapping[str, object]:
    """A run that waits for its second."""
    at = due.isoformat()
    return {**RUN, "id": f"nightly.{due:%Y%m%dT%H%M%SZ}", "state": "QUEUED", "occurrence": at, "due": at, "error": None}


RULE = {"when": "all_success", "may_fail": False, "not_before": None, "only": None}
WORKFLOW = {
    "id": "nightly",
    "state": "ACTIVE",
    "schedule": None,
    "next_occurrence": None,
    "jobs": {
        "extract": {"job_id": "extract", "after": [], **RULE},
        "report": {
            **RULE,
            "job_id": "report",
            "after": ["extract"],
            "when": "all_done",
            "only": "0 2 * * 1",
            "may_fail": True,
        },
    },
}
PUT = {**WORKFLOW, "dry_run": False, "created": ["extract", "nightly"], "changed": []}
RUN_ID = "nightly.20261121T020000Z"


def asked(answering: Answering, *arguments: str) -> Result:
    """What a command prints of what is answered so."""
    with served(answering) as api:
        return duecourse(api, *arguments)


def step(name: str, state: str, attempts: int) -> Mapping[str, Any]:
    return {"id": name, "job_id": name, "state": state, "attempts": attempts}


def a_run(state: str) -> Mapping[str, Any]:
    return {
        "run": RUN_ID,
        "state": state,
        "reason": None if state == "SUCCEEDED" else "steps_failed",
        "error": None if state == "SUCCEEDED" else "failed: extract (http.500)",
        "counts": {"succeeded": 1},
        "jobs": [
            {**step("extract", "DEAD", 2), "reason": "not_retryable", "error": "HTTP 500"},
            {**step("report", "WAITS", 0), "waits_for": ["extract"]},
        ],
    }


def test_cli_workflow_put_shows_the_graph_and_the_created_jobs(tmp_path: Path) -> None:
    document = tmp_path / "nightly.json"
    document.write_text(json.dumps({"schedule": None, "jobs": {}}))
    shown = asked(lambda *_: PUT, "workflows", "put", "nightly", str(document))
    assert shown.exit_code == 0, shown.output
    for text in ("on demand", "all_done", "only 0 2 * * 1 may fail", "created: extract, nightly"):
        assert text in shown.output


def test_cli_workflow_put_dry_run_is_requested_and_reported(tmp_path: Path) -> None:
    document, queries = tmp_path / "nightly.json", dict[str, str]()
    document.write_text("{}")

    def answer(_: str, query: Mapping[str, str]) -> object:
        queries.update(query)
        return PUT | {"dry_run": True}

    shown = asked(answer, "workflows", "put", "nightly", str(document), "--dry-run")
    assert queries == {"dry_run": "true"}
    assert "would be created: extract, nightly" in shown.output


def test_cli_workflow_put_without_changes_is_reported(tmp_path: Path) -> None:
    document = tmp_path / "nightly.json"
    document.write_text("{}")
    shown = asked(lambda *_: PUT | {"created": []}, "workflows", "put", "nightly", str(document))
    assert "nothing has changed" in shown.output


def test_cli_workflow_put_rejects_invalid_json_before_sending_it(tmp_path: Path) -> None:
    document = tmp_path / "nightly.json"
    document.write_text("{")
    shown = asked(lambda *_: PUT, "workflows", "put", "nightly", str(document))
    assert shown.exit_code == 2
    assert "the text is not valid JSON" in shown.output


def test_cli_workflow_run_is_shown_with_the_upstream_jobs_that_each_job_waits_for() -> None:
    shown = asked(lambda *_: a_run("WAITING"), "workflows", "show", RUN_ID)
    assert shown.exit_code == 0, shown.output
    for text in ("DEAD (not_retryable)", "HTTP 500", "WAITS", "failed: extract (http.500)"):
        assert text in shown.output


def of_run(state: str, path: str, **more: Any) -> object:
    """The answer about a workflow's run: with its steps, or as a run."""
    run = {**RUN, "state": state, "workflow": "nightly", "started_at": "2026-11-21T02:00:00.000Z", **more}
    return a_run(state) if path.startswith("/v1/workflows/") else run


def test_cli_workflow_watch_ends_with_the_run_and_its_exit_code_reports_the_result() -> None:
    ended = asked(lambda path, _: of_run("SUCCEEDED", path), "workflows", "watch", RUN_ID)
    assert (ended.exit_code, "2 steps: " in ended.output) == (0, True), ended.output
    failed = asked(lambda path, _: of_run("DEAD", path), "runs", "watch", RUN_ID)
    assert failed.exit_code == 1
    assert f"{RUN_ID} is DEAD: failed: extract (http.500)" in failed.output


def test_cli_workflow_watch_follows_the_most_recently_started_run() -> None:
    first, rerun = ({**RUN, "id": f"{RUN_ID}.m{n}", "started_at": f"2026-11-21T0{n}:00:00.000Z"} for n in (2, 3))
    paths: list[str] = []

    def answer(path: str, _: Mapping[str, str]) -> object:
        paths.append(path)
        page = {"items": [first, rerun], "next_cursor": None}
        return page if path.endswith("/runs") else of_run("SUCCEEDED", path)

    assert asked(answer, "workflows", "watch", "nightly").exit_code == 0
    assert paths[-1].endswith(".m3")


def test_cli_watch_finds_the_newest_started_run_behind_many_queued_ones() -> None:
    queued = [{**RUN, "state": "QUEUED"}] * 20
    asked_of: list[tuple[str, str | None]] = []

    def answer(path: str, query: Mapping[str, str]) -> object:
        asked_of.append((path, query.get("state")))
        if not path.endswith("/runs"):
            return of_run("SUCCEEDED", path)
        if "cursor" in query:
            return {"items": [RUN], "next_cursor": None}
        return {"items": [] if "state" in query else queued, "next_cursor": "2"}

    assert asked(answer, "workflows", "watch", "nightly").exit_code == 0
    states = "RUNNING,WAITING,RETRYING,SUCCEEDED,DEAD,CANCELLED"
    assert [state for path, state in asked_of if path.endswith("/runs")] == [None, states, states]


def test_cli_watch_waits_for_the_start_of_a_queued_run() -> None:
    states = ["QUEUED", "WAITING"]

    def answer(path: str, _: Mapping[str, str]) -> object:
        if path.startswith("/v1/runs/"):
            return of_run(state := states.pop(0), path, started_at=RUN["due"] if state == "WAITING" else None)
        return of_run("SUCCEEDED", path)

    shown = asked(answer, "workflows", "watch", RUN_ID, "--every", "0.2")
    assert shown.exit_code == 0
    assert "  QUEUED 3/3\n" in shown.stdout
    assert "2 steps: " in shown.stdout
    states = ["SKIPPED"]
    skipped = asked(answer, "workflows", "watch", RUN_ID)
    assert skipped.exit_code == 1
    assert skipped.stderr.startswith(f"duecourse: {RUN['id']} is SKIPPED: ")


def test_cli_run_of_a_workflow_is_awaited_with_its_steps() -> None:
    waited = asked(lambda path, _: of_run("SUCCEEDED", path), "jobs", "run", "nightly", "--wait")
    assert "2 steps: " in waited.stdout, waited.output


def test_cli_workflow_watch_rejects_a_workflow_without_started_runs() -> None:
    shown = asked(lambda *_: {"items": [], "next_cursor": None}, "workflows", "watch", "nightly")
    assert shown.exit_code == 1
    assert "no run of nightly has started yet; start one with duecourse jobs run nightly, or watch" in shown.output


def test_cli_workflows_are_listed_and_printed_as_json() -> None:
    page = {"items": [WORKFLOW], "next_cursor": None}
    assert "nightly" in asked(lambda *_: page, "workflows", "list").output
    assert json.loads(asked(lambda *_: page, "workflows", "list", "--json").output) == page


def test_cli_rerun_names_the_new_run() -> None:
    made = {**RUN, "id": f"{RUN_ID}.mAbC", "state": "QUEUED"}
    shown = told(made, "runs", "rerun", RUN_ID, "--from", "extract", "--from", "report")
    assert shown.exit_code == 0, shown.output
    assert f"{RUN_ID}.mAbC is QUEUED; follow it: duecourse runs watch {RUN_ID}.mAbC" in shown.output


def test_cli_rerun_requires_the_jobs_to_begin_with() -> None:
    assert told(RUN, "runs", "rerun", RUN_ID).exit_code == 2


def test_cli_run_is_requested_for_a_later_time_and_its_due_time_is_shown() -> None:
    def answer(_path: str, _query: Mapping[str, str]) -> object:
        return {**RUN, "state": "QUEUED", "due": "2026-12-24T17:00:00Z"}

    with served(answer) as api:
        at = duecourse(api, "jobs", "run", "nightly", "--at", "2026-12-24T18:00:00")
        later = duecourse(api, "jobs", "run", "nightly", "--in", "2h")
        both = duecourse(api, "jobs", "run", "nightly", "--in", "2h", "--at", "2026-12-24T18:00:00")
        wrong = duecourse(api, "jobs", "run", "nightly", "--in", "soon")
    assert at.stdout == later.stdout
    assert at.output.endswith("is QUEUED, due 2026-12-24 17:00:00Z\n")
    assert (both.exit_code, wrong.exit_code) == (2, 2)
    assert "write 90s, 15m, 2h or 3d" in wrong.output
