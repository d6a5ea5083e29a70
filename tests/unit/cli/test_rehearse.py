"""`duecourse rehearse`: what becomes of a job's occurrences in outages."""

import json
import re
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

from duecourse.cli.main import main
from duecourse.cli.rehearsal import Rehearsed, Result, Scenario, Window, daily, merged, rows
from duecourse.cli.when import zone_of
from duecourse.client.bodies import JobRequest
from duecourse.testing import Scheduler
from tests.support.template import ROOT
from tests.unit.cli.served import duecourse, served

PAGE = (ROOT / "docs/howto/rehearse.md").read_text(encoding="utf-8")
DAY = datetime(2026, 3, 27, tzinfo=UTC)
DAILY: Mapping[str, Any] = {"id": "daily", "schedule": "0 3 * * *", "target": {"type": "http", "url": "https://e.com"}}


def rehearsed(folder: Path, *options: str, **changes: object) -> Any:
    """The document of a rehearsal of one day from midnight (UTC)."""
    file = folder / "daily.json"
    file.write_text(json.dumps({**DAILY, **changes}), encoding="utf-8")
    begins = () if "--from" in options else ("--from", "2026-03-27T00:00:00Z")
    days = () if "--days" in options else ("--days", "1")
    found = CliRunner().invoke(main, ["rehearse", "daily", "-f", str(file), *begins, *days, *options, "--json"])
    assert found.exit_code == 0, found.stderr
    return json.loads(found.stdout)


def results(document: Any) -> list[tuple[str, str, int]]:
    return [(each["due"][11:16], each["result"], each["calls"]) for each in document["items"]]


def test_rehearse_page_shows_what_its_commands_print(tmp_path: Path) -> None:
    found = re.search(r"```yaml title=\"rates.yaml\"\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    (tmp_path / "rates.yaml").write_text(found[1], encoding="utf-8")
    first, second = re.findall(r"```bash\nduecourse (.*?)\n```", PAGE)
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    runner = CliRunner()
    arguments = [each.replace("rates.yaml", str(tmp_path / "rates.yaml")) for each in shlex.split(first)]
    assert runner.invoke(main, arguments).stdout == shown
    arguments = [each.replace("rates.yaml", str(tmp_path / "rates.yaml")) for each in shlex.split(second)]
    counts = json.loads(runner.invoke(main, arguments).stdout)["counts"]
    assert (counts["due"], counts["on time"], counts["repeated"]) == (12, 12, 12)
    arguments[arguments.index("90s")] = "10m"
    assert json.loads(runner.invoke(main, arguments).stdout)["counts"]["never"] == 12


def test_rehearse_without_an_outage_runs_everything_on_time(tmp_path: Path) -> None:
    document = rehearsed(tmp_path, "--days", "3")
    assert results(document) == [("03:00", "on time", 1)] * 3
    assert document["counts"] == {
        "due": 3,
        "on time": 3,
        "late": 0,
        "covered": 0,
        "never": 0,
        "unfinished": 0,
        "repeated": 0,
    }


@pytest.mark.parametrize(
    ("missed", "expected"),
    [
        ({"policy": "run_once"}, [("03:00", "late", 1), ("03:10", "covered", 0), ("03:20", "covered", 0)]),
        ({"policy": "skip"}, [("03:00", "never", 0), ("03:10", "never", 0), ("03:20", "never", 0)]),
        (
            {"policy": "run_all", "max_missed": 2},
            [("03:00", "late", 1), ("03:10", "late", 1), ("03:20", "never", 0)],
        ),
    ],
)
def test_rehearse_outage_has_the_effect_of_the_policy_for_missed_runs(
    tmp_path: Path, missed: object, expected: object
) -> None:
    document = rehearsed(tmp_path, "--outage", "02:30/03:40", schedule="0,10,20 3 * * *", missed=missed)
    assert results(document) == expected


def test_rehearse_outage_is_in_the_time_zone_of_the_job(tmp_path: Path) -> None:
    there = rehearsed(tmp_path, "--outage", "02:00/04:00", timezone="America/New_York")
    assert results(there) == [("07:00", "late", 1)]
    between = rehearsed(tmp_path, "--outage", "2026-03-27T02:00:00Z/2026-03-27T04:00:00Z", timezone="America/New_York")
    assert results(between) == [("07:00", "on time", 1)]


def test_rehearse_outage_over_midnight_begins_on_the_day_before(tmp_path: Path) -> None:
    assert results(rehearsed(tmp_path, "--outage", "23:00/03:30")) == [("03:00", "late", 1)]


def test_rehearse_target_that_is_down_is_called_again_or_kills_the_run(tmp_path: Path) -> None:
    assert results(rehearsed(tmp_path, "--target-down", "1s")) == [("03:00", "on time", 2)]
    (one,) = rehearsed(tmp_path, "--target-down", "5h", retry={"max_attempts": 1})["items"]
    assert (one["result"], one["calls"], one["why"]) == ("never", 1, "DEAD: attempts_exhausted")


def test_rehearse_target_is_down_after_a_run_is_due_and_not_after_its_nominal_time(tmp_path: Path) -> None:
    changes = {"schedule": "0 * * * *", "jitter_seconds": 1800, "retry": {"max_attempts": 2, "min_seconds": 100}}
    assert {each["calls"] for each in rehearsed(tmp_path, "--target-down", "90s", **changes)["items"]} == {2}


@pytest.mark.parametrize(
    "changes", [{}, {"jitter_seconds": 1800}, {"schedule": "rate(1 hour)"}, {"schedule": ["rate(1 hour)"]}]
)
def test_rehearse_has_the_occurrence_at_its_begin_and_none_at_its_end(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    found = results(rehearsed(tmp_path, **{"schedule": "0 * * * *", **changes}))
    assert [(result, calls) for _, result, calls in found] == [("on time", 1)] * 24
    assert found[0][0] < "00:31"


def test_rehearse_outage_at_times_that_a_day_does_not_have_is_left_out(tmp_path: Path) -> None:
    day = ("--from", "2026-03-29T00:00:00+01:00")
    for window in ("02:30/03:15", "02:00/03:00"):
        found = rehearsed(tmp_path, *day, "--outage", window, schedule="0 * * * *", timezone="Europe/Berlin")
        assert found["counts"]["on time"] == found["counts"]["due"] == 24


def test_rehearse_says_that_a_job_paused_itself(tmp_path: Path) -> None:
    found = rehearsed(tmp_path, "--days", "3", "--target-down", "1d", retry={"max_attempts": 1}, pause_on_failure=1)
    assert [each["result"] for each in found["items"]] == ["never"] * 3
    assert "paused" in found["items"][2]["why"]


def test_rehearse_ignores_what_only_a_target_can_show(tmp_path: Path) -> None:
    changes = {"completion": "callback", "heartbeat_seconds": 60, "payload": {"a": "{{secret:key}}"}}
    assert results(rehearsed(tmp_path, **changes)) == [("03:00", "on time", 1)]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--outage", "2:00/3:00"), "is not a window; write 02:00/03:00, or two ISO-8601 instants"),
        (("--outage", "25:00/26:00"), "has no such time of day"),
        (("--outage", "2026-03-28T02:00:00Z/2026-03-28T01:00:00Z"), "must end after its begin"),
        (("--outage", "2027-03-28T02:00:00Z/2027-03-28T03:00:00Z"), "within the days of the rehearsal"),
        (("--target-down", "soon"), "is not a duration; write 90s, 15m, 2h or 3d"),
        (("--target-down", "99999999d"), "--target-down: must be at most 366d"),
        (("--from", "9999-12-31"), "--from: must be in the years from 2000 to 2100"),
        (("--from", "2026-03-29", "--outage", "2026-03-29T02:30/2026-03-29T03:15"), "must end after its begin"),
    ],
)
def test_rehearse_refuses_invalid_options(tmp_path: Path, options: tuple[str, ...], error: str) -> None:
    file = tmp_path / "daily.json"
    file.write_text(json.dumps({**DAILY, "timezone": "Europe/Berlin"}), encoding="utf-8")
    found = CliRunner().invoke(main, ["rehearse", "daily", "-f", str(file), "--from", "2026-03-27", *options])
    assert found.exit_code == 2
    assert error in found.stderr


def test_rehearse_refuses_too_many_occurrences_and_invalid_jobs(tmp_path: Path) -> None:
    file = tmp_path / "daily.json"
    file.write_text(json.dumps({**DAILY, "schedule": "* * * * *"}), encoding="utf-8")
    found = CliRunner().invoke(main, ["rehearse", "daily", "-f", str(file), "--days", "8"])
    assert (found.exit_code, "over 10,000 occurrences in 8 days" in found.stderr) == (2, True)
    file.write_text(json.dumps({**DAILY, "schedule": "nope"}), encoding="utf-8")
    found = CliRunner().invoke(main, ["rehearse", "daily", "-f", str(file)])
    assert (found.exit_code, "daily cannot be rehearsed" in found.stderr) == (1, True)
    found = CliRunner().invoke(main, ["rehearse", "hourly", "-f", str(file)])
    assert (found.exit_code, "has no job hourly" in found.stderr) == (2, True)
    file.write_text(json.dumps({**DAILY, "schedule": None, "expect_every": 3600}), encoding="utf-8")
    found = CliRunner().invoke(main, ["rehearse", "daily", "-f", str(file)])
    assert (found.exit_code, "runs only if a ping is missing (expect_every)" in found.stderr) == (2, True)


def test_rehearse_reads_the_stored_job_with_its_calendars() -> None:
    with Scheduler("2026-03-26T00:00:00Z") as scheduler:
        scheduler.client.put_calendar("bank", ["2026-03-28"])
        scheduler.client.create_job(
            cast("JobRequest", {**DAILY, "calendar": "bank", "tags": ["a"], "overlap": "queue"})
        )
        stored = scheduler.client.get_job("daily").document

    def answer(path: str, query: Mapping[str, str]) -> object:
        del query
        if path.endswith("/calendars/bank"):
            return {"id": "bank", "exclude": ["2026-03-28"]}
        return stored

    with served(answer) as api:
        found = duecourse(api, "rehearse", "daily", "--from", "2026-03-27", "--days", "3", "--json")
    assert found.exit_code == 0, found.stderr
    assert [each["due"][:10] for each in json.loads(found.stdout)["items"]] == ["2026-03-27", "2026-03-29"]


@pytest.mark.parametrize(("left", "due"), [(1, 1), (0, None)])
def test_rehearse_of_a_stored_job_has_the_runs_that_it_has_left(left: int, due: int | None) -> None:
    with Scheduler("2026-03-26T00:00:00Z") as scheduler:
        scheduler.client.create_job(cast("JobRequest", {**DAILY, "max_runs": 3}))
        stored = scheduler.client.get_job("daily").document
    with served(lambda _path, _query: {**stored, "runs_left": left}) as api:
        found = duecourse(api, "rehearse", "daily", "--from", "2026-03-27", "--days", "3", "--json")
    if due is None:
        assert (found.exit_code, "has no runs left (max_runs)" in found.stderr) == (2, True)
    else:
        assert json.loads(found.stdout)["counts"]["due"] == due


def test_rehearse_occurrence_is_only_covered_by_a_run_that_succeeded(tmp_path: Path) -> None:
    document = rehearsed(
        tmp_path,
        *("--outage", "02:30/03:40", "--target-down", "5h"),
        schedule="0,10,20 3 * * *",
        missed={"policy": "run_once"},
        retry={"max_attempts": 1},
    )
    assert [(each["result"], each["why"]) for each in document["items"]] == [("never", "DEAD: attempts_exhausted")] * 3


def test_rehearse_windows_of_a_day_keep_their_local_times_when_the_clock_changes() -> None:
    scenario = Scenario(datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 3, 30, tzinfo=UTC))
    found = list(daily("04:00", "05:00", zone_of("Europe/Berlin"), scenario))
    assert [each.begin.hour for each in found] == [3, 2]
    hour = timedelta(hours=1)
    pair = Window(DAY, DAY + hour), Window(DAY + hour / 2, DAY + 2 * hour)
    assert merged([*reversed(pair), Window(DAY + 3 * hour, DAY + 4 * hour)]) == (
        Window(DAY, DAY + 2 * hour),
        Window(DAY + 3 * hour, DAY + 4 * hour),
    )


def test_rehearse_table_has_one_row_for_consecutive_occurrences_with_the_same_result() -> None:
    hour = timedelta(hours=1)
    plain = [Rehearsed(DAY + hour * n, Result.ON_TIME, DAY + hour * n, 1) for n in range(3)]
    late = Rehearsed(DAY + hour * 3, Result.LATE, DAY + hour * 4, 1)
    gone = [Rehearsed(DAY + hour * n, Result.NEVER, why=why) for n, why in ((5, "a"), (6, "a"), (7, "b"))]
    assert [(row.first.result, row.count) for row in rows([*plain, late, late, *gone])] == [
        (Result.ON_TIME, 3),
        (Result.LATE, 1),
        (Result.LATE, 1),
        (Result.NEVER, 2),
        (Result.NEVER, 1),
    ]
